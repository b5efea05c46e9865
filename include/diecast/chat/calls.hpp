// What a template can call: macros, the functions that are always there, methods taken from a value; and the ways into a value
// (`.name`, `[index]`, slices). As Jinja's sandbox does, anything that would change a list or a dict is out of reach.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/slices.hpp>
#include <diecast/chat/strftime.hpp>

namespace diecast::chat {

// --- macros ----------------------------------------------------------------------------------------------------------

class Macro : public Object {
 public:
  Macro(Index node, Index parameters, Scope* scope, std::string name)
      : node_(node), parameters_(parameters), scope_(scope), name_(std::move(name)) {}

  std::string_view type_name() const override { return "Macro"; }
  std::string repr() const override { return "<Macro '" + name_ + "'>"; }
  bool attribute(std::string_view name, Value& value) override {
    if (name != "name") return false;
    value = Value::plain(name_);
    return true;
  }

  Value call(Interpreter& interpreter, Arguments& arguments) override {
    Interpreter::Level level(interpreter);
    const Node& node = interpreter.node(node_);
    Scope& scope = interpreter.open_scope(scope_);
    bind(interpreter, node.op, arguments, scope);
    TextBuilder out(interpreter.budget());
    interpreter.execute_all(node.c, scope, out);
    interpreter.close_scope(scope);
    return Value(out.take());
  }

 private:
  void bind(Interpreter& interpreter, std::uint8_t uses, Arguments& arguments, Scope& scope) const {
    std::size_t used = 0;
    bool caller_is_parameter = false;
    for (Index at = parameters_; at != 0; at = interpreter.node(at).next) {
      const Node& parameter = interpreter.node(at);
      const std::string_view name = interpreter.name_of(parameter);
      if (name == "caller") caller_is_parameter = true;
      if (used < arguments.positional.size()) {
        scope.set(name, arguments.positional[used++]);
        continue;
      }
      const auto given =
          std::find_if(arguments.named.begin(), arguments.named.end(), [&](const auto& pair) { return pair.name.view() == name; });
      if (given != arguments.named.end()) {
        scope.set(name, std::move(given->value));
        arguments.named.erase(given);
      } else if (parameter.a != 0) {
        scope.set(name, interpreter.evaluate(parameter.a, scope));
      } else {
        scope.set(name, Value::undefined("parameter '" + std::string(name) + "' was not provided"));
      }
    }
    if ((uses & uses_caller) != 0 && !caller_is_parameter) take_caller(arguments, scope);
    if ((uses & uses_kwargs) != 0) {
      Dict rest;
      for (auto& [name, value] : arguments.named) rest.set(Value(name), std::move(value));
      scope.set("kwargs", Value(std::move(rest)));
    } else if (!arguments.named.empty()) {
      fail("macro '" + name_ + "' takes no keyword argument '" + arguments.named.front().name.bytes() + "'");
    }
    if ((uses & uses_varargs) != 0) {
      scope.set("varargs", make_tuple(interpreter.budget(),
                                      {arguments.positional.begin() + static_cast<std::ptrdiff_t>(used), arguments.positional.end()}));
    } else if (used < arguments.positional.size()) {
      fail("macro '" + name_ + "' takes not more than " + std::to_string(used) + " argument(s)");
    }
  }

  static void take_caller(Arguments& arguments, Scope& scope) {
    const auto given =
        std::find_if(arguments.named.begin(), arguments.named.end(), [](const auto& pair) { return pair.name.view() == "caller"; });
    if (given == arguments.named.end()) {
      scope.set("caller", Value::undefined("No caller defined"));
    } else {
      scope.set("caller", std::move(given->value));
      arguments.named.erase(given);
    }
  }

  Index node_;
  Index parameters_;
  Scope* scope_;
  std::string name_;
};

// --- functions that are always there ---------------------------------------------------------------------------------

class Function : public Object {
 public:
  using Body = Value (*)(Interpreter&, Arguments&);
  Function(std::string_view name, Body body) : name_(name), body_(body) {}
  std::string_view type_name() const override { return "function"; }
  std::string repr() const override { return "<function " + std::string(name_) + ">"; }
  Value call(Interpreter& interpreter, Arguments& arguments) override { return body_(interpreter, arguments); }

