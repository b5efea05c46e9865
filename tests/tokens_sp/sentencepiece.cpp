#include <catch2/catch.hpp>

#include <algorithm>

#include <diecast/sentencepiece.hpp>
#include <diecast/files/gguf_tokenizer.hpp>
#include <diecast/tokens/detokenizer.hpp>

#include <nlohmann/json.hpp>

#include "tokens/large_files.hpp"
#include "tokens/vocabulary_rows.hpp"

using namespace diecast;
using namespace tokens_test;

namespace {

// Byte-pair encoding by scores: the best pair of neighbours that makes a piece is joined first.
TokenizerTables toy() {
  TokenizerTables tables;
  tables.family = TokenizerTables::Family::sentencepiece;
  const auto add = [&](const std::string& piece, TokenKind kind, float score) {
    if (kind == TokenKind::control || kind == TokenKind::user_defined) {
      tables.added.push_back({static_cast<int>(tables.pieces.size()), piece, kind == TokenKind::control, false, false, false, false});
    }
    tables.pieces.push_back(piece);
    tables.kinds.push_back(kind);
    tables.scores.push_back(score);
  };
  add("<unk>", TokenKind::unknown, 0);
  add("<s>", TokenKind::control, 0);
  add("</s>", TokenKind::control, 0);
  add("<sp>", TokenKind::control, 0);
  add("[tool]", TokenKind::user_defined, 0);
  add("  ", TokenKind::user_defined, 0);  // as GGUF files spell ▁▁
  for (int byte = 0; byte < 256; ++byte) {
    const std::string digits = "0123456789ABCDEF";
    add(std::string("<0x") + digits[static_cast<std::size_t>(byte / 16)] + digits[static_cast<std::size_t>(byte % 16)] + ">", TokenKind::byte, 0);
  }
  float score = -1;
  for (const char* piece : {"us", "er", "user", "▁user", "▁Hello", "▁x"}) add(piece, TokenKind::normal, score--);
  for (const char* piece : {"▁", "u", "s", "e", "r", "x"}) add(piece, TokenKind::normal, score--);
  tables.bos = 1;
  tables.eos = 2;
  tables.unknown = 0;
  return tables;
}

int id_of(const TokenizerTables& tables, const std::string& piece) {
  for (std::size_t id = 0; id < tables.pieces.size(); ++id) {
    if (tables.pieces[id] == piece) return static_cast<int>(id);
  }
  FAIL("no piece " << piece);
  return -1;
}

PromptText written(std::string text) { return {std::move(text), {}}; }

}  // namespace

TEST_CASE("K3: the space prefix stands where the file says") {
  auto tables = toy();
  const int sp = id_of(tables, "<sp>"), user = id_of(tables, "user"), space_user = id_of(tables, "▁user");
  using Ids = std::vector<int>;
  {
    const auto tokenizer = make_any_tokenizer(tables);  // the file says nothing: every segment
    CHECK(tokenizer->encode(written("<sp>user")) == Ids{sp, space_user});
    CHECK(tokenizer->encode(written("user")) == Ids{space_user});
    CHECK(tokenizer->encode("") == Ids{});
  }
  tables.legacy = false;  // the first segment only
  {
    const auto tokenizer = make_any_tokenizer(tables);
    CHECK(tokenizer->encode(written("<sp>user")) == Ids{sp, user});
    CHECK(tokenizer->encode(written("user")) == Ids{space_user});
    CHECK(tokenizer->encode(written("user<sp>user")) == Ids{space_user, sp, user});
    CHECK(tokenizer->encode("") == Ids{});
  }
  tables.add_space_prefix = false;
  for (const bool legacy : {false, true}) {
    tables.legacy = legacy;
    const auto tokenizer = make_any_tokenizer(tables);
    CHECK(tokenizer->encode(written("<sp>user")) == Ids{sp, user});
    CHECK(tokenizer->encode(written("user")) == Ids{user});
  }
}

