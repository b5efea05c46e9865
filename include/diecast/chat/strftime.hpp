// A time as text, by the C library's own directives. Only letters after `%` and one flag reach it, so that no width can ask for gigabytes.
#pragma once

#include <array>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

namespace diecast::chat {

inline std::string time_text(std::string_view format, const std::tm& time) {
  std::string text;
  for (std::size_t i = 0; i < format.size(); ++i) {
    std::size_t letter = i + 1;
    if (format[i] == '%' && letter < format.size() && std::string_view("-_0^#").find(format[letter]) != std::string_view::npos) ++letter;
    const bool directive = format[i] == '%' && letter < format.size() &&
                           (format[letter] == '%' || (format[letter] | 0x20) >= 'a') && (format[letter] | 0x20) <= 'z';
    if (!directive) {
      text += format[i];
      continue;
    }
    const std::string one(format.substr(i, letter + 1 - i));
    i = letter;
    if (one == "%f") {
      text += "000000";
    } else if (one != "%z" && one != "%Z") {  // the time has no zone
      std::array<char, 256> buffer{};
      text.append(buffer.data(), std::strftime(buffer.data(), buffer.size(), one.c_str(), &time));
    }
  }
  return text;
}

inline std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  localtime_r(&now, &time);
  return time;
}

}  // namespace diecast::chat
