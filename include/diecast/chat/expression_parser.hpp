// Tokens to the tree of an expression, by precedence. The statements of parser.hpp are built on it.
// The compiler can run it: `Nodes` is a growing vector at run time, a fixed array for constants.
// After the first error the lexer gives only `end`, so every loop here ends by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <diecast/chat/lexer.hpp>
#include <diecast/chat/node.hpp>

namespace diecast::chat {

// A list of nodes while it is being built.
template <class Nodes>
struct Chain {
  Nodes& nodes;
  Index first = 0;
  Index last = 0;

  constexpr void add(Index node) {
    if (node == 0) return;
    if (first == 0) {
      first = node;
    } else {
      nodes[last].next = node;
    }
    last = node;
    while (nodes[last].next != 0) last = nodes[last].next;
  }
};

template <class Nodes>
class ExpressionParser {
 public:
  constexpr ExpressionParser(std::string_view source, Nodes& nodes) : source_(source), nodes_(nodes), lexer_(source) {
    nodes_.push(Node{});  // index 0 is "no node"
  }

  constexpr const Diagnosis& diagnosis() const { return lexer_.diagnosis(); }

 protected:
  // --- tokens --------------------------------------------------------------------------------------------------------

  constexpr std::string_view text(const Token& token) const { return source_.substr(token.at, token.length); }

  constexpr Token take() {
    const Token taken = token_;
    if (ahead_full_) {
      token_ = ahead_;
      ahead_full_ = false;
    } else {
      token_ = lexer_.next();
    }
    return taken;
  }

  constexpr const Token& look() {
    if (!ahead_full_) {
      ahead_ = lexer_.next();
      ahead_full_ = true;
    }
    return ahead_;
  }

  constexpr Index fail(SyntaxError kind, std::size_t at) {
    lexer_.fail(kind, at);
    token_ = Token{TokenKind::end, Word::other, static_cast<std::uint32_t>(source_.size()), 0};
    ahead_full_ = false;
    return 0;
  }

  constexpr Index unexpected() {
    return fail(token_.kind == TokenKind::end ? SyntaxError::unexpected_end : SyntaxError::unexpected_token, token_.at);
  }

  constexpr bool is(TokenKind kind) const { return token_.kind == kind; }
  constexpr bool is(Word word) const { return token_.word == word; }
  constexpr bool is_name(std::string_view name) const { return token_.kind == TokenKind::name && text(token_) == name; }

  constexpr bool skip(TokenKind kind) {
    if (token_.kind != kind) return false;
    take();
    return true;
  }
  constexpr bool skip_name(std::string_view name) {
    if (!is_name(name)) return false;
    take();
    return true;
  }

  constexpr Token expect(TokenKind kind) {
    if (token_.kind != kind) unexpected();
    return token_.kind == kind ? take() : token_;
  }

  constexpr Index add(NodeKind kind, const Token& token, Index a = 0, Index b = 0, Index c = 0) {
    if (lexer_.failed()) return 0;
    Node node;
    node.kind = kind;
    node.at = token.at;
    node.length = token.length;
    node.a = a;
    node.b = b;
    node.c = c;
    const Index index = nodes_.push(node);
    if (index == 0) return fail(SyntaxError::too_long, token.at);
    return index;
  }

  // Nesting is bounded here, since the parser is recursive and the text is somebody else's.
  class Deeper {
   public:
    constexpr explicit Deeper(ExpressionParser& parser) : parser_(parser) {
      if (++parser_.depth_ > max_depth) parser_.fail(SyntaxError::too_deep, parser_.token_.at);
    }
    constexpr ~Deeper() { --parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    ExpressionParser& parser_;
  };

  // --- expressions ---------------------------------------------------------------------------------------------------

  // `a` or `a, b`: with commas it is a tuple, also without parentheses.
  constexpr Index tuple_or_one(bool with_condition, bool ends_at_recursive = false) {
    const Token begin = token_;
    Chain<Nodes> chain{nodes_};
    bool is_tuple = false;
    while (!lexer_.failed()) {
      if (is(TokenKind::print_end) || is(TokenKind::block_end) || is(TokenKind::right_paren)) break;
      if (ends_at_recursive && is_name("recursive")) break;
      chain.add(with_condition ? expression() : binary(1));
      if (!skip(TokenKind::comma)) break;
      is_tuple = true;
    }
    if (is_tuple) return add(NodeKind::tuple, begin, chain.first);
    if (chain.first == 0) return unexpected();
    return chain.first;
  }

