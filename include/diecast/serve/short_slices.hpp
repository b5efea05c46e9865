// The thread that serves does little at a time, and every client waits for it. Where the engine's threads keep all cores busy, Linux lets a thread
// that wakes up wait for the end of a time slice, some milliseconds. One that asks for short slices is let in at once (EEVDF, Linux 6.12 and later).
// Its share of the processor stays the same, so it needs no privilege.
#pragma once

#include <cstdint>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace diecast::serve {

// Of the calling thread, and of threads that it starts later. Elsewhere, and where the system refuses, nothing changes.
inline void ask_for_short_slices() {
#if defined(SYS_sched_getattr) && defined(SYS_sched_setattr)
  struct {  // the system's struct sched_attr in its first size, which no header of the C library has
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};
  constexpr std::uint32_t other = 0;  // the policy of ordinary threads
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != other) return;
  attributes.size = sizeof attributes;
  attributes.runtime = 100'000;  // ns: the least that is possible
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &attributes, 0));
#endif
}

}  // namespace diecast::serve