TEST_CASE("K3: the same from the bytes of a tokenizer.model") {
  const auto tables = toy();
  using Ids = std::vector<int>;
  const int sp = id_of(tables, "<sp>"), user = id_of(tables, "user"), space_user = id_of(tables, "▁user");
  for (const bool prefix : {true, false}) {
    TokenizerTables file;
    file.family = TokenizerTables::Family::sentencepiece;
    file.sentencepiece_model = sentencepiece_proto::model(tables) + sentencepiece_proto::space_prefix(prefix);
    file.added = {{sp, "<sp>", true, false, false, false, false}, {static_cast<int>(tables.pieces.size()), "<extra>", true, false, false, false, false}};
    const auto tokenizer = make_any_tokenizer(file);
    CHECK(tokenizer->encode(written("<sp>user")) == Ids{sp, prefix ? space_user : user});
    CHECK(tokenizer->encode(written("<extra>")) == Ids{static_cast<int>(tables.pieces.size())});
    CHECK(tokenizer->strips_first_space() == prefix);
    CHECK(tokenizer->size() == static_cast<int>(tables.pieces.size()) + 1);
    CHECK(tokenizer->is_control(sp));
    file.legacy = false;
    const auto modern = make_any_tokenizer(file);
    CHECK(modern->encode(written("<sp>user")) == Ids{sp, user});
    CHECK(modern->encode(written("user")) == Ids{prefix ? space_user : user});
  }
}

TEST_CASE("K5: byte pieces are bytes, and typed text that looks like one stays text") {
  const auto tables = toy();
  const auto tokenizer = make_any_tokenizer(tables);
  CHECK(decode(*tokenizer, std::vector<int>{id_of(tables, "<0xEA>"), id_of(tables, "<0xB9>"), id_of(tables, "<0xB0>")}) == "\uAE70");
  for (const std::string text : {"<0x41>", "<s>", "</s>", "<unk>", "<bos>", "<sp>"}) {
    CHECK(decode(*tokenizer, tokenizer->encode(text)) == text);
    for (const int id : tokenizer->encode(text)) CHECK_FALSE(tokenizer->is_control(id));
  }
}

