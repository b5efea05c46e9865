// Many small kernels, drawn at random: a few threads of two blocks load, store, copy, meet and tell each other by flags, with or without a
// race. The executor's detector and the thread sanitizer must say the same of each of them, under the same schedule.
#include <algorithm>
#include <array>
#include <random>
#include <sstream>
#include <vector>

#include "second_judge.hpp"

using namespace diecast;
using kernels::ExecutionContext;
using kernels::Order;
using kernels::pending;

namespace {

// Of one actor: up to `wait`. Of an actor's block, of his warp, of lanes 0 and 1 of it: after that.
// clang-format off
enum class What : std::uint8_t {
  load_shared, store_shared, load_global, store_global, load_byte, store_byte, load_wide, store_wide, load_flag, store_flag,
  copy, wait_copies, add_relaxed, add_release, add_acquire, add_both, exchange_release, acquire, store_release, wait,
  sync_block, sync_warp, sync_pair, named, handover, shuffle,
  count
};
// clang-format on
constexpr const char* names[] = {
    "load_shared",      "store_shared", "load_global",   "store_global", "load_byte",   "store_byte",  "load_wide",   "store_wide",
    "load_flag",        "store_flag",   "copy",          "wait_copies",  "add_relaxed", "add_release", "add_acquire", "add_both",
    "exchange_release", "acquire",      "store_release", "wait",         "sync_block",  "sync_warp",   "sync_pair",   "named",
    "handover",         "shuffle"};

struct Step {
  What what;
  std::uint8_t actor;  // 4 in each block: lanes 0 and 1 of both warps
  std::uint8_t word;
  std::uint8_t value;
};

struct Drawn {
  static constexpr int threads = 64, words = 4;
  static constexpr bool cooperative = true;
  struct Params {
    const float* in;       // [words]
    float* out;            // [2 * words], written before
    std::uint32_t* flags;  // [words], 0
    int size;
    std::array<Step, 16> steps;
  };
  struct Shared {
    alignas(8) float tile[2 * words];
  };

  template <ExecutionContext C>
  static void run(C& ctx, const Params& p, Shared& shared) {
    if (ctx.thread() == 0)
      for (int i = 0; i < 2 * words; ++i) ctx.store(shared.tile, i, 0.0f);
    ctx.barrier();
    const int own = ctx.lane() < 2 ? 4 * ctx.block() + 2 * ctx.warp() + ctx.lane() : -1;
    for (int i = 0; i < p.size; ++i) {
      const Step& step = p.steps[static_cast<std::size_t>(i)];
      if (step.actor == own) act(ctx, p, shared, step);
      if (step.actor / 4 == ctx.block()) meet(ctx, step, i);
    }
    ctx.wait_copies(pending<0>);
  }

  // A load whose value nobody needs would not be compiled.
  template <class T>
  static void keep(T value) {
    const volatile T kept = value;
    static_cast<void>(kept);
  }

  template <class C>
  static void act(C& ctx, const Params& p, Shared& shared, const Step& step) {
    const int word = step.word;
    switch (step.what) {
      case What::load_shared:
        keep(ctx.load(shared.tile, 2 * word));
        break;
      case What::store_shared:
        ctx.store(shared.tile, 2 * word, 1.0f);
        break;
      case What::load_global:
        keep(ctx.load(p.out, 2 * word));
        break;
      case What::store_global:
        ctx.store(p.out, 2 * word, 1.0f);
        break;
      case What::load_byte:
        keep(ctx.load(reinterpret_cast<const std::int8_t*>(p.out), 8 * word + step.value % 4));
        break;
      case What::store_byte:
        ctx.store(reinterpret_cast<std::int8_t*>(p.out), 8 * word + step.value % 4, std::int8_t{1});
        break;
      case What::load_wide:
        keep(ctx.load(reinterpret_cast<const std::uint64_t*>(p.out), word));
        break;
      case What::store_wide:
        ctx.store(reinterpret_cast<std::uint64_t*>(p.out), word, std::uint64_t{1});
        break;
      case What::load_flag:
        keep(ctx.load(p.flags, word));
        break;
      case What::store_flag:
        ctx.store(p.flags, word, 1u);
        break;
      case What::copy:
        ctx.copy_async(shared.tile, 2 * word, p.in, word);
        ctx.commit_copies();
        break;
      case What::wait_copies:
        ctx.wait_copies(pending<0>);
        break;
      case What::add_relaxed:
        ctx.atomic_add(p.flags, word, 1u);
        break;
      case What::add_release:
        ctx.atomic_add(p.flags, word, 1u, Order::release);
        break;
      case What::add_acquire:
        ctx.atomic_add(p.flags, word, 1u, Order::acquire);
        break;
      case What::add_both:
        ctx.atomic_add(p.flags, word, 1u, Order::acquire_release);
        break;
      case What::exchange_release:  // the value is what it expects, or is not
        ctx.atomic_compare_exchange(p.flags, word, step.value % 2u, 1u, Order::release);
        break;
      case What::acquire:
        ctx.load_acquire(p.flags, word);
        break;
      case What::store_release:
        ctx.store_release(p.flags, word, step.value);
        break;
      case What::wait:
        ctx.wait_at_least(p.flags, word, step.value);
        break;
      default:
        break;
    }
  }

