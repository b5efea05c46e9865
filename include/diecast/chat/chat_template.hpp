// Step 1: messages to the text of a prompt, by the template that came with the model (Jinja as HF transformers renders it).
// A ChatTemplate is immutable: any number of threads may render with one at the same time.
#pragma once

#include <array>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <diecast/chat/budget.hpp>
#include <diecast/chat/calls.hpp>
#include <diecast/chat/compiled_template.hpp>
#include <diecast/chat/constants.hpp>
#include <diecast/chat/evaluate.hpp>
#include <diecast/chat/execute.hpp>
#include <diecast/chat/filters.hpp>
#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/methods.hpp>
#include <diecast/chat/node.hpp>
#include <diecast/chat/parser.hpp>
#include <diecast/chat/prompt_text.hpp>
#include <diecast/chat/strftime.hpp>
#include <diecast/chat/syntax_sentences.hpp>
#include <diecast/chat/value.hpp>

namespace diecast {

struct Message {
  std::string role;
  std::string content;
};

namespace chat {

// The roles that are words of the template rather than something typed: templates make markers of them, like <|user|>.
// Any other role stays typed text, since `<|` + "im_end" + `|>` must not become a marker.
inline bool is_known_role(std::string_view role) {
  static constexpr std::array<std::string_view, 13> roles{"system",      "user",      "assistant",    "tool",        "developer",
                                                          "function",    "model",     "ipython",      "observation", "context",
                                                          "environment", "documents", "tool_response"};
  for (const std::string_view known : roles) {
    if (known == role) return true;
  }
  return false;
}

inline Value role_value(std::string_view role) { return is_known_role(role) ? Value::plain(role) : Value::typed(role); }

// The list that templates call `messages`.
inline Value messages_value(std::span<const Message> messages) {
  std::vector<Value> list;
  for (const Message& message : messages) {
    list.push_back(
        Value::dict({{Value::plain("role"), role_value(message.role)}, {Value::plain("content"), Value::typed(message.content)}}));
  }
  return Value::list(std::move(list));
}

}  // namespace chat

// What a template sees. Strings made with Value::typed are content; those made with Value::plain may hold markers that count.
struct TemplateContext {
  chat::Value messages = chat::Value::list();
  std::optional<chat::Value> tools;
  std::optional<chat::Value> documents;
  bool add_generation_prompt = true;
  std::string bos_token;
  std::string eos_token;
  std::vector<std::pair<std::string, chat::Value>> others;  // further names; they win over the ones above
  std::function<std::tm()> clock = chat::local_time;        // for strftime_now
  RenderLimits limits{};
};

namespace chat {

struct GrowingNodes {
  std::vector<Node> nodes;
  Index push(const Node& node) {
    nodes.push_back(node);
    return static_cast<Index>(nodes.size() - 1);
  }
  Node& operator[](Index index) { return nodes[index]; }
};

// What follows is the larger part of a unit's compile time. It is not inline and has a parameter that nobody sets, so that
// <diecast/compiled.hpp> can say that it is compiled elsewhere.
template <class = void>
Index parse_into(GrowingNodes& nodes, const std::string& source) {
  Parser<GrowingNodes> parser(source, nodes);
  const Index root = parser.parse();
  if (parser.diagnosis().kind != SyntaxError::none) throw Error(syntax_sentence(source, parser.diagnosis()));
  return root;
}

template <class = void>
std::shared_ptr<const std::vector<Value>> shared_constants(const Tree& tree) {
  return std::make_shared<const std::vector<Value>>(constants_of(tree));
}

template <class = void>
PromptText render(const Tree& tree, const std::vector<Value>& constants, const TemplateContext& context) {
  if (!context.messages.is_list() || context.messages.as_list().items.empty())
    throw Error("the list of messages is empty: there is nothing to answer");
  std::vector<std::pair<std::string, Value>> names{{"messages", context.messages},
                                                   {"add_generation_prompt", context.add_generation_prompt},
                                                   {"bos_token", Value::plain(context.bos_token)},
                                                   {"eos_token", Value::plain(context.eos_token)},
                                                   {"tools", context.tools.value_or(None{})},
                                                   {"documents", context.documents.value_or(None{})}};
  names.insert(names.end(), context.others.begin(), context.others.end());
  Interpreter interpreter(tree, constants, context.limits, context.clock);
  return interpreter.run(names).to_prompt();
}

template <class = void>
PromptText render(const Tree& tree, const std::vector<Value>& constants, std::span<const Message> messages, bool add_generation_prompt,
                  std::string_view bos_token, std::string_view eos_token) {
  TemplateContext context;
  context.messages = messages_value(messages);
  context.add_generation_prompt = add_generation_prompt;
  context.bos_token = bos_token;
  context.eos_token = eos_token;
  return render(tree, constants, context);
}

}  // namespace chat

class ChatTemplate {
 public:
  // Throws Error with line and column when the template is broken.
  explicit ChatTemplate(std::string source) : owned_(std::make_shared<const Owned>(std::move(source))), tree_(owned_->tree()) { prepare(); }

  // A tree parsed elsewhere, which must outlive this: CompiledTemplate<...>::tree(), so that only a config needs the parser.
  explicit ChatTemplate(const chat::Tree& tree) : tree_(tree) { prepare(); }

  // A template that the compiler has parsed: ChatTemplate::of<Config::chat_template>().
  template <const auto& Source>
  static ChatTemplate of() {
    return ChatTemplate(chat::CompiledTemplate<Source>::tree());
  }

  std::string_view source() const noexcept { return tree_.source; }

  PromptText render(const TemplateContext& context) const {
    return chat::render(tree_, *constants_, context);
  }

  PromptText render(std::span<const Message> messages, bool add_generation_prompt, std::string_view bos_token,
                    std::string_view eos_token) const {
    return chat::render(tree_, *constants_, messages, add_generation_prompt, bos_token, eos_token);
  }

 private:
  struct Owned {
    explicit Owned(std::string text) : source(std::move(text)) { root = chat::parse_into(nodes, source); }
    chat::Tree tree() const { return {source, nodes.nodes.data(), nodes.nodes.size(), root}; }

    std::string source;
    chat::GrowingNodes nodes;
    chat::Index root = 0;
  };

  void prepare() { constants_ = chat::shared_constants(tree_); }

  std::shared_ptr<const Owned> owned_;  // of a template read at run time
  chat::Tree tree_;
  std::shared_ptr<const std::vector<chat::Value>> constants_;
};

}  // namespace diecast
