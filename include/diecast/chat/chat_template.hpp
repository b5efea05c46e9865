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
    if (!context.messages.is_list() || context.messages.as_list().items.empty())
      throw Error("the list of messages is empty: there is nothing to answer");
    std::vector<std::pair<std::string, chat::Value>> names{{"messages", context.messages},
                                                           {"add_generation_prompt", context.add_generation_prompt},
                                                           {"bos_token", chat::Value::plain(context.bos_token)},
                                                           {"eos_token", chat::Value::plain(context.eos_token)},
                                                           {"tools", context.tools.value_or(chat::None{})},
                                                           {"documents", context.documents.value_or(chat::None{})}};
    names.insert(names.end(), context.others.begin(), context.others.end());
    chat::Interpreter interpreter(tree_, *constants_, context.limits, context.clock);
    return interpreter.run(names).to_prompt();
  }

  PromptText render(std::span<const Message> messages, bool add_generation_prompt, std::string_view bos_token,
                    std::string_view eos_token) const {
    TemplateContext context;
    context.messages = chat::messages_value(messages);
    context.add_generation_prompt = add_generation_prompt;
    context.bos_token = bos_token;
    context.eos_token = eos_token;
    return render(context);
  }

 private:
  struct GrowingNodes {
    std::vector<chat::Node> nodes;
    chat::Index push(const chat::Node& node) {
      nodes.push_back(node);
      return static_cast<chat::Index>(nodes.size() - 1);
    }
    chat::Node& operator[](chat::Index index) { return nodes[index]; }
  };

  struct Owned {
    explicit Owned(std::string text) : source(std::move(text)) {
      chat::Parser<GrowingNodes> parser(source, nodes);
      root = parser.parse();
      if (parser.diagnosis().kind != chat::SyntaxError::none) throw Error(chat::syntax_sentence(source, parser.diagnosis()));
    }
    chat::Tree tree() const { return {source, nodes.nodes.data(), nodes.nodes.size(), root}; }

    std::string source;
    GrowingNodes nodes;
    chat::Index root = 0;
  };

  void prepare() { constants_ = std::make_shared<const std::vector<chat::Value>>(chat::constants_of(tree_)); }

  std::shared_ptr<const Owned> owned_;  // of a template read at run time
  chat::Tree tree_;
  std::shared_ptr<const std::vector<chat::Value>> constants_;
};

}  // namespace diecast