  constexpr Index expression() {
    Deeper deeper(*this);
    Index value = binary(1);
    while (is(Word::if_) && is(TokenKind::name)) {
      const Token begin = take();
      const Index test = binary(1);
      Index otherwise = 0;
      if (is(Word::else_)) {
        take();
        otherwise = expression();
      }
      value = add(NodeKind::condition, begin, test, value, otherwise);
    }
    return value;
  }

  struct Infix {
    int level = 0;  // 1 or, 2 and, (3 not), 4 comparison, 5 + -, 6 ~, 7 * / // %, 8 **
    Operator op = Operator::none;
  };

  constexpr Infix infix() {
    switch (token_.kind) {
      case TokenKind::name:
        switch (token_.word) {
          case Word::or_: return {1};
          case Word::and_: return {2};
          case Word::in: return {4, Operator::in};
          case Word::not_: return look().word == Word::in ? Infix{4, Operator::not_in} : Infix{};
          default: return {};
        }
      case TokenKind::equal: return {4, Operator::eq};
      case TokenKind::not_equal: return {4, Operator::ne};
      case TokenKind::less: return {4, Operator::lt};
      case TokenKind::less_equal: return {4, Operator::le};
      case TokenKind::greater: return {4, Operator::gt};
      case TokenKind::greater_equal: return {4, Operator::ge};
      case TokenKind::plus: return {5, Operator::add};
      case TokenKind::minus: return {5, Operator::sub};
      case TokenKind::tilde: return {6};
      case TokenKind::star: return {7, Operator::mul};
      case TokenKind::slash: return {7, Operator::div};
      case TokenKind::slash_slash: return {7, Operator::floordiv};
      case TokenKind::percent: return {7, Operator::mod};
      case TokenKind::star_star: return {8, Operator::pow};
      default: return {};
    }
  }

  constexpr Index binary(int lowest) {
    Deeper deeper(*this);
    Index left = 0;
    if (is(Word::not_) && lowest <= 3) {
      const Token begin = take();
      const Index operand = binary(3);
      left = add(NodeKind::not_, begin, operand);
    } else {
      left = unary(true);
    }
    while (true) {
      const Infix next = infix();
      if (next.level < lowest || next.level == 0) return left;
      const Token begin = token_;
      if (next.level == 4) {
        left = comparison(begin, left);
      } else if (next.level == 6) {
        Chain<Nodes> chain{nodes_};
        chain.add(left);
        while (skip(TokenKind::tilde)) chain.add(binary(7));
        left = add(NodeKind::concat, begin, chain.first);
      } else {
        take();
        const Index right = binary(next.level + 1);
        const NodeKind kind = next.level == 1 ? NodeKind::or_ : next.level == 2 ? NodeKind::and_ : NodeKind::binary;
        left = add(kind, begin, left, right);
        if (left != 0) nodes_[left].op = static_cast<std::uint8_t>(next.op);
      }
      if (left == 0) return 0;
    }
  }

  constexpr Index comparison(const Token& begin, Index first) {
    Chain<Nodes> chain{nodes_};
    while (true) {
      const Infix next = infix();
      if (next.level != 4) break;
      const Token at = take();
      if (next.op == Operator::not_in) take();
      const Index right = binary(5);
      const Index operand = add(NodeKind::operand, at, right);
      if (operand == 0) return 0;
      nodes_[operand].op = static_cast<std::uint8_t>(next.op);
      chain.add(operand);
    }
    return add(NodeKind::compare, begin, first, chain.first);
  }

  constexpr Index unary(bool with_filter) {
    Index node = 0;
    if (is(TokenKind::minus) || is(TokenKind::plus)) {
      Deeper deeper(*this);
      const Token sign = take();
      const Index operand = unary(false);
      node = add(sign.kind == TokenKind::minus ? NodeKind::negative : NodeKind::positive, sign, operand);
    } else {
      node = primary();
    }
    return postfix(node, with_filter);
  }

