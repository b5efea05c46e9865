// Tokens to the syntax tree of a template: the statements of Jinja with loop controls and `generation` blocks, by recursive descent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <diecast/chat/expression_parser.hpp>
#include <diecast/chat/lexer.hpp>
#include <diecast/chat/node.hpp>

namespace diecast::chat {

template <class Nodes>
class Parser : private ExpressionParser<Nodes> {
  using Base = ExpressionParser<Nodes>;
  using Deeper = typename Base::Deeper;
  using Base::add;
  using Base::binary;
  using Base::expect;
  using Base::expression;
  using Base::fail;
  using Base::filter_chain;
  using Base::is;
  using Base::is_name;
  using Base::one_filter;
  using Base::skip;
  using Base::skip_name;
  using Base::take;
  using Base::text;
  using Base::tuple_or_one;
  using Base::unexpected;
  using Base::lexer_;
  using Base::nodes_;
  using Base::source_;
  using Base::token_;
  using Base::uses_;

 public:
  using Base::Base;
  using Base::diagnosis;

  // The first statement. `diagnosis` says whether it went well.
  constexpr Index parse() {
    if (source_.size() >= 0x7FFFFFFF) {
      lexer_.fail(SyntaxError::too_long, 0);
      return 0;
    }
    token_ = lexer_.next();
    return body(Ends::nothing);
  }

 private:
  // Which end tags the body being parsed waits for.
  enum class Ends : std::uint8_t {
    nothing, if_, else_, for_, for_else, set, macro, call, filter, with, generation, block, autoescape
  };

  // --- statements ----------------------------------------------------------------------------------------------------

  constexpr static bool ends(Ends waiting, std::string_view tag) {
    switch (waiting) {
      case Ends::nothing: return false;
      case Ends::if_: return tag == "elif" || tag == "else" || tag == "endif";
      case Ends::else_: return tag == "endif";
      case Ends::for_: return tag == "else" || tag == "endfor";
      case Ends::for_else: return tag == "endfor";
      case Ends::set: return tag == "endset";
      case Ends::macro: return tag == "endmacro";
      case Ends::call: return tag == "endcall";
      case Ends::filter: return tag == "endfilter";
      case Ends::with: return tag == "endwith";
      case Ends::generation: return tag == "endgeneration";
      case Ends::block: return tag == "endblock";
      case Ends::autoescape: return tag == "endautoescape";
    }
    return false;
  }

  // Statements up to an end tag, whose name is then the current token; or up to the end of the template.
  constexpr Index body(Ends waiting) {
    Deeper deeper(*this);
    Chain<Nodes> chain{nodes_};
    while (true) {
      switch (token_.kind) {
        case TokenKind::data: {
          const Token data = take();
          chain.add(add(NodeKind::data, data));
          break;
        }
        case TokenKind::print_begin: {
          const Token begin = take();
          const Index value = tuple_or_one(true);
          chain.add(add(NodeKind::print, begin, value));
          expect(TokenKind::print_end);
          break;
        }
        case TokenKind::block_begin:
          take();
          if (is(TokenKind::name) && ends(waiting, text(token_))) return chain.first;
          chain.add(statement());
          expect(TokenKind::block_end);
          break;
        default:
          if (waiting != Ends::nothing || !is(TokenKind::end)) fail(SyntaxError::unexpected_end, token_.at);
          return chain.first;
      }
    }
  }

  // The body of a tag that is closed by one end tag; the end tag's name is taken.
  constexpr Index closed_body(Ends waiting) {
    skip(TokenKind::colon);
    expect(TokenKind::block_end);
    const Index first = body(waiting);
    take();
    return first;
  }

  constexpr Index statement() {
    if (!is(TokenKind::name)) return unexpected();
    const Token tag = take();
    const std::string_view name = text(tag);
    switch (name[0]) {
      case 'i':
        if (name == "if") return if_statement(tag);
        if (name == "include" || name == "import") return load_statement(tag);
        break;
      case 's':
        if (name == "set") return set_statement(tag);
        break;
      case 'f':
        if (name == "for") return for_statement(tag);
        if (name == "filter") return filter_statement(tag);
        if (name == "from") return load_statement(tag);
        break;
      case 'm':
        if (name == "macro") return macro_statement(tag);
        break;
      case 'c':
        if (name == "call") return call_statement(tag);
        if (name == "continue") return loop_control(NodeKind::continue_, tag);
        break;
      case 'b':
        if (name == "break") return loop_control(NodeKind::break_, tag);
        if (name == "block") return block_statement(tag);
        break;
      case 'g':
        if (name == "generation") return generation_statement(tag);
        break;
      case 'w':
        if (name == "with") return with_statement(tag);
        break;
      case 'p':
        if (name == "print") return print_statement(tag);
        break;
      case 'a':
        if (name == "autoescape") return autoescape_statement(tag);
        break;
      case 'e':
        if (name == "extends") return load_statement(tag);
        if (name == "else" || name == "elif" || name.substr(0, 3) == "end") return fail(SyntaxError::stray_end_tag, tag.at);
        break;
      default: break;
    }
    return fail(SyntaxError::unknown_tag, tag.at);
  }

