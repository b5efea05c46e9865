// Stages that add up, in numbers and as printed.
#include <catch2/catch.hpp>

#include <cmath>
#include <sstream>

#include <diecast/trace/table.hpp>
#include <diecast/trace/timing.hpp>

using namespace diecast;

namespace {

struct Printed {
  std::vector<std::string> names;
  std::vector<long> hundredths;
};

Printed read(const std::string& text) {
  Printed printed;
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) {
    if (width == 0) width = line.size();
    CHECK(line.size() == width);  // columns stand below each other
    REQUIRE(line.size() > 4);
    CHECK(line.substr(line.size() - 3) == " ms");
    const std::string content = line.substr(2, line.size() - 5);
    const std::size_t at = content.find_last_of(' ') + 1;
    const std::string number = content.substr(at);
    CHECK(number[number.size() - 3] == '.');
    printed.hundredths.push_back(std::lround(std::stod(number) * 100));
    printed.names.push_back(content.substr(0, content.find("  ")));
  }
  return printed;
}

}  // namespace

TEST_CASE("Stages of one name count together, up to the first decode") {
  Trace trace;
  for (const char* stage : {"load", "tokenize", "prefill", "sample", "send", "decode", "decode"}) trace.stage(stage);
  { const Trace::Scope inner(&trace, "block", 3); }
  trace.stage("send");
  trace.end_stage();
  const Timing timing = time_to_first_token(trace);
  REQUIRE(timing.stages.size() == 5);
  CHECK(timing.stages[0].name == "load");
  CHECK(timing.stages[4].name == "send");
  std::int64_t sum = 0;
  for (const StageTime& stage : timing.stages) sum += stage.ns;
  CHECK(sum == timing.ttft_ns);
  CHECK(timing.ttft_ns == trace.spans()[4].end);  // from the trace's first instant to the end of the fifth stage
}

TEST_CASE("The printed table adds up, whatever the roundings") {
  Timing timing;
  for (int i = 0; i < 7; ++i) timing.stages.push_back({"stage " + std::to_string(i), 4'999 + 3'001 * i});  // each rounds the wrong way
  for (const StageTime& stage : timing.stages) timing.ttft_ns += stage.ns;
  timing.decode_per_token_ns = 123'456'789.4;
  const Printed printed = read(table(timing));
  REQUIRE(printed.names.size() == 9);
  long sum = 0;
  for (std::size_t i = 0; i < 7; ++i) sum += printed.hundredths[i];
  CHECK(printed.names[7] == "first token");
  CHECK(printed.hundredths[7] == sum);
  CHECK(sum == std::lround(static_cast<double>(timing.ttft_ns) / 1e4));
  CHECK(printed.hundredths[8] == 12346);
}

TEST_CASE("The table of one known timing") {
  Timing timing;
  timing.stages = {{"tokenize", 1'234'567}, {"prefill", 1'500'000'000}, {"send", 9'000}};
  timing.ttft_ns = 1'501'243'567;
  CHECK(table(timing) ==
        "  tokenize             1.23 ms\n"
        "  prefill           1500.00 ms\n"
        "  send                 0.01 ms\n"
        "  first token       1501.24 ms\n");
}
