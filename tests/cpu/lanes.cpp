// Every primitive of sixteen lanes against plain scalar code, for the instruction set that this unit is compiled for.
#include <diecast/cpu/lanes.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cfenv>
#include <limits>
#include <numeric>

#include "inputs.hpp"

using namespace diecast;
using testing::Random;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
using Sixteen = std::array<float, 16>;
using SixteenInts = std::array<std::int32_t, 16>;

Sixteen some(std::uint64_t seed) {
  Random random(seed);
  Sixteen x;
  for (float& one : x) one = 10 * random.number();
  return x;
}
Sixteen values(const cpu::Floats& x) {
  Sixteen out;
  cpu::store(out.data(), x);
  return out;
}
SixteenInts integers(const cpu::Ints& x) {  // the bits of a float are any 32
  const Sixteen out = values(cpu::as_floats(x));
  return std::bit_cast<SixteenInts>(out);
}
cpu::Ints ints(const SixteenInts& x) {
  const auto floats = std::bit_cast<Sixteen>(x);
  return cpu::as_ints(cpu::load(floats.data()));
}
using Bytes = std::array<std::uint8_t, 64>;
Bytes some_bytes(std::uint64_t seed) {
  Random random(seed);
  Bytes x;
  for (auto& one : x) one = static_cast<std::uint8_t>(random.bits());
  return x;
}

// What dot<Bits> gives, lane by lane, in 64 bits.
template <int Bits>
void check_dot(const Bytes& weights, const std::array<std::int8_t, 4>& numbers, std::int32_t start) {
  const SixteenInts sums = integers(cpu::dot<Bits>(cpu::broadcast_int(start), cpu::load_bytes(weights.data()), cpu::quad(numbers.data())));
  for (std::size_t lane = 0; lane < 16; ++lane) {
    std::int64_t right = start;
    for (std::size_t i = 0; i < 4; ++i) right += static_cast<std::int64_t>(weights[4 * lane + i]) * numbers[i];
    CAPTURE(Bits, lane, +numbers[0], +numbers[1]);
    REQUIRE(sums[lane] == right);
  }
}

template <int Bits>
void check_dots() {
  constexpr auto most = static_cast<std::uint8_t>((1 << Bits) - 1);
  Bytes full, none{};
  full.fill(most);
  for (const auto& numbers : std::vector<std::array<std::int8_t, 4>>{{127, 127, 127, 127}, {-127, -127, -127, -127}, {127, -127, 127, -127}, {-127, 127, 127, -127}, {0, 0, 0, 0}}) {
    check_dot<Bits>(full, numbers, 0);
    check_dot<Bits>(none, numbers, -7);
  }
  Random random(Bits);
  for (int round = 0; round < 200; ++round) {
    Bytes weights = some_bytes(static_cast<std::uint64_t>(round));
    for (auto& one : weights) one = round % 3 == 0 ? (one & 1 ? most : std::uint8_t{0}) : static_cast<std::uint8_t>(one & most);
    std::array<std::int8_t, 4> numbers;
    for (auto& one : numbers) one = static_cast<std::int8_t>(round % 2 == 0 ? (random.bits() & 1 ? 127 : -127) : random.integer(-127, 127));
    check_dot<Bits>(weights, numbers, random.integer(-100'000, 100'000));
  }
}

template <int Shift, int Mask>
void check_put_bits() {
  const Bytes low = some_bytes(1), high = some_bytes(2);
  Bytes masked = low;  // what is put stands above what is there
  for (auto& one : masked) one &= static_cast<std::uint8_t>(~Mask);
  // Seen through the product with 1, 0, 0, 0 and so on: there is no store of bytes.
  for (std::size_t i = 0; i < 4; ++i) {
    std::array<std::int8_t, 4> one{};
    one[i] = 1;
    const SixteenInts out = integers(cpu::dot<8>(cpu::zero_ints(), cpu::put_bits<Shift, Mask>(cpu::load_bytes(masked.data()), cpu::load_bytes(high.data())), cpu::quad(one.data())));
    for (std::size_t lane = 0; lane < 16; ++lane) {
      const int byte = high[4 * lane + i], shifted = Shift >= 0 ? byte << (Shift >= 0 ? Shift : 0) : byte >> (Shift < 0 ? -Shift : 0);
      CAPTURE(Shift, Mask, lane, i);
      REQUIRE(out[lane] == (masked[4 * lane + i] | (shifted & Mask)));
    }
  }
}

