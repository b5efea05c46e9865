// Cuts a template into tokens: text, tags, and the words inside of tags. White space control as HF transformers sets it up:
// trim_blocks (the line break after a block tag goes) and lstrip_blocks (blanks before a block tag that opens its line go).
// Written so that the compiler can run it: tokens are offsets, errors are values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <diecast/chat/node.hpp>
#include <diecast/chat/utf8.hpp>

namespace diecast::chat {

enum class TokenKind : std::uint8_t {
  end,
  data,
  print_begin,
  print_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  plus,
  minus,
  star,
  star_star,
  slash,
  slash_slash,
  percent,
  tilde,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  assign,
  dot,
  comma,
  colon,
  pipe,
  semicolon,
  left_paren,
  right_paren,
  left_bracket,
  right_bracket,
  left_brace,
  right_brace
};

// Names that steer an expression. Everything else is known by its letters.
enum class Word : std::uint8_t { other, and_, or_, not_, in, is, if_, else_, true_, false_, none };

struct Token {
  TokenKind kind = TokenKind::end;
  Word word = Word::other;
  std::uint32_t at = 0;
  std::uint32_t length = 0;
};

namespace lexing {

inline constexpr std::uint8_t name_start = 1;
inline constexpr std::uint8_t digit = 2;
inline constexpr std::uint8_t blank = 4;
inline constexpr std::uint8_t wide = 8;  // not ASCII: a letter, or white space by its code point

inline constexpr std::array<std::uint8_t, 256> classes = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t c = 0; c < 256; ++c) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') table[c] = name_start;
    if (c >= 0x80) table[c] = wide;
    if (c >= '0' && c <= '9') table[c] = digit;
    if (c == ' ' || (c >= 9 && c <= 13)) table[c] = blank;
  }
  return table;
}();

constexpr std::uint8_t class_of(char c) { return classes[static_cast<unsigned char>(c)]; }

constexpr Word word_of(std::string_view name) {
  switch (name.size()) {
    case 2:
      if (name[0] == 'i') return name[1] == 'f' ? Word::if_ : name[1] == 's' ? Word::is : name[1] == 'n' ? Word::in : Word::other;
      return name == "or" ? Word::or_ : Word::other;
    case 3: return name == "and" ? Word::and_ : name == "not" ? Word::not_ : Word::other;
    case 4:
      switch (name[0]) {
        case 't':
        case 'T': return name.substr(1) == "rue" ? Word::true_ : Word::other;
        case 'n':
        case 'N': return name.substr(1) == "one" ? Word::none : Word::other;
        default: return name == "else" ? Word::else_ : Word::other;
      }
    case 5: return (name[0] == 'f' || name[0] == 'F') && name.substr(1) == "alse" ? Word::false_ : Word::other;
    default: return Word::other;
  }
}

constexpr bool is_break(char c) { return c == '\n' || c == '\r'; }

}  // namespace lexing

class Lexer {
 public:
  constexpr explicit Lexer(std::string_view source) : source_(source), end_(source.size()) {
    // One line break at the very end belongs to the file, not to the template.
    if (end_ > 0 && source_[end_ - 1] == '\n') --end_;
    if (end_ > 0 && source_[end_ - 1] == '\r') --end_;
  }

  constexpr Token next() {
    if (failed()) return token(TokenKind::end, end_, 0);
    return inside_ == Inside::text ? text_token() : tag_token();
  }

  constexpr bool failed() const { return diagnosis_.kind != SyntaxError::none; }
  constexpr const Diagnosis& diagnosis() const { return diagnosis_; }
  constexpr void fail(SyntaxError kind, std::size_t at) {
    if (!failed()) diagnosis_ = {kind, static_cast<std::uint32_t>(at)};
  }

 private:
  enum class Inside : std::uint8_t { text, print, block };

  constexpr Token token(TokenKind kind, std::size_t at, std::size_t length) const {
    return {kind, Word::other, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(length)};
  }

  constexpr bool has(std::size_t at, char first, char second) const {
    return at + 1 < end_ && source_[at] == first && source_[at + 1] == second;
  }

  // --- outside of tags -----------------------------------------------------------------------------------------------

  constexpr std::size_t find_tag(std::size_t from) const {
    const std::string_view text = source_.substr(0, end_);
    for (std::size_t at = from;; ++at) {
      at = text.find('{', at);
      if (at == std::string_view::npos || at + 1 >= end_) return end_;
      const char c = text[at + 1];
      if (c == '{' || c == '%' || c == '#') return at;
    }
  }