 private:
  std::string_view name_;
  Body body_;
};

inline Value call_range(Interpreter& interpreter, Arguments& arguments) {
  Bound bound("range", arguments, {"start", "stop", "step"});
  const bool one = !bound.has(1);
  const std::int64_t start = one ? 0 : bound.integer(0);
  const std::int64_t stop = one ? bound.integer(0) : bound.integer(1);
  const std::int64_t step = bound.integer_or(2, 1);
  if (step == 0) fail("range() arg 3 must not be zero");
  constexpr std::uint64_t most = 100'000;  // as Jinja's sandbox has it
  const std::uint64_t distance = step > 0 ? (stop > start ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start) : 0)
                                          : (start > stop ? static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop) : 0);
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const std::uint64_t count = distance / stride + (distance % stride != 0 ? 1 : 0);
  if (count > most)
    fail("range too big: the sandbox refuses ranges of more than " + std::to_string(most) + " items, this one has " +
         std::to_string(count));
  interpreter.budget().step(count);
  std::vector<Value> items;
  for (std::uint64_t i = 0; i < count; ++i)
    items.emplace_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(step)));
  interpreter.budget().build(items.size() * sizeof(Value));
  List list(std::move(items), ListKind::range);
  list.label = "range(" + std::to_string(start) + ", " + std::to_string(stop) + (step == 1 ? "" : ", " + std::to_string(step)) + ")";
  return Value(std::move(list));
}

// dict(pairs or a dict, name=value, ...)
inline Dict collect_dict(Interpreter& interpreter, std::string_view function, Arguments& arguments) {
  Budget& budget = interpreter.budget();
  if (arguments.positional.size() > 1)
    fail(std::string(function) + "() expected at most 1 argument, got " + std::to_string(arguments.positional.size()));
  Dict dict;
  const auto put = [&](const Value& key, const Value& value) {
    check_hashable(key);
    budget.step(key.is_string() ? 1 : dict.entries.size() + 1);
    budget.build(2 * sizeof(Value));
    dict.set(key, value);
  };
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.is_dict()) {
      for (const auto& [key, value] : from.as_dict().entries) put(key, value);
    } else {
      for (const Value& pair : items_of(budget, from)) {
        const auto both = items_of(budget, pair);
        if (both.size() != 2) fail("dictionary update sequence element has length " + std::to_string(both.size()) + "; 2 is required");
        put(both[0], both[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) put(Value(name), value);
  return dict;
}

inline Value call_dict(Interpreter& interpreter, Arguments& arguments) { return Value(collect_dict(interpreter, "dict", arguments)); }

inline Value call_namespace(Interpreter& interpreter, Arguments& arguments) {
  const Dict dict = collect_dict(interpreter, "namespace", arguments);
  const auto space = interpreter.make_namespace();
  for (const auto& [key, value] : dict.entries) {
    if (!key.is_string()) fail("the names of a namespace must be strings");
    interpreter.budget().step(space->names.size());
    space->set(key.as_text().view(), value);
  }
  return Value(std::static_pointer_cast<Object>(space));
}

inline Value call_raise_exception(Interpreter& interpreter, Arguments& arguments) {
  Bound bound("raise_exception", arguments, {"message"});
  throw TemplateRefusal(str(interpreter.budget(), bound.need(0)).bytes());
}

inline Value call_strftime_now(Interpreter& interpreter, Arguments& arguments) {
  Bound bound("strftime_now", arguments, {"format"});
  const Text& format = bound.text(0);
  TextBuilder out(interpreter.budget());
  out.add(time_text(format.view(), interpreter.now()), format.any_typed());
  return Value(out.take());
}

// joiner(", "): nothing at the first call, the separator afterwards.
class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "Joiner"; }
  Value call(Interpreter&, Arguments&) override { return std::exchange(used_, true) ? separator_ : Value::plain(""); }

 private:
  Value separator_;
  bool used_ = false;
};

class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "Cycler"; }
  bool callable() const override { return false; }
  bool attribute(std::string_view name, Value& value) override {
    if (name == "current") {
      value = items_[at_];
    } else if (name == "next") {
      value = Value(std::make_shared<Method>(shared(), false));
    } else if (name == "reset") {
      value = Value(std::make_shared<Method>(shared(), true));
    } else {
      return false;
    }
    return true;
  }
  Value call(Interpreter&, Arguments&) override { fail("'Cycler' object is not callable"); }
  static Value make(std::vector<Value> items) {
    const auto cycler = std::make_shared<Cycler>(std::move(items));
    cycler->self_ = cycler;
    return Value(std::static_pointer_cast<Object>(cycler));
  }

 private:
  class Method : public Object {
   public:
    Method(std::shared_ptr<Cycler> cycler, bool reset) : cycler_(std::move(cycler)), reset_(reset) {}
    std::string_view type_name() const override { return "method"; }
    Value call(Interpreter&, Arguments&) override {
      if (reset_) {
        cycler_->at_ = 0;
        return None{};
      }
      const std::size_t now = cycler_->at_;
      cycler_->at_ = (now + 1) % cycler_->items_.size();
      return cycler_->items_[now];
    }

   private:
    std::shared_ptr<Cycler> cycler_;
    bool reset_;
  };

  std::shared_ptr<Cycler> shared() const { return self_.lock(); }

  std::vector<Value> items_;
  std::size_t at_ = 0;
  std::weak_ptr<Cycler> self_;
};

