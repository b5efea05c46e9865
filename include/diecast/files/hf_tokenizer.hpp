// tokenizer.json and what stands beside it -> TokenizerTables. A byte-level BPE is read piece by piece; a tokenizer that
// SentencePiece made is handed on as the bytes of tokenizer.model, for that library to read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <diecast/error.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/files/hf_pre_tokenizer.hpp>
#include <diecast/files/model.hpp>

namespace diecast {

// The files of a folder that say something about its tokenizer; an absent file is null.
struct HfTokenizerFiles {
  Json tokenizer;                            // tokenizer.json
  Json config;                               // tokenizer_config.json
  Json special_tokens;                       // special_tokens_map.json
  std::optional<std::string> sentencepiece;  // tokenizer.model
};

namespace hf_detail {

using IdsByPiece = std::unordered_map<std::string, int>;

inline int token_id(const Json& value, const std::string& what) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(Fields::largest)) return value.get<int>();
  throw Error(what + " has the id " + shown(value) + ", and must have a whole number from 0 to " + std::to_string(Fields::largest));
}

inline std::vector<AddedToken> added_tokens(const Fields& file) {
  std::vector<AddedToken> added;
  const Json* list = file.find("added_tokens");
  if (!list) return added;
  if (!list->is_array()) throw Error(file.where() + ": added_tokens is " + shown(*list) + ", and must be a list");
  std::unordered_set<int> ids;
  std::unordered_set<std::string> contents;
  for (const Json& value : *list) {
    const Fields one(value, file.where() + ": added token " + std::to_string(added.size()));
    one.need("content");
    AddedToken token{.id = token_id(one.need("id"), one.where()),
                     .content = *one.text("content"),
                     .special = one.flag("special", false),
                     .lstrip = one.flag("lstrip", false),
                     .rstrip = one.flag("rstrip", false),
                     .single_word = one.flag("single_word", false),
                     .normalized = one.flag("normalized", false)};
    if (token.content.empty()) throw Error(one.where() + " is empty");
    if (!ids.insert(token.id).second)
      throw Error(one.where() + ", " + in_quotes(token.content) + ", has the id " + std::to_string(token.id) + " of an earlier one");
    if (!contents.insert(token.content).second) throw Error(one.where() + ", " + in_quotes(token.content) + ", is there twice");
    added.push_back(std::move(token));
  }
  return added;
}

// Pieces and kinds by id. Every id up to the largest one must be there, so nothing is made larger than the file.
inline void put_pieces(TokenizerTables& tables, const IdsByPiece& vocab, const std::string& where) {
  std::vector<std::pair<int, std::string_view>> by_id;
  for (const auto& [piece, id] : vocab) by_id.emplace_back(id, piece);
  for (const AddedToken& token : tables.added) {
    if (const auto it = vocab.find(token.content); it == vocab.end())
      by_id.emplace_back(token.id, token.content);
    else if (it->second != token.id)
      throw Error(where + ": added token " + in_quotes(token.content) + " has the id " + std::to_string(token.id) + ", and " +
                  std::to_string(it->second) + " in the vocabulary");
  }
  std::sort(by_id.begin(), by_id.end());
  for (std::size_t i = 0; i < by_id.size(); ++i) {
    const auto& [id, piece] = by_id[i];
    if (i > 0 && by_id[i - 1].first == id)
      throw Error(where + ": the pieces " + in_quotes(by_id[i - 1].second) + " and " + in_quotes(piece) + " have the same id, " +
                  std::to_string(id));
    if (static_cast<std::size_t>(id) != i)
      throw Error(where + ": no piece has the id " + std::to_string(i) + "; the next one is " + in_quotes(piece) + " with the id " +
                  std::to_string(id));
    tables.pieces.emplace_back(piece);
  }
  tables.kinds.assign(tables.pieces.size(), TokenKind::normal);
  for (const AddedToken& token : tables.added)
    tables.kinds[static_cast<std::size_t>(token.id)] = token.special ? TokenKind::control : TokenKind::user_defined;
}

// Both spellings: "a b", and since 2024 ["a", "b"].
inline std::vector<std::string> merges(const Fields& model, const IdsByPiece& vocab) {
  const Json& list = model.need("merges");
  if (!list.is_array()) throw Error(model.where() + ": merges is " + shown(list) + ", and must be a list");
  std::vector<std::string> all;
  std::unordered_set<std::string_view> seen;
  all.reserve(list.size());  // as many as the file holds; the views in `seen` stay good
  for (const Json& value : list) {
    const std::string where = model.where() + ": merge " + std::to_string(all.size());
    std::string merge;
    if (value.is_string())
      merge = value.get<std::string>();
    else if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string())
      merge = value[0].get<std::string>() + " " + value[1].get<std::string>();
    else
      throw Error(where + " is " + shown(value) + ", and must be two pieces");
    const std::size_t space = merge.find(' ');
    if (space == std::string::npos || space == 0 || space + 1 == merge.size() || merge.find(' ', space + 1) != std::string::npos)
      throw Error(where + ", " + in_quotes(merge) + ", must be two pieces with one space between them");
    const std::string left = merge.substr(0, space);
    const std::string right = merge.substr(space + 1);
    for (const std::string& piece : {left, right, left + right})
      if (!vocab.contains(piece))
        throw Error(where + ", " + in_quotes(merge) + ", needs the piece " + in_quotes(piece) + ", which is not in the vocabulary");
    all.push_back(std::move(merge));
    if (!seen.insert(all.back()).second) throw Error(where + ", " + in_quotes(all.back()) + ", is there twice");
  }
  return all;
}