  constexpr Index postfix(Index node, bool with_filter) {
    while (node != 0) {
      switch (token_.kind) {
        case TokenKind::dot: node = dotted(node); break;
        case TokenKind::left_bracket: node = subscript(node); break;
        case TokenKind::left_paren: {
          const Token begin = token_;
          const Index arguments = call_arguments();
          node = add(NodeKind::call, begin, node, arguments);
          break;
        }
        case TokenKind::pipe:
          if (!with_filter) return node;
          node = filter_chain(node);
          if (is(TokenKind::dot) || is(TokenKind::left_bracket)) return node;  // these do not follow a filter
          break;
        case TokenKind::name:
          if (!with_filter || !is(Word::is)) return node;
          node = test(node);
          if (is(TokenKind::dot) || is(TokenKind::left_bracket)) return node;
          break;
        default: return node;
      }
    }
    return node;
  }

  constexpr Index dotted(Index object) {
    take();
    if (is(TokenKind::name)) {
      const Token name = take();
      return add(NodeKind::attribute, name, object);
    }
    if (!is(TokenKind::integer)) return unexpected();
    const Token number = take();
    const Index index = add(NodeKind::integer, number);
    return add(NodeKind::item, number, object, index);
  }

  constexpr Index subscript(Index object) {
    const Token begin = take();
    Chain<Nodes> chain{nodes_};
    bool is_tuple = false;
    while (!is(TokenKind::right_bracket) && !lexer_.failed()) {
      if (chain.first != 0) {
        expect(TokenKind::comma);
        is_tuple = true;
      }
      chain.add(subscribed());
    }
    expect(TokenKind::right_bracket);
    const Index index = is_tuple || chain.first == 0 ? add(NodeKind::tuple, begin, chain.first) : chain.first;
    return add(NodeKind::item, begin, object, index);
  }

  constexpr Index subscribed() {
    const Token begin = token_;
    Index start = 0;
    if (!is(TokenKind::colon)) {
      start = expression();
      if (!is(TokenKind::colon)) return start;
    }
    take();
    const auto bound = [&]() -> Index {
      if (is(TokenKind::colon) || is(TokenKind::right_bracket) || is(TokenKind::comma)) return 0;
      return expression();
    };
    const Index stop = bound();
    const Index step = skip(TokenKind::colon) ? bound() : 0;
    return add(NodeKind::slice, begin, start, stop, step);
  }

  constexpr Index call_arguments() {
    const Token begin = expect(TokenKind::left_paren);
    Chain<Nodes> chain{nodes_};
    bool keywords = false;
    bool star = false;
    bool double_star = false;
    while (!is(TokenKind::right_paren) && !lexer_.failed()) {
      if (chain.first != 0) {
        expect(TokenKind::comma);
        if (is(TokenKind::right_paren)) break;
      }
      const Token at = token_;
      if (skip(TokenKind::star)) {
        if (star || double_star) return fail(SyntaxError::bad_arguments, at.at);
        star = true;
        const Index value = expression();
        chain.add(add(NodeKind::star, at, value));
      } else if (skip(TokenKind::star_star)) {
        if (double_star) return fail(SyntaxError::bad_arguments, at.at);
        double_star = true;
        const Index value = expression();
        chain.add(add(NodeKind::double_star, at, value));
      } else if (is(TokenKind::name) && look().kind == TokenKind::assign) {
        if (double_star) return fail(SyntaxError::bad_arguments, at.at);
        keywords = true;
        take();
        take();
        const Index value = expression();
        chain.add(add(NodeKind::keyword, at, value));
      } else {
        if (star || double_star || keywords) return fail(SyntaxError::bad_arguments, begin.at);
        chain.add(expression());
      }
    }
    expect(TokenKind::right_paren);
    return chain.first;
  }

  constexpr Index filter_chain(Index node) {
    while (skip(TokenKind::pipe)) node = one_filter(node);
    return node;
  }