template <class F>
void check_bytes(const F& vector, int (*scalar)(int)) {
  const Bytes x = some_bytes(3);
  for (std::size_t i = 0; i < 4; ++i) {
    std::array<std::int8_t, 4> one{};
    one[i] = 1;
    const SixteenInts out = integers(cpu::dot<8>(cpu::zero_ints(), vector(cpu::load_bytes(x.data())), cpu::quad(one.data())));
    for (std::size_t lane = 0; lane < 16; ++lane) REQUIRE(out[lane] == scalar(x[4 * lane + i]));
  }
}

}  // namespace

TEST_CASE("lanes: arithmetic is that of single floats") {
  const Sixteen x = some(1), y = some(2), z = some(3);
  const cpu::Floats a = cpu::load(x.data()), b = cpu::load(y.data()), c = cpu::load(z.data());
  const auto sum = values(a + b), difference = values(a - b), product = values(a * b), quotient = values(a / b), fused = values(cpu::fma(a, b, c));
  const auto most = values(cpu::larger(a, b)), least = values(cpu::smaller(a, b)), size = values(cpu::abs(a)), chosen = values(cpu::where_less(a, b, c, a));
  for (std::size_t i = 0; i < 16; ++i) {
    CAPTURE(i);
    CHECK(sum[i] == x[i] + y[i]);
    CHECK(difference[i] == x[i] - y[i]);
    CHECK(product[i] == x[i] * y[i]);
    CHECK(quotient[i] == x[i] / y[i]);
    CHECK(std::fabs(fused[i] - (static_cast<double>(x[i]) * y[i] + z[i])) <= 0x1p-23 * (std::fabs(x[i] * y[i]) + std::fabs(z[i])));
    CHECK(most[i] == (x[i] > y[i] ? x[i] : y[i]));
    CHECK(least[i] == (x[i] < y[i] ? x[i] : y[i]));
    CHECK(size[i] == std::fabs(x[i]));
    CHECK(chosen[i] == (x[i] < y[i] ? z[i] : x[i]));
  }
  for (const float one : values(cpu::broadcast(1.25F))) CHECK(one == 1.25F);
#if defined(__FMA__)
  for (std::size_t i = 0; i < 16; ++i) CHECK(fused[i] == std::fma(x[i], y[i], z[i]));
#endif
}

TEST_CASE("lanes: max and min take their second operand where there is a NaN") {
  Sixteen x = some(1), y = some(2);
  x[3] = not_a_number;
  y[11] = not_a_number;
  x[15] = y[15] = not_a_number;
  const cpu::Floats a = cpu::load(x.data()), b = cpu::load(y.data());
  for (const Sixteen& out : {values(cpu::larger(a, b)), values(cpu::smaller(a, b))}) {
    CHECK(out[3] == y[3]);
    CHECK(std::isnan(out[11]));
    CHECK(std::isnan(out[15]));
  }
  const auto chosen = values(cpu::where_less(a, b, cpu::broadcast(1), cpu::broadcast(2)));  // not less
  CHECK(chosen[3] == 2);
  CHECK(chosen[11] == 2);
}

TEST_CASE("lanes: tails are read and written to their last value and not beyond") {
  const Sixteen x = some(4), y = some(5);
  for (int count = 1; count <= 20; ++count) {
    // The values end where the vector's memory ends: a read behind them is seen by a sanitizer.
    const std::vector<float> exact(x.begin(), x.begin() + (count < 16 ? count : 16));
    const Sixteen loaded = values(cpu::load_tail(exact.data(), count));
    std::vector<float> room(static_cast<std::size_t>(count < 16 ? count : 16), 77.0F);
    cpu::store_tail(room.data(), cpu::load(y.data()), count);
    Sixteen around;
    around.fill(77);
    cpu::store_tail(around.data(), cpu::load(y.data()), count);
    for (int i = 0; i < 16; ++i) {
      const auto at = static_cast<std::size_t>(i);
      CAPTURE(count, i);
      CHECK(loaded[at] == (i < count ? x[at] : 0.0F));
      CHECK(around[at] == (i < count ? y[at] : 77.0F));
      if (i < count) CHECK(room[at] == y[at]);
    }
  }
  const std::vector<float> none;
  for (const float one : values(cpu::load_first(none.data(), 0))) CHECK(one == 0);
  cpu::store_first(static_cast<float*>(nullptr), cpu::load(y.data()), 0);
}

