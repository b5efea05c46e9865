// The thread sanitizer as a second judge of kernels (src/simt/race_sanitizer.hpp). In a program that has it, what no test expects it to
// report ends the program; what a test expects is counted. Without it there is one judge only, and these tests say nothing.
#pragma once

#include <catch2/catch.hpp>

#include <diecast/simt/launch.hpp>

namespace diecast_test {

bool has_second_judge();

// From here to its end, reports are expected.
class ExpectedReports {
 public:
  ExpectedReports();
  ~ExpectedReports();
  ExpectedReports(const ExpectedReports&) = delete;
  ExpectedReports& operator=(const ExpectedReports&) = delete;
  int count() const;
};

// How many races the sanitizer finds where the executor's own detector looks away. Another fault may end the launch before.
template <class Op>
int races_by_second_judge(diecast::simt::Memory& memory, int blocks, const typename Op::Params& params, diecast::simt::Options options) {
  options.races = false;
  const ExpectedReports reports;
  try {
    diecast::simt::launch<Op>(memory, blocks, params, options);
  } catch (const diecast::simt::Fault&) {
  }
  return reports.count();
}

// A race that the first judge has found must be found by the second, too, under the same schedule and from memory as it was.
template <class Op>
void check_second_judge(const diecast::simt::Fault& found, diecast::simt::Memory& memory, int blocks, const typename Op::Params& params,
                        const diecast::simt::Options& options) {
  if (!has_second_judge() || found.kind() != diecast::simt::FaultKind::race) return;
  INFO("the thread sanitizer passes what the executor says: " << found.what());
  CHECK(races_by_second_judge<Op>(memory, blocks, params, options) > 0);
}

}  // namespace diecast_test
