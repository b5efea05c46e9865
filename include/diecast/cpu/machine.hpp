// What a machine can do at most, with some threads: what a speed is held against. ceilings.hpp measures it.
#pragma once

namespace diecast::cpu {

struct Ceilings {
  double read_bytes_s = 0;  // reading memory of the weights' size, on huge pages, with prefetch
  double products_s = 0;    // of int8, each with its addition
  double meeting_s = 0;     // all threads meet once
};

}  // namespace diecast::cpu
