// tokenizer.json and its neighbours -> tables. The regexes are those that transformers 5.24.0 writes for Llama 3 and Qwen2 and
// that GPT-2's ByteLevel has inside; spelled here once more, letter by letter.
#include <diecast/files/hf_tokenizer.hpp>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "files/hf_support.hpp"

using namespace diecast;
using namespace diecast::testing;
using Catch::Matchers::Contains;

namespace {

const Json byte_level = Json::parse(R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})");
const Json bytes_only = Json::parse(R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false})");
const Json digits = Json::parse(R"({"type":"Digits","individual_digits":true})");

Json sequence(const std::vector<Json>& steps) { return {{"type", "Sequence"}, {"pretokenizers", steps}}; }
Json split(const std::string& regex, const std::string& behavior = "Isolated", bool invert = false) {
  return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}, {"invert", invert}};
}

const std::string llama3 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const std::string qwen2 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const std::string gpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

// Two letters, their pair, and two markers after them.
Json small() {
  return Json::parse(R"({
    "added_tokens":[{"id":3,"content":"<s>","special":true,"lstrip":false,"rstrip":true,"single_word":false,"normalized":false},
                    {"id":4,"content":"</s>","special":true},
                    {"id":5,"content":"word","lstrip":true,"single_word":true,"normalized":true,"special":false}],
    "normalizer":null,
    "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true},
    "post_processor":null,
    "decoder":{"type":"ByteLevel"},
    "model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"","byte_fallback":false,
             "vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})");
}
HfTokenizerFiles files_of(const Json& tokenizer, const Json& config = Json(), const Json& special = Json()) {
  return {.tokenizer = tokenizer, .config = config, .special_tokens = special, .sentencepiece = {}};
}
TokenizerTables tables_of(const Json& tokenizer, const Json& config = Json(), const Json& special = Json()) {
  return hf_tokenizer(files_of(tokenizer, config, special), "folder");
}
std::string refused(const Json& tokenizer, const Json& config = Json()) {
  return sentence([&] { tables_of(tokenizer, config); });
}
// The small file with one value, at a JSON pointer, replaced.
Json with(const std::string& pointer, const Json& value) {
  Json file = small();
  file[Json::json_pointer(pointer)] = value;
  return Json::parse(file.dump());  // as a file has it: its whole numbers are unsigned
}
std::string unknown_pre_tokenizer(const Json& value) {
  return sentence([&] { hf_pre_tokenizer(value, "p"); });
}

}  // namespace

TEST_CASE("tokenizer: pre-tokenizers are recognised by what they spell out") {
  CHECK(hf_pre_tokenizer(byte_level, "p") == "gpt-2");
  CHECK(hf_pre_tokenizer(sequence({byte_level}), "p") == "gpt-2");
  CHECK(hf_pre_tokenizer(Json::parse(R"({"type":"ByteLevel","add_prefix_space":false})"), "p") ==
        "gpt-2");  // older files: use_regex is true
  CHECK(hf_pre_tokenizer(sequence({digits, byte_level}), "p") == "smollm");
  CHECK(hf_pre_tokenizer(sequence({split(llama3), bytes_only}), "p") == "llama-bpe");
  CHECK(hf_pre_tokenizer(sequence({split(qwen2), bytes_only}), "p") == "qwen2");
  CHECK(hf_pre_tokenizer(sequence({split(gpt2), bytes_only}), "p") == "gpt-2");
}

