// Fuzzes the byte-level BPE with the tables of models/tiny-shakespeare and one more control token: any bytes come back, a stream shows what the
// whole shows, typed text never becomes a control token. And each pre-tokenizer and normal form by itself.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/files/hf_json.hpp>
#include <diecast/files/hf_tokenizer.hpp>
#include <diecast/tokens/byte_level_bpe.hpp>
#include <diecast/tokens/detokenizer.hpp>

#include "fuzz/outcome.hpp"

using namespace diecast;
using diecast_fuzz::require;

namespace {

constexpr std::string_view marker = "<|im_end|>";

// The pre-tokenizers that differ, each by the name that is its own; the others are aliases.
std::vector<std::string> names_of_all() {
  std::vector<std::string> names;
  for (const auto& known : detail::pre_tokenizers)
    if (known.name == known.meaning.name) names.emplace_back(known.name);
  return names;
}

const ByteLevelBpe& tokenizer_of(const std::string& pre_tokenizer) {
  static std::map<std::string, std::unique_ptr<ByteLevelBpe>> all;
  std::unique_ptr<ByteLevelBpe>& made = all[pre_tokenizer];
  if (made) return *made;
  const std::string folder = DIECAST_SOURCE_DIR "/models/tiny-shakespeare";
  TokenizerTables tables = hf_tokenizer({.tokenizer = read_json(folder + "/tokenizer.json"), .config = {}, .special_tokens = {}, .sentencepiece = {}}, folder);
  tables.added.push_back({.id = static_cast<int>(tables.pieces.size()), .content = std::string(marker), .special = true});
  tables.pieces.emplace_back(marker);
  tables.kinds.push_back(TokenKind::control);
  tables.pre_tokenizer = pre_tokenizer;
  made = std::make_unique<ByteLevelBpe>(tables);
  return *made;
}

void check_pieces(const PreTokenizer& pre_tokenizer, std::string_view text) {
  std::size_t at = 0;
  pre_tokenizer.split(text, [&](std::string_view piece) {
    require(!piece.empty() && piece.data() == text.data() + at, "pieces follow each other and are not empty");
    at += piece.size();
  });
  require(at == text.size(), "pieces are the whole text");
}

void check_plain(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<int> ids = tokenizer.encode(text);
  std::string bytes, streamed;
  StreamDecoder stream(tokenizer);
  for (const int id : ids) {
    require(!tokenizer.is_control(id), "plain text has no control token");
    bytes += tokenizer.bytes(id);
    const std::string shown = stream.next(id);
    require(replace_invalid_utf8(shown) == shown, "a stream shows no half character");
    streamed += shown;
  }
  streamed += stream.finish();
  require(bytes == text, "the bytes of the ids are the text");
  require(streamed == replace_invalid_utf8(text), "the stream is the text with each invalid part replaced");
  require(decode(tokenizer, ids) == streamed, "the whole is what the stream showed");
}

// The middle third typed: markers before and after count, markers that touch it do not.
void check_typed(const Tokenizer& tokenizer, std::string_view text) {
  PromptText prompt{std::string(text), {}};
  const Range typed{text.size() / 3, text.size() - text.size() / 3};
  if (typed.begin < typed.end) prompt.typed.push_back(typed);
  std::string written;
  for (const int id : tokenizer.encode(prompt)) {
    const std::string_view piece = tokenizer.is_control(id) ? tokenizer.piece(id) : tokenizer.bytes(id);
    if (tokenizer.is_control(id)) {
      require(written.size() + piece.size() <= typed.begin || written.size() >= typed.end, "no control token touches typed text");
    }
    written += piece;
  }
  require(written == text, "markers and bytes of a prompt are its text");
}

void check_normal_form(std::string_view text, NormalForm form) {
  const std::string once = normalize(text, form);
  require(normalize(once, form) == once, "a normal form is its own normal form");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::vector<std::string> names = names_of_all();
  for (const std::string& name : names) check_pieces(find_pre_tokenizer(name), text);
  const std::string& chosen = names[size % names.size()];
  check_plain(tokenizer_of(chosen), text);
  check_typed(tokenizer_of(chosen), text);
  check_normal_form(text, NormalForm::nfc);
  check_normal_form(text, NormalForm::nfkc);
  return 0;
}