// transformers would add tokens that only tokenizer_config.json has. Nobody writes such files; they are refused rather than half read.
inline void check_added_tokens_decoder(const Fields& config, const TokenizerTables& tables) {
  if (!config.find("added_tokens_decoder")) return;
  const Fields decoder = config.object("added_tokens_decoder");
  for (const auto& item : config.find("added_tokens_decoder")->items()) {
    const std::string& id = item.key();
    const Fields token = decoder.object(id);
    token.need("content");
    const std::string content = *token.text("content");
    const auto same = [&, &key = id](const AddedToken& added) { return std::to_string(added.id) == key && added.content == content; };
    if (std::none_of(tables.added.begin(), tables.added.end(), same))
      throw Error(token.where() + " is " + in_quotes(content) +
                  ", which tokenizer.json does not have among its added tokens under this id");
  }
}

// A named token ("bos_token"): a text or an object with its content; tokenizer_config.json comes before special_tokens_map.json.
inline std::optional<std::string> named_token(const HfTokenizerFiles& files, const std::string& key, const std::string& folder) {
  for (const auto& [file, name] :
       {std::pair{&files.config, "tokenizer_config.json"}, std::pair{&files.special_tokens, "special_tokens_map.json"}}) {
    if (file->is_null()) continue;
    const Fields fields(*file, folder + "/" + name);
    const Json* value = fields.find(key);
    if (!value) continue;
    if (!value->is_object()) return fields.text(key);
    const Fields object = fields.object(key);
    object.need("content");
    return object.text("content");
  }
  return std::nullopt;
}

// What a TemplateProcessing writes around the text.
inline void put_template(TokenizerTables& tables, const Fields& processor) {
  const Json& single = processor.need("single");
  if (!single.is_array()) throw Error(processor.where() + ": single is " + shown(single) + ", and must be a list");
  std::vector<int> before, after;
  bool text_seen = false;
  for (const Json& value : single) {
    const Fields item(value, processor.where() + ": single");
    if (item.find("Sequence")) {
      if (text_seen) throw Error(item.where() + " has the text twice");
      text_seen = true;
      continue;
    }
    const Fields token = item.object("SpecialToken");
    token.need("id");
    const Fields special = processor.object("special_tokens").object(*token.text("id"));
    const Json& ids = special.need("ids");
    if (!ids.is_array() || ids.size() != 1) throw Error(special.where() + ": ids must be a list of one id");
    (text_seen ? after : before).push_back(token_id(ids[0], special.where()));
  }
  if (!text_seen) throw Error(processor.where() + ": single does not have the text");
  const auto settle = [&](const std::vector<int>& ids, std::optional<int>& named, std::optional<bool>& add, const std::string& name) {
    if (ids.size() > 1)
      throw Error(processor.where() + " writes " + std::to_string(ids.size()) + " tokens " + name + " the text, and only one is supported");
    add = !ids.empty();
    if (ids.empty()) return;
    if (named && *named != ids[0])
      throw Error(processor.where() + " writes the token " + std::to_string(ids[0]) + " " + name +
                  " the text, and tokenizer_config.json names " + std::to_string(*named));
    named = ids[0];
  };
  settle(before, tables.bos, tables.add_bos, "before");
  settle(after, tables.eos, tables.add_eos, "after");
}

inline void put_post_processor(TokenizerTables& tables, const Json& value, const std::string& where) {
  if (value.is_null()) return;
  const Fields processor(value, where);
  processor.need("type");
  const std::string type = *processor.text("type");
  if (type == "ByteLevel") return;  // offsets only
  if (type == "TemplateProcessing") return put_template(tables, processor);
  if (type == "Sequence") {
    const Json& list = processor.need("processors");
    if (!list.is_array()) throw Error(where + ": processors is " + shown(list) + ", and must be a list");
    for (const Json& step : list) {
      if (step.is_object() && step.contains("type") && step["type"] == "Sequence")
        throw Error(where + ": a Sequence inside a Sequence is not supported");
      put_post_processor(tables, step, where);
    }
    return;
  }
  throw Error(where + ": the post-processor " + in_quotes(type) + " is not supported");
}