TEST_CASE("tokenizer: a pre-tokenizer that differs in anything is refused, its regex named") {
  const std::string other = "\\p{N}{1,2}|.";
  CHECK_THAT(unknown_pre_tokenizer(sequence({split(other), bytes_only})), Contains("regex") && Contains("p{N}{1,2}|."));
  CHECK_THAT(unknown_pre_tokenizer(sequence({split(llama3 + " "), bytes_only})), Contains("is not known"));
  CHECK_THAT(unknown_pre_tokenizer(sequence({split(llama3), byte_level})), Contains("Split") && Contains("ByteLevel with its regex"));
  CHECK_THAT(unknown_pre_tokenizer(sequence({split(llama3)})), Contains("is not known"));
  CHECK_THAT(unknown_pre_tokenizer(sequence({split(llama3, "Removed"), bytes_only})), Contains("behavior \"Removed\""));
  CHECK_THAT(unknown_pre_tokenizer(sequence({split(llama3, "Isolated", true), bytes_only})), Contains("invert true"));
  CHECK_THAT(unknown_pre_tokenizer(sequence({split(qwen2), digits, bytes_only})), Contains("Split") && Contains("Digits one by one"));
  CHECK_THAT(unknown_pre_tokenizer(sequence({Json::parse(R"({"type":"Digits","individual_digits":false})"), byte_level})),
             Contains("Digits in runs"));
  CHECK_THAT(unknown_pre_tokenizer(bytes_only), Contains("ByteLevel without its regex"));
  CHECK_THAT(unknown_pre_tokenizer(sequence({})), Contains("made of nothing"));
  CHECK_THAT(unknown_pre_tokenizer(Json::parse(R"({"type":"Metaspace"})")), Contains("Metaspace"));
  CHECK_THAT(unknown_pre_tokenizer(Json::parse(R"({"type":"ByteLevel","add_prefix_space":true})")), Contains("add_prefix_space true"));
  CHECK_THAT(
      unknown_pre_tokenizer(sequence({Json::parse(R"({"type":"Split","pattern":{"String":" "},"behavior":"Isolated"})"), bytes_only})),
      Contains("fixed text, \" \""));
  CHECK_THAT(unknown_pre_tokenizer(Json::parse(R"({"type":"Sequence","pretokenizers":7})")), Contains("must be a list"));
  CHECK_THAT(unknown_pre_tokenizer(Json::parse(R"({"type":7})")), Contains("type is 7, and must be a text"));
  CHECK_THAT(unknown_pre_tokenizer(Json()), Contains("must be an object"));
}

TEST_CASE("tokenizer: pieces, kinds, merges and added tokens") {
  const TokenizerTables tables = tables_of(small());
  CHECK(tables.family == TokenizerTables::Family::byte_level_bpe);
  CHECK(tables.pre_tokenizer == "gpt-2");
  CHECK(tables.normalizer.empty());
  CHECK(tables.pieces == std::vector<std::string>{"a", "b", "ab", "<s>", "</s>", "word"});
  using enum TokenKind;
  CHECK(tables.kinds == std::vector<TokenKind>{normal, normal, normal, control, control, user_defined});
  CHECK(tables.merges == std::vector<std::string>{"a b"});
  CHECK_FALSE(tables.ignore_merges);
  REQUIRE(tables.added.size() == 3);
  CHECK(tables.added[0].id == 3);
  CHECK(tables.added[0].special);
  CHECK(tables.added[0].rstrip);
  CHECK_FALSE(tables.added[0].lstrip);
  CHECK(tables.added[2].content == "word");
  CHECK(tables.added[2].lstrip);
  CHECK(tables.added[2].single_word);
  CHECK(tables.added[2].normalized);
  CHECK_FALSE(tables.added[2].special);
  CHECK_FALSE(tables.bos.has_value());
  CHECK_FALSE(tables.add_bos.has_value());

  CHECK(tables_of(with("/model/merges", Json::parse(R"([["a","b"]])"))).merges == std::vector<std::string>{"a b"});
  CHECK(tables_of(with("/model/ignore_merges", true)).ignore_merges);
  CHECK(tables_of(with("/normalizer", Json::parse(R"({"type":"NFC"})"))).normalizer == "NFC");
  CHECK(tables_of(with("/normalizer", Json::parse(R"({"type":"Sequence","normalizers":[{"type":"NFKC"}]})"))).normalizer == "NFKC");
  Json oldest = small();
  oldest["model"].erase("type");
  CHECK(tables_of(oldest).pieces.size() == 6);
}

