// Runs an operation of kernels/ on the host. launch<Op> is one run under one schedule; agree<Op> runs it under every schedule, from the
// same memory, and holds the results to be the same bits. A wrong kernel is a Fault.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <typeinfo>

#include <diecast/simt/context.hpp>
#include <diecast/simt/counters.hpp>
#include <diecast/simt/device.hpp>
#include <diecast/simt/fault.hpp>
#include <diecast/simt/options.hpp>

namespace diecast::simt {

inline constexpr std::size_t most_shared_bytes = 227 * 1024;  // of a block on sm_90 and sm_100; sm_80 has 163 KiB

// An operation without its types.
struct Kernel {
  const std::type_info* type;  // its name, for reports
  int threads;
  bool cooperative;
  std::size_t shared_bytes, shared_alignment;
  void (*run)(Lane&, const void* params, void* shared);
};

template <class Op>
Kernel kernel_of() {
  using Shared = typename Op::Shared;
  static_assert(std::is_trivially_default_constructible_v<Shared> && std::is_trivially_destructible_v<Shared>,
                "Shared is memory that nobody has written when a block begins: its members must be trivial");
  static_assert(Op::threads > 0 && Op::threads % kernels::warp_lanes == 0 && Op::threads <= 1024,
                "a block has whole warps and at most 1024 threads");
  constexpr bool cooperative = [] {
    if constexpr (requires { Op::cooperative; })
      return static_cast<bool>(Op::cooperative);
    else
      return false;
  }();
  return {&typeid(Op),
          Op::threads,
          cooperative,
          std::is_empty_v<Shared> ? 0 : sizeof(Shared),
          alignof(Shared),
          [](Lane& lane, const void* params, void* shared) {
            Context ctx(lane);
            Op::run(ctx, *static_cast<const typename Op::Params*>(params), *static_cast<Shared*>(shared));
          }};
}

Counters launch(Memory&, const Kernel&, int blocks, const void* params, const Options&);
// Runs under forward, reverse, three random and two laggard schedules, each from the memory as it is now. Throws Fault where a schedule
// leaves other bits than forward does. Memory is then as forward left it.
Counters agree(Memory&, const Kernel&, int blocks, const void* params, const Options&);

template <class Op>
Counters launch(Memory& memory, int blocks, const std::type_identity_t<typename Op::Params>& params, const Options& options = {}) {
  return launch(memory, kernel_of<Op>(), blocks, &params, options);
}
template <class Op>
Counters agree(Memory& memory, int blocks, const std::type_identity_t<typename Op::Params>& params, const Options& options = {}) {
  return agree(memory, kernel_of<Op>(), blocks, &params, options);
}

}  // namespace diecast::simt