TEST_CASE("K6: what is not UTF-8 becomes one U+FFFD for each maximal invalid part") {
  const auto tokenizer = make_any_tokenizer(toy());
  const auto through = [&](const std::string& text) { return decode(*tokenizer, tokenizer->encode(text)); };
  CHECK(through("\xE2\x80") == "\uFFFD");
  CHECK(through("\xFF\xFE") == "\uFFFD\uFFFD");
  CHECK(through("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");
  CHECK(through("\x61\xF0\x9F\x98\x62") == "a\uFFFD" "b");
}

TEST_CASE("K8: the prefix space goes, at the start only") {
  const auto tables = toy();
  const auto tokenizer = make_any_tokenizer(tables);
  CHECK(decode(*tokenizer, std::vector<int>{1, id_of(tables, "▁Hello"), id_of(tables, "▁x")}) == "Hello x");
  CHECK(decode(*tokenizer, std::vector<int>{1, id_of(tables, "  "), id_of(tables, "x")}) == " x");
  CHECK(tokenizer->encode(" x") == std::vector<int>{id_of(tables, "  "), id_of(tables, "x")});
  CHECK(decode(*tokenizer, tokenizer->encode("  x  user ")) == "  x  user ");
}

TEST_CASE("T1, T2: markers are the template's alone; user-defined pieces count in typed text too") {
  const auto tables = toy();
  const auto tokenizer = make_any_tokenizer(tables);
  auto ids = tokenizer->encode(written("<s>user"));
  put_bos(*tokenizer, ids);
  CHECK(ids == std::vector<int>{1, id_of(tables, "▁user")});
  CHECK(tokenizer->add_bos);
  const auto typed = tokenizer->encode("x[tool]");
  CHECK(typed == std::vector<int>{id_of(tables, "▁x"), id_of(tables, "[tool]")});
}

// Gemma's tokenizer.model calls <start_of_turn> user-defined, its tokenizer.json special.
TEST_CASE("T2: a piece that the file calls special is a marker, whatever its type in the model") {
  const auto tables = toy();
  const int tool = id_of(tables, "[tool]");
  for (const bool from_model : {false, true}) {
    TokenizerTables file = tables;
    if (from_model) {
      file = TokenizerTables{};
      file.family = TokenizerTables::Family::sentencepiece;
      file.sentencepiece_model = sentencepiece_proto::model(tables);
    }
    file.added = {{0, "<unk>", true, false, false, false, false}, {tool, "[tool]", true, false, false, false, false}};
    const auto tokenizer = make_any_tokenizer(file);
    CHECK(tokenizer->is_control(tool));
    CHECK(tokenizer->encode(written("[tool]")) == std::vector<int>{tool});
    const auto typed = tokenizer->encode("[tool]");
    CHECK(std::find(typed.begin(), typed.end(), tool) == typed.end());
    CHECK(decode(*tokenizer, typed) == "[tool]");
    CHECK_FALSE(tokenizer->is_control(0));
  }
}

TEST_CASE("K11: a million equal letters") {
  const auto tokenizer = make_any_tokenizer(toy());
  CHECK(tokenizer->encode(std::string(1'000'000, 'q')).size() == 1'000'001);  // the prefix, then a byte each
}

TEST_CASE("SentencePiece tables that contradict themselves are refused with a sentence") {
  const auto refused = [](const TokenizerTables& tables, const std::string& words) {
    CHECK_THROWS_WITH(make_any_tokenizer(tables), Catch::Contains(words));
  };
  auto tables = toy();
  tables.scores.pop_back();
  refused(tables, "scores");
  tables = toy();
  tables.scores[7] = std::nanf("");
  refused(tables, "the score of token 7 is not a number");
  tables = toy();
  tables.pieces[9] = std::string("a\0b", 3);
  refused(tables, "zero byte");
  tables = toy();
  tables.pieces[270] = tables.pieces[271];
  refused(tables, "already defined");
  tables = toy();
  tables.pieces[270].clear();
  refused(tables, "SentencePiece");
  tables = toy();
  tables.pieces[8] = "<0xZZ>";
  refused(tables, "SentencePiece");
  tables = toy();
  tables.kinds[8] = TokenKind::normal;
  refused(tables, "SentencePiece");
  tables = toy();
  tables.unknown.reset();
  tables.kinds[0] = TokenKind::normal;
  refused(tables, "unk");
  tables = toy();
  tables.added[0].id = 1 << 30;
  refused(tables, "has the id");
  tables = toy();
  tables.added[0].id = id_of(tables, "<0x41>");
  refused(tables, "is that of a byte");
  tables = toy();
  tables.sentencepiece_model = "not a model";
  refused(tables, "SentencePiece");
  CHECK_THROWS_WITH(make_tokenizer(toy()), Catch::Contains("diecast/sentencepiece.hpp"));
}

TEST_CASE("Llama SentencePiece: every row") {
  const auto path = shared_file("tokenizers/vocab/ggml-vocab-llama-spm.gguf");
  if (!path) return;
  const auto tokenizer = make_any_tokenizer(read_gguf_tokenizer(path->string()));
  check_rows_beside(*tokenizer, *path);
}

TEST_CASE("Gemma 3: every row") {
  const auto path = cached_file("gemma-3-270m.gguf");
  const auto rows = shared_file("tokenizers/gemma-3-270m.json");
  if (!path || !rows) return;
  const auto tokenizer = make_any_tokenizer(read_gguf_tokenizer(path->string()));
  const auto cases = nlohmann::json::parse(read_file(*rows)).at("cases");
  CHECK(cases.size() > 50);
  for (const auto& row : cases) {
    const auto text = row.at("text").get<std::string>();
    check_row(*tokenizer, text, row.at("ids").get<std::vector<int>>(), text.find("▁") == std::string::npos);  // ▁ is SentencePiece's space
  }
}
