// Weights that come into shared memory before they are needed (kernels/weight_ring.hpp): rows of the ring give the bits of rows of memory, whatever their form, however
// often the ring goes round, under every schedule of the host executor, in which a copy lands when it is waited for and not before; and as
// many bytes are on their way as was aimed at. What is computed here follows from the source; nothing of it ran on a GPU.
#include <catch2/catch.hpp>

#include <cstring>
#include <vector>

#include <diecast/configs/gemma_3_270m.hpp>
#include <diecast/configs/gpt2.hpp>
#include <diecast/configs/qwen2_5_0_5b.hpp>
#include <diecast/configs/smollm2_135m_instruct.hpp>
#include <diecast/configs/tiny_shakespeare.hpp>
#include <diecast/cuda/shape_of.hpp>
#include <diecast/kernels/row_products.hpp>
#include <diecast/kernels/token_rows.hpp>

#include "inputs.hpp"

#include <diecast/kernels/device_begin.hpp>

using diecast::Format;
using namespace diecast::kernels;
using namespace diecast_test;

namespace {

struct InMemory {
  template <WeightForm>
  static constexpr bool holds = false;
};

// The sums of two matrices' rows, through the ring or from memory.
template <int outputs, int width, FormSet set, bool through_ring>
struct Pairs {
  static constexpr Team team{64, 2};
  static constexpr int threads = team.threads, items = outputs;
  struct Params {
    int rows;
    Linear matrices[2];
    const float* in;  // [row, width]
    float* out;       // [row, outputs, 2]
  };
  using Products = RowProducts<width, set, team, 2>;
  using Shared = typename Products::Shared;
  DIECAST_DEVICE static WeightRow row(const Params& p, int item, int which) { return {p.matrices[which], item}; }

  template <ExecutionContext C>
  DIECAST_DEVICE static void run(C& ctx, const Params& p, Shared& shared) {
    const auto fill = [&](int t, int row) {
      fill_row<NormKind::none, threads>(ctx, shared.x, t, Norm{}, shared.sum, [&](int i) { return ctx.load(p.in, row * width + i); });
    };
    Products::template each_tile<Pairs>(ctx, p, shared, Requested::no, p.rows, fill, [&](int begin, int count) {
      const auto keep = [&](int item, const auto& sums) {
        DIECAST_UNROLL
        for (int which = 0; which < 2; ++which)
          if (ctx.lane() < count) ctx.store(p.out, ((begin + ctx.lane()) * outputs + item) * 2 + which, of_lane(sums[which], ctx.lane()));
      };
      if constexpr (through_ring) {
        Products::template each_item<Pairs>(ctx, p, shared, count, keep);
      } else {
        Products::Ring::wait_all(ctx);
        for (int item = ctx.block() * Products::warps + ctx.warp(); item < items; item += ctx.blocks() * Products::warps) {
          float sums[2][team.tokens];
          DIECAST_UNROLL
          for (int which = 0; which < 2; ++which) multiply_row<InMemory>(ctx, row(p, item, which), nullptr, shared.x, count, sums[which]);
          keep(item, sums);
        }
      }
    });
  }
};

template <int outputs, int width, FormSet set>
void same_bits(Format first, Format second, int rows, int blocks) {
  INFO(diecast::layout(first).name << " and " << diecast::layout(second).name << ", " << rows << " rows, " << blocks << " blocks");
  Numbers numbers(7);
  const Matrix<set> a(random_tensor(first, outputs, width, numbers), numbers.reals(outputs)),
      b(random_tensor(second, outputs, width, numbers), {});
  const int size = (rows > 0 ? rows : 1) * outputs * 2;
  const Constants<float> in(numbers.reals((rows > 0 ? rows : 1) * width));
  Floats ring(size), memory(size);
  launch<Pairs<outputs, width, set, true>>(blocks, {rows, {a.linear(), b.linear()}, in.data(), ring.data()});
  launch_once<Pairs<outputs, width, set, false>>(blocks, {rows, {a.linear(), b.linear()}, in.data(), memory.data()});
  CHECK(ring.unwritten() == (rows > 0 ? 0 : static_cast<std::size_t>(size) * sizeof(float)));
  const std::vector<float> got = ring.all(), want = memory.all();
  CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
}

// What a model's layer has on its way in one block: of gate and up, of down.
template <class Config>
struct InFlight {
  static constexpr ModelShape m = diecast::cuda::shape_of(Config::spec, Config::formats, diecast::cuda::gpu_team);
  using GateUp = typename ModelOperations<m, Half>::GateUp::Products::Ring;
  using Down = typename ModelOperations<m, Half>::Down::Products::Ring;
  using Head = typename ModelOperations<m, Half>::Head::Products::Ring;
};

}  // namespace

