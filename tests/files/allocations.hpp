// Counts what operator new hands out in this test program, so that a test can say "this allocates next to nothing".
#pragma once

#include <atomic>
#include <cstddef>

namespace diecast_test {

// Bytes asked for since the program began, freed ones included: a bound for any growth of memory.
inline std::atomic<std::size_t> allocated_bytes{0};

}  // namespace diecast_test
