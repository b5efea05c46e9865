// What a fuzzer accepts: the input is taken, or refused with an Error that names a fault of the file in one short line.
// Whatever else leaves the library (bad_alloc, out_of_range, an exception of a JSON parser, a fault that blames the program) ends the fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <diecast/error.hpp>

namespace diecast_fuzz {

// A broken promise: libFuzzer reports the abort, and keeps the input.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

enum class Sentence { one_line, any };  // a template may raise whatever text it likes

// Whether `run` took the input.
template <class Run>
bool accepted(Run&& run, Sentence sentence = Sentence::one_line) {
  try {
    run();
    return true;
  } catch (const diecast::Error& error) {
    const std::string_view text = error.what();
    static const bool say = std::getenv("DIECAST_FUZZ_SAY") != nullptr;  // to see what becomes of one input
    if (say) std::fprintf(stderr, "refused: %s\n", error.what());
    require(!text.empty(), "an error has a sentence");
    require(error.blame() == diecast::Blame::user, "a bad file is not the program's fault");
    if (sentence == Sentence::one_line) {
      require(text.size() <= 2000, "an error is short");
      for (const char c : text) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "an error is one line and cannot steer a terminal");
    }
    return false;
  }
}

// The parts of an input that lie between lines of three dashes; at least `count` of them, the missing ones empty.
inline std::vector<std::string_view> parts_of(const std::uint8_t* data, std::size_t size, std::size_t count) {
  constexpr std::string_view border = "\n---\n";
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < count) {
    const std::size_t at = text.find(border);
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + border.size());
  }
  parts.push_back(text);
  return parts;
}

}  // namespace diecast_fuzz
