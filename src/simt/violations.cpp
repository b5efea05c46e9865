#include "violations.hpp"

#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "machine.hpp"

namespace diecast::simt {
namespace {

thread_local const Stacks* watched = nullptr;
std::mutex mutex;
int users = 0;  // launches that run now, on all threads of the host
struct sigaction before;

constexpr std::size_t handler_bytes = 64 * 1024;

extern "C" void diecast_simt_violation(LaneState* lane, std::uintptr_t address) { Machine::segment_violation(lane, address); }

void handle(int signal, siginfo_t* info, void* context) {
  LaneState* lane = Violations::running;
  if (lane == nullptr) {
    // Not ours: the next occurrence, which comes at once, finds the earlier handler.
    sigaction(signal, &before, nullptr);
    return;
  }
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const bool overflow = watched != nullptr && watched->is_guard(info->si_addr);
  std::byte* top = lane->fiber.bottom() + lane->fiber.bytes();
#if defined(__x86_64__)
  // After an overflow, the frames on the stack are lost anyway: start from its top. Else below the red zone of the function that failed.
  auto stack = overflow ? reinterpret_cast<std::uintptr_t>(top) - 1024 : static_cast<std::uintptr_t>(machine.gregs[REG_RSP]) - 512;
  stack = (stack & ~std::uintptr_t{15}) - 8;  // as after a call
  machine.gregs[REG_RSP] = static_cast<greg_t>(stack);
  machine.gregs[REG_RDI] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(lane));
  machine.gregs[REG_RSI] = static_cast<greg_t>(overflow ? 0 : address);
  machine.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(&diecast_simt_violation));
#elif defined(__aarch64__)
  auto stack = overflow ? reinterpret_cast<std::uintptr_t>(top) - 1024 : static_cast<std::uintptr_t>(machine.sp) - 512;
  machine.sp = stack & ~std::uintptr_t{15};
  machine.regs[0] = reinterpret_cast<std::uintptr_t>(lane);
  machine.regs[1] = overflow ? 0 : address;
  machine.pc = reinterpret_cast<std::uintptr_t>(&diecast_simt_violation);
#else
#error "diecast's host executor knows the registers of x86-64 and aarch64"
#endif
}

}  // namespace

thread_local LaneState* Violations::running = nullptr;

Violations::Violations(const Stacks& stacks) : handler_stack_(new std::byte[handler_bytes]) {
  watched = &stacks;
  running = nullptr;
  stack_t stack{};
  stack.ss_sp = handler_stack_.get();
  stack.ss_size = handler_bytes;
  sigaltstack(&stack, &old_stack_);
  const std::lock_guard lock(mutex);
  if (users++ == 0) {
    struct sigaction action {};
    action.sa_sigaction = &handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before);
  }
}

Violations::~Violations() {
  {
    const std::lock_guard lock(mutex);
    if (--users == 0) sigaction(SIGSEGV, &before, nullptr);
  }
  running = nullptr;
  sigaltstack(&old_stack_, nullptr);
}

}  // namespace diecast::simt
