// Every operation for two models that differ on every axis, compiled by nvcc for sm_90 with warnings as errors.
// SmolLM2-135M: hidden 576, 9 query and 3 K/V heads of 64, all of a head turns. The odd one: hidden 3420, learned positions,
// 7 query heads, 1 K/V head of 80, of which 32 values turn. Taking an entry's address is what instantiates it.
#include <diecast/kernels/cuda_context.hpp>
#include <diecast/kernels/embed.hpp>
#include <diecast/kernels/rms_norm.hpp>
#include <diecast/kernels/rope_append.hpp>

namespace diecast::kernels {

template <class... Ops>
struct Entries {
  static constexpr int count = sizeof...(Ops);
  using Entry = void (*)();
  static void list(Entry* out) { ((*out++ = reinterpret_cast<Entry>(&entry<Ops>)), ...); }
};

using Smollm2 = Entries<Embed<Hidden{576}, PositionScheme::rotary, Half>,  //
                        RmsNorm<Hidden{576}>,                              //
                        RmsNorm<Hidden{64}>,                               // as over the heads of Q and K
                        RopeAppend<HeadShape{9, 3, 64}, RotaryDim{64}, Half>>;
using Odd = Entries<Embed<Hidden{3420}, PositionScheme::absolute, Bfloat16>,  //
                    Embed<Hidden{3420}, PositionScheme::absolute, float>,     //
                    RmsNorm<Hidden{3420}>,                                    //
                    RopeAppend<HeadShape{7, 1, 80}, RotaryDim{32}, Bfloat16>,
                    RopeAppend<HeadShape{7, 1, 80}, RotaryDim{80}, float>>;

template struct Entries<Embed<Hidden{1}, PositionScheme::rotary, float>>;  // the smallest width

void list_all(void (**smollm2)(), void (**odd)()) {
  Smollm2::list(smollm2);
  Odd::list(odd);
}

}  // namespace diecast::kernels
