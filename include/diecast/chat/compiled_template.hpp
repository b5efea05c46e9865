// A chat template parsed by the compiler: the tree is a constant of the program, and a broken template does not compile.
// `Source` is a `static constexpr char[]` member of a config, so symbols carry its name and not its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <diecast/chat/node.hpp>
#include <diecast/chat/parser.hpp>

namespace diecast::chat {

template <std::size_t Capacity>
struct ParsedTemplate {
  FixedNodes<Capacity> nodes{};
  Index root = 0;
  SyntaxError error = SyntaxError::none;
  Place place{};
};

template <std::size_t Capacity>
constexpr ParsedTemplate<Capacity> parse_template(std::string_view source) {
  ParsedTemplate<Capacity> parsed;
  Parser<FixedNodes<Capacity>> parser(source, parsed.nodes);
  parsed.root = parser.parse();
  parsed.error = parser.diagnosis().kind;
  if (parsed.error != SyntaxError::none) parsed.place = place_of(source, parser.diagnosis().at);
  return parsed;
}

template <std::size_t Size, std::size_t Capacity>
constexpr ParsedTemplate<Size> shrink(const ParsedTemplate<Capacity>& parsed) {
  ParsedTemplate<Size> exact;
  for (std::size_t i = 0; i < Size; ++i) exact.nodes.nodes[i] = parsed.nodes.nodes[i];
  exact.nodes.size = Size;
  exact.root = parsed.root;
  return exact;
}

// All compilers print the arguments of the class whose static_assert fails: that is where the error is.
template <SyntaxError Kind, std::uint32_t Line, std::uint32_t Column>
struct chat_template_is_well_formed {
  static_assert(Kind == SyntaxError::none, "the chat template has a syntax error: its kind, line and column are the arguments above");
  static constexpr bool value = true;
};

template <const auto& Source>
class CompiledTemplate {
  static constexpr std::string_view text{Source, sizeof(Source) - 1};  // without the NUL that ends the literal
  static constexpr auto parsed = parse_template<sizeof(Source) + 8>(text);
  static_assert(chat_template_is_well_formed<parsed.error, parsed.place.line, parsed.place.column>::value);
  static constexpr auto exact = shrink<parsed.nodes.size>(parsed);

 public:
  static constexpr Tree tree() { return {text, exact.nodes.nodes.data(), exact.nodes.size, exact.root}; }
};

}  // namespace diecast::chat
