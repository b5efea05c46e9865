// The syntax tree of a chat template: flat nodes that name each other by index and their text by offsets into the source.
// Nothing in it owns memory, so one parser fills it at run time and, as a constant, at compile time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace diecast::chat {

using Index = std::uint32_t;  // 0 is "no node"

enum class NodeKind : std::uint8_t {
  nothing,
  // statements, chained by `next`
  data,          // text [at, at + length)
  print,         // a: expressions, chained
  if_,           // a: condition, b: body, c: the rest; op 1: the rest is one `elif`
  for_,          // a: target, b: iterable and, as its next, the filter; c: body, d: else; op 1: recursive
  set,           // a: target, b: value
  set_block,     // a: target, b: filters or 0, c: body
  macro,         // name; a: parameters, c: body; op: flags below
  call_block,    // a: call, b: parameters, c: body; op: flags below
  filter_block,  // b: filters, c: body
  with,          // a: targets, b: values, c: body
  generation,    // c: body
  block,         // name; c: body; op 1: scoped
  autoescape,    // a: value, c: body
  break_,
  continue_,
  load,  // include, import, from, extends: there is nothing to load from
  // expressions
  name,
  string,   // inside of the quotes; a: the literal that follows, to be appended
  integer,
  real,
  true_,
  false_,
  none,
  list,         // a: items
  tuple,        // a: items
  dict,         // a: key, value, key, value, ...
  attribute,    // name; a: object
  item,         // a: object, b: index
  slice,        // a, b, c: start, stop, step or 0
  call,         // a: callee, b: arguments
  keyword,      // name; a: value; an argument
  star,         // a: value; an argument
  double_star,  // a: value; an argument
  parameter,    // name; a: default or 0
  filter,       // name; a: input or 0, b: arguments
  test,         // name; a: input, b: arguments; op 1: negated
  not_,
  negative,
  positive,
  and_,     // a, b
  or_,      // a, b
  binary,   // op, a, b
  concat,   // a: operands
  compare,  // a: first operand, b: `operand` nodes
  operand,  // op; a
  condition  // a: test, b: then, c: else or 0
};

enum class Operator : std::uint8_t { none, add, sub, mul, div, floordiv, mod, pow, eq, ne, lt, le, gt, ge, in, not_in };

// What the body of a macro mentions, and so accepts.
inline constexpr std::uint8_t uses_varargs = 1;
inline constexpr std::uint8_t uses_kwargs = 2;
inline constexpr std::uint8_t uses_caller = 4;

struct Node {
  NodeKind kind = NodeKind::nothing;
  std::uint8_t op = 0;
  std::uint32_t at = 0;      // offset into the source
  std::uint32_t length = 0;  // of the name or the literal
  Index a = 0;
  Index b = 0;
  Index c = 0;
  Index d = 0;
  Index next = 0;
};

enum class SyntaxError : std::uint8_t {
  none,
  unexpected_character,
  unexpected_token,
  unexpected_end,
  unclosed_comment,
  unclosed_raw,
  unclosed_string,
  unbalanced_bracket,
  bad_escape,
  bad_number,
  bad_target,
  bad_arguments,
  default_then_no_default,
  call_expected,
  chained_test,
  unknown_tag,
  stray_end_tag,
  loop_control_outside,
  too_deep,
  too_long
};

struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;  // in bytes
};

constexpr Place place_of(std::string_view source, std::size_t at) {
  Place place;
  for (std::size_t i = 0; i < at && i < source.size(); ++i) {
    const bool line_break = source[i] == '\n' || (source[i] == '\r' && !(i + 1 < source.size() && source[i + 1] == '\n'));
    if (line_break) {
      ++place.line;
      place.column = 1;
    } else {
      ++place.column;
    }
  }
  return place;
}

struct Diagnosis {
  SyntaxError kind = SyntaxError::none;
  std::uint32_t at = 0;
};

// A parsed template as the interpreter sees it; source and nodes belong to somebody else.
struct Tree {
  std::string_view source;
  const Node* nodes = nullptr;
  std::size_t size = 0;
  Index root = 0;  // first statement
};

// Nodes of a fixed number: for the compiler, first with room to spare, then exact.
template <std::size_t Capacity>
struct FixedNodes {
  std::array<Node, Capacity == 0 ? 1 : Capacity> nodes{};
  std::size_t size = 0;
  bool full = false;

  constexpr Index push(const Node& node) {
    if (size == Capacity) {
      full = true;
      return 0;
    }
    nodes[size] = node;
    return static_cast<Index>(size++);
  }
  constexpr Node& operator[](Index index) { return nodes[index]; }
  constexpr const Node& operator[](Index index) const { return nodes[index]; }
};

}  // namespace diecast::chat
