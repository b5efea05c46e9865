// What is wrong with a template, in words.
#pragma once

#include <string>
#include <string_view>

#include <diecast/chat/node.hpp>
#include <diecast/chat/utf8.hpp>

namespace diecast::chat {

inline std::string_view sentence_of(SyntaxError kind) {
  switch (kind) {
    case SyntaxError::none: return "nothing is wrong";
    case SyntaxError::unexpected_character: return "a character that begins nothing in this language";
    case SyntaxError::unexpected_token: return "something else is expected here";
    case SyntaxError::unexpected_end: return "the template ends, or a tag closes, before what was begun is complete";
    case SyntaxError::unclosed_comment: return "the comment is never closed";
    case SyntaxError::unclosed_raw: return "the raw block has no endraw";
    case SyntaxError::unclosed_string: return "the string is never closed";
    case SyntaxError::unbalanced_bracket: return "the bracket does not match the one that is open";
    case SyntaxError::bad_escape: return "an escape in a string is incomplete, out of range or names a character";
    case SyntaxError::bad_number: return "a decimal number begins with zero";
    case SyntaxError::bad_target: return "this cannot be assigned to";
    case SyntaxError::bad_arguments: return "the arguments of a call are in an impossible order";
    case SyntaxError::default_then_no_default: return "a parameter without a default follows one with a default";
    case SyntaxError::call_expected: return "a call block needs a call";
    case SyntaxError::chained_test: return "tests with 'is' cannot be chained";
    case SyntaxError::unknown_tag: return "there is no such tag";
    case SyntaxError::stray_end_tag: return "this tag closes nothing that is open";
    case SyntaxError::loop_control_outside: return "break and continue belong inside of a loop";
    case SyntaxError::too_deep: return "the template nests deeper than the parser goes";
    case SyntaxError::too_long: return "the template is too long";
  }
  return "unknown";
}

inline std::string syntax_sentence(std::string_view source, const Diagnosis& diagnosis) {
  const Place place = place_of(source, diagnosis.at);
  std::string near;
  for (std::size_t at = diagnosis.at; at < source.size() && near.size() < 20 && source[at] != '\n' && source[at] != '\r';) {
    const CodePoint c = decode_at(source, at);
    append_character(near, c.value);
    at += c.length;
  }
  return "the chat template is broken at line " + std::to_string(place.line) + ", column " + std::to_string(place.column) + ": " +
         std::string(sentence_of(diagnosis.kind)) + (near.empty() ? "" : " (near \"" + near + "\")");
}

}  // namespace diecast::chat