  constexpr Index if_statement(const Token& tag) {
    const Index first = add(NodeKind::if_, tag);
    Index current = first;
    while (!lexer_.failed()) {
      const Index test = tuple_or_one(false);
      skip(TokenKind::colon);
      expect(TokenKind::block_end);
      const Index then = body(Ends::if_);
      if (lexer_.failed()) break;
      nodes_[current].a = test;
      nodes_[current].b = then;
      const Token end = take();
      if (text(end) == "endif") break;
      if (text(end) == "else") {
        const Index rest = closed_body(Ends::else_);
        if (!lexer_.failed()) nodes_[current].c = rest;
        break;
      }
      const Index rest = add(NodeKind::if_, end);
      nodes_[current].c = rest;
      nodes_[current].op = 1;
      current = rest;
    }
    return first;
  }

  constexpr Index for_statement(const Token& tag) {
    const Index target = assign_target(false);
    if (!is(Word::in)) return unexpected();
    take();
    const Index iterable = tuple_or_one(false, true);
    if (is(Word::if_)) {
      take();
      const Index filter = expression();
      if (!lexer_.failed()) nodes_[iterable].next = filter;
    }
    const bool recursive = skip_name("recursive");
    ++loops_;
    skip(TokenKind::colon);
    expect(TokenKind::block_end);
    const Index content = body(Ends::for_);
    --loops_;
    const Token end = take();
    Index otherwise = 0;
    if (text(end) == "else") otherwise = closed_body(Ends::for_else);
    const Index node = add(NodeKind::for_, tag, target, iterable, content);
    if (node != 0) {
      nodes_[node].d = otherwise;
      nodes_[node].op = recursive ? 1 : 0;
    }
    return node;
  }

  constexpr Index loop_control(NodeKind kind, const Token& tag) {
    if (loops_ == 0) return fail(SyntaxError::loop_control_outside, tag.at);
    return add(kind, tag);
  }

  constexpr Index set_statement(const Token& tag) {
    const Index target = assign_target(true);
    if (skip(TokenKind::assign)) {
      const Index value = tuple_or_one(true);
      return add(NodeKind::set, tag, target, value);
    }
    const Index chain = filter_chain(0);
    const Index content = closed_body(Ends::set);
    return add(NodeKind::set_block, tag, target, chain, content);
  }

  // Inside of a macro, loops outside of it do not count, and what its body mentions is noted.
  struct MacroState {
    int loops;
    std::uint8_t uses;
  };
  constexpr MacroState enter_macro() {
    const MacroState state{loops_, uses_};
    loops_ = 0;
    uses_ = 0;
    return state;
  }
  constexpr std::uint8_t leave_macro(const MacroState& state) {
    const std::uint8_t used = uses_;
    loops_ = state.loops;
    uses_ = static_cast<std::uint8_t>(state.uses | used);
    return used;
  }

  constexpr Index macro_statement(const Token&) {
    const Token name = expect(TokenKind::name);
    const MacroState outer = enter_macro();
    const Index parameters = signature();
    const Index content = closed_body(Ends::macro);
    const std::uint8_t uses = leave_macro(outer);
    const Index node = add(NodeKind::macro, name, parameters, 0, content);
    if (node != 0) nodes_[node].op = uses;
    return node;
  }

  constexpr Index call_statement(const Token& tag) {
    const Index parameters = is(TokenKind::left_paren) ? signature() : 0;
    const Index call = expression();
    if (lexer_.failed()) return 0;
    if (nodes_[call].kind != NodeKind::call) return fail(SyntaxError::call_expected, tag.at);
    const MacroState outer = enter_macro();
    const Index content = closed_body(Ends::call);
    const std::uint8_t uses = leave_macro(outer);
    const Index node = add(NodeKind::call_block, tag, call, parameters, content);
    if (node != 0) nodes_[node].op = uses;
    return node;
  }

