// AMX: sixteen tokens times sixteen rows in one instruction, where the CPU has it and the system lets a program use it. The integers are exact, and
// what follows them is the same as in product.hpp, so the results are the same bits. A packed block is a tile as it lies: a quad of sixteen rows
// is a tile's row.
#pragma once

#if defined(__AMX_TILE__) && defined(__AMX_INT8__) && defined(__AVX512VNNI__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstddef>
#include <cstdint>

#include <diecast/cpu/lanes.hpp>

#include <diecast/isa_begin.hpp>

#if defined(__AMX_TILE__) && defined(__AMX_INT8__) && defined(__AVX512VNNI__) && defined(__linux__)

namespace diecast::cpu::inline DIECAST_ISA {

inline constexpr bool compiled_with_tiles = true;

// Asked once: the CPU says whether it has AMX, the system whether this process may use it.
inline bool tiles_ready() {
  static const bool ready = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned tile_and_int8 = 3U << 24;
    constexpr long ask_for_state = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & tile_and_int8) == tile_and_int8 && ::syscall(SYS_arch_prctl, ask_for_state, tile_data) == 0;
  }();
  return ready;
}

// The tiles of this thread while it multiplies. 0 and 1: tokens' bytes, [16][columns]; 2 and 3: weights, [columns / 4][64]; 4 to 7: sums, [16][16].
class Tiles {
 public:
  explicit Tiles(int columns) {
    struct alignas(64) {
      std::uint8_t palette = 1, start = 0, reserved[14] = {};
      std::uint16_t bytes_a_row[16] = {};
      std::uint8_t rows[16] = {};
    } config;
    const auto set = [&](int tile, int rows, int bytes) {
      config.rows[tile] = static_cast<std::uint8_t>(rows);
      config.bytes_a_row[tile] = static_cast<std::uint16_t>(bytes);
    };
    set(0, 16, columns);
    set(1, 16, columns);
    set(2, columns / 4, 64);
    set(3, columns / 4, 64);
    for (int tile = 4; tile < 8; ++tile) set(tile, 16, 64);
    asm volatile("" : : "r"(&config) : "memory");  // g++ 12 believes that only eight bytes are read, and may leave out what is written behind them
    _tile_loadconfig(&config);
  }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
  ~Tiles() { _tile_release(); }
};

// Two products at a time, each of one group of columns, begun here and fetched later: a product takes some fifty cycles until its sums can be stored, in
// which the sums of the two before are turned into floats. So there are two sets of tiles. A CPU whose other thread is busy has few tiles to rename to:
// weights that both products take are loaded once.
template <int set, bool same_weights>
void begin_tiles(const std::int8_t* tokens, const std::uint8_t* weights, const std::int8_t* other_tokens, const std::uint8_t* other_weights, std::size_t stride) {
  _tile_loadd(2, weights, 64);
  _tile_loadd(0, tokens, stride);
  if constexpr (!same_weights) _tile_loadd(3, other_weights, 64);
  _tile_loadd(1, other_tokens, stride);
  if constexpr (set == 0) {
    _tile_zero(4);
    _tile_dpbsud(4, 0, 2);
    _tile_zero(5);
    if constexpr (same_weights) _tile_dpbsud(5, 1, 2);
    else _tile_dpbsud(5, 1, 3);
  } else {
    _tile_zero(6);
    _tile_dpbsud(6, 0, 2);
    _tile_zero(7);
    if constexpr (same_weights) _tile_dpbsud(7, 1, 2);
    else _tile_dpbsud(7, 1, 3);
  }
}
template <int set>
void store_tiles(std::int32_t* sums, std::int32_t* other_sums) {
  if constexpr (set == 0) {
    _tile_stored(4, sums, 64);
    _tile_stored(5, other_sums, 64);
  } else {
    _tile_stored(6, sums, 64);
    _tile_stored(7, other_sums, 64);
  }
}

}  // namespace diecast::cpu::inline DIECAST_ISA

#else

namespace diecast::cpu::inline DIECAST_ISA {

inline constexpr bool compiled_with_tiles = false;
inline bool tiles_ready() { return false; }

}  // namespace diecast::cpu::inline DIECAST_ISA

#endif

#include <diecast/isa_end.hpp>
