// Tensor-core products and ldmatrix against a naive product of whole numbers, which is exact in any order. The places of the elements are
// written here as the PTX ISA words them (9.7.14.5, "Matrix fragments for mma.m16n8k16 with floating point type" and "mma.m16n8k32"),
// apart from the formulas in kernels/fragments.hpp.
#include <catch2/catch.hpp>

#include <cstdint>
#include <vector>

#include <diecast/simt/launch.hpp>

using namespace diecast;
using kernels::Bfloat16;
using kernels::ExecutionContext;
using kernels::FragmentA;
using kernels::FragmentB;
using kernels::FragmentC;
using kernels::Half;
using kernels::Stored;

namespace {

struct Nothing {};

// From the documented maps: the elements a0.. and b0.. of a lane, and where they lie.
int a_row_16(int group, int i) { return (0 <= i && i < 2) || (4 <= i && i < 6) ? group : group + 8; }
int a_column_16(int in_group, int i) { return i < 4 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8; }
int b_row_16(int in_group, int i) { return i < 2 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8; }
int a_row_8(int group, int i) { return (0 <= i && i < 4) || (8 <= i && i < 12) ? group : group + 8; }
int a_column_8(int in_group, int i) { return i < 8 ? in_group * 4 + (i & 3) : in_group * 4 + (i & 3) + 16; }
int b_row_8(int in_group, int i) { return i < 4 ? in_group * 4 + (i & 3) : in_group * 4 + (i & 3) + 16; }
int c_row(int group, int i) { return i < 2 ? group : group + 8; }
int c_column(int in_group, int i) { return in_group * 2 + (i & 1); }

template <class Element>
std::uint32_t raw(Element value) {
  if constexpr (std::is_same_v<Element, std::int8_t>)
    return static_cast<std::uint8_t>(value);
  else
    return value.bits;
}

template <class Element, class Sum>
struct Product {
  static constexpr int threads = 32;
  static constexpr bool bytes = std::is_same_v<Element, std::int8_t>;
  static constexpr int depth = bytes ? 32 : 16;
  struct Params {
    const Element* a;  // [16, depth]
    const Element* b;  // [depth, 8]
    const Sum* c;      // [16, 8]
    Sum* d;            // [16, 8]
  };
  using Shared = Nothing;
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared&) {
    const int group = ctx.lane() >> 2, in_group = ctx.lane() % 4, per_register = bytes ? 4 : 2, bits = bytes ? 8 : 16;
    FragmentA<Element> a{};
    FragmentB<Element> b{};
    FragmentC<Sum> c{};
    for (int i = 0; i < 4 * per_register; ++i) {
      const int row = bytes ? a_row_8(group, i) : a_row_16(group, i), column = bytes ? a_column_8(in_group, i) : a_column_16(in_group, i);
      a.at[i / per_register] |= raw(ctx.load(p.a, row * depth + column)) << (bits * (i % per_register));
    }
    for (int i = 0; i < 2 * per_register; ++i) {
      const int row = bytes ? b_row_8(in_group, i) : b_row_16(in_group, i);
      b.at[i / per_register] |= raw(ctx.load(p.b, row * 8 + group)) << (bits * (i % per_register));
    }
    for (int i = 0; i < 4; ++i) c.at[i] = ctx.load(p.c, c_row(group, i) * 8 + c_column(in_group, i));
    c = ctx.multiply_add(a, b, c);
    for (int i = 0; i < 4; ++i) ctx.store(p.d, c_row(group, i) * 8 + c_column(in_group, i), c.at[i]);
  }
};

int small_number(int i) { return (i * 37 + 11) % 23 - 11; }

template <class Element>
Element element(int value) {
  if constexpr (std::is_same_v<Element, std::int8_t>)
    return static_cast<std::int8_t>(value);
  else
    return Stored<Element>::from(static_cast<float>(value));
}

template <class Element, class Sum>
void check_product() {
  using Op = Product<Element, Sum>;
  std::vector<Element> a, b;
  std::vector<Sum> c;
  for (int i = 0; i < 16 * Op::depth; ++i) a.push_back(element<Element>(small_number(i)));
  for (int i = 0; i < 8 * Op::depth; ++i) b.push_back(element<Element>(small_number(3 * i + 5)));
  for (int i = 0; i < 16 * 8; ++i) c.push_back(static_cast<Sum>(1000 * small_number(i)));
  simt::Memory memory;
  const auto a_there = simt::constants(memory, "a", a), b_there = simt::constants(memory, "b", b);
  const auto c_there = simt::constants(memory, "c", c);
  const simt::Buffer<Sum> d(memory, "d", 16 * 8);
  simt::agree<Op>(memory, 1, {a_there.data(), b_there.data(), c_there.data(), d.data()});
  const std::vector<Sum> got = d.values();
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int sum = 1000 * small_number(row * 8 + column);
      for (int k = 0; k < Op::depth; ++k) sum += small_number(row * Op::depth + k) * small_number(3 * (k * 8 + column) + 5);
      CHECK(got[static_cast<std::size_t>(row * 8 + column)] == static_cast<Sum>(sum));
    }
}