  // The text before a tag, cut as the tag's sign and lstrip_blocks ask.
  constexpr std::size_t text_end(std::size_t begin, std::size_t tag, char sign, bool is_print) const {
    if (sign == '-') return skip_space_back(source_, begin, tag);
    if (sign == '+' || is_print) return tag;
    std::size_t line = tag;
    while (line > begin && !lexing::is_break(source_[line - 1])) {
      const std::size_t before = previous_start(source_, line);
      if (!is_space(decode_at(source_, before).value)) return tag;
      line = before;
    }
    const bool opens_line = line > begin || begin == 0 || lexing::is_break(source_[begin - 1]);
    return opens_line ? line : tag;
  }

  constexpr std::size_t skip_break(std::size_t at) const {
    if (has(at, '\r', '\n')) return at + 2;
    return at < end_ && lexing::is_break(source_[at]) ? at + 1 : at;
  }

  // After `%}` or `#}` with the sign that stood before it.
  constexpr std::size_t after_block(std::size_t at, char sign) const {
    return sign == '-' ? skip_space(source_, at, end_) : sign == '+' ? at : skip_break(at);
  }

  constexpr char sign_at(std::size_t at) const {
    return at < end_ && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
  }

  constexpr Token text_token() {
    while (true) {
      if (at_ >= end_) return token(TokenKind::end, end_, 0);
      const std::size_t begin = at_;
      const std::size_t tag = find_tag(begin);
      if (tag == end_) {
        at_ = end_;
        return token(TokenKind::data, begin, end_ - begin);
      }
      const char kind = source_[tag + 1];
      const char sign = sign_at(tag + 2);
      const std::size_t stop = text_end(begin, tag, sign, kind == '{');
      if (stop > begin) {
        at_ = tag;  // the tag is met again with nothing before it
        return token(TokenKind::data, begin, stop - begin);
      }
      const std::size_t body = tag + 2 + (sign != '\0' ? 1 : 0);
      if (kind == '#') {
        if (!skip_comment(tag, body)) return token(TokenKind::end, end_, 0);
        continue;
      }
      if (kind == '%') {
        const std::size_t raw = raw_begin(body);
        if (raw != 0) {
          const Token text = raw_token(tag, raw);
          if (text.length != 0 || failed()) return text;
          continue;
        }
      }
      inside_ = kind == '{' ? Inside::print : Inside::block;
      depth_ = 0;
      at_ = body;
      return token(kind == '{' ? TokenKind::print_begin : TokenKind::block_begin, tag, 2);
    }
  }

  constexpr bool skip_comment(std::size_t tag, std::size_t body) {
    for (std::size_t at = body;; ++at) {
      at = source_.substr(0, end_).find('#', at);
      if (at == std::string_view::npos) break;
      if (!has(at, '#', '}')) continue;
      at_ = after_block(at + 2, at > body ? sign_at(at - 1) : '\0');
      return true;
    }
    fail(SyntaxError::unclosed_comment, tag);
    return false;
  }

  // `raw %}` at `at`: where its text begins; 0 when it is another tag.
  constexpr std::size_t raw_begin(std::size_t at) const {
    at = skip_space(source_, at, end_);
    if (at + 3 > end_ || source_.substr(at, 3) != "raw") return 0;
    at = skip_space(source_, at + 3, end_);
    if (has(at, '%', '}')) return at + 2;
    if (sign_at(at) == '-' && has(at + 1, '%', '}')) return skip_space(source_, at + 3, end_);
    return 0;
  }

  constexpr Token raw_token(std::size_t tag, std::size_t begin) {
    for (std::size_t at = begin;; ++at) {
      at = source_.substr(0, end_).find('{', at);
      if (at == std::string_view::npos) break;
      if (!has(at, '{', '%')) continue;
      const char sign = sign_at(at + 2);
      std::size_t word = skip_space(source_, at + 2 + (sign != '\0' ? 1 : 0), end_);
      if (word + 6 > end_ || source_.substr(word, 6) != "endraw") continue;
      word = skip_space(source_, word + 6, end_);
      const char end_sign = sign_at(word);
      if (end_sign != '\0') ++word;
      if (!has(word, '%', '}')) continue;
      const std::size_t stop = text_end(begin, at, sign, false);
      at_ = after_block(word + 2, end_sign);
      return token(TokenKind::data, begin, stop - begin);
    }
    fail(SyntaxError::unclosed_raw, tag);
    return token(TokenKind::end, end_, 0);
  }

