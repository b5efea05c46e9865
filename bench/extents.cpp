// What it buys that the compiler knows the extents: the hot kernels, the same source, once with the model's numbers as constants and once with
// numbers that come at run time. One thread, all variants in turn in every round, medians; both give the same bits, which is checked.
// bench_extents [ROUNDS] prints JSON: nanoseconds of one call.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <diecast/cpu/arena.hpp>
#include <diecast/cpu/attention.hpp>
#include <diecast/cpu/product.hpp>
#include <diecast/cpu/work_buffers.hpp>
#include <diecast/isa.hpp>

namespace {

using namespace diecast;
using namespace diecast::cpu;

std::mt19937 random_bits(1);  // NOLINT: the same numbers in every run

float random_number() { return static_cast<float>(random_bits() % 2001) / 1000.0F - 1.0F; }

struct Variant {
  std::string name;
  std::function<void()> call;
  std::vector<double> ns{};
};

// One kernel in both forms.
struct Pair {
  std::string kernel;
  Variant known, run_time;
  std::function<bool()> same;
};

// A layer's product of some tokens; every call takes the next layer's weights, as a forward pass does.
template <int Cols, int Tokens>
Pair product_pair(int rows, bool wide) {
  constexpr Format format = Format::q4_1;
  constexpr int layers = 30;
  struct State {
    Arena memory;
    std::vector<PackedMatrix> matrices;
    ActivationRows x{Tokens, Cols};
    Rows out[2];
    Segment order;
    Ahead ahead[2];
    std::size_t next[2] = {0, 0};
  };
  const auto state = std::make_shared<State>();
  const PackedMatrix shape{format, rows, Cols, nullptr};
  state->memory = Arena(shape.bytes() * layers);
  for (int layer = 0; layer < layers; ++layer) {
    std::byte* const data = state->memory.data() + shape.bytes() * static_cast<std::size_t>(layer);
    for (std::size_t i = 0; i < shape.bytes(); ++i) data[i] = static_cast<std::byte>(random_bits());
    for (int panel = 0; panel < shape.panels(); ++panel) {  // scales of about 0.01, minima of about -0.1
      std::byte* const scales = data + shape.panel_bytes() * static_cast<std::size_t>(panel) + form_of(format).weight_bytes(Cols);
      for (int block = 0; block < Cols / block_columns; ++block)
        for (int row = 0; row < 16; ++row) {
          const std::uint16_t scale = static_cast<std::uint16_t>(0x2100U + random_bits() % 256), minimum = static_cast<std::uint16_t>(0xae00U + random_bits() % 256);
          std::memcpy(scales + 64 * block + 2 * row, &scale, 2);
          std::memcpy(scales + 64 * block + 32 + 2 * row, &minimum, 2);
        }
    }
    state->matrices.push_back({format, rows, Cols, data});
  }
  for (int token = 0; token < Tokens; ++token) {
    for (int i = 0; i < Cols; ++i) state->x.row(token)[i] = random_number();
    quantise(state->x.view(wide), token);
  }
  state->order = {state->memory.data(), shape.bytes() * layers};
  for (std::size_t which : {0U, 1U}) {
    state->out[which] = Rows(Tokens, rows);
    state->ahead[which] = Ahead({&state->order, 1});
  }
  const auto call = [state, wide]<int Extent>(std::size_t which) {
    return [state, wide, which] {
      const PackedMatrix& matrix = state->matrices[state->next[which]++ % layers];
      Rows& out = state->out[which];
      product<format, Extent>(matrix, nullptr, state->x.view(wide), Tokens, 0, matrix.panels(), {out.row(0), out.stride}, state->ahead[which]);
    };
  };
  const std::string name = "product q4_1 " + std::to_string(rows) + "x" + std::to_string(Cols) + (wide ? ", 15-bit" : ", 8-bit") + ", tokens " + std::to_string(Tokens);
  return {name, {"static", call.template operator()<Cols>(0)}, {"run_time", call.template operator()<run_time>(1)},
          [state] { return state->next[0] == state->next[1] && state->out[0].memory == state->out[1].memory; }};
}

// A full chunk of 256 positions for some queries.
template <int HeadDim>
Pair attention_pair(std::size_t count) {
  struct State {
    std::vector<std::uint16_t> cache;
    std::vector<float> q, scores;
    std::vector<Query> queries;
    std::vector<float> outs[2];
    std::vector<Partial> parts[2];
  };
  const auto state = std::make_shared<State>();
  constexpr std::size_t block = 2 * 16 * HeadDim;
  state->cache.resize(block * (chunk_positions / 16));
  for (auto& half : state->cache) half = static_cast<std::uint16_t>(0x3000U + random_bits() % 2048 + (random_bits() % 2 << 15));
  state->q.resize(count * HeadDim);
  for (float& value : state->q) value = random_number();
  state->scores.resize(count * chunk_positions);
  for (std::size_t i = 0; i < count; ++i) state->queries.push_back({state->q.data() + i * HeadDim, 0, chunk_positions});
  for (std::size_t which : {0U, 1U}) {
    state->outs[which].resize(count * HeadDim);
    state->parts[which].resize(count);
    for (std::size_t i = 0; i < count; ++i) state->parts[which][i].out = state->outs[which].data() + i * HeadDim;
  }
  const auto call = [state, count]<int Extent>(std::size_t which) {
    return [state, count, which] {
      const auto block_at = [&](int i) { return state->cache.data() + block * static_cast<std::size_t>(i); };
      attend_chunk<CacheType::f16, Extent>(0, state->queries.data(), count, HeadDim, block_at, {0.125F, {}}, state->scores.data(), state->parts[which].data());
    };
  };
  return {"attention f16 head " + std::to_string(HeadDim) + ", 256 positions, queries " + std::to_string(count),
          {"static", call.template operator()<HeadDim>(0)}, {"run_time", call.template operator()<0>(1)}, [state] { return state->outs[0] == state->outs[1]; }};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// About a millisecond of calls.
void measure(Variant& variant, std::size_t calls) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < calls; ++i) variant.call();
  variant.ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / static_cast<double>(calls));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 101;
  std::vector<Pair> pairs;
  for (const bool wide : {false, true}) {
    pairs.push_back(product_pair<576, 1>(1536, wide));
    pairs.push_back(product_pair<576, 12>(1536, wide));
    pairs.push_back(product_pair<576, 48>(1536, wide));
    pairs.push_back(product_pair<1536, 1>(576, wide));
    pairs.push_back(product_pair<1536, 12>(576, wide));
    pairs.push_back(product_pair<1536, 48>(576, wide));
  }
  pairs.push_back(attention_pair<64>(1));
  pairs.push_back(attention_pair<64>(3));
  pairs.push_back(attention_pair<64>(48));

  std::vector<std::size_t> calls;
  for (Pair& pair : pairs) {
    for (Variant* variant : {&pair.known, &pair.run_time}) measure(*variant, 4);
    calls.push_back(static_cast<std::size_t>(1e6 / (std::min)(pair.known.ns[0], pair.run_time.ns[0])) + 1);
    pair.known.ns.clear(), pair.run_time.ns.clear();
  }
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Variant* both[] = {&pairs[i].known, &pairs[i].run_time};
      if (round % 2 == 1) std::swap(both[0], both[1]);
      for (Variant* variant : both) measure(*variant, calls[i]);
    }
  std::cout << "{\"isa\": \"" << isa << "\", \"rounds\": " << rounds << ", \"kernels\": [";
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Pair& pair = pairs[i];
    if (!pair.same()) {
      std::cerr << pair.kernel << ": the two forms differ\n";
      return 1;
    }
    std::cout << (i ? ",\n  " : "\n  ") << "{\"kernel\": \"" << pair.kernel << "\", \"static_ns\": " << median(pair.known.ns) << ", \"run_time_ns\": " << median(pair.run_time.ns)
              << ", \"run_time_over_static\": " << median(pair.run_time.ns) / median(pair.known.ns) << "}";
  }
  std::cout << "\n]}\n";
}