TEST_CASE("lanes: within takes the lanes of a range and no other") {
  const Sixteen x = some(6), y = some(7);
  for (int from = 0; from <= 16; ++from)
    for (int to = 0; to <= 16; ++to) {
      const auto out = values(cpu::within(from, to, cpu::load(x.data()), cpu::load(y.data())));
      for (int i = 0; i < 16; ++i) {
        const auto at = static_cast<std::size_t>(i);
        CAPTURE(from, to, i);
        REQUIRE(out[at] == (i >= from && i < to ? x[at] : y[at]));
      }
    }
  Sixteen wrong;
  wrong.fill(not_a_number);
  const auto out = values(cpu::within(2, 5, cpu::load(x.data()), cpu::load(wrong.data())));
  for (std::size_t i = 0; i < 16; ++i) CHECK(std::isnan(out[i]) == !(i >= 2 && i < 5));
}

TEST_CASE("lanes: a sum adds halves, then quarters, in one order everywhere") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Sixteen x = some(seed);
    for (std::size_t i = 0; i < 16; ++i) x[i] = std::ldexp(x[i], static_cast<int>(seed * i % 23));  // so that another order gives other bits
    Sixteen folded = x;
    for (std::size_t half = 8; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) folded[i] += folded[i + half];
    CHECK(cpu::sum(cpu::load(x.data())) == folded[0]);
    CHECK(cpu::greatest(cpu::load(x.data())) == *std::max_element(x.begin(), x.end()));
  }
  for (std::size_t at = 0; at < 16; ++at) {
    Sixteen x{};
    x.fill(-infinity);
    x[at] = -3;
    CHECK(cpu::greatest(cpu::load(x.data())) == -3);
    x.fill(0);
    x[at] = not_a_number;
    CHECK(std::isnan(cpu::sum(cpu::load(x.data()))));
  }
}

TEST_CASE("lanes: integers") {
  Random random(8);
  for (int round = 0; round < 20; ++round) {
    SixteenInts x, y;
    for (std::size_t i = 0; i < 16; ++i) x[i] = random.integer(-5'000'000, 5'000'000), y[i] = random.integer(-5'000'000, 5'000'000);
    const auto sum = integers(ints(x) + ints(y)), difference = integers(ints(x) - ints(y)), left = integers(cpu::shift_left<3>(ints(x))), right = integers(cpu::shift_right<4>(ints(x)));
    const auto floats = values(cpu::to_floats(ints(x)));
    for (std::size_t i = 0; i < 16; ++i) {
      CHECK(sum[i] == x[i] + y[i]);
      CHECK(difference[i] == x[i] - y[i]);
      CHECK(left[i] == x[i] * 8);
      CHECK(right[i] == static_cast<int>(std::floor(x[i] / 16.0)));
      CHECK(floats[i] == static_cast<float>(x[i]));
    }
    CHECK(cpu::sum(ints(x)) == std::accumulate(x.begin(), x.end(), 0));
  }
  for (const int one : integers(cpu::broadcast_int(-12345))) CHECK(one == -12345);
  for (const int one : integers(cpu::zero_ints())) CHECK(one == 0);
  const Bytes bytes = some_bytes(9);
  const auto is_unsigned = integers(cpu::load_unsigned_bytes(bytes.data())), is_signed = integers(cpu::load_signed_bytes(reinterpret_cast<const std::int8_t*>(bytes.data())));
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(is_unsigned[i] == bytes[i]);
    CHECK(is_signed[i] == static_cast<std::int8_t>(bytes[i]));
  }
}

TEST_CASE("lanes: rounding is to the nearest, ties to even, and bytes are stored in order") {
  REQUIRE(std::fegetround() == FE_TONEAREST);
  for (int first = -16256 * 4; first <= 16256 * 4; first += first >= -600 && first < 600 ? 16 : 16 * 5) {  // quarters, ties among them
    Sixteen x;
    for (int i = 0; i < 16; ++i) x[static_cast<std::size_t>(i)] = std::fmin(16256.0F, static_cast<float>(first + i) / 4);
    const auto out = integers(cpu::round_to_ints(cpu::load(x.data())));
    for (std::size_t i = 0; i < 16; ++i) {
      CAPTURE(x[i]);
      CHECK(out[i] == static_cast<int>(std::nearbyint(x[i])));
    }
  }
  SixteenInts small;
  for (int first = -127; first <= 112; ++first) {
    std::iota(small.begin(), small.end(), first);
    std::array<std::int8_t, 16> bytes;
    cpu::store_bytes(bytes.data(), ints(small));
    for (std::size_t i = 0; i < 16; ++i) CHECK(bytes[i] == small[i]);
  }
  // What is not a number becomes an integer all the same: the scale of its block says what it is.
  Sixteen wrong{};
  wrong[0] = not_a_number, wrong[1] = infinity, wrong[2] = -infinity, wrong[3] = -not_a_number;
  std::array<std::int8_t, 16> bytes;
  const cpu::Ints rounded = cpu::round_to_ints(cpu::load(wrong.data()));
  cpu::store_bytes(bytes.data(), rounded);
  for (std::size_t i = 4; i < 16; ++i) CHECK(integers(rounded)[i] == 0);
}