TEST_CASE("rows that come through the ring give the bits of rows that are read from memory") {
  constexpr FormSet mixed = forms(f32_form, q4_1_form, q8_0_form);
  using Ring = Pairs<70, 576, mixed, true>::Products::Ring;
  STATIC_REQUIRE(Ring::holds<q4_1_form>);
  STATIC_REQUIRE(Ring::holds<q8_0_form>);
  STATIC_REQUIRE(!Ring::holds<f32_form>);  // its rows are read from memory, between those of the ring
  STATIC_REQUIRE(70 > 2 * Ring::depth);    // it goes round
  for (const Format first : {Format::q4_1, Format::q8_0, Format::f32})
    for (const Format second : {Format::q4_1, Format::f32}) same_bits<70, 576, mixed>(first, second, 1, 1);
  same_bits<70, 576, mixed>(Format::q8_0, Format::q4_1, 5, 1);  // three tiles of token rows
  same_bits<70, 576, mixed>(Format::q8_0, Format::q4_1, 2, 3);
  same_bits<3, 576, mixed>(Format::q8_0, Format::q4_1, 1, 4);  // blocks without work
  same_bits<9, 576, mixed>(Format::q8_0, Format::q4_1, 0, 2);  // no token row: what was asked for is waited for
  same_bits<40, 72, forms(f16_form, bf16_form)>(Format::f16, Format::bf16, 1, 1);
  same_bits<40, 101, forms(f16_form)>(Format::f16, Format::f16, 2, 1);
  same_bits<12, 512, forms(q4_k_form, q6_k_form)>(Format::q4_k, Format::q6_k, 1, 1);
  same_bits<12, 512, forms(q5_k_form, q5_0_form)>(Format::q5_k, Format::q5_0, 1, 1);
}

TEST_CASE("as many bytes of weights are on their way as an H100's memory wants, or as have room") {
  using Smol = InFlight<configs::smollm2_135m_instruct>;
  STATIC_REQUIRE(Smol::Head::size.least == 368);  // q4_1
  STATIC_REQUIRE(Smol::Head::slot == 624);        // q8_0
  STATIC_REQUIRE(Smol::Head::bytes_in_flight == 23552);
  STATIC_REQUIRE(Smol::GateUp::bytes_in_flight == 23552);
  STATIC_REQUIRE(Smol::Down::bytes_in_flight == 15360);
  using Gemma = InFlight<configs::gemma_3_270m>;
  STATIC_REQUIRE(Gemma::Head::bytes_in_flight == 25088);
  STATIC_REQUIRE(Gemma::GateUp::bytes_in_flight == 21504);
  using Qwen = InFlight<configs::qwen2_5_0_5b>;
  STATIC_REQUIRE(Qwen::Head::bytes_in_flight == 28672);
  STATIC_REQUIRE(Qwen::GateUp::bytes_in_flight == 28672);
  STATIC_REQUIRE(!Qwen::Down::any);  // rows of 9.5 KiB: the L2 cache is asked for the next one's first 4 KiB
  using Gpt2 = InFlight<configs::gpt2>;
  STATIC_REQUIRE(Gpt2::Head::bytes_in_flight == 36864);
  using Tiny = InFlight<configs::tiny_shakespeare>;
  STATIC_REQUIRE(Tiny::Head::bytes_in_flight == 33280);
  STATIC_REQUIRE(Tiny::Down::bytes_in_flight == 30720);
}

TEST_CASE("a ring keeps to its room, and has the rows of a whole number of items ahead") {
  int rings = 0, wrong = 0;
  for (const int products : {1, 2})
    for (int width = 32; width <= 16384; width += 32)
      for (const FormSet set :
           {forms(q4_0_form), forms(q4_1_form, q8_0_form, f32_form), forms(f16_form), forms(q4_k_form, q6_k_form), forms(f32_form)}) {
        const RingSize size = ring_size(width, set, 8, products);
        wrong += (size.items_ahead * products + 1) * size.slot * 8 > most_ring_bytes || size.items_ahead < 1 || size.least > size.slot;
        rings += size.slot > 0;
      }
  CHECK(wrong == 0);
  CHECK(rings > 500);
}

#include <diecast/kernels/device_end.hpp>