// A [16, 16] and B from shared memory by ldmatrix; B as [8, 16] (a row for each column), or as [16, 8] and transposed on the way.
template <bool transposed>
struct ThroughShared {
  static constexpr int threads = 32;
  struct Params {
    const Half* a;  // [16, 16]
    const Half* b;  // [8, 16], or [16, 8]
    float* d;       // [16, 8]
  };
  struct Shared {
    alignas(16) Half a[16 * 16];
    alignas(16) Half b[16 * 16];  // b twice, since four matrices are loaded at once
  };
  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    for (int i = ctx.thread(); i < 16 * 16; i += 32) ctx.store(shared.a, i, ctx.load(p.a, i));
    for (int i = ctx.thread(); i < 2 * 16 * 8; i += 32) ctx.store(shared.b, i, ctx.load(p.b, i % 128));
    ctx.sync_warp();
    const kernels::FourMatrices a = ctx.load_matrices(&shared.a[0], ctx.lane() % 16 * 16 + ctx.lane() / 16 * 8);
    const kernels::FourMatrices b = transposed ? ctx.load_matrices_transposed(&shared.b[0], ctx.lane() * 8)
                                               : ctx.load_matrices(&shared.b[0], ctx.lane() % 8 * 16 + ctx.lane() / 8 % 2 * 8);
    const FragmentC<float> d = ctx.multiply_add(FragmentA<Half>{{a.at[0], a.at[1], a.at[2], a.at[3]}}, FragmentB<Half>{{b.at[0], b.at[1]}}, FragmentC<float>{});
    for (int i = 0; i < 4; ++i) ctx.store(p.d, c_row(ctx.lane() >> 2, i) * 8 + c_column(ctx.lane() % 4, i), d.at[i]);
  }
};

template <bool transposed>
void check_through_shared() {
  std::vector<Half> a, b;
  for (int i = 0; i < 16 * 16; ++i) a.push_back(element<Half>(small_number(i)));
  for (int i = 0; i < 16 * 8; ++i) b.push_back(element<Half>(small_number(7 * i + 1)));
  simt::Memory memory;
  const auto a_there = simt::constants(memory, "a", a), b_there = simt::constants(memory, "b", b);
  const simt::Buffer<float> d(memory, "d", 16 * 8);
  const simt::Counters counters = simt::agree<ThroughShared<transposed>>(memory, 1, {a_there.data(), b_there.data(), d.data()}, {.count = true});
  CHECK(counters.matrix_products == 1);
  CHECK(counters.matrix_loads == 2);
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int sum = 0;
      for (int k = 0; k < 16; ++k) sum += small_number(row * 16 + k) * small_number(7 * (transposed ? k * 8 + column : column * 16 + k) + 1);
      CHECK(d.values()[static_cast<std::size_t>(row * 8 + column)] == static_cast<float>(sum));
    }
}

}  // namespace

TEST_CASE("tensor cores: f16, bf16 and s8 products are those of the documented places") {
  check_product<Half, float>();
  check_product<Bfloat16, float>();
  check_product<std::int8_t, std::int32_t>();
}

TEST_CASE("tensor cores: operands by ldmatrix, straight and transposed") {
  check_through_shared<false>();
  check_through_shared<true>();
}

TEST_CASE("tensor cores: the maps name every element once") {
  for (const bool of_bytes : {false, true}) {
    const int depth = of_bytes ? 32 : 16;
    std::vector<int> a(static_cast<std::size_t>(16 * depth)), b(static_cast<std::size_t>(8 * depth)), c(16 * 8);
    for (int lane = 0; lane < 32; ++lane)
      for (int part = 0; part < 4; ++part) {
        for (int e = 0; e < (of_bytes ? 4 : 2); ++e) {
          const kernels::Cell in_a = of_bytes ? kernels::place_in_a<8>(lane, part, e) : kernels::place_in_a<16>(lane, part, e);
          ++a[static_cast<std::size_t>(in_a.row * depth + in_a.column)];
          if (part >= 2) continue;
          const kernels::Cell in_b = of_bytes ? kernels::place_in_b<8>(lane, part, e) : kernels::place_in_b<16>(lane, part, e);
          ++b[static_cast<std::size_t>(in_b.row * 8 + in_b.column)];
        }
        const kernels::Cell in_c = kernels::place_in_c(lane, part);
        ++c[static_cast<std::size_t>(in_c.row * 8 + in_c.column)];
      }
    CHECK(a == std::vector<int>(a.size(), 1));
    CHECK(b == std::vector<int>(b.size(), 1));
    CHECK(c == std::vector<int>(c.size(), 1));
  }
}
