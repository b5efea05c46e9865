// The operations on the host: exact on values whose arithmetic is exact, and against a plain loop in double over odd shapes.
// Every buffer has canaries around it; caches and outputs begin as NaN, so a value that nobody wrote is seen.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <diecast/backend/block_table.hpp>
#include <diecast/kernels/embed.hpp>
#include <diecast/kernels/rms_norm.hpp>
#include <diecast/kernels/rope_append.hpp>

#include "thread_block.hpp"

using namespace diecast::kernels;
using diecast_test::launch;

namespace {

constexpr float unwritten = std::numeric_limits<float>::quiet_NaN();

// A buffer of NaN with 64 canaries on each side.
class Guarded {
 public:
  explicit Guarded(int size) : values_(static_cast<std::size_t>(size) + 2 * guard, unwritten) {
    for (std::size_t i = 0; i < guard; ++i) values_[i] = values_[values_.size() - 1 - i] = canary;
  }
  explicit Guarded(const std::vector<float>& from) : Guarded(static_cast<int>(from.size())) {
    std::copy(from.begin(), from.end(), data());
  }
  float* data() { return values_.data() + guard; }
  float operator[](int i) const { return values_[guard + static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(values_.size() - 2 * guard); }
  bool intact() const {
    for (std::size_t i = 0; i < guard; ++i)
      if (!(values_[i] == canary) || !(values_[values_.size() - 1 - i] == canary)) return false;
    return true;
  }

 private:
  static constexpr std::size_t guard = 64;
  static constexpr float canary = -12345.0f;
  std::vector<float> values_;
};

// Small numbers without a pattern that an indexing fault could keep.
float number(int i) { return static_cast<float>((i * 7919 + 13) % 1009 - 504) / 64.0f; }
std::vector<float> numbers(int count, int from = 0) {
  std::vector<float> out;
  for (int i = 0; i < count; ++i) out.push_back(number(from + i));
  return out;
}

template <int hidden>
void check_embed() {
  const int vocab = 9, positions = 5, rows = 4;
  const std::vector<int> ids{8, 0, 3, 8}, of_row{0, 4, 1, 2};
  Guarded table(numbers(vocab * hidden)), learned(numbers(positions * hidden, 500)), out(rows * hidden), plain(rows * hidden);
  using Absolute = Embed<Hidden{hidden}, PositionScheme::absolute, float>;
  launch<Absolute>(rows, {table.data(), ids.data(), {learned.data(), of_row.data()}, out.data()});
  using Rotary = Embed<Hidden{hidden}, PositionScheme::rotary, float>;
  launch<Rotary>(rows, {table.data(), ids.data(), {}, plain.data()});
  int wrong = 0;
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < hidden; ++i) {
      const float expected = table[ids[static_cast<std::size_t>(row)] * hidden + i];
      wrong += !(plain[row * hidden + i] == expected);
      wrong += !(out[row * hidden + i] == expected + learned[of_row[static_cast<std::size_t>(row)] * hidden + i]);
    }
  CHECK(wrong == 0);
  CHECK(out.intact());
  CHECK(plain.intact());
}

template <int hidden>
void check_rms_norm() {
  const int rows = 3;
  const float epsilon = 1e-5f;
  Guarded in(numbers(rows * hidden)), weight(numbers(hidden, 77)), out(rows * hidden);
  using Op = RmsNorm<Hidden{hidden}>;
  launch<Op>(rows, {in.data(), weight.data(), out.data(), epsilon});
  int wrong = 0;
  for (int row = 0; row < rows; ++row) {
    double squares = 0;
    for (int i = 0; i < hidden; ++i) squares += static_cast<double>(in[row * hidden + i]) * static_cast<double>(in[row * hidden + i]);
    const double scale = 1 / std::sqrt(squares / hidden + static_cast<double>(epsilon));
    for (int i = 0; i < hidden; ++i) {
      const double expected = static_cast<double>(in[row * hidden + i]) * scale * static_cast<double>(weight[i]);
      // The sum of positive terms errs by at most its depth in units of 2^-24, halved by the root; then five roundings.
      const double bound = std::abs(expected) * 0x1p-24 * (0.5 * (hidden / Op::threads + 1 + 5 + 8) + 6);
      wrong += !(std::abs(static_cast<double>(out[row * hidden + i]) - expected) <= bound);
    }
  }
  CHECK(wrong == 0);
  CHECK(out.intact());
  for (int again = 0; again < 3; ++again) {  // C4: the same bits every time
    Guarded repeated(rows * hidden);
    launch<Op>(rows, {in.data(), weight.data(), repeated.data(), epsilon});
    int different = 0;
    for (int i = 0; i < repeated.size(); ++i) different += !(repeated[i] == out[i]);
    CHECK(different == 0);
  }
}

// Three sequences whose blocks are interleaved; every row lands in the slot that BlockTable names, everything else stays untouched.
template <HeadShape shape, RotaryDim rotary>
void check_rope_append() {
  constexpr int d = shape.head_dim, half = rotary.value / 2, kv_width = shape.kv_heads * d, q_width = shape.heads * d;
  constexpr int row_width = q_width + 2 * kv_width, positions = 40;
  diecast::BlockTable table(8 * diecast::BlockTable::block_tokens);
  std::vector<int> of_row, sequences;
  const int lengths[] = {33, 1, 17};
  for (int sequence = 0; sequence < 3; ++sequence) table.add();
  for (int step = 0; step < 33; ++step)
    for (int sequence = 0; sequence < 3; ++sequence)
      if (step < lengths[sequence]) {
        const int position = table.append(sequence);
        if (step % 16 < 2 || step % 16 == 15) {  // the borders of blocks are enough
          of_row.push_back(position);
          sequences.push_back(sequence);
        }
      }
  const int rows = static_cast<int>(of_row.size()), per_sequence = 3, slots = table.capacity();
  std::vector<int> blocks(3 * per_sequence, -1000000);  // an entry that must not be read
  for (int sequence = 0; sequence < 3; ++sequence)
    for (int at = 0; at < lengths[sequence]; at += 16)
      blocks[static_cast<std::size_t>(sequence * per_sequence + at / 16)] = static_cast<int>(table.slot(sequence, at)) / 16;

  std::vector<float> cosines, sines;
  for (int position = 0; position < positions; ++position)
    for (int pair = 0; pair < half; ++pair) {
      const double angle = position * std::pow(10000.0, -2.0 * pair / rotary.value);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  const std::vector<float> before = numbers(rows * row_width);
  Guarded qkv(before), k_cache(slots * kv_width), v_cache(slots * kv_width);
  launch<RopeAppend<shape, rotary, float>>(rows, {qkv.data(), qkv.data() + q_width, qkv.data() + q_width + kv_width, row_width, row_width,
                                                  cosines.data(), sines.data(), of_row.data(), sequences.data(), {blocks.data(), per_sequence},
                                                  k_cache.data(), v_cache.data()});

  // One head of `from` at a position, by the definition in double.
  const auto expected = [&](int at, int i, int position) {
    const auto value = [&](int k) { return static_cast<double>(before[static_cast<std::size_t>(at + k)]); };
    if (i >= rotary.value) return value(i);
    const double angle = position * std::pow(10000.0, -2.0 * (i % half) / rotary.value);
    return i < half ? value(i) * std::cos(angle) - value(i + half) * std::sin(angle) : value(i) * std::cos(angle) + value(i - half) * std::sin(angle);
  };
  const double bound = 4 * 0x1p-24 * 2 * 8;  // four roundings, two terms, values up to 8
  int wrong = 0;
  std::vector<bool> written(static_cast<std::size_t>(slots));
  for (int row = 0; row < rows; ++row) {
    const int position = of_row[static_cast<std::size_t>(row)], base = row * row_width;
    const int slot = static_cast<int>(table.slot(sequences[static_cast<std::size_t>(row)], position));
    written[static_cast<std::size_t>(slot)] = true;
    for (int i = 0; i < q_width; ++i) wrong += !(std::abs(static_cast<double>(qkv[base + i]) - expected(base + i / d * d, i % d, position)) <= bound);
    for (int i = 0; i < kv_width; ++i) {
      wrong += !(std::abs(static_cast<double>(k_cache[slot * kv_width + i]) - expected(base + q_width + i / d * d, i % d, position)) <= bound);
      wrong += !(v_cache[slot * kv_width + i] == before[static_cast<std::size_t>(base + q_width + kv_width + i)]);
      wrong += !(qkv[base + q_width + i] == before[static_cast<std::size_t>(base + q_width + i)]);  // K and V themselves stay
    }
  }
  for (int slot = 0; slot < slots; ++slot)
    if (!written[static_cast<std::size_t>(slot)])
      for (int i = 0; i < kv_width; ++i) wrong += !std::isnan(k_cache[slot * kv_width + i]) || !std::isnan(v_cache[slot * kv_width + i]);
  CHECK(wrong == 0);
  CHECK(qkv.intact());
  CHECK(k_cache.intact());
  CHECK(v_cache.intact());
}

}  // namespace

TEST_CASE("embedding rows, with and without learned positions, exactly") {
  check_embed<1>();
  check_embed<33>();
  check_embed<576>();
  check_embed<3420>();
}

TEST_CASE("embedding rows stored in 16 bits") {
  const std::vector<Half> table{{0x3c00}, {0xc000}, {0x0001}, {0x7bff}};  // 1, -2, 2^-24, 65504
  const std::vector<int> ids{1, 0};
  Guarded out(4);
  launch<Embed<Hidden{2}, PositionScheme::rotary, Half>>(2, {table.data(), ids.data(), {}, out.data()});
  CHECK(out[0] == 0x1p-24f);
  CHECK(out[1] == 65504.0f);
  CHECK(out[2] == 1.0f);
  CHECK(out[3] == -2.0f);
}

TEST_CASE("RMSNorm of values of equal size gives the weights exactly") {
  std::vector<float> in, weight;
  for (int i = 0; i < 100; ++i) {
    in.push_back(i % 3 == 0 ? -4.0f : 4.0f);
    weight.push_back(static_cast<float>(i));
  }
  Guarded out(100);
  launch<RmsNorm<Hidden{100}>>(1, {in.data(), weight.data(), out.data(), 0.0f});
  for (int i = 0; i < 100; ++i) CHECK(out[i] == (i % 3 == 0 ? -weight[static_cast<std::size_t>(i)] : weight[static_cast<std::size_t>(i)]));
}

TEST_CASE("C4: RMSNorm within its bound and bit-identical when repeated, over odd widths") {
  check_rms_norm<33>();
  check_rms_norm<576>();
  check_rms_norm<1024>();
  check_rms_norm<1025>();
  check_rms_norm<3420>();
  check_rms_norm<4097>();
}

TEST_CASE("RMSNorm may write over its input, and carries NaN to its whole row and no further") {
  std::vector<float> rows = numbers(2 * 40);
  const std::vector<float> weight(40, 1.0f);
  rows[7] = unwritten;
  launch<RmsNorm<Hidden{40}>>(2, {rows.data(), weight.data(), rows.data(), 1e-5f});
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK(std::isnan(rows[i]));
    CHECK(std::isfinite(rows[40 + i]));
  }
}

