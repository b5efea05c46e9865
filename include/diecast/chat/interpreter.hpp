// Runs the tree of a chat template over a context. Here is what it consists of; the parts are in calls.hpp (macros, functions, the ways
// into a value), evaluate.hpp (expressions), execute.hpp (statements), filters.hpp and methods.hpp.
// Scopes live in the interpreter until the end, because macros remember the one they were written in.
#pragma once

#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/arguments.hpp>
#include <diecast/chat/budget.hpp>
#include <diecast/chat/node.hpp>
#include <diecast/chat/python.hpp>
#include <diecast/chat/value.hpp>

namespace diecast {

// The template itself refuses the conversation, in its own words.
class TemplateRefusal : public Error {
 public:
  using Error::Error;
};

namespace chat {

struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string_view, Value>> names;
  bool remembered = false;  // by a macro

  Value* find(std::string_view name) {
    for (auto& [known, value] : names) {
      if (known == name) return &value;
    }
    return nullptr;
  }
  void set(std::string_view name, Value value) {
    if (Value* known = find(name)) {
      *known = std::move(value);
    } else {
      names.emplace_back(name, std::move(value));
    }
  }
};

class Namespace : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  bool callable() const override { return false; }
  bool attribute(std::string_view name, Value& value) override {
    for (const auto& [known, item] : names) {
      if (known == name) {
        value = item;
        return true;
      }
    }
    return false;
  }
  Value call(Interpreter&, Arguments&) override { fail("'Namespace' object is not callable"); }
  void set(std::string_view name, Value value) {
    if (!name.empty() && name[0] == '_')
      fail("a chat template cannot store '" + std::string(name) + "' in a namespace: names that begin with an underscore are private");
    for (auto& [known, item] : names) {
      if (known == name) {
        item = std::move(value);
        return;
      }
    }
    names.emplace_back(std::string(name), std::move(value));
  }

  std::vector<std::pair<std::string, Value>> names;
};

using FilterBody = Value (*)(Interpreter&, const Value& input, Arguments&);

enum class Flow : std::uint8_t { on, break_, continue_ };

class Interpreter {
 public:
  using Clock = std::function<std::tm()>;

  Interpreter(const Tree& tree, const std::vector<Value>& constants, const RenderLimits& limits, Clock clock)
      : tree_(tree), constants_(constants), budget_(limits), clock_(std::move(clock)) {}
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  ~Interpreter() {  // namespaces and scopes may hold each other
    for (const auto& space : namespaces_) space->names.clear();
    for (Scope& scope : scopes_) scope.names.clear();
  }

  Text run(const std::vector<std::pair<std::string, Value>>& context) {
    try {
      Scope& given = open_scope(nullptr);
      for (const auto& [name, value] : context) given.set(name, value);
      Scope& root = open_scope(&given);
      root_ = &root;
      TextBuilder out(budget_);
      execute_all(tree_.root, root, out);
      if (out.size() > budget_.limits().output) {
        fail("the prompt has more than " + std::to_string(budget_.limits().output) + " bytes, the limit for a chat template");
      }
      return out.take();
    } catch (const Failure& failure) {
      const Place place = place_of(tree_.source, at_);
      throw Error("the chat template fails at line " + std::to_string(place.line) + ", column " + std::to_string(place.column) + ": " +
                  failure.what());
    }
  }

  Budget& budget() { return budget_; }
  std::tm now() const { return clock_(); }

  // --- values --------------------------------------------------------------------------------------------------------

  Value call(const Value& callee, Arguments& arguments);
  Value call_method(const Value& self, std::string_view name, Arguments& arguments);
  Value attribute(const Value& object, std::string_view name);
  Value item(const Value& object, const Value& index);
  Value apply_filter(std::string_view name, const Value& input, Arguments& arguments);
  bool apply_test(std::string_view name, const Value& input, Arguments& arguments);
  std::shared_ptr<Namespace> make_namespace() {
    budget_.build(sizeof(Namespace) * 2);
    namespaces_.push_back(std::make_shared<Namespace>());
    return namespaces_.back();
  }

  // --- for macros and loops ------------------------------------------------------------------------------------------

  const Node& node(Index index) const { return tree_.nodes[index]; }
  std::string_view name_of(const Node& node) const { return tree_.source.substr(node.at, node.length); }
  Value evaluate(Index index, Scope& scope);
  Flow execute_all(Index first, Scope& scope, TextBuilder& out);
  void assign(Index target, Value value, Scope& scope);
  Flow run_loop(Index index, const Value& iterable, int depth, Scope& scope, TextBuilder& out);

  Scope& open_scope(Scope* parent) {
    budget_.step();
    if (free_.empty()) {
      budget_.build(sizeof(Scope) + 4 * sizeof(Value));
      scopes_.emplace_back();
      free_.push_back(&scopes_.back());
    }
    Scope& scope = *free_.back();
    free_.pop_back();
    scope.parent = parent;
    return scope;
  }
  void close_scope(Scope& scope) {
    if (scope.remembered) return;
    scope.names.clear();
    free_.push_back(&scope);
  }
  void remember(Scope* scope) {
    for (; scope != nullptr && !scope->remembered; scope = scope->parent) scope->remembered = true;
  }

  class Level {  // one more expression, statement or call inside another
   public:
    explicit Level(Interpreter& interpreter) : depth_(interpreter.depth_) {
      if (++depth_ > interpreter.budget_.limits().depth) {
        --depth_;
        fail("expressions and calls nest deeper than " + std::to_string(interpreter.budget_.limits().depth) +
             " levels, the limit for a chat template");
      }
    }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& depth_;
  };

 private:
  Flow execute(const Node& node, Index index, Scope& scope, TextBuilder& out);
  void execute_set_block(const Node& node, Scope& scope);
  void execute_with(const Node& node, Scope& scope, TextBuilder& out);
  void execute_call_block(const Node& node, Index index, Scope& scope, TextBuilder& out);
  Flow execute_in_new_scope(Index first, Scope* parent, TextBuilder& out);
  Value evaluate_node(const Node& node, Index index, Scope& scope);
  Value evaluate_name(const Node& node, Scope& scope);
  Value evaluate_collection(const Node& node, Scope& scope);
  Value evaluate_item(const Node& node, Scope& scope);
  Value evaluate_call(const Node& node, Scope& scope, const Value* caller);
  Value evaluate_compare(const Node& node, Scope& scope);
  Value evaluate_concat(const Node& node, Scope& scope);
  Value evaluate_filters(Index index, const Value& input, Scope& scope);
  Arguments evaluate_arguments(Index first, Scope& scope);
  Value binary(Operator op, const Value& left, const Value& right);

  Tree tree_;
  const std::vector<Value>& constants_;
  Budget budget_;
  Clock clock_;
  std::deque<Scope> scopes_;
  std::vector<Scope*> free_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  Scope* root_ = nullptr;
  std::uint32_t at_ = 0;
  int depth_ = 0;
};

}  // namespace chat
}  // namespace diecast
