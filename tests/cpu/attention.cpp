// Attention over the packed cache against the reference's in double, at chunk borders and with windows; and its identity: the same bits whoever
// reads beside a query, and whether chunks are merged as they come or afterwards.
#include <diecast/cpu/attention.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <diecast/reference/attention.hpp>

#include "inputs.hpp"

using namespace diecast;
using cpu::CacheType;
using testing::Random;

namespace {

Spec shape(int group, int head_dim) {
  return {.hidden = 32,
          .layers = 2,
          .vocab = 10,
          .context = 1024,
          .attention = {.heads = 2 * group, .kv_heads = 2, .head_dim = head_dim},
          .position = Rope{.theta = 10'000},
          .norm = RmsNorm{.epsilon = 1e-5},
          .mlp = GatedMlp{.width = 32, .activation = Activation::silu},
          .head = TiedHead{}};
}

// Keys and values of two sequences whose blocks lie between each other, in one head of one layer; other heads and layers hold other numbers.
template <CacheType type>
struct Filled {
  static constexpr int layer = 1, head = 1;
  Spec spec;
  BlockTable table;
  cpu::KvCache cache;
  int sequence, positions;
  std::vector<float> keys, values;  // [positions][head_dim]

  Filled(int head_dim, int count, Random& random)
      : spec(shape(1, head_dim)), table(2 * count + 64), cache(spec, table.capacity(), type), sequence(0), positions(count),
        keys(random.numbers(count * head_dim)), values(random.numbers(count * head_dim)) {
    const int other = table.add();
    sequence = table.add();
    const std::vector<float> wrong(static_cast<std::size_t>(head_dim), 1e4F);
    for (int i = 0; i < count; ++i) {
      for (const int s : {other, sequence}) {
        const std::size_t slot = table.slot(s, table.append(s));
        for (int l = 0; l < 2; ++l)
          for (int h = 0; h < 2; ++h) {
            const bool own = s == sequence && l == layer && h == head;
            const auto at = static_cast<std::size_t>(i * head_dim);
            cache.append<type>(l, h, slot, own ? keys.data() + at : wrong.data(), own ? values.data() + at : wrong.data());
          }
      }
    }
    // What an earlier sequence left behind the last position is not read: it may be anything.
    const std::vector<float> left(static_cast<std::size_t>(head_dim), std::nanf(""));
    for (int i = count; i % 16 != 0; ++i) cache.append<type>(layer, head, table.slot(sequence, table.append(sequence)), left.data(), left.data());
  }
  auto block() const {
    return [this](int i) { return cache.block<type>(layer, head, table.slot(sequence, 16 * i) / 16); };
  }
};

struct Answers {
  std::vector<float> running, merged;  // [queries][head_dim]
};

// These queries together, chunk by chunk; merged as they come, and after all are there.
template <CacheType type, int HeadDim>
Answers attend(const Filled<type>& filled, const std::vector<cpu::Query>& queries, const cpu::AttentionNumbers& numbers) {
  const int head_dim = filled.spec.attention.head_dim;
  const auto count = queries.size(), width = filled.cache.width(), size = static_cast<std::size_t>(head_dim);
  const auto chunks = static_cast<std::size_t>((filled.positions + cpu::chunk_positions - 1) / cpu::chunk_positions);
  std::vector<float> scores(count * cpu::chunk_positions), outs(count * width), parts_outs(chunks * count * width);
  std::vector<cpu::Partial> states(count);
  std::vector<std::vector<cpu::Partial>> parts(chunks, std::vector<cpu::Partial>(count));
  for (std::size_t q = 0; q < count; ++q) states[q].out = outs.data() + q * width;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t q = 0; q < count; ++q) parts[chunk][q].out = parts_outs.data() + (chunk * count + q) * width;
    cpu::attend_chunk<type, HeadDim>(static_cast<int>(chunk), queries.data(), count, head_dim, filled.block(), numbers, scores.data(), parts[chunk].data());
    for (std::size_t q = 0; q < count; ++q)
      if (cpu::sees(queries[q], static_cast<int>(chunk))) cpu::merge(states[q], parts[chunk][q], width);
  }
  Answers answers;
  for (std::size_t q = 0; q < count; ++q) {
    std::vector<float> out(width);
    cpu::Partial state;
    state.out = out.data();
    for (std::size_t chunk = 0; chunk < chunks; ++chunk)
      if (cpu::sees(queries[q], static_cast<int>(chunk))) cpu::merge(state, parts[chunk][q], width);
    for (std::size_t i = 0; i < size; ++i) {
      answers.running.push_back(states[q].out[i] / states[q].total);
      answers.merged.push_back(out[i] / state.total);
    }
  }
  return answers;
}

// How far a stored number may be from what was put in, relative to it; with q8 relative to the greatest of its vector, which is 1 at most.
constexpr double stored(CacheType type) { return type == CacheType::f32 ? 0 : type == CacheType::f16 ? 0x1p-11 : type == CacheType::bf16 ? 0x1p-8 : 0.5 / 127 * (1 + 0x1p-20); }

