// The statements of a chat template.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <diecast/chat/calls.hpp>
#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/loop.hpp>

namespace diecast::chat {

inline Flow Interpreter::execute_all(Index first, Scope& scope, TextBuilder& out) {
  Level level(*this);
  for (Index index = first; index != 0; index = node(index).next) {
    const Flow flow = execute(node(index), index, scope, out);
    if (flow != Flow::on) return flow;
  }
  return Flow::on;
}

inline Flow Interpreter::execute_in_new_scope(Index first, Scope* parent, TextBuilder& out) {
  Scope& scope = open_scope(parent);
  const Flow flow = execute_all(first, scope, out);
  close_scope(scope);
  return flow;
}

inline Flow Interpreter::execute(const Node& node, Index index, Scope& scope, TextBuilder& out) {
  budget_.step();
  at_ = node.at;
  switch (node.kind) {
    case NodeKind::data: out.add(constants_[index].as_text()); return Flow::on;
    case NodeKind::print:
      for (Index value = node.a; value != 0; value = this->node(value).next) {
        const Value result = evaluate(value, scope);
        at_ = this->node(value).at;
        add_str(out, result);
      }
      return Flow::on;
    case NodeKind::if_: {
      const Node* branch = &node;
      while (true) {
        if (truth(evaluate(branch->a, scope))) return branch->b != 0 ? execute_all(branch->b, scope, out) : Flow::on;
        if (branch->op == 0) return branch->c != 0 ? execute_all(branch->c, scope, out) : Flow::on;
        branch = &this->node(branch->c);
      }
    }
    case NodeKind::for_: {
      const Value iterable = evaluate(node.b, scope);
      at_ = node.at;
      return run_loop(index, iterable, 0, scope, out);
    }
    case NodeKind::set: assign(node.a, evaluate(node.b, scope), scope); return Flow::on;
    case NodeKind::set_block: execute_set_block(node, scope); return Flow::on;
    case NodeKind::macro:
      remember(&scope);
      scope.set(name_of(node), Value(std::make_shared<Macro>(index, node.a, &scope, std::string(name_of(node)))));
      return Flow::on;
    case NodeKind::call_block: execute_call_block(node, index, scope, out); return Flow::on;
    case NodeKind::filter_block: {
      TextBuilder content(budget_);
      execute_in_new_scope(node.c, &scope, content);
      const Value result = evaluate_filters(node.b, Value(content.take()), scope);
      if (!result.is_string()) fail("the filters of a filter block must give a string, not " + std::string(result.type_name()));
      add_str(out, result);
      return Flow::on;
    }
    case NodeKind::with: execute_with(node, scope, out); return Flow::on;
    case NodeKind::generation: return execute_in_new_scope(node.c, &scope, out);
    case NodeKind::block: return execute_in_new_scope(node.c, node.op == 1 ? &scope : root_, out);
    case NodeKind::autoescape:
      if (truth(evaluate(node.a, scope))) fail("autoescape is not part of the chat template language");
      return execute_in_new_scope(node.c, &scope, out);
    case NodeKind::break_: return Flow::break_;
    case NodeKind::continue_: return Flow::continue_;
    case NodeKind::load: fail("a chat template stands alone: it cannot " + std::string(name_of(node)) + " another one");
    default: fail("not a statement");
  }
}

inline void Interpreter::execute_set_block(const Node& node, Scope& scope) {
  TextBuilder content(budget_);
  execute_in_new_scope(node.c, &scope, content);
  assign(node.a, evaluate_filters(node.b, Value(content.take()), scope), scope);
}

inline void Interpreter::execute_with(const Node& node, Scope& scope, TextBuilder& out) {
  Scope& inner = open_scope(&scope);
  Index value = node.b;
  for (Index target = node.a; target != 0; target = this->node(target).next, value = this->node(value).next) {
    assign(target, evaluate(value, scope), inner);
  }
  execute_all(node.c, inner, out);
  close_scope(inner);
}

inline void Interpreter::execute_call_block(const Node& node, Index index, Scope& scope, TextBuilder& out) {
  remember(&scope);
  const Value caller(std::make_shared<Macro>(index, node.b, &scope, "caller"));
  const Value result = evaluate_call(this->node(node.a), scope, &caller);
  add_str(out, result);
}

inline void Interpreter::assign(Index target, Value value, Scope& scope) {
  const Node& to = node(target);
  if (to.kind == NodeKind::name) {
    scope.set(name_of(to), std::move(value));
    return;
  }
  if (to.kind == NodeKind::attribute) {
    const Value space = evaluate(to.a, scope);
    at_ = to.at;
    auto* names = space.is_object() ? dynamic_cast<Namespace*>(space.as_object().get()) : nullptr;
    if (names == nullptr) fail("cannot assign attribute on non-namespace object");
    budget_.step(names->names.size());
    names->set(name_of(to), std::move(value));
    return;
  }
  at_ = to.at;
  const auto items = items_of(budget_, value);
  std::size_t i = 0;
  std::size_t expected = 0;
  for (Index part = to.a; part != 0; part = node(part).next) ++expected;
  if (items.size() != expected) {
    fail((items.size() < expected ? "not enough" : "too many") + std::string(" values to unpack (expected ") + std::to_string(expected) +
         ", got " + std::to_string(items.size()) + ")");
  }
  for (Index part = to.a; part != 0; part = node(part).next) assign(part, items[i++], scope);
}

// `depth` counts how often a recursive loop has called itself.
inline Flow Interpreter::run_loop(Index index, const Value& iterable, int depth, Scope& scope, TextBuilder& out) {
  const Node& loop_node = node(index);
  if (!chat::iterable(iterable)) fail(quoted_type(iterable) + " object is not iterable");
  const auto loop = std::make_shared<Loop>(*this, index, items_of(budget_, iterable), depth, scope);
  bool finished_one = false;
  Value current;
  while (loop->advance(current)) {
    Scope& body = open_scope(&scope);
    body.set("loop", Value(std::static_pointer_cast<Object>(loop)));
    assign(loop_node.a, current, body);
    const Flow flow = execute_all(loop_node.c, body, out);
    close_scope(body);
    if (flow == Flow::break_) break;
    if (flow == Flow::on) finished_one = true;
  }
  // As Jinja compiles it: the else branch runs unless one round came to its end.
  if (!finished_one && loop_node.d != 0) return execute_in_new_scope(loop_node.d, &scope, out);
  return Flow::on;
}

}  // namespace diecast::chat
