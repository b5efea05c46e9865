// What no program could beat on this machine: measured by the shortest loops that there are, in the kernels' own instruction set, so that a
// speed can be given as a share of it. Each is the best of several tries: what disturbs a try only makes it slower.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <diecast/cpu/arena.hpp>
#include <diecast/cpu/lanes.hpp>
#include <diecast/cpu/machine.hpp>
#include <diecast/cpu/team.hpp>

#include <diecast/isa_begin.hpp>

namespace diecast::cpu::inline DIECAST_ISA {

namespace inner {

// Seconds of the fastest of some calls.
template <class Work>
double fastest(int tries, const Work& work) {
  double best = 1e30;
  for (int i = 0; i < tries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = (std::min)(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

// Makes the compiler believe that somebody looks at what lies there.
inline void use(const void* at) { asm volatile("" : : "r"(at) : "memory"); }
// ... and that the pointer may have changed, so that what was read before must be read again.
template <class T>
void forget(const T*& at) {
  asm volatile("" : "+r"(at));
}

// Reads every vector once, asking for memory `ahead` bytes further; 0: leaves that to the machine. bytes: a multiple of 512.
[[gnu::flatten]] inline void read_through(const std::byte* begin, std::size_t bytes, std::size_t ahead) {
  Ints sums[8];
  for (Ints& one : sums) one = zero_ints();
  for (std::size_t at = 0; at < bytes; at += 512)
    unrolled<8>([&](auto i) {
      if (ahead > 0) prefetch(begin + at + ahead + 64 * i());  // beyond the end it asks for nothing that hurts
      sums[i()] = sums[i()] + as_ints(load(reinterpret_cast<const float*>(begin + at + 64 * i())));
    });
  Ints result[8];  // of its own, so that the sums stay in registers
  unrolled<8>([&](auto i) { result[i()] = sums[i()]; });
  use(result);
}

// Products of four-bit weights with the eight-bit numbers of some tokens, a sum for each: as a tile has them, and nothing else.
template <std::size_t Sums>
[[gnu::flatten]] inline void multiply(std::size_t rounds, const std::uint8_t* weights, const std::int8_t* numbers) {
  Ints sums[Sums];
  for (Ints& one : sums) one = zero_ints();
  for (std::size_t round = 0; round < rounds; ++round)
    unrolled<4>([&](auto) {
      forget(weights);
      forget(numbers);
      const Bytes w = load_bytes(weights);
      unrolled<Sums>([&](auto t) { sums[t()] = dot<4>(sums[t()], w, quad(numbers + 4 * t())); });
    });
  Ints result[Sums];
  unrolled<Sums>([&](auto t) { result[t()] = sums[t()]; });
  use(result);
}

template <std::size_t Sums>
double products_a_second(Team& team) {
  constexpr std::size_t rounds = 1'000'000 / Sums;
  const double seconds = fastest(5, [&] {
    team.run([&](int) {
      alignas(64) std::uint8_t weights[64];
      std::int8_t numbers[4 * Sums];
      std::memset(weights, 7, sizeof weights);
      std::memset(numbers, 3, sizeof numbers);
      multiply<Sums>(rounds, weights, numbers);
    });
  });
  return static_cast<double>(rounds * 4 * Sums * 64) * team.size() / seconds;
}

}  // namespace inner

// For memory of this size, which the threads share as they share a model's weights.
inline Ceilings ceilings(std::size_t bytes, int threads) {
  Team team(threads);
  Ceilings found;
  const std::size_t each = (std::max)(bytes / static_cast<std::size_t>(threads) / 512, std::size_t{1}) * 512;
  const Arena memory(each * static_cast<std::size_t>(threads));
  const auto part = [&](int thread) { return memory.data() + each * static_cast<std::size_t>(thread); };
  team.run([&](int thread) { std::memset(part(thread), thread + 1, each); });
  double seconds = 1e30;
  for (const unsigned ahead : {0U, 4096U, 8192U, 16384U, 24576U, 32768U})
    seconds = (std::min)(seconds, inner::fastest(5, [&] { team.run([&](int thread) { inner::read_through(part(thread), each, ahead); }); }));
  found.read_bytes_s = static_cast<double>(each) * threads / seconds;

  found.products_s = (std::max)({inner::products_a_second<4>(team), inner::products_a_second<8>(team), inner::products_a_second<12>(team)});

  constexpr int meetings = 5'000;
  found.meeting_s = inner::fastest(5, [&] {
    team.run([&](int) {
      for (int i = 0; i < meetings; ++i) team.meet();
    });
  }) / meetings;
  return found;
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#include <diecast/isa_end.hpp>
