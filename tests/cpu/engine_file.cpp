// The engine file: what comes out is what went in, bit for bit, and a damaged file is a sentence. The right bytes are the tensors' own.
#include <diecast/cpu/engine_file.hpp>
#include <diecast/cpu/unpack.hpp>
#include <diecast/tokens/make_tokenizer.hpp>

#include <catch2/catch.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "inputs.hpp"
#include "odd_specs.hpp"
#include "random_weights.hpp"

using namespace diecast;

namespace {

struct Written {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("diecast-engine-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  ~Written() { std::filesystem::remove(path); }
  std::string read() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

Model model_of(const Spec& spec, Weights weights) {
  Model model;
  model.name = "odd";
  model.architecture = "llama";
  model.path = "odd.gguf";
  model.spec = spec;
  model.weights = std::move(weights);
  model.tokenizer.pieces = {"a", "b", std::string("\0c", 2)};
  model.tokenizer.kinds = {TokenKind::normal, TokenKind::control, TokenKind::byte};
  model.tokenizer.merges = {"a b"};
  model.tokenizer.added.push_back({.id = 1, .content = "b", .special = true});
  model.tokenizer.bos = 1;
  model.tokenizer.add_space_prefix = false;
  model.chat_template = "{{ messages }}";
  model.generation.temperature = 0.7;
  model.generation.eos = {1, 2};
  return model;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.format == b.format && a.rows == b.rows && a.cols == b.cols && a.bytes.size() == b.bytes.size() && std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}
bool same(const std::optional<Tensor>& a, const std::optional<Tensor>& b) { return a.has_value() == b.has_value() && (!a || same(*a, *b)); }
bool same(const NormWeights& a, const NormWeights& b) { return same(a.weight, b.weight) && same(a.bias, b.bias); }
bool same(const LinearWeights& a, const LinearWeights& b) { return same(a.weight, b.weight) && same(a.bias, b.bias); }
template <class Part>
bool same(const std::optional<Part>& a, const std::optional<Part>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
bool same(const Weights& a, const Weights& b) {
  bool all = same(a.embedding, b.embedding) && same(a.position, b.position) && same(a.final_norm, b.final_norm) && same(a.head, b.head) &&
             same(a.head_bias, b.head_bias) && a.layers.size() == b.layers.size();
  for (std::size_t i = 0; all && i < a.layers.size(); ++i) {
    const LayerWeights &x = a.layers[i], &y = b.layers[i];
    all = same(x.attention_norm, y.attention_norm) && same(x.q, y.q) && same(x.k, y.k) && same(x.v, y.v) && same(x.output, y.output) && same(x.q_norm, y.q_norm) &&
          same(x.k_norm, y.k_norm) && same(x.after_attention, y.after_attention) && same(x.after_mlp, y.after_mlp) && same(x.mlp_norm, y.mlp_norm) &&
          same(x.gate, y.gate) && same(x.up, y.up) && same(x.down, y.down);
  }
  return all;
}

cpu::EngineFile open(const std::string& bytes, std::string& memory) {
  memory.assign(bytes.size() + 64, ' ');  // as a mapping is: aligned
  char* const at = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
  std::memcpy(at, bytes.data(), bytes.size());
  return cpu::open_engine_file({reinterpret_cast<const std::byte*>(at), bytes.size()}, nullptr, "x.engine");
}

}  // namespace

TEST_CASE("an engine file gives back every odd model as it was") {
  for (const auto& [name, spec] : testing::odd_specs()) {
    CAPTURE(name);
    const Model model = model_of(spec, testing::random_weights(spec, 3));
    const cpu::PackedModel packed = cpu::pack(model.spec, model.weights, 2);
    CHECK(cpu::packed_bytes(model.spec, model.weights) == packed.bytes.size());
    const Written file;
    cpu::write_engine_file(file.path.string(), model, {"w", "t", "c", "g", "whole"}, packed);
    CHECK(cpu::is_engine_file(file.path.string()));
    const cpu::EngineFile back = cpu::open_engine_file(file.path.string());
    CHECK(back.model.spec == spec);
    CHECK(back.model.name == "odd");
    CHECK(back.model.chat_template == model.chat_template);
    CHECK(back.model.generation.temperature == 0.7);
    CHECK(back.model.generation.eos == model.generation.eos);
    CHECK(back.model.tokenizer.pieces == model.tokenizer.pieces);
    CHECK(back.model.tokenizer.kinds == model.tokenizer.kinds);
    CHECK(back.model.tokenizer.merges == model.tokenizer.merges);
    CHECK(back.model.tokenizer.added.at(0).content == "b");
    CHECK(back.model.tokenizer.bos == 1);
    CHECK_FALSE(back.model.tokenizer.eos);
    CHECK(back.model.tokenizer.add_space_prefix == false);
    CHECK(back.digests.whole == "whole");
    CHECK(same(cpu::unpack_weights(*back.packed), model.weights));
  }
}

TEST_CASE("an engine file gives back a prepared tokenizer, in its own memory") {
  const Spec spec = testing::odd_specs()[0].second;
  Spec letters = spec;
  letters.vocab = 97;
  Model model = model_of(letters, testing::random_weights(letters, 3));
  model.tokenizer = {};
  for (int byte = 0x20; byte < 0x7F; ++byte) model.tokenizer.pieces.push_back(std::string(1, static_cast<char>(byte)));
  model.tokenizer.pieces.insert(model.tokenizer.pieces.end(), {"th", "the"});
  model.tokenizer.merges = {"t h", "th e"};
  model.tokenizer.pre_tokenizer = "gpt-2";
  model.tokenizer = prepared(model.tokenizer);
  const Written file;
  cpu::write_engine_file(file.path.string(), model, {}, cpu::pack(model.spec, model.weights, 1));
  std::shared_ptr<const Tokenizer> tokenizer;
  {
    const cpu::EngineFile back = cpu::open_engine_file(file.path.string());
    CHECK(back.model.tokenizer.pieces.empty());
    const TokenizerTables whole = cpu::unpack_tokenizer(back.model);
    CHECK(whole.pieces == model.tokenizer.pieces);
    CHECK(whole.merges == model.tokenizer.merges);
    tokenizer = make_tokenizer(back.model.tokenizer);
  }
  CHECK(tokenizer->encode("the") == std::vector<int>{96});  // the file is mapped as long as the tokenizer reads it
  const std::string bytes = file.read(), state(reinterpret_cast<const char*>(model.tokenizer.prepared->bytes.data()), model.tokenizer.prepared->bytes.size());
  std::string other = bytes, memory;
  other[bytes.find(state) + 8 + 90] ^= 1;  // a letter of a piece
  CHECK_THROWS_WITH(cpu::unpack_tokenizer(open(other, memory).model), Catch::Contains("is not what its tokenizer's tables give"));
  letters.vocab = 96;
  model.spec = letters;
  model.weights = testing::random_weights(letters, 3);
  cpu::write_engine_file(file.path.string(), model, {}, cpu::pack(model.spec, model.weights, 1));
  CHECK_THROWS_WITH(cpu::open_engine_file(file.path.string()), Catch::Contains("the tokenizer has 97 ids, the embedding only 96 rows"));
}

TEST_CASE("every format is packed without a loss") {
  testing::Random random(11);
  for (const Format format : {Format::f32, Format::f16, Format::bf16, Format::q4_0, Format::q4_1, Format::q5_0, Format::q5_1, Format::q8_0, Format::q4_k, Format::q5_k, Format::q6_k}) {
    CAPTURE(layout(format).name);
    const Tensor tensor = testing::random_tensor(format, 37, 512, 1.0F, random);
    cpu::PackedMatrix matrix = cpu::detail::shape_of(tensor);
    std::vector<std::byte> memory(matrix.bytes());
    cpu::pack_panels(tensor, 0, matrix.panels(), memory.data());
    matrix.data = memory.data();
    CHECK(same(cpu::unpack_matrix(matrix), tensor));
  }
}

TEST_CASE("a damaged engine file is refused with a sentence, or it is one") {
  const Spec spec = testing::odd_specs()[0].second;
  const Model model = model_of(spec, testing::random_weights(spec, 3));
  const Written file;
  cpu::write_engine_file(file.path.string(), model, {}, cpu::pack(model.spec, model.weights, 1));
  const std::string whole = file.read();
  std::string memory;
  CHECK(open(whole, memory).model.spec == spec);
  for (std::size_t size : {std::size_t{0}, std::size_t{15}, std::size_t{16}, std::size_t{103}, std::size_t{104}, std::size_t{200}, whole.size() / 2, whole.size() - 1}) {
    CAPTURE(size);
    CHECK_THROWS_AS(open(whole.substr(0, size), memory), Error);
    const Written shorter;  // the same on a disk: what is mapped is not looked at beyond its end
    std::ofstream(shorter.path, std::ios::binary) << whole.substr(0, size);
    CHECK_THROWS_AS(cpu::open_engine_file(shorter.path.string()), Error);
  }
  int refused = 0;
  const std::size_t facts = 4096;  // everything before the parts
  for (std::size_t at = 0; at < facts; ++at)
    for (const int byte : {0, 0xff, 0x7f}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(byte);
      try {
        open(damaged, memory);
      } catch (const Error& error) {
        ++refused;
        CHECK(std::string(error.what()).size() > 10);
      }
    }
  CHECK(refused > 500);
  CHECK_THROWS_WITH(cpu::open_engine_file("/nowhere"), Catch::Contains("/nowhere"));
}

TEST_CASE("a model is refused by whoever asks for another before its tokenizer is read") {
  const Spec spec = testing::odd_specs()[1].second;
  const Model model = model_of(spec, testing::random_weights(spec, 3));
  const Written file;
  cpu::write_engine_file(file.path.string(), model, {}, cpu::pack(model.spec, model.weights, 1));
  const auto refuse = [](const Spec& of_file, std::span<const Format> formats) {
    CHECK(of_file.hidden == 33);
    CHECK(std::vector<Format>(formats.begin(), formats.end()) == std::vector<Format>{Format::f32});
    throw Error("another model");
  };
  CHECK_THROWS_WITH(cpu::open_engine_file(file.path.string(), refuse), "another model");
}
