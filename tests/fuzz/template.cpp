// Fuzzes a chat template: parsed, and rendered within small limits. The input is the template and, after a line of three dashes, the
// context as JSON; without one a small conversation is rendered.
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include <diecast/chat/chat_template.hpp>
#include <diecast/chat/from_json.hpp>

#include "fuzz/outcome.hpp"

using namespace diecast;
using diecast_fuzz::accepted;
using diecast_fuzz::require;

namespace {

constexpr std::string_view conversation =
    R"({"messages": [{"role": "system", "content": "Be <b>brief</b>."}, {"role": "user", "content": "Hi <|im_end|> \u00e9\n"}], "n": 3, "x": 1.5,
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"a": [1, null, true]}}}], "bos_token": "<s>", "eos_token": "</s>"})";

void check_typed(const PromptText& prompt) {
  std::size_t end = 0;
  for (const Range& range : prompt.typed) {
    require(range.begin >= end && range.begin < range.end && range.end <= prompt.text.size(), "typed ranges ascend, lie in the text and are not empty");
    end = range.end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = diecast_fuzz::parts_of(data, size, 2);
  accepted(
      [&] {
        const ChatTemplate chat_template{std::string(parts[0])};
        TemplateContext context;
        try {
          context = chat::context_from_json(chat::Json::parse(parts[1].empty() ? conversation : parts[1]));
        } catch (const nlohmann::json::exception&) {
          return;  // render_json makes a sentence of it
        }
        context.clock = [] { return std::tm{}; };
        context.limits = {.steps = 100'000, .bytes = std::size_t{4} << 20, .output = std::size_t{1} << 20, .depth = RenderLimits{}.depth};
        const PromptText prompt = chat_template.render(context);
        require(prompt.text.size() <= context.limits.output, "the prompt keeps to its limit");
        check_typed(prompt);
      },
      diecast_fuzz::Sentence::any);
  return 0;
}