TEST_CASE("tokenizer: ids with holes, twice, or of the wrong type; merges that are none") {
  CHECK_THAT(refused(with("/model/vocab/ab", 7)), Contains("no piece has the id 2; the next one is \"<s>\" with the id 3"));
  CHECK_THAT(refused(with("/model/vocab/ab", 2147483647)), Contains("no piece has the id 2"));
  CHECK_THAT(refused(with("/model/vocab/ab", 1)), Contains("\"ab\" and \"b\" have the same id, 1"));
  CHECK_THAT(refused(with("/model/vocab/c", 3)), Contains("\"<s>\" and \"c\" have the same id, 3"));
  CHECK_THAT(refused(with("/model/vocab/ab", -1)), Contains("piece \"ab\" has the id -1"));
  CHECK_THAT(refused(with("/model/vocab/ab", 2147483648)), Contains("has the id 2147483648"));
  CHECK_THAT(refused(with("/model/vocab/ab", "2")), Contains("has the id \"2\""));
  CHECK_THAT(refused(with("/model/vocab/<s>", 6)), Contains("\"<s>\" has the id 3, and 6 in the vocabulary"));
  CHECK(refused(with("/model/vocab/<s>", 3)).empty());
  CHECK_THAT(refused(with("/added_tokens/1/id", 3)), Contains("\"</s>\", has the id 3 of an earlier one"));
  CHECK_THAT(refused(with("/added_tokens/1/content", "<s>")), Contains("\"<s>\", is there twice"));
  CHECK_THAT(refused(with("/added_tokens/1/content", "")), Contains("is empty"));
  CHECK_THAT(refused(with("/added_tokens", 3)), Contains("added_tokens is 3, and must be a list"));
  for (const char* merge : {R"("ab")", R"("a  b")", R"(" b")", R"("a ")", R"("a b c")", R"(["a b","c"])", R"(["","b"])"}) {
    INFO(merge);
    CHECK_THAT(refused(with("/model/merges/0", Json::parse(merge))), Contains("must be two pieces with one space between them"));
  }
  for (const char* merge : {R"(["a"])", R"(["a","b","c"])", "7", R"([1,2])"}) {
    INFO(merge);
    CHECK_THAT(refused(with("/model/merges/0", Json::parse(merge))), Contains("and must be two pieces"));
  }
  CHECK_THAT(refused(with("/model/merges/0", "a c")), Contains("needs the piece \"c\", which is not in the vocabulary"));
  CHECK_THAT(refused(with("/model/merges/0", "b a")), Contains("needs the piece \"ba\", which is not in the vocabulary"));
  CHECK_THAT(refused(with("/model/merges", Json::parse(R"(["a b",["a","b"]])"))), Contains("\"a b\", is there twice"));
  CHECK_THAT(refused(with("/model/merges", 7)), Contains("merges is 7"));
  CHECK_THAT(refused(with("/model/vocab", Json::array())), Contains("vocab is a list, and must be an object"));
}

TEST_CASE("tokenizer: what is not a byte-level BPE is refused by name") {
  CHECK_THAT(refused(with("/model/type", "WordPiece")), Contains("the tokenizer model \"WordPiece\" is not supported"));
  CHECK_THAT(refused(with("/model/type", "Unigram")), Contains("\"Unigram\" is SentencePiece's, and the folder has no tokenizer.model"));
  CHECK_THAT(refused(with("/model/byte_fallback", true)), Contains("with byte_fallback is SentencePiece's"));
  CHECK_THAT(refused(with("/model/dropout", 0.1)), Contains("dropout is 0.1"));
  CHECK_THAT(refused(with("/model/end_of_word_suffix", "</w>")), Contains("end_of_word_suffix is \"</w>\""));
  CHECK_THAT(refused(with("/normalizer", Json::parse(R"({"type":"Lowercase"})"))), Contains("the normalizer \"Lowercase\""));
  CHECK_THAT(refused(with("/normalizer", Json::parse(R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"NFC"}]})"))),
             Contains("\"Sequence\""));
  CHECK_THAT(refused(with("/decoder", Json::parse(R"({"type":"WordPiece"})"))), Contains("the decoder \"WordPiece\""));
  CHECK_THAT(refused(with("/post_processor", Json::parse(R"({"type":"BertProcessing"})"))),
             Contains("the post-processor \"BertProcessing\""));
  CHECK_THAT(refused(with("/pre_tokenizer", Json())), Contains("pre_tokenizer is missing"));
  CHECK_THAT(refused(Json::object()), Contains("model is missing"));
  CHECK_THAT(refused(Json()), Contains("neither tokenizer.json nor tokenizer.model"));
}

TEST_CASE("tokenizer: a SentencePiece model's bytes are handed on") {
  HfTokenizerFiles files = files_of(with("/model/byte_fallback", true), Json::parse(R"({"bos_token":"<s>","add_bos_token":true})"));
  files.tokenizer["pre_tokenizer"] = nullptr;
  files.sentencepiece = std::string("\x0a\0bytes", 7);
  const TokenizerTables tables = hf_tokenizer(files, "folder");
  CHECK(tables.family == TokenizerTables::Family::sentencepiece);
  CHECK(tables.sentencepiece_model == *files.sentencepiece);
  CHECK(tables.bos == 3);
  CHECK(tables.add_bos == true);
  CHECK(tables.added.size() == 3);
  files.tokenizer = Json();
  CHECK(hf_tokenizer(files, "folder").sentencepiece_model.size() == 7);
  // A byte-level BPE stays one, whatever lies beside it.
  files.tokenizer = small();
  CHECK(hf_tokenizer(files, "folder").family == TokenizerTables::Family::byte_level_bpe);
}

