// The token rows of one forward, in device memory: every kernel of the step reads them, so the parameters of a kernel are the same for every step.
#pragma once

#include <cstdint>

#include <diecast/kernels/context.hpp>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

struct TokenRows {
  const int* counts;     // [2] how many rows there are, and how many of them ask for logits
  const int* ids;        // [row], checked against the vocabulary on the host
  const int* positions;  // [row], in the row's sequence
  const int* sequences;  // [row]
  const int* asked;      // [asked] rows
};

template <ExecutionContext C>
DIECAST_DEVICE int row_count(C& ctx, const TokenRows& rows) {
  return ctx.load(rows.counts, 0);
}
template <ExecutionContext C>
DIECAST_DEVICE int asked_count(C& ctx, const TokenRows& rows) {
  return ctx.load(rows.counts, 1);
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
