// The expressions of a chat template.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/calls.hpp>
#include <diecast/chat/format.hpp>
#include <diecast/chat/interpreter.hpp>

namespace diecast::chat {

inline Value Interpreter::evaluate(Index index, Scope& scope) {
  Level level(*this);
  budget_.step();
  const Node& current = node(index);
  at_ = current.at;
  return evaluate_node(current, index, scope);
}

inline Value Interpreter::evaluate_node(const Node& node, Index index, Scope& scope) {
  switch (node.kind) {
    case NodeKind::name: return evaluate_name(node, scope);
    case NodeKind::string:
    case NodeKind::integer:
    case NodeKind::real: return constants_[index];
    case NodeKind::true_: return true;
    case NodeKind::false_: return false;
    case NodeKind::none: return None{};
    case NodeKind::list:
    case NodeKind::tuple:
    case NodeKind::dict: return evaluate_collection(node, scope);
    case NodeKind::attribute: {
      const Value object = evaluate(node.a, scope);
      at_ = node.at;
      return attribute(object, name_of(node));
    }
    case NodeKind::item: return evaluate_item(node, scope);
    case NodeKind::call: return evaluate_call(node, scope, nullptr);
    case NodeKind::filter: {
      const Value input = evaluate(node.a, scope);
      Arguments arguments = evaluate_arguments(node.b, scope);
      at_ = node.at;
      return apply_filter(name_of(node), input, arguments);
    }
    case NodeKind::test: {
      const Value input = evaluate(node.a, scope);
      Arguments arguments = evaluate_arguments(node.b, scope);
      at_ = node.at;
      return apply_test(name_of(node), input, arguments) != (node.op == 1);
    }
    case NodeKind::not_: return !truth(evaluate(node.a, scope));
    case NodeKind::negative:
    case NodeKind::positive: {
      const Value value = evaluate(node.a, scope);
      at_ = node.at;
      if (value.is_undefined()) fail_undefined(value);
      if (!value.is_number())
        fail(std::string("bad operand type for unary ") + (node.kind == NodeKind::negative ? "-" : "+") + ": " + quoted_type(value));
      if (node.kind == NodeKind::positive) return value.is_real() ? Value(value.as_real()) : Value(value.as_int());
      return value.is_real() ? Value(-value.as_real()) : integer_arithmetic(Operator::sub, 0, value.as_int());
    }
    case NodeKind::and_: {
      Value left = evaluate(node.a, scope);
      return truth(left) ? evaluate(node.b, scope) : left;
    }
    case NodeKind::or_: {
      Value left = evaluate(node.a, scope);
      return truth(left) ? left : evaluate(node.b, scope);
    }
    case NodeKind::binary: {
      const Value left = evaluate(node.a, scope);
      const Value right = evaluate(node.b, scope);
      at_ = node.at;
      return binary(static_cast<Operator>(node.op), left, right);
    }
    case NodeKind::concat: return evaluate_concat(node, scope);
    case NodeKind::compare: return evaluate_compare(node, scope);
    case NodeKind::condition:
      if (truth(evaluate(node.a, scope))) return evaluate(node.b, scope);
      return node.c != 0 ? evaluate(node.c, scope)
                         : Value::undefined("the inline if-expression evaluated to false and no else section was defined");
    case NodeKind::slice: fail("a slice stands only inside of brackets");
    default: fail("not an expression");
  }
}

inline Value Interpreter::evaluate_name(const Node& node, Scope& scope) {
  const std::string_view name = name_of(node);
  for (Scope* at = &scope; at != nullptr; at = at->parent) {
    if (const Value* found = at->find(name)) return *found;
  }
  if (Value global = global_function(name); !global.is_undefined()) return global;
  return Value::undefined("'" + std::string(name) + "' is undefined");
}

inline Value Interpreter::evaluate_concat(const Node& node, Scope& scope) {
  TextBuilder out(budget_);
  for (Index part = node.a; part != 0; part = this->node(part).next) add_str(out, evaluate(part, scope));
  return Value(out.take());
}

inline Value Interpreter::evaluate_collection(const Node& node, Scope& scope) {
  if (node.kind == NodeKind::dict) {
    Dict dict;
    for (Index at = node.a; at != 0;) {
      Value key = evaluate(at, scope);
      at = this->node(at).next;
      check_hashable(key);
      budget_.step(key.is_string() ? 1 : dict.entries.size() + 1);
      budget_.build(2 * sizeof(Value));
      dict.set(std::move(key), evaluate(at, scope));
      at = this->node(at).next;
    }
    return Value(std::move(dict));
  }
  std::vector<Value> items;
  for (Index at = node.a; at != 0; at = this->node(at).next) items.push_back(evaluate(at, scope));
  return make_list(budget_, std::move(items), node.kind == NodeKind::tuple ? ListKind::tuple : ListKind::list);
}

inline Value Interpreter::evaluate_item(const Node& node, Scope& scope) {
  const Value object = evaluate(node.a, scope);
  const Node& index = this->node(node.b);
  if (index.kind != NodeKind::slice) {
    const Value key = evaluate(node.b, scope);
    at_ = node.at;
    return item(object, key);
  }
  const auto bound = [&](Index part) { return part != 0 ? evaluate(part, scope) : Value(None{}); };
  const Value start = bound(index.a);
  const Value stop = bound(index.b);
  const Value step = bound(index.c);
  at_ = node.at;
  return slice_of(budget_, object, start, stop, step);
}

inline Arguments Interpreter::evaluate_arguments(Index first, Scope& scope) {
  Arguments arguments;
  for (Index at = first; at != 0; at = node(at).next) {
    const Node& argument = node(at);
    if (argument.kind == NodeKind::keyword) {
      arguments.add_named(name_of(argument), evaluate(argument.a, scope));
    } else if (argument.kind == NodeKind::star) {
      for (Value& value : items_of(budget_, evaluate(argument.a, scope))) arguments.positional.push_back(std::move(value));
    } else if (argument.kind == NodeKind::double_star) {
      const Value names = evaluate(argument.a, scope);
      if (!names.is_dict()) fail("argument after ** must be a mapping, not " + std::string(names.type_name()));
      for (const auto& [key, value] : names.as_dict().entries) {
        if (!key.is_string()) fail("keywords must be strings");
        budget_.build(sizeof(Value) * 2 + key.as_text().size());
        arguments.named.emplace_back(key.as_text(), value);
      }
    } else {
      arguments.positional.push_back(evaluate(at, scope));
    }
  }
  return arguments;
}

inline Value Interpreter::evaluate_call(const Node& node, Scope& scope, const Value* caller) {
  const Node& callee = this->node(node.a);
  // A method is called on its value at once; taken alone it would become a value of its own.
  if (callee.kind == NodeKind::attribute) {
    const Value self = evaluate(callee.a, scope);
    const std::string_view name = name_of(callee);
    if (has_method(self, name)) {
      Arguments arguments = evaluate_arguments(node.b, scope);
      if (caller != nullptr) arguments.add_named("caller", *caller);
      at_ = callee.at;
      return call_method(self, name, arguments);
    }
    at_ = callee.at;
    const Value function = attribute(self, name);
    Arguments arguments = evaluate_arguments(node.b, scope);
    if (caller != nullptr) arguments.add_named("caller", *caller);
    at_ = callee.at;
    return call(function, arguments);
  }
  const Value function = evaluate(node.a, scope);
  Arguments arguments = evaluate_arguments(node.b, scope);
  if (caller != nullptr) arguments.add_named("caller", *caller);
  at_ = node.at;
  return call(function, arguments);
}

inline Value Interpreter::evaluate_filters(Index index, const Value& input, Scope& scope) {
  if (index == 0) return input;
  Level level(*this);
  const Node& filter = node(index);
  const Value before = evaluate_filters(filter.a, input, scope);
  Arguments arguments = evaluate_arguments(filter.b, scope);
  at_ = filter.at;
  return apply_filter(name_of(filter), before, arguments);
}

inline Value Interpreter::evaluate_compare(const Node& node, Scope& scope) {
  Value left = evaluate(node.a, scope);
  for (Index at = node.b; at != 0; at = this->node(at).next) {
    const Node& operand = this->node(at);
    Value right = evaluate(operand.a, scope);
    at_ = operand.at;
    bool holds = false;
    switch (static_cast<Operator>(operand.op)) {
      case Operator::eq: holds = equal(budget_, left, right); break;
      case Operator::ne: holds = !equal(budget_, left, right); break;
      case Operator::lt: holds = order(budget_, left, right, "<") == -1; break;
      case Operator::gt: holds = order(budget_, left, right, ">") == 1; break;
      case Operator::le: {
        const int result = order(budget_, left, right, "<=");
        holds = result == -1 || result == 0;
        break;
      }
      case Operator::ge: holds = order(budget_, left, right, ">=") >= 0; break;
      case Operator::in: holds = contains(budget_, right, left); break;
      case Operator::not_in: holds = !contains(budget_, right, left); break;
      default: fail("not a comparison");
    }
    if (!holds) return false;
    left = std::move(right);
  }
  return true;
}

inline std::string_view sign_of(Operator op) {
  switch (op) {
    case Operator::add: return "+";
    case Operator::sub: return "-";
    case Operator::mul: return "*";
    case Operator::div: return "/";
    case Operator::floordiv: return "//";
    case Operator::mod: return "%";
    default: return "** or pow()";
  }
}

inline Value repeated(Budget& budget, const Value& value, std::int64_t count) {
  const auto times = static_cast<std::size_t>(count < 0 ? 0 : count);
  if (value.is_string()) {
    TextBuilder out(budget);
    return Value(out.repeat(value.as_text(), times).take());
  }
  const List& list = value.as_list();
  std::vector<Value> items;
  if (!list.items.empty()) {
    budget.fits(list.items.size() * sizeof(Value), times);
    for (std::size_t i = 0; i < times; ++i) {
      budget.step(list.items.size());
      budget.build(list.items.size() * sizeof(Value));
      items.insert(items.end(), list.items.begin(), list.items.end());
    }
  }
  return Value(List(std::move(items), list.kind));
}

// What `safe` and `escape` have marked escapes its partner, as Markup does in Python; elsewhere the mark means nothing here.
inline Text added(Budget& budget, const Text& left, const Text& right) {
  TextBuilder out(budget);
  if (!left.is_markup() && !right.is_markup()) return out.add(left).add(right).take();
  out.add(left.is_markup() ? left : escaped_text(budget, left));
  out.add(right.is_markup() ? right : escaped_text(budget, right));
  return out.take().as_markup();
}

inline Value Interpreter::binary(Operator op, const Value& left, const Value& right) {
  if (op == Operator::mod && left.is_string()) return Value(format_percent(budget_, left.as_text(), right));
  if (left.is_undefined()) fail_undefined(left);
  if (right.is_undefined()) fail_undefined(right);
  if (left.is_integral() && right.is_integral()) return integer_arithmetic(op, left.as_int(), right.as_int());
  if (left.is_number() && right.is_number()) return real_arithmetic(op, left.as_real(), right.as_real());
  if (op == Operator::add) {
    if (left.is_string() && right.is_string()) return Value(added(budget_, left.as_text(), right.as_text()));
    const bool lists = left.is_list(ListKind::list) && right.is_list(ListKind::list);
    if (lists || (is_tuple(left) && is_tuple(right))) {
      std::vector<Value> items = left.as_list().items;
      budget_.step(items.size() + right.as_list().items.size());
      items.insert(items.end(), right.as_list().items.begin(), right.as_list().items.end());
      return make_list(budget_, std::move(items), lists ? ListKind::list : ListKind::tuple);
    }
    if (left.is_string()) fail("can only concatenate str (not \"" + std::string(right.type_name()) + "\") to str");
  }
  if (op == Operator::mul) {
    const auto sequence = [](const Value& value) { return value.is_string() || value.is_list(ListKind::list) || is_tuple(value); };
    if (sequence(left) && right.is_integral()) return repeated(budget_, left, right.as_int());
    if (left.is_integral() && sequence(right)) return repeated(budget_, right, left.as_int());
  }
  fail("unsupported operand type(s) for " + std::string(sign_of(op)) + ": " + quoted_type(left) + " and " + quoted_type(right));
}

}  // namespace diecast::chat