  template <class C>
  static void meet(C& ctx, const Step& step, int number) {
    const bool same_warp = step.actor / 2 % 2 == ctx.warp();
    switch (step.what) {
      case What::sync_block:
        ctx.barrier();
        break;
      case What::sync_warp:
        if (same_warp) ctx.sync_warp();
        break;
      case What::sync_pair:
        if (same_warp && ctx.lane() < 2) ctx.sync_warp(3u);
        break;
      case What::named:
        ctx.named_barrier(1 + step.value % 2, threads);
        break;
      case What::handover:
        if (same_warp)
          ctx.named_arrive(3 + number % 13, threads);
        else
          ctx.named_barrier(3 + number % 13, threads);
        break;
      case What::shuffle:
        if (same_warp) ctx.shuffle_xor(1, 1);
        break;
      default:
        break;
    }
  }
};

// Actors draw a word each of two, so that a race is neither sure nor rare. Flags 0 and 1 are added to and waited for; 2 and 3 are stored to,
// and touched plainly by actors who do not update them: the sanitizer forgets a thread's atomic store over its plain load. A relaxed store
// after a release is not drawn: the sanitizer takes its value for released, as the language no longer does since C++20, nor PTX.
Drawn::Params drawn(std::mt19937& random) {
  Drawn::Params p{};
  const auto below = [&](int end) { return static_cast<std::uint8_t>(random() % static_cast<unsigned>(end)); };
  int added[Drawn::words] = {};
  p.size = 4 + below(13);
  for (int i = 0; i < p.size; ++i) {
    Step step{static_cast<What>(below(static_cast<int>(What::count))), below(8), below(2), below(8)};
    switch (step.what) {
      case What::exchange_release:
      case What::store_release:
      case What::load_flag:
      case What::store_flag:
        step.word = static_cast<std::uint8_t>(step.word + 2);
        break;
      case What::acquire:
        step.word = below(Drawn::words);
        break;
      case What::add_relaxed:
      case What::add_release:
      case What::add_acquire:
      case What::add_both:
        step.word = below(Drawn::words);
        ++added[step.word];
        break;
      case What::wait:
        step.value = static_cast<std::uint8_t>(added[step.word]);
        break;
      default:
        break;
    }
    const bool plainly = step.what == What::load_flag || step.what == What::store_flag;
    if (What::load_flag <= step.what && step.what <= What::wait && step.word >= 2)
      step.actor = static_cast<std::uint8_t>((step.actor & 6u) + plainly);
    p.steps[static_cast<std::size_t>(i)] = step;
  }
  return p;
}

struct There {
  simt::Memory memory{std::size_t{1} << 24};
  simt::Buffer<float> in{memory, "in", std::vector<float>(Drawn::words), true}, out{memory, "out", std::vector<float>(2 * Drawn::words)};
  simt::Buffer<std::uint32_t> flags{memory, "flags", std::vector<std::uint32_t>(Drawn::words)};
  Drawn::Params with(Drawn::Params p) const {
    p.in = in.data();
    p.out = out.data();
    p.flags = flags.data();
    return p;
  }
};

std::string text(const Drawn::Params& p) {
  std::ostringstream out;
  for (int i = 0; i < p.size; ++i) {
    const Step& step = p.steps[static_cast<std::size_t>(i)];
    out << "\n  " << names[static_cast<int>(step.what)] << " actor " << int{step.actor} << " word " << int{step.word} << " value "
        << int{step.value};
  }
  return out.str();
}

// The sanitizer keeps four accesses of eight bytes, and forgets one of them at random when a fifth comes: it is asked more than once.
bool second_judge_finds(const Drawn::Params& p, const simt::Options& options) {
  for (int i = 0; i < 20; ++i) {
    There there;
    if (diecast_test::races_by_second_judge<Drawn>(there.memory, 2, there.with(p), options) > 0) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("races: both judges say the same of kernels drawn at random") {
  if (!diecast_test::has_second_judge()) return;
  std::mt19937 random(7);
  int with_race = 0, without = 0;
  for (int number = 0; number < 600; ++number) {
    const Drawn::Params p = drawn(random);
    for (const simt::Schedule schedule : {simt::Schedule::forward, simt::Schedule::random}) {
      const simt::Options options{.schedule = schedule, .seed = static_cast<std::uint64_t>(number)};
      There there;
      std::string found;
      int reports = 0;
      {
        const diecast_test::ExpectedReports expected;
        try {
          simt::launch<Drawn>(there.memory, 2, there.with(p), options);
        } catch (const simt::Fault& fault) {
          if (fault.kind() != simt::FaultKind::race) continue;  // a copy that is under way: neither judge comes to speak of it
          found = fault.what();
        }
        reports = expected.count();  // mostly none: the executor speaks before it lets an access happen that the sanitizer would see
      }
      ++(found.empty() ? without : with_race);
      INFO("kernel " << number << ", schedule " << static_cast<int>(schedule) << text(p) << "\nthe executor: " << found);
      CHECK(!found.empty() == (reports > 0 || (!found.empty() && second_judge_finds(p, options))));
    }
  }
  CHECK(with_race > 100);
  CHECK(without > 100);
}