  constexpr Index one_filter(Index input) {
    const Token name = expect(TokenKind::name);
    const Index arguments = is(TokenKind::left_paren) ? call_arguments() : 0;
    return add(NodeKind::filter, name, input, arguments);
  }

  constexpr bool starts_test_argument() const {
    switch (token_.kind) {
      case TokenKind::name: return !is(Word::else_) && !is(Word::or_) && !is(Word::and_) && !is(Word::if_) && !is(Word::not_);
      case TokenKind::string:
      case TokenKind::integer:
      case TokenKind::real:
      case TokenKind::left_bracket:
      case TokenKind::left_brace: return true;
      default: return false;
    }
  }

  constexpr Index test(Index input) {
    take();
    const bool negated = is(Word::not_);
    if (negated) take();
    const Token name = expect(TokenKind::name);
    Index arguments = 0;
    if (is(TokenKind::left_paren)) {
      arguments = call_arguments();
    } else if (starts_test_argument()) {
      if (is(Word::is)) return fail(SyntaxError::chained_test, token_.at);
      arguments = postfix(primary(), false);
    }
    const Index node = add(NodeKind::test, name, input, arguments);
    if (node != 0) nodes_[node].op = negated ? 1 : 0;
    return node;
  }

  constexpr Index primary() {
    switch (token_.kind) {
      case TokenKind::name: return named();
      case TokenKind::string: {
        const Token first = take();
        const Index node = add(NodeKind::string, first);
        Index last = node;
        while (is(TokenKind::string) && !lexer_.failed()) {
          const Token part = take();
          const Index more = add(NodeKind::string, part);
          if (more == 0) return 0;
          nodes_[last].a = more;
          last = more;
        }
        return node;
      }
      case TokenKind::integer: return add(NodeKind::integer, take());
      case TokenKind::real: return add(NodeKind::real, take());
      case TokenKind::left_paren: return parenthesised();
      case TokenKind::left_bracket: return list();
      case TokenKind::left_brace: return dict();
      default: return unexpected();
    }
  }

  constexpr Index named() {
    switch (token_.word) {
      case Word::true_: return add(NodeKind::true_, take());
      case Word::false_: return add(NodeKind::false_, take());
      case Word::none: return add(NodeKind::none, take());
      case Word::other: break;
      default: return unexpected();
    }
    const Token name = take();
    if (name.length == 6 || name.length == 7) {
      const std::string_view word = text(name);
      if (word == "kwargs") uses_ = static_cast<std::uint8_t>(uses_ | uses_kwargs);
      if (word == "varargs") uses_ = static_cast<std::uint8_t>(uses_ | uses_varargs);
      if (word == "caller") uses_ = static_cast<std::uint8_t>(uses_ | uses_caller);
    }
    return add(NodeKind::name, name);
  }

  constexpr Index parenthesised() {
    const Token begin = take();
    Index value = 0;
    if (is(TokenKind::right_paren)) {
      value = add(NodeKind::tuple, begin);
    } else {
      value = tuple_or_one(true);
    }
    expect(TokenKind::right_paren);
    return value;
  }

  constexpr Index list() {
    const Token begin = take();
    Chain<Nodes> chain{nodes_};
    while (!is(TokenKind::right_bracket) && !lexer_.failed()) {
      chain.add(expression());
      if (!skip(TokenKind::comma)) break;
    }
    expect(TokenKind::right_bracket);
    return add(NodeKind::list, begin, chain.first);
  }

  constexpr Index dict() {
    const Token begin = take();
    Chain<Nodes> chain{nodes_};
    while (!is(TokenKind::right_brace) && !lexer_.failed()) {
      chain.add(expression());
      expect(TokenKind::colon);
      chain.add(expression());
      if (!skip(TokenKind::comma)) break;
    }
    expect(TokenKind::right_brace);
    return add(NodeKind::dict, begin, chain.first);
  }

  static constexpr int max_depth = 100;

  std::string_view source_;
  Nodes& nodes_;
  Lexer lexer_;
  Token token_;
  Token ahead_;
  bool ahead_full_ = false;
  int depth_ = 0;
  std::uint8_t uses_ = 0;  // what names the current macro's body has mentioned
};

}  // namespace diecast::chat