template <CacheType type, int HeadDim = 0>
void check(int head_dim, int positions, int count, int window, std::optional<float> soft_cap, std::uint64_t seed) {
  Random random(seed);
  const Filled<type> filled(head_dim, positions, random);
  const cpu::AttentionNumbers numbers{static_cast<float>(1.5 / std::sqrt(head_dim)), soft_cap};
  const std::vector<float> q = random.numbers(count * head_dim);
  std::vector<cpu::Query> queries;
  for (int i = 0; i < count; ++i) {  // as of consecutive rows, the last of which sees all
    const int last = std::max(1, positions - count + 1 + i);
    queries.push_back({q.data() + static_cast<std::size_t>(i * head_dim), window > 0 ? std::max(0, last - window) : 0, last});
  }
  const Answers answers = attend<type, HeadDim>(filled, queries, numbers);
  REQUIRE(testing::same_bits(answers.running, answers.merged));
  for (int i = 0; i < count; ++i) {
    const cpu::Query& query = queries[static_cast<std::size_t>(i)];
    using Doubles = reference::Vector<double>;
    const auto vectors = [&](const std::vector<float>& all) {
      return [&](int at) -> Doubles { return Eigen::Map<const Eigen::VectorXf>(all.data() + static_cast<std::size_t>((query.first + at) * head_dim), head_dim).cast<double>(); };
    };
    const Doubles of = Eigen::Map<const Eigen::VectorXf>(query.values, head_dim).cast<double>();
    const Doubles right = reference::attend<double>(of, query.last - query.first, {numbers.scale, soft_cap ? std::optional<double>(*soft_cap) : std::nullopt}, vectors(filled.keys),
                                                    vectors(filled.values));
    // A score errs by d: its products' rounding, and what the cache rounds off the keys, each at most of the sum of |q k| * scale. Weights
    // then err by e^2d - 1, and values, at most 1 in size, by what the cache rounds off them; the weighted sum rounds once for each position of
    // a chunk, but not by more than its size, 1, each. A soft cap only shrinks errors, but for tanh's own.
    double greatest = 0, of_one = 0;  // of_one: with keys of the greatest size
    for (int k = 0; k < head_dim; ++k) of_one += std::fabs(static_cast<double>(query.values[k])) * numbers.scale;
    for (int at = query.first; at < query.last; ++at) {
      double sum = 0;
      for (int k = 0; k < head_dim; ++k) sum += std::fabs(static_cast<double>(query.values[k]) * filled.keys[static_cast<std::size_t>(at * head_dim + k)]);
      greatest = std::fmax(greatest, sum * numbers.scale);
    }
    const double d = (type == CacheType::q8 ? of_one : greatest) * stored(type) + greatest * (head_dim + 6) * 0x1p-24 + (soft_cap ? *soft_cap * 3e-7 : 0) + 4e-7;
    const double bound = (std::exp(2 * d) - 1) + stored(type) + 256 * 0x1p-24;
    for (int k = 0; k < head_dim; ++k) {
      const float y = answers.running[static_cast<std::size_t>(i * head_dim + k)];
      CAPTURE(head_dim, positions, count, window, i, k, y, right[k], bound);
      REQUIRE(std::fabs(y - right[k]) <= bound);
    }
    // Alone, the same bits.
    const Answers alone = attend<type, HeadDim>(filled, {query}, numbers);
    REQUIRE(testing::same_bits(alone.running, {answers.running.data() + static_cast<std::size_t>(i * head_dim), static_cast<std::size_t>(head_dim)}));
  }
}

}  // namespace

TEST_CASE("attention over an f32 cache, at the borders of chunks") {
  std::uint64_t seed = 50;
  for (const int positions : {1, 2, 15, 16, 17, 255, 256, 257, 700})
    for (const int count : {1, 2, 3, 4, 7, 13}) check<CacheType::f32>(10, positions, std::min(count, positions), 0, {}, ++seed);
}

TEST_CASE("attention for head sizes 10, 64, 80 and 256, the size known to the compiler or not") {
  check<CacheType::f32>(64, 300, 9, 0, {}, 1);
  check<CacheType::f32, 64>(64, 300, 9, 0, {}, 1);
  check<CacheType::f32>(80, 530, 7, 0, {}, 2);
  check<CacheType::f32>(256, 270, 4, 0, {}, 3);
  check<CacheType::f32>(1, 40, 2, 0, {}, 4);
}

TEST_CASE("attention over f16, bf16 and q8 caches") {
  for (const int head_dim : {10, 64, 80}) {
    for (const int positions : {1, 17, 257, 513}) check<CacheType::q8>(head_dim, positions, std::min(7, positions), 0, {}, 11);
    check<CacheType::q8>(head_dim, 300, 5, 40, 2.0F, 12);
    check<CacheType::f16>(head_dim, 513, 7, 0, {}, 5);
    check<CacheType::bf16>(head_dim, 513, 7, 0, {}, 6);
  }
  check<CacheType::f16>(256, 33, 3, 0, {}, 7);
}

