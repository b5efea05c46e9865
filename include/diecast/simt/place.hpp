// A place in the source of a kernel. std::source_location where the compiler has it; clang 14 has not, but knows the same facts.
#pragma once

#include <cstdint>
#include <source_location>

namespace diecast::simt {

class Place {
 public:
  constexpr Place() = default;
#ifdef __cpp_lib_source_location
  static constexpr Place current(const std::source_location& at = std::source_location::current()) {
    return {at.file_name(), at.line(), at.column()};
  }
#else
  static constexpr Place current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(), unsigned column = __builtin_COLUMN()) {
    return {file, line, column};
  }
#endif
  constexpr const char* file_name() const { return file_; }
  constexpr std::uint32_t line() const { return line_; }
  constexpr std::uint32_t column() const { return column_; }

 private:
  constexpr Place(const char* file, std::uint32_t line, std::uint32_t column) : file_(file), line_(line), column_(column) {}
  const char* file_ = "";
  std::uint32_t line_ = 0, column_ = 0;
};

}  // namespace diecast::simt