  // --- inside of tags ------------------------------------------------------------------------------------------------

  constexpr Token tag_token() {
    while (at_ < end_ && (lexing::class_of(source_[at_]) == lexing::blank || wide_space(at_))) at_ += decode_at(source_, at_).length;
    if (at_ >= end_) {
      fail(SyntaxError::unexpected_end, end_);
      return token(TokenKind::end, end_, 0);
    }
    const char c = source_[at_];
    const std::uint8_t kind = lexing::class_of(c);
    if ((kind & (lexing::name_start | lexing::wide)) != 0) return name_token();
    if (kind == lexing::digit) return number_token();
    if (c == '\'' || c == '"') return string_token(c);
    if (depth_ == 0) {
      const std::size_t close = at_ + (c == '-' || (c == '+' && inside_ == Inside::block) ? 1 : 0);
      if (inside_ == Inside::print ? has(close, '}', '}') : has(close, '%', '}')) return close_tag(c, close);
    }
    return operator_token(c);
  }

  constexpr Token close_tag(char sign, std::size_t close) {
    const bool is_print = inside_ == Inside::print;
    const Token result = token(is_print ? TokenKind::print_end : TokenKind::block_end, at_, close + 2 - at_);
    at_ = is_print && sign != '-' ? close + 2 : after_block(close + 2, sign);
    inside_ = Inside::text;
    return result;
  }

  constexpr bool wide_space(std::size_t at) const {
    return lexing::class_of(source_[at]) == lexing::wide && is_space(decode_at(source_, at).value);
  }

  constexpr Token name_token() {
    const std::size_t begin = at_;
    constexpr std::uint8_t letter = lexing::name_start | lexing::digit | lexing::wide;
    while (at_ < end_ && (lexing::class_of(source_[at_]) & letter) != 0 && !wide_space(at_)) ++at_;
    Token result = token(TokenKind::name, begin, at_ - begin);
    if (result.length <= 5) result.word = lexing::word_of(source_.substr(begin, at_ - begin));
    return result;
  }

  constexpr bool digit_at(std::size_t at) const { return at < end_ && lexing::class_of(source_[at]) == lexing::digit; }

  // Digits with single underscores between them.
  constexpr std::size_t skip_digits(std::size_t at) const {
    while (digit_at(at) || (at < end_ && source_[at] == '_' && digit_at(at + 1))) ++at;
    return at;
  }

  constexpr bool radix_digit(std::size_t at, int radix) const {
    if (at >= end_) return false;
    const char c = source_[at];
    if (radix == 16) return digit_at(at) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return c >= '0' && c < '0' + radix;
  }

  constexpr Token number_token() {
    const std::size_t begin = at_;
    if (source_[begin] == '0' && begin + 1 < end_) {
      const char c = source_[begin + 1];
      const int radix = c == 'x' || c == 'X' ? 16 : c == 'o' || c == 'O' ? 8 : c == 'b' || c == 'B' ? 2 : 0;
      if (radix != 0) {
        std::size_t at = begin + 2;
        while (radix_digit(at, radix) || (at < end_ && source_[at] == '_' && radix_digit(at + 1, radix))) ++at;
        if (at > begin + 2) {
          at_ = at;
          return token(TokenKind::integer, begin, at - begin);
        }
      }
    }
    const std::size_t whole = skip_digits(begin);
    if (begin == 0 || source_[begin - 1] != '.') {  // `x.1.2` are two subscripts
      std::size_t at = whole;
      bool real = false;
      if (at < end_ && source_[at] == '.' && digit_at(at + 1)) {
        at = skip_digits(at + 1);
        real = true;
      }
      if (at < end_ && (source_[at] == 'e' || source_[at] == 'E')) {
        const std::size_t exponent = at + 1 + (sign_at(at + 1) != '\0' ? 1 : 0);
        if (digit_at(exponent)) {
          at = skip_digits(exponent);
          real = true;
        }
      }
      if (real) {
        at_ = at;
        return token(TokenKind::real, begin, at - begin);
      }
    }
    if (source_[begin] == '0') {  // only zeros may follow a zero
      for (std::size_t i = begin; i < whole; ++i) {
        if (source_[i] != '0' && source_[i] != '_') {
          fail(SyntaxError::bad_number, begin);
          break;
        }
      }
    }
    at_ = whole;
    return token(TokenKind::integer, begin, whole - begin);
  }