TEST_CASE("tokenizer: named tokens, texts or objects, from either file") {
  const Json config =
      Json::parse(R"({"bos_token":"<s>","eos_token":{"__type":"AddedToken","content":"</s>","lstrip":false},"unk_token":null})");
  const TokenizerTables tables =
      tables_of(small(), config, Json::parse(R"({"bos_token":"</s>","unk_token":"a","pad_token":{"content":"word"}})"));
  CHECK(tables.bos == 3);
  CHECK(tables.eos == 4);
  CHECK(tables.unknown == 0);
  CHECK(tables.pad == 5);
  CHECK_THAT(refused(small(), Json::parse(R"({"bos_token":"<bos>"})")), Contains("bos_token is \"<bos>\", which is not in the vocabulary"));
  CHECK_THAT(refused(small(), Json::parse(R"({"bos_token":7})")), Contains("bos_token is 7, and must be a text"));
}

TEST_CASE("tokenizer: added tokens that only tokenizer_config.json has are refused") {
  const auto decoder = [](const std::string& id, const std::string& content) {
    return Json::parse("{\"added_tokens_decoder\":{\"" + id + "\":{\"content\":\"" + content + "\",\"special\":true}}}");
  };
  CHECK(refused(small(), decoder("3", "<s>")).empty());
  CHECK_THAT(refused(small(), decoder("6", "<x>")), Contains("added_tokens_decoder: 6 is \"<x>\", which tokenizer.json does not have"));
  CHECK_THAT(refused(small(), decoder("4", "<s>")), Contains("4 is \"<s>\""));
}

TEST_CASE("tokenizer: BOS and EOS that a template adds, and the config's word over it") {
  const auto processing = [](const std::string& single) {
    return Json::parse(
        R"({"type":"TemplateProcessing","single":[)" + single +
        R"(],"special_tokens":{"<s>":{"id":"<s>","ids":[3],"tokens":["<s>"]},"</s>":{"id":"</s>","ids":[4],"tokens":["</s>"]},"big":{"id":"big","ids":[9],"tokens":["big"]}}})");
  };
  const std::string text = R"({"Sequence":{"id":"A","type_id":0}})";
  const auto token = [](const std::string& id) { return R"({"SpecialToken":{"id":")" + id + R"(","type_id":0}})"; };

  TokenizerTables tables = tables_of(with("/post_processor", processing(token("<s>") + "," + text)));
  CHECK(tables.add_bos == true);
  CHECK(tables.add_eos == false);
  CHECK(tables.bos == 3);
  // Llama 3 has it inside a Sequence.
  tables = tables_of(with("/post_processor", {{"type", "Sequence"},
                                              {"processors", {byte_level, processing(token("<s>") + "," + text + "," + token("</s>"))}}}));
  CHECK(tables.add_bos == true);
  CHECK(tables.add_eos == true);
  CHECK(tables.eos == 4);
  tables = tables_of(with("/post_processor", processing(text)));
  CHECK(tables.add_bos == false);
  CHECK_FALSE(tables.bos.has_value());
  tables = tables_of(with("/post_processor", processing(token("<s>") + "," + text)),
                     Json::parse(R"({"add_bos_token":false,"add_eos_token":true})"));
  CHECK(tables.add_bos == false);
  CHECK(tables.add_eos == true);
  CHECK_FALSE(tables_of(with("/post_processor", byte_level)).add_bos.has_value());

  CHECK_THAT(refused(with("/post_processor", processing(token("<s>") + "," + token("<s>") + "," + text))),
             Contains("writes 2 tokens before the text"));
  CHECK_THAT(refused(with("/post_processor", processing(token("<s>")))), Contains("does not have the text"));
  CHECK_THAT(refused(with("/post_processor", processing(token("none") + "," + text))), Contains("none is missing"));
  CHECK_THAT(refused(with("/post_processor", processing(token("big") + "," + text))),
             Contains("writes the token 9, and the vocabulary has 6"));
  CHECK_THAT(refused(with("/post_processor", processing(token("<s>") + "," + text)), Json::parse(R"({"bos_token":"</s>"})")),
             Contains("writes the token 3 before the text, and tokenizer_config.json names 4"));
}
