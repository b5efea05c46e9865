// How an operation that begins with a norm gets its input: the hidden states as they are, or (models that normalise what a branch gives) as
// they become when the branch before is normalised and added. The sum is made here, by whoever needs it, because a norm needs the whole
// row and a row of the branch is the work of many blocks; block 0 also writes it down, for whoever adds the next branch.
#pragma once

#include <cstdint>

#include <diecast/kernels/activations.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

struct Prologue {
  NormKind norm;   // none: the hidden states go into the product as they are
  bool adds;       // whether a branch is to be added before
  NormKind after;  // how the branch is normalised before it is added
};

struct Stream {
  const float* hidden;  // [row, width]
  Norm norm;
  const float* branch;  // [row, width], what the last branch gave; null before the first
  Norm after;
  float scale;     // of the branch
  float* updated;  // [row, width], another place than hidden; null: nobody needs it
};

// A hidden state with what the branch gave, where there is one: branch() gives it, normalised.
template <ExecutionContext C, class Branch>
DIECAST_DEVICE float with_branch(C& ctx, const Stream& stream, std::int64_t at, const Branch& branch) {
  const float hidden = ctx.load(stream.hidden, at);
  return stream.branch != nullptr ? ctx.fma(branch(), stream.scale, hidden) : hidden;
}

template <Prologue prologue, int threads, int width, FormSet set, int tokens, ExecutionContext C>
DIECAST_DEVICE void fill_from_stream(C& ctx, Activations<width, set, tokens>& x, int token, std::int64_t row, const Stream& stream,
                                     BlockSumShared<threads>& sum) {
  const std::int64_t base = row * width;
  if constexpr (!prologue.adds) {
    fill_row<prologue.norm, threads>(ctx, x, token, stream.norm, sum, [&](int i) { return ctx.load(stream.hidden, base + i); });
  } else {
    using Rows = FloatRows<width, 1>;
    float* values = x.as_floats.values[Activations<width, set, tokens>::floats ? token : 0];
    if (stream.branch != nullptr) {
      for (int i = ctx.thread(); i < width; i += threads) ctx.store(values, Rows::index(i), ctx.load(stream.branch, base + i));
      normalise<prologue.after, width, threads>(ctx, values, stream.after, sum);
    }
    fill_row<prologue.norm, threads>(ctx, x, token, stream.norm, sum, [&](int i) {
      const float value = with_branch(ctx, stream, base + i, [&] { return ctx.load(values, Rows::index(i)); });
      if (stream.updated != nullptr && ctx.block() == 0) ctx.store(stream.updated, base + i, value);
      return value;
    });
  }
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