  constexpr Token string_token(char quote) {
    const std::size_t begin = at_ + 1;
    for (std::size_t at = begin; at < end_; ++at) {
      const char c = source_[at];
      if (c == quote) {
        at_ = at + 1;
        return token(TokenKind::string, begin, at - begin);
      }
      if (c == '\\') {
        if (!escape_is_good(at + 1)) {
          fail(SyntaxError::bad_escape, at);
          break;
        }
        ++at;
      }
    }
    fail(SyntaxError::unclosed_string, at_);
    return token(TokenKind::end, end_, 0);
  }

  constexpr bool escape_is_good(std::size_t at) const {
    if (at >= end_) return true;  // the string is unclosed, which is the better thing to say
    const char c = source_[at];
    if (c == 'N') return false;  // characters by name
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    std::uint32_t value = 0;
    for (std::size_t i = 1; i <= digits; ++i) {
      if (!radix_digit(at + i, 16)) return false;
      const char d = source_[at + i];
      value = value * 16 + static_cast<std::uint32_t>(d <= '9' ? d - '0' : (d | 0x20) - 'a' + 10);
    }
    return value <= 0x10FFFF;
  }

  constexpr Token operator_token(char c) {
    const std::size_t at = at_;
    const char d = at + 1 < end_ ? source_[at + 1] : '\0';
    const auto two = [&](TokenKind kind) {
      at_ = at + 2;
      return token(kind, at, 2);
    };
    const auto one = [&](TokenKind kind) {
      at_ = at + 1;
      return token(kind, at, 1);
    };
    switch (c) {
      case '+': return one(TokenKind::plus);
      case '-': return one(TokenKind::minus);
      case '*': return d == '*' ? two(TokenKind::star_star) : one(TokenKind::star);
      case '/': return d == '/' ? two(TokenKind::slash_slash) : one(TokenKind::slash);
      case '%': return one(TokenKind::percent);
      case '~': return one(TokenKind::tilde);
      case '=': return d == '=' ? two(TokenKind::equal) : one(TokenKind::assign);
      case '!':
        if (d == '=') return two(TokenKind::not_equal);
        break;
      case '<': return d == '=' ? two(TokenKind::less_equal) : one(TokenKind::less);
      case '>': return d == '=' ? two(TokenKind::greater_equal) : one(TokenKind::greater);
      case '.': return one(TokenKind::dot);
      case ',': return one(TokenKind::comma);
      case ':': return one(TokenKind::colon);
      case '|': return one(TokenKind::pipe);
      case ';': return one(TokenKind::semicolon);
      case '(':
      case '[':
      case '{': return open_bracket(c);
      case ')':
      case ']':
      case '}': return close_bracket(c);
      default: break;
    }
    fail(SyntaxError::unexpected_character, at);
    return token(TokenKind::end, end_, 0);
  }

  constexpr Token open_bracket(char c) {
    if (depth_ == max_brackets) {
      fail(SyntaxError::too_deep, at_);
      return token(TokenKind::end, end_, 0);
    }
    brackets_[depth_++] = c;
    return token(c == '(' ? TokenKind::left_paren : c == '[' ? TokenKind::left_bracket : TokenKind::left_brace, at_++, 1);
  }

  constexpr Token close_bracket(char c) {
    const char open = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (depth_ == 0 || brackets_[depth_ - 1] != open) {
      fail(SyntaxError::unbalanced_bracket, at_);
      return token(TokenKind::end, end_, 0);
    }
    --depth_;
    return token(c == ')' ? TokenKind::right_paren : c == ']' ? TokenKind::right_bracket : TokenKind::right_brace, at_++, 1);
  }

  static constexpr std::size_t max_brackets = 64;

  std::string_view source_;
  std::size_t end_;
  std::size_t at_ = 0;
  Inside inside_ = Inside::text;
  std::size_t depth_ = 0;
  std::array<char, max_brackets> brackets_{};
  Diagnosis diagnosis_;
};

}  // namespace diecast::chat
