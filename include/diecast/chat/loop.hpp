// `loop`: what the body of a for loop can ask about it. Items that the loop's `if` filters are tried one at a time,
// since the body may change what the filter sees; only `loop.last`, `loop.nextitem` and `loop.length` look ahead.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/interpreter.hpp>

namespace diecast::chat {

class Loop : public Object, public std::enable_shared_from_this<Loop> {
 public:
  Loop(Interpreter& interpreter, Index node, std::vector<Value> items, int depth, Scope& scope)
      : interpreter_(interpreter), node_(node), items_(std::move(items)), depth_(depth), scope_(scope) {}

  std::string_view type_name() const override { return "LoopContext"; }
  bool callable() const override { return true; }

  bool advance(Value& item) {
    Value next;
    if (!ahead_.empty()) {
      next = std::move(ahead_.front());
      ahead_.pop_front();
    } else if (!pull(next)) {
      return false;
    }
    ++index0_;
    previous_ = std::move(current_);
    current_ = next;
    item = std::move(next);
    return true;
  }

  bool attribute(std::string_view name, Value& value) override {
    if (name == "index0") return set(value, index0_);
    if (name == "index") return set(value, index0_ + 1);
    if (name == "first") return set(value, index0_ == 0);
    if (name == "last") return set(value, !peek());
    if (name == "length") return set(value, length());
    if (name == "revindex") return set(value, length() - index0_);
    if (name == "revindex0") return set(value, length() - index0_ - 1);
    if (name == "depth") return set(value, depth_ + 1);
    if (name == "depth0") return set(value, depth_);
    if (name == "previtem") return set(value, index0_ > 0 ? previous_ : Value::undefined("there is no previous item"));
    if (name == "nextitem") return set(value, peek() ? ahead_.front() : Value::undefined("there is no next item"));
    if (name == "cycle" || name == "changed")
      return set(value, Value(std::make_shared<BoundLoopMethod>(shared_from_this(), name == "cycle")));
    return false;
  }

  // `loop(children)` in a recursive loop: its body again, over other items.
  Value call(Interpreter& interpreter, Arguments& arguments) override {
    if (interpreter.node(node_).op == 0) fail("the loop must have the 'recursive' marker to be called recursively");
    Bound bound("loop", arguments, {"iterable"});
    Interpreter::Level level(interpreter);
    TextBuilder out(interpreter.budget());
    interpreter.run_loop(node_, bound.need(0), depth_ + 1, scope_, out);
    return Value(out.take());
  }

 private:
  class BoundLoopMethod : public Object {
   public:
    BoundLoopMethod(std::shared_ptr<Loop> loop, bool cycle) : loop_(std::move(loop)), cycle_(cycle) {}
    std::string_view type_name() const override { return "method"; }
    Value call(Interpreter& interpreter, Arguments& arguments) override {
      return cycle_ ? loop_->cycle(arguments) : loop_->changed(interpreter, arguments);
    }

   private:
    std::shared_ptr<Loop> loop_;
    bool cycle_;
  };

  template <class T>
  static bool set(Value& value, T result) {
    value = Value(std::move(result));
    return true;
  }

  Value cycle(Arguments& arguments) const {
    if (arguments.positional.empty()) fail("no items for cycling given");
    return arguments.positional[static_cast<std::size_t>(index0_) % arguments.positional.size()];
  }

  Value changed(Interpreter& interpreter, Arguments& arguments) {
    Value now = make_tuple(interpreter.budget(), std::move(arguments.positional));
    if (asked_ && equal(interpreter.budget(), *asked_, now)) return false;
    asked_ = std::move(now);
    return true;
  }

  // The next item that passes the filter.
  bool pull(Value& item) {
    const Node& node = interpreter_.node(node_);
    const Index filter = interpreter_.node(node.b).next;
    while (taken_ < items_.size()) {
      interpreter_.budget().step();
      Value candidate = std::move(items_[taken_++]);
      if (filter != 0) {
        Scope& scope = interpreter_.open_scope(&scope_);
        interpreter_.assign(node.a, candidate, scope);
        const bool passes = truth(interpreter_.evaluate(filter, scope));
        interpreter_.close_scope(scope);
        if (!passes) continue;
      }
      item = std::move(candidate);
      return true;
    }
    return false;
  }

  bool peek() {
    if (!ahead_.empty()) return true;
    Value item;
    if (!pull(item)) return false;
    ahead_.push_back(std::move(item));
    return true;
  }

  std::int64_t length() {
    const Node& node = interpreter_.node(node_);
    if (interpreter_.node(node.b).next == 0) return static_cast<std::int64_t>(items_.size());
    if (!length_) {
      Value item;
      while (pull(item)) ahead_.push_back(std::move(item));
      length_ = static_cast<std::int64_t>(ahead_.size()) + index0_ + 1;
    }
    return *length_;
  }

  Interpreter& interpreter_;
  Index node_;
  std::vector<Value> items_;
  std::size_t taken_ = 0;
  std::deque<Value> ahead_;
  std::int64_t index0_ = -1;
  int depth_;
  Scope& scope_;
  Value current_;
  Value previous_;
  std::optional<Value> asked_;
  std::optional<std::int64_t> length_;
};

}  // namespace diecast::chat
