// Memory requests of warps, put together from what their lanes did one after another: the n-th access of each lane at one place of the
// source since the warp last met is one request.
#pragma once

#include <cstdint>
#include <vector>

#include <diecast/simt/counters.hpp>
#include <diecast/simt/lane.hpp>

#include "memory.hpp"

namespace diecast::simt {

struct Request {
  Address address;
  const Region* region;  // null: shared memory
  Place place;
  std::uint8_t bytes;
  bool stores;
  bool copies;  // asynchronously; its store says so
};

// Takes what the lanes of one warp did and forgets it.
void count_requests(const std::vector<std::vector<Request>*>& of_lane, Counters&);

}  // namespace diecast::simt
