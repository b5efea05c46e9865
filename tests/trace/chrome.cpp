// The trace file is JSON that a parser of somebody else reads, with the spans as they were.
#include <catch2/catch.hpp>

#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

#include <diecast/trace/chrome.hpp>

using namespace diecast;

namespace {

nlohmann::json parse(const Trace& trace) {
  std::ostringstream text;
  write_chrome(trace, text);
  return nlohmann::json::parse(text.str());
}

}  // namespace

TEST_CASE("A trace as Chrome events: complete, nested, in microseconds") {
  Trace trace;
  trace.stage("tokenize");
  trace.stage("prefill");
  {
    const Trace::Scope block(&trace, "block", 0);
    const Trace::Scope attention(&trace, "attention");
  }
  trace.stage("decode", 1);
  trace.end_stage();
  const nlohmann::json events = parse(trace).at("traceEvents");
  REQUIRE(events.size() == trace.spans().size() + 1);
  CHECK(events[0].at("ph") == "M");
  for (std::size_t i = 0; i < trace.spans().size(); ++i) {
    const Trace::Span& span = trace.spans()[i];
    const nlohmann::json& event = events[i + 1];
    CHECK(event.at("name") == span.name);
    CHECK(event.at("ph") == "X");
    CHECK(event.at("cat") == (span.stage ? "stage" : "span"));
    CHECK(std::llround(event.at("ts").get<double>() * 1000) == span.begin);
    CHECK(std::llround(event.at("dur").get<double>() * 1000) == span.end - span.begin);
    CHECK(event.contains("args") == (span.index >= 0));
  }
  CHECK(events[3].at("args").at("index") == 0);
  CHECK(events[5].at("args").at("index") == 1);
  CHECK(parse(Trace()).at("traceEvents").size() == 1);
}

TEST_CASE("Microseconds have three decimals") {
  CHECK(detail::microseconds(0) == "0.000");
  CHECK(detail::microseconds(7) == "0.007");
  CHECK(detail::microseconds(1'234'567) == "1234.567");
  CHECK(detail::microseconds(86'400'000'000'000) == "86400000000.000");
}

TEST_CASE("Names of any bytes survive as JSON") {
  std::string hostile = "a\"b\\c</script>\x7F";
  for (char byte = 0; byte < 0x20; ++byte) hostile += byte;
  hostile += "é😀";
  CHECK(nlohmann::json::parse(json_text(hostile)) == hostile);
  Trace trace;
  trace.stage(hostile);
  trace.end_stage();
  CHECK(parse(trace).at("traceEvents").at(1).at("name") == hostile);

  // counts of U+FFFD: Python's bytes.decode("utf8", "replace")
  const auto replaced = [](std::string_view bytes) {
    const auto text = nlohmann::json::parse(json_text(bytes)).get<std::string>();
    int count = 0;
    for (std::size_t at = 0; (at = text.find("\xEF\xBF\xBD", at)) != std::string::npos; at += 3) ++count;
    return count;
  };
  CHECK(replaced("\xE2\x80") == 1);
  CHECK(replaced("\xF0\x9F") == 1);
  CHECK(replaced("\xFF\xFE") == 2);
  CHECK(replaced("\xC0\x80") == 2);
  CHECK(replaced("\xED\xA0\x80") == 3);
  CHECK(replaced("a\xF0\x9F\x98" "b") == 1);
  CHECK(replaced("\xF4\x90\x80\x80") == 4);
  CHECK(replaced("\xF4\x8F\xBF\xBF") == 0);
}