  constexpr Index signature() {
    expect(TokenKind::left_paren);
    Chain<Nodes> chain{nodes_};
    bool defaults = false;
    while (!is(TokenKind::right_paren) && !lexer_.failed()) {
      if (chain.first != 0) expect(TokenKind::comma);
      const Token name = expect(TokenKind::name);
      Index value = 0;
      if (skip(TokenKind::assign)) {
        value = expression();
        defaults = true;
      } else if (defaults) {
        return fail(SyntaxError::default_then_no_default, name.at);
      }
      chain.add(add(NodeKind::parameter, name, value));
    }
    expect(TokenKind::right_paren);
    return chain.first;
  }

  constexpr Index filter_statement(const Token& tag) {
    const Index first = one_filter(0);
    const Index all = filter_chain(first);
    const Index content = closed_body(Ends::filter);
    return add(NodeKind::filter_block, tag, 0, all, content);
  }

  constexpr Index with_statement(const Token& tag) {
    Chain<Nodes> targets{nodes_};
    Chain<Nodes> values{nodes_};
    while (!is(TokenKind::block_end) && !lexer_.failed()) {
      if (targets.first != 0) expect(TokenKind::comma);
      targets.add(assign_target(false));
      expect(TokenKind::assign);
      values.add(expression());
    }
    const Index content = closed_body(Ends::with);
    return add(NodeKind::with, tag, targets.first, values.first, content);
  }

  constexpr Index generation_statement(const Token& tag) {
    const int loops = loops_;
    loops_ = 0;
    const Index content = closed_body(Ends::generation);
    loops_ = loops;
    return add(NodeKind::generation, tag, 0, 0, content);
  }

  constexpr Index block_statement(const Token&) {
    const Token name = expect(TokenKind::name);
    const bool scoped = skip_name("scoped");
    skip_name("required");
    const int loops = loops_;
    loops_ = 0;
    const Index content = closed_body(Ends::block);
    loops_ = loops;
    skip_name(text(name));
    const Index node = add(NodeKind::block, name, 0, 0, content);
    if (node != 0) nodes_[node].op = scoped ? 1 : 0;
    return node;
  }

  constexpr Index print_statement(const Token& tag) {
    Chain<Nodes> values{nodes_};
    while (!is(TokenKind::block_end) && !lexer_.failed()) {
      if (values.first != 0) expect(TokenKind::comma);
      values.add(expression());
    }
    return add(NodeKind::print, tag, values.first);
  }

  constexpr Index autoescape_statement(const Token& tag) {
    const Index value = expression();
    const Index content = closed_body(Ends::autoescape);
    return add(NodeKind::autoescape, tag, value, 0, content);
  }

  // Nothing can be loaded, so that only what ends the tag matters.
  constexpr Index load_statement(const Token& tag) {
    while (!is(TokenKind::block_end) && !lexer_.failed() && !is(TokenKind::end)) take();
    return add(NodeKind::load, tag);
  }

  // --- targets -------------------------------------------------------------------------------------------------------

  constexpr Index assign_target(bool with_namespace) {
    const Token begin = token_;
    Chain<Nodes> chain{nodes_};
    bool is_tuple = false;
    while (!lexer_.failed()) {
      if (chain.first != 0) {
        if (is(Word::in) || is(TokenKind::assign) || is(TokenKind::block_end)) break;  // a comma at the end
      }
      chain.add(one_target(with_namespace));
      if (!skip(TokenKind::comma)) break;
      is_tuple = true;
    }
    return is_tuple ? add(NodeKind::tuple, begin, chain.first) : chain.first;
  }

  constexpr Index one_target(bool with_namespace) {
    Deeper deeper(*this);
    if (is(TokenKind::left_paren)) {
      const Token begin = take();
      Chain<Nodes> chain{nodes_};
      bool is_tuple = false;
      while (!is(TokenKind::right_paren) && !lexer_.failed()) {
        chain.add(one_target(false));
        if (!skip(TokenKind::comma)) break;
        is_tuple = true;
      }
      expect(TokenKind::right_paren);
      if (chain.first == 0) return fail(SyntaxError::bad_target, begin.at);
      return is_tuple ? add(NodeKind::tuple, begin, chain.first) : chain.first;
    }
    if (!is(TokenKind::name) || !is(Word::other)) return fail(SyntaxError::bad_target, token_.at);
    const Token name = take();
    const Index node = add(NodeKind::name, name);
    if (!with_namespace || !skip(TokenKind::dot)) return node;
    const Token attribute = expect(TokenKind::name);
    return add(NodeKind::attribute, attribute, node);
  }

  int loops_ = 0;
};

}  // namespace diecast::chat