// What a BPE model may say besides vocabulary and merges.
inline void refuse_other_bpe(const Fields& model) {
  if (model.number("dropout").value_or(0) != 0)
    throw Error(model.where() + ": dropout is " + shown(*model.find("dropout")) +
                ", which is not supported: the same text would not give the same ids");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!model.text(key).value_or("").empty())
      throw Error(model.where() + ": " + key + " is " + shown(*model.find(key)) + ", which is not supported");
}

}  // namespace hf_detail

// `folder` opens every sentence.
inline TokenizerTables hf_tokenizer(const HfTokenizerFiles& files, const std::string& folder) {
  using namespace hf_detail;
  TokenizerTables tables;
  IdsByPiece vocab;
  const std::string where = folder + "/tokenizer.json";
  bool sentencepiece = files.tokenizer.is_null();
  if (!sentencepiece) {
    const Fields file(files.tokenizer, where);
    const Fields model = file.object("model");
    const std::string type = model.text("type").value_or("BPE");  // the oldest files do not say it
    const bool byte_fallback = type == "BPE" && model.flag("byte_fallback", false);
    sentencepiece = byte_fallback || type == "Unigram";
    if (sentencepiece && !files.sentencepiece)
      throw Error(where + ": the model " + in_quotes(type) + (byte_fallback ? " with byte_fallback" : "") +
                  " is SentencePiece's, and the folder has no tokenizer.model");
    if (!sentencepiece && type != "BPE") throw Error(where + ": the tokenizer model " + in_quotes(type) + " is not supported");
    tables.added = added_tokens(file);
    if (type == "BPE") {
      const Json& pieces = model.need("vocab");
      if (!pieces.is_object()) throw Error(model.where() + ": vocab is " + shown(pieces) + ", and must be an object");
      for (const auto& [piece, id] : pieces.items()) vocab.emplace(piece, token_id(id, model.where() + ": piece " + in_quotes(piece)));
    }
    if (!sentencepiece) {
      refuse_other_bpe(model);
      tables.pre_tokenizer = hf_pre_tokenizer(file.need("pre_tokenizer"), where + ": pre_tokenizer");
      tables.normalizer = hf_normalizer(file.find("normalizer") ? *file.find("normalizer") : Json(), where + ": normalizer");
      if (const Json* decoder = file.find("decoder"); decoder && file.object("decoder").text("type") != "ByteLevel")
        throw Error(where + ": the decoder " + shown(file.object("decoder").need("type")) +
                    " is not supported; a byte-level BPE has ByteLevel");
      tables.ignore_merges = model.flag("ignore_merges", false);
      tables.merges = merges(model, vocab);
      put_pieces(tables, vocab, where);
    }
    for (const AddedToken& token : tables.added) vocab.emplace(token.content, token.id);
  }
  if (sentencepiece) {
    if (!files.sentencepiece) throw Error(folder + " has neither tokenizer.json nor tokenizer.model");
    tables.family = TokenizerTables::Family::sentencepiece;
    tables.sentencepiece_model = *files.sentencepiece;
  } else {
    tables.family = TokenizerTables::Family::byte_level_bpe;
  }

  const auto id_of = [&](const std::string& key) -> std::optional<int> {
    const auto content = named_token(files, key, folder);
    if (!content) return std::nullopt;
    if (const auto it = vocab.find(*content); it != vocab.end()) return it->second;
    if (files.tokenizer.is_null()) return std::nullopt;  // tokenizer.model alone knows its ids
    throw Error(folder + ": " + key + " is " + in_quotes(*content) + ", which is not in the vocabulary");
  };
  tables.bos = id_of("bos_token");
  tables.eos = id_of("eos_token");
  tables.unknown = id_of("unk_token");
  tables.pad = id_of("pad_token");
  if (!files.tokenizer.is_null()) {
    const Fields file(files.tokenizer, where);
    put_post_processor(tables, file.find("post_processor") ? *file.find("post_processor") : Json(), where + ": post_processor");
  }
  if (!files.config.is_null()) {
    const Fields config(files.config, folder + "/tokenizer_config.json");
    if (!files.tokenizer.is_null()) check_added_tokens_decoder(config, tables);
    if (const auto add = config.flag("add_bos_token")) tables.add_bos = add;
    if (const auto legacy = config.flag("legacy")) tables.legacy = legacy;
    if (const auto add = config.flag("add_eos_token")) tables.add_eos = add;
  }
  if (!tables.pieces.empty())
    for (const auto* id : {&tables.bos, &tables.eos})
      if (*id && static_cast<std::size_t>(**id) >= tables.pieces.size())
        throw Error(where + ": post_processor writes the token " + std::to_string(**id) + ", and the vocabulary has " +
                    std::to_string(tables.pieces.size()));
  return tables;
}

}  // namespace diecast