TEST_CASE("attention with a window, also over the border of chunks, and with a soft cap") {
  for (const int window : {1, 5, 16, 100, 256, 300, 600})
    for (const int positions : {5, 256, 258, 520, 700}) check<CacheType::f32>(14, positions, std::min(5, positions), window, {}, static_cast<std::uint64_t>(window));
  check<CacheType::f32>(14, 300, 6, 0, 5.0F, 8);
  check<CacheType::f16>(14, 300, 6, 40, 0.5F, 9);
}

TEST_CASE("keys and values are stored rounded to the nearest, where they belong") {
  Random random(60);
  const auto check_stored = [&]<CacheType type>(const auto& as_stored) {
    const Filled<type> filled(46, 20, random);
    for (int i = 0; i < 20; ++i) {
      const auto* block = filled.block()(i / 16);
      for (int k = 0; k < 46; ++k) {
        const auto at = static_cast<std::size_t>(i * 46 + k);
        CHECK(block[16 * k + i % 16] == as_stored(filled.keys[at]));
        CHECK(block[16 * 46 + i % 16 * 48 + k] == as_stored(filled.values[at]));
      }
    }
  };
  check_stored.operator()<CacheType::f32>([](float x) { return x; });
  check_stored.operator()<CacheType::f16>(float_to_half);
  check_stored.operator()<CacheType::bf16>(float_to_bfloat);
}

TEST_CASE("eight bits are stored with what they are multiplied by") {
  Random random(62);
  const Filled<CacheType::q8> filled(46, 20, random);
  for (int i = 0; i < 20; ++i) {
    const auto* block = filled.block()(i / 16);
    const float* scales = reinterpret_cast<const float*>(block + 16 * (46 + 48));
    const auto check_vector = [&](const std::vector<float>& from, float scale, const auto& at) {
      const float* vector = from.data() + 46 * i;
      float most = 0;
      for (int k = 0; k < 46; ++k) most = std::max(most, std::fabs(vector[k]));
      CHECK(scale == most / 127);
      for (int k = 0; k < 46; ++k) CHECK(std::fabs(scale * static_cast<float>(at(k)) - vector[k]) <= 0.5F * scale * (1 + 0x1p-18F));
    };
    check_vector(filled.keys, scales[i % 16], [&](int k) { return block[16 * k + i % 16]; });
    check_vector(filled.values, scales[16 + i % 16], [&](int k) { return block[16 * 46 + i % 16 * 48 + k]; });
  }
}

TEST_CASE("what is too great for a half becomes its greatest, and no number stays none") {
  const Spec spec = shape(1, 16);
  const cpu::KvCache cache(spec, 16, CacheType::f16), eight(spec, 16, CacheType::q8);
  std::vector<float> numbers(16, 0.0F);
  numbers[0] = 1e6F;
  numbers[1] = -INFINITY;
  numbers[2] = std::nanf("");
  cache.append<CacheType::f16>(0, 0, 3, numbers.data(), numbers.data());
  const auto* block = cache.block<CacheType::f16>(0, 0, 0);
  CHECK(half_to_float(block[3]) == 65504.0F);
  CHECK(half_to_float(block[16 + 3]) == -65504.0F);
  CHECK(std::isnan(half_to_float(block[32 + 3])));
  eight.append<CacheType::q8>(0, 0, 3, numbers.data(), numbers.data());
  CHECK(std::isnan(reinterpret_cast<const float*>(eight.block<CacheType::q8>(0, 0, 0) + 16 * 32)[3]));
}

TEST_CASE("scores far apart and all alike neither overflow nor vanish") {
  Random random(61);
  const Filled<CacheType::f32> filled(16, 600, random);
  std::vector<float> q(16, 1e4F);
  const Answers huge = attend<CacheType::f32, 0>(filled, {{q.data(), 0, 600}}, {1, {}});
  const Answers zero = attend<CacheType::f32, 0>(filled, {{q.data(), 0, 600}}, {0, {}});
  int best = 0;
  double most = -1e30;
  for (int i = 0; i < 600; ++i) {
    double sum = 0;
    for (int k = 0; k < 16; ++k) sum += filled.keys[static_cast<std::size_t>(16 * i + k)];
    if (sum > most) most = sum, best = i;
  }
  for (std::size_t k = 0; k < 16; ++k) {
    CHECK(huge.running[k] == filled.values[16 * static_cast<std::size_t>(best) + k]);  // one takes all
    double mean = 0;
    for (std::size_t i = 0; i < 600; ++i) mean += filled.values[16 * i + k] / 600.0;
    CHECK(std::fabs(zero.running[k] - mean) <= 256 * 0x1p-24);
  }
}
