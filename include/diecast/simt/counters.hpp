// What a launch did, in numbers that do not depend on the schedule: memory traffic as the warps asked for it, and instructions of
// interest. Traffic is counted only where Options::count asks for it. Source of the rules: CUDA C++ Best Practices Guide, 10.2 (32-byte
// sectors, 32 banks of 4 bytes).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace diecast::simt {

// Global memory, in one direction. A request is one instruction of one warp.
struct Traffic {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;    // different bytes that each request asks for, added up
  std::uint64_t sectors = 0;  // different 32-byte sectors that each request touches, added up
  // 1: every byte that had to be moved was asked for.
  double efficiency() const { return sectors == 0 ? 1.0 : static_cast<double>(bytes) / (32.0 * static_cast<double>(sectors)); }
};

// Shared memory. A request takes one wavefront, or more where its width or a bank conflict demands it.
struct SharedTraffic {
  std::uint64_t requests = 0;
  std::uint64_t wavefronts = 0;
  std::uint64_t least_wavefronts = 0;  // of the same requests without bank conflicts
  std::uint64_t conflicts() const { return wavefronts - least_wavefronts; }
};

struct Counters {
  struct OfBuffer {
    Traffic read, written;
  };
  std::map<std::string, OfBuffer> buffers;  // by the buffer's name; asynchronous copies included
  SharedTraffic shared_read, shared_written;
  std::array<std::uint64_t, 5> loads{};  // warp loads of global memory of 1, 2, 4, 8 and 16 bytes a lane
  std::uint64_t barriers = 0;            // of blocks, each counted once a block
  std::uint64_t named_barriers = 0;      // each counted once
  std::uint64_t warp_barriers = 0;
  std::uint64_t exchanges = 0;        // shuffles, ballots, votes, warp sums: warp instructions
  std::uint64_t matrix_products = 0;  // tensor-core instructions
  std::uint64_t matrix_loads = 0;     // ldmatrix
  std::uint64_t copies = 0;           // cp.async: warp instructions
  std::uint64_t bulk_copies = 0;      // cp.async.bulk
  std::uint64_t atomics = 0;          // of threads
  std::uint64_t dots = 0;             // four-byte dot products of threads

  Traffic read() const { return sum(&OfBuffer::read); }
  Traffic written() const { return sum(&OfBuffer::written); }

 private:
  Traffic sum(Traffic OfBuffer::*direction) const {
    Traffic all;
    for (const auto& [name, buffer] : buffers) {
      all.requests += (buffer.*direction).requests;
      all.bytes += (buffer.*direction).bytes;
      all.sectors += (buffer.*direction).sectors;
    }
    return all;
  }
};

}  // namespace diecast::simt