inline Value call_joiner(Interpreter&, Arguments& arguments) {
  Bound bound("joiner", arguments, {"sep"});
  return Value(std::static_pointer_cast<Object>(std::make_shared<Joiner>(bound.value_or(0, Value::plain(", ")))));
}

inline Value call_cycler(Interpreter&, Arguments& arguments) {
  if (arguments.positional.empty()) fail("at least one item has to be provided");
  return Cycler::make(std::move(arguments.positional));
}

inline Value global_function(std::string_view name) {
  struct Entry {
    std::string_view name;
    Function::Body body;
  };
  static constexpr std::array<Entry, 7> functions{{{"range", call_range},
                                                   {"dict", call_dict},
                                                   {"namespace", call_namespace},
                                                   {"raise_exception", call_raise_exception},
                                                   {"strftime_now", call_strftime_now},
                                                   {"joiner", call_joiner},
                                                   {"cycler", call_cycler}}};
  for (const Entry& entry : functions) {
    if (entry.name == name) return Value(std::static_pointer_cast<Object>(std::make_shared<Function>(entry.name, entry.body)));
  }
  return {};
}

// --- methods ---------------------------------------------------------------------------------------------------------

bool has_method(const Value& value, std::string_view name);

class BoundMethod : public Object {
 public:
  BoundMethod(Value self, std::string_view name) : self_(std::move(self)), name_(name) {}
  std::string_view type_name() const override { return "builtin_function_or_method"; }
  std::string repr() const override { return "<built-in method " + name_ + " of " + std::string(self_.type_name()) + " object>"; }
  Value call(Interpreter& interpreter, Arguments& arguments) override { return interpreter.call_method(self_, name_, arguments); }

 private:
  Value self_;
  std::string name_;
};

inline Value Interpreter::call(const Value& callee, Arguments& arguments) {
  Level level(*this);
  if (callee.is_undefined()) fail_undefined(callee);
  if (!callee.is_object()) fail(quoted_type(callee) + " object is not callable");
  const std::shared_ptr<Object> object = callee.as_object();
  return object->call(*this, arguments);
}

// --- into a value ----------------------------------------------------------------------------------------------------

inline std::string described(const Value& value) {
  if (value.is_none()) return "None";
  if (value.is_list(ListKind::group)) return "tuple object";
  return std::string(value.type_name()) + " object";
}

inline bool changes_value(const Value& value, std::string_view name) {
  static constexpr std::array<std::string_view, 8> of_list{"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
  static constexpr std::array<std::string_view, 5> of_dict{"clear", "pop", "popitem", "setdefault", "update"};
  if (value.is_list(ListKind::list)) return std::find(of_list.begin(), of_list.end(), name) != of_list.end();
  return value.is_dict() && std::find(of_dict.begin(), of_dict.end(), name) != of_dict.end();
}

inline Value Interpreter::attribute(const Value& object, std::string_view name) {
  if (object.is_undefined()) fail_undefined(object);
  const auto unsafe = [&] {
    return Value::undefined("access to attribute '" + std::string(name) + "' of '" + std::string(object.type_name()) +
                            "' object is unsafe.");
  };
  if (name.substr(0, 2) == "__" || changes_value(object, name)) return unsafe();
  if (has_method(object, name)) {
    budget_.build(sizeof(BoundMethod));
    return Value(std::static_pointer_cast<Object>(std::make_shared<BoundMethod>(object, name)));
  }
  Value value;
  if (object.is_object() && object.as_object()->attribute(name, value)) return value;
  if (object.is_list(ListKind::group)) {
    if (name == "grouper") return object.as_list().items[0];
    if (name == "list") return object.as_list().items[1];
  }
  if (object.is_dict()) {
    if (const Value* found = object.as_dict().find(name)) return *found;
  }
  return Value::undefined("'" + described(object) + "' has no attribute '" + std::string(name) + "'");
}

inline Value Interpreter::item(const Value& object, const Value& index) {
  if (object.is_undefined()) fail_undefined(object);
  if (object.is_dict()) {
    budget_.step(lookup_steps(object.as_dict(), index));
    if (const Value* found = object.as_dict().find(index)) return *found;
  } else if (index.is_integral() && (object.is_string() || (object.is_list() && object.as_list().kind <= ListKind::group))) {
    const std::int64_t count = length(object);
    const std::int64_t at = index.as_int() < 0 ? index.as_int() + count : index.as_int();
    if (at >= 0 && at < count) {
      if (object.is_list()) return object.as_list().items[static_cast<std::size_t>(at)];
      return slice_of(budget_, object, Value(at), Value(at + 1), Value(None{}));
    }
  }
  if (index.is_string()) return attribute(object, index.as_text().view());
  TextBuilder shown(budget_);
  add_repr(shown, index);
  return Value::undefined(described(object) + " has no element " + shown.take().bytes());
}

}  // namespace diecast::chat
