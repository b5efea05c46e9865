// Real vocabularies against ids that others made: every row. The large files are not part of the project; without them a test says
// that it was skipped.
#include <catch2/catch.hpp>

#include <random>

#include <diecast/files/gguf_tokenizer.hpp>
#include <diecast/tokens/detokenizer.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include "golden_file.hpp"
#include "large_files.hpp"
#include "vocabulary_rows.hpp"

using namespace diecast;
using namespace tokens_test;

namespace {

void check_random_ids(const Tokenizer& tokenizer) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<int> ids(40);
    std::string bytes;
    for (int& id : ids) bytes += tokenizer.bytes(id = static_cast<int>(random() % static_cast<unsigned>(tokenizer.size())));
    CHECK(decode(tokenizer, ids) == replace_invalid_utf8(bytes));
  }
}

void check_vocabulary(const std::string& name) {
  const auto path = shared_file("tokenizers/vocab/ggml-vocab-" + name + ".gguf");
  if (!path) return;
  const TokenizerTables tables = read_gguf_tokenizer(path->string());
  const auto tokenizer = make_tokenizer(tables);
  check_rows_beside(*tokenizer, *path);
  check_rows_beside(*make_tokenizer(prepared(tables)), *path);
  check_random_ids(*tokenizer);
  if (name == "qwen2") CHECK(tokenizer->encode("<|im_end|>") == std::vector<int>{27, 91, 318, 6213, 91, 29});  // row T2
}

}  // namespace

TEST_CASE("tiny-shakespeare: every text as the tokenizers package has it") {
  const auto file = nlohmann::json::parse(read_file(std::string(DIECAST_SOURCE_DIR) + "/models/tiny-shakespeare/tokenizer.json"));
  TokenizerTables tables;
  tables.pre_tokenizer = "gpt-2";
  tables.pieces.resize(file["model"]["vocab"].size());
  for (const auto& [piece, id] : file["model"]["vocab"].items()) tables.pieces.at(id.get<std::size_t>()) = piece;
  for (const auto& merge : file["model"]["merges"]) tables.merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  tables.added.push_back({0, "<|endoftext|>", true, false, false, false, false});
  const auto tokenizer = make_tokenizer(tables);
  const auto cases = golden_cases("tiny-shakespeare.json");
  CHECK(cases.size() > 100);
  for (const auto& golden : cases) {
    const auto text = golden.at("text").get<std::string>();
    INFO(text);
    CHECK(tokenizer->encode(PromptText{text, {}}) == golden.at("ids").get<std::vector<int>>());  // the package recognises markers
    CHECK(decode(*tokenizer, tokenizer->encode(text)) == text);
  }
  check_random_ids(*tokenizer);
}

TEST_CASE("SmolLM2: every row") {
  const auto path = cached_file("smollm2-135m-instruct.gguf");
  const auto rows = shared_file("tokenizers/smollm2-135m-instruct.json");
  if (!path || !rows) return;
  const auto tokenizer = make_tokenizer(read_gguf_tokenizer(path->string()));
  const auto cases = nlohmann::json::parse(read_file(*rows)).at("cases");
  CHECK(cases.size() == 150);
  for (const auto& row : cases) check_row(*tokenizer, row.at("text"), row.at("ids").get<std::vector<int>>());
  check_random_ids(*tokenizer);
  CHECK(decode(*tokenizer, tokenizer->encode("a\x04 z")) == "a z");  // no piece for U+0004: left out, as the tokenizers package does
}

TEST_CASE("GPT-2: every row") { check_vocabulary("gpt-2"); }
TEST_CASE("Llama 3: every row") { check_vocabulary("llama-bpe"); }
TEST_CASE("Qwen2: every row") { check_vocabulary("qwen2"); }
