// The small table after an answer: where the time to the first token went. What is printed adds up to the total as printed:
// each line is the difference of two rounded running sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <diecast/trace/timing.hpp>

namespace diecast {

namespace detail {

inline std::string table_line(std::string_view name, std::int64_t hundredths, std::size_t name_width, std::size_t number_width) {
  std::string number = std::to_string(hundredths / 100) + (hundredths % 100 < 10 ? ".0" : ".") + std::to_string(hundredths % 100);
  if (number.size() < number_width) number.insert(0, number_width - number.size(), ' ');
  std::string line = "  " + std::string(name);
  line.append(name_width + 2 - name.size(), ' ');
  return line + number + " ms\n";
}

inline std::int64_t hundredths_of_ms(std::int64_t ns) { return (ns + 5'000) / 10'000; }

}  // namespace detail

// Lines of "  name    12.34 ms", the last but one the sum of those above, the last the mean of every further token where there is one.
inline std::string table(const Timing& timing) {
  constexpr std::string_view total = "first token", further = "each token after";
  std::size_t width = further.size();
  for (const StageTime& stage : timing.stages) width = std::max(width, stage.name.size());
  const std::int64_t decode = timing.decode_per_token_ns ? detail::hundredths_of_ms(std::llround(*timing.decode_per_token_ns)) : 0;
  const std::int64_t sum = detail::hundredths_of_ms(timing.ttft_ns);
  const std::size_t digits = std::max<std::size_t>(std::to_string(std::max(sum, decode) / 100).size() + 3, 7);

  std::string text;
  std::int64_t ns = 0, printed = 0;
  for (const StageTime& stage : timing.stages) {
    ns += stage.ns;
    const std::int64_t running = detail::hundredths_of_ms(ns);
    text += detail::table_line(stage.name, running - printed, width, digits);
    printed = running;
  }
  text += detail::table_line(total, sum, width, digits);
  if (timing.decode_per_token_ns) text += detail::table_line(further, decode, width, digits);
  return text;
}

}  // namespace diecast