TEST_CASE("R1: half-split pairs, position 1, base 10000") {
  // x = [1, 2, 3, 4], turned by angles 1 and 0.01; worked out in plain Python.
  const std::vector<float> cosines{1.0f, 1.0f, static_cast<float>(std::cos(1.0)), static_cast<float>(std::cos(0.01))};
  const std::vector<float> sines{0.0f, 0.0f, static_cast<float>(std::sin(1.0)), static_cast<float>(std::sin(0.01))};
  std::vector<float> q{1, 2, 3, 4}, k{1, 2, 3, 4}, v{5, 6, 7, 8};
  const int position = 1, sequence = 0, block = 0;
  Guarded k_cache(16 * 4), v_cache(16 * 4);
  launch<RopeAppend<HeadShape{1, 1, 4}, RotaryDim{4}, float>>(
      1, {q.data(), k.data(), v.data(), 4, 4, cosines.data(), sines.data(), &position, &sequence, {&block, 1}, k_cache.data(), v_cache.data()});
  const double right[] = {-1.9841106, 1.9599007, 2.4623779, 4.0197997};
  for (int i = 0; i < 4; ++i) {
    CHECK(std::abs(static_cast<double>(q[static_cast<std::size_t>(i)]) - right[i]) <= 1e-6);
    CHECK(std::abs(static_cast<double>(k_cache[4 + i]) - right[i]) <= 1e-6);
    CHECK(v_cache[4 + i] == static_cast<float>(5 + i));
  }
}

TEST_CASE("RoPE and the append over shapes that differ on every axis, several sequences, interleaved blocks") {
  STATIC_REQUIRE(cache_block_tokens == diecast::BlockTable::block_tokens);
  check_rope_append<HeadShape{9, 3, 64}, RotaryDim{64}>();
  check_rope_append<HeadShape{7, 1, 80}, RotaryDim{32}>();
  check_rope_append<HeadShape{4, 4, 6}, RotaryDim{2}>();
}

TEST_CASE("a slot beyond 2^31 is addressed in 64 bits") {
  const std::vector<int> blocks{3, 2'000'000'000};
  diecast_test::ThreadBlock block(32);
  diecast_test::ThreadBlock::Context ctx(block, 0, 0);
  const PagedTable table{blocks.data(), 2};
  CHECK(table.slot(ctx, 0, 31) == 32'000'000'015);
  CHECK(table.slot(ctx, 0, 15) == 63);
}
