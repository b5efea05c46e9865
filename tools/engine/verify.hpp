// A line of verify's table, and the bounds that it is held to.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <diecast/cuda/door.hpp>
#include <diecast/files/model.hpp>
#include <diecast/reference/reference.hpp>

namespace diecast::shell {

inline constexpr double unit = 0x1p-24;                                          // of float
constexpr double gamma(double n) { return n * unit / (1 - n * unit); }  // Higham 2002: n roundings behind one another

struct Line {
  std::string operation;
  int count = 0;
  double error = 0;  // the greatest
  double share = 0;  // the greatest of error / bound
  bool failed = false;

  void add(double one, double bound) {
    if (!(one <= bound)) failed = true;  // NaN fails
    error = std::max(error, one);
    if (bound > 0) share = std::max(share, one / bound);
  }
};

// Every stage of every layer on a device, by itself: its kernel takes what the stages before it left in the device's memory, and so does the definition in double.
std::vector<Line> check_stages(const Model&, const reference::Parameters<double>&, const cuda::DeviceBackend&);

}  // namespace diecast::shell