TEST_CASE("lanes: half floats and bfloats, every value") {
  for (int first = 0; first < 65536; first += 16) {
    std::array<std::uint16_t, 16> bits;
    for (int i = 0; i < 16; ++i) bits[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(first + i);
    const auto halfs = values(cpu::load(bits.data())), bfloats = values(cpu::load_bfloats(bits.data()));
    std::array<std::uint16_t, 16> again;
    cpu::store_halfs(again.data(), cpu::load(bits.data()));
    bool right = true;
    for (std::size_t i = 0; i < 16; ++i) {
      const float half = half_to_float(bits[i]), bfloat = bfloat_to_float(bits[i]);
      right = right && (half != half ? halfs[i] != halfs[i] && half_to_float(again[i]) != half_to_float(again[i])
                                     : std::bit_cast<std::uint32_t>(halfs[i]) == std::bit_cast<std::uint32_t>(half) && again[i] == bits[i]);
      right = right && (bfloat != bfloat ? bfloats[i] != bfloats[i] : std::bit_cast<std::uint32_t>(bfloats[i]) == std::bit_cast<std::uint32_t>(bfloat));
    }
    CAPTURE(first);
    REQUIRE(right);
  }
  // Between two halfs, on and beside the middle; too large, and too small.
  for (const float x : {1.0F + 0x1p-11F, 1.0F + 0x1p-11F + 0x1p-20F, 1.0F + 3 * 0x1p-11F, 65519.0F, 65520.0F, 1e30F, -infinity, 0x1p-25F, 0x1.8p-25F, 3 * 0x1p-25F, -1e-9F, 0.1F}) {
    std::array<std::uint16_t, 16> out;
    cpu::store_halfs(out.data(), cpu::broadcast(x));
    CAPTURE(x);
    for (const auto one : out) CHECK(one == float_to_half(x));
  }
}

TEST_CASE("lanes: nibbles and bits of bytes") {
  check_bytes([](cpu::Bytes x) { return x; }, [](int x) { return x; });
  check_bytes([](cpu::Bytes x) { return cpu::low_nibbles(x); }, [](int x) { return x & 15; });
  check_bytes([](cpu::Bytes x) { return cpu::high_nibbles(x); }, [](int x) { return x >> 4; });
  if (cpu::takes_x16) check_bytes([](cpu::Bytes x) { return cpu::high_nibbles_x16(x); }, [](int x) { return x & 240; });
  check_put_bits<4, 0x10>();  // the fifth bit, for each of eight quads
  check_put_bits<3, 0x10>();
  check_put_bits<2, 0x10>();
  check_put_bits<1, 0x10>();
  check_put_bits<0, 0x10>();
  check_put_bits<-1, 0x10>();
  check_put_bits<-2, 0x10>();
  check_put_bits<-3, 0x10>();
  check_put_bits<4, 0x30>();  // fifth and sixth
  check_put_bits<2, 0x30>();
  check_put_bits<0, 0x30>();
  check_put_bits<-2, 0x30>();
}

// vpmaddubsw adds two products in a word of 16 bits and saturates: 2 * 255 * 127 does not fit.
TEST_CASE("lanes: products of bytes are exact at their extremes") {
  check_dots<4>();
  check_dots<5>();
  check_dots<6>();
  check_dots<8>();
}

TEST_CASE("lanes: sizes and unrolled") {
  CHECK(cpu::groups_of(1) == 1);
  CHECK(cpu::groups_of(16) == 1);
  CHECK(cpu::groups_of(17) == 2);
  CHECK(cpu::round_up(46, 16) == 48);
  CHECK(cpu::round_up(48, 16) == 48);
  std::vector<std::size_t> seen;
  cpu::unrolled<5>([&](auto i) { seen.push_back(i); });
  CHECK((seen == std::vector<std::size_t>{0, 1, 2, 3, 4}));
}
