// What the literals of a template stand for: escapes decoded, line breaks made one kind, numbers read. Done once for each template.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/chat/node.hpp>
#include <diecast/chat/numbers.hpp>
#include <diecast/chat/utf8.hpp>
#include <diecast/chat/value.hpp>

namespace diecast::chat {

inline std::string with_plain_breaks(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      result += text[i];
    } else {
      result += '\n';
      if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
    }
  }
  return result;
}

// The escapes of a Python string; the lexer has checked them. A backslash before anything else stays.
inline std::string unescaped(std::string_view raw) {
  const std::string text = with_plain_breaks(raw);
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    const char c = text[++i];
    const auto number = [&](std::size_t begin, std::size_t digits, int base) {
      std::int64_t value = 0;
      parse_integer(std::string_view(text).substr(begin, digits), base, value);
      return static_cast<char32_t>(value);
    };
    switch (c) {
      case '\n': break;
      case '\\':
      case '\'':
      case '"': result += c; break;
      case 'a': result += '\a'; break;
      case 'b': result += '\b'; break;
      case 'f': result += '\f'; break;
      case 'n': result += '\n'; break;
      case 'r': result += '\r'; break;
      case 't': result += '\t'; break;
      case 'v': result += '\v'; break;
      case 'x':
      case 'u':
      case 'U': {
        const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        append_character(result, number(i + 1, digits, 16));
        i += digits;
        break;
      }
      default:
        if (c >= '0' && c <= '7') {
          std::size_t digits = 1;
          while (digits < 3 && i + digits < text.size() && text[i + digits] >= '0' && text[i + digits] <= '7') ++digits;
          append_character(result, number(i, digits, 8));
          i += digits - 1;
        } else {
          result += '\\';
          result += c;
        }
    }
  }
  return result;
}

inline std::vector<Value> constants_of(const Tree& tree) {
  std::vector<Value> constants(tree.size);
  std::vector<bool> continues(tree.size);  // another literal, which holds the whole
  for (std::size_t i = 0; i < tree.size; ++i) {
    if (tree.nodes[i].kind == NodeKind::string) continues[tree.nodes[i].a] = true;
  }
  for (std::size_t i = 0; i < tree.size; ++i) {
    const Node& node = tree.nodes[i];
    const std::string_view text = tree.source.substr(node.at, node.length);
    if (node.kind == NodeKind::data) {
      constants[i] = Value(Text::plain(with_plain_breaks(text)));
    } else if (node.kind == NodeKind::string && !continues[i]) {
      std::string whole = unescaped(text);
      for (Index part = node.a; part != 0; part = tree.nodes[part].a) {
        whole += unescaped(tree.source.substr(tree.nodes[part].at, tree.nodes[part].length));
      }
      constants[i] = Value(Text::plain(std::move(whole)));
    } else if (node.kind == NodeKind::integer) {
      std::int64_t value = 0;
      parse_integer(text, text.size() > 1 && text[0] == '0' && text[1] > '9' && text[1] != '_' ? 0 : 10, value);
      constants[i] = Value(value);
    } else if (node.kind == NodeKind::real) {
      double value = 0;
      parse_real(text, value);
      constants[i] = Value(value);
    }
  }
  return constants;
}

}  // namespace diecast::chat
