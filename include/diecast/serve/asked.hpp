// What a request to /v1/chat/completions or /v1/completions asks for, read from its JSON and refused where it is impossible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <diecast/chat/chat_template.hpp>
#include <diecast/sample/defaults.hpp>
#include <diecast/serve/fields.hpp>
#include <diecast/serve/http_error.hpp>

namespace diecast::serve {

using PlainPrompt = std::variant<std::string, std::vector<int>>;  // text that somebody typed, or ids

struct Asked {
  bool chat = true;
  std::vector<Message> messages{};     // of a chat
  std::vector<PlainPrompt> prompts{};  // of a completion
  SamplingChoice sampling{};
  std::optional<int> max_tokens{};
  std::vector<std::string> stop{};
  std::optional<int> logprobs{};  // how many beside each chosen token
  int choices = 1;                // of each prompt
  bool stream = false, include_usage = false;
};

namespace detail {

inline constexpr std::int64_t most_tokens = 1 << 30;
inline constexpr std::size_t most_stops = 16, longest_stop = 1024;

// Content is text, or a list of parts that are all text.
inline std::string content_of(Fields& message) {
  const Json& content = message.need("content");
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) message.wrong("content", "a string or a list of parts", content);
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    Fields part(content[i], message.path("content[" + std::to_string(i) + "]"));
    const auto type = part.text("type");
    if (type != "text") throw HttpError(400, "'" + part.path("type") + "' must be \"text\": this model reads nothing else", part.path("type"));
    part.need("text");
    text += *part.text("text");
    part.finish();
  }
  return text;
}

inline std::vector<Message> messages_of(Fields& request) {
  const Json& list = request.need("messages");
  if (!list.is_array()) request.wrong("messages", "a list", list);
  if (list.empty()) throw HttpError(400, "'messages' is empty: there is nothing to answer", "messages");
  std::vector<Message> messages;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Fields message(list[i], request.path("messages[" + std::to_string(i) + "]"));
    message.need("role");
    Message one{*message.text("role"), content_of(message)};
    if (!chat::is_known_role(one.role)) throw HttpError(400, "'" + message.path("role") + "' is '" + shortened(one.role) + "', which is no role: system, user and assistant are", message.path("role"));
    message.ignore("name");
    message.only("tool_calls", Json::array());
    message.only("refusal", nullptr);
    message.finish();
    messages.push_back(std::move(one));
  }
  return messages;
}

// Token ids; the scheduler holds them against the vocabulary.
inline std::vector<int> ids_of(const Json& list, const std::string& path) {
  std::vector<int> ids;
  for (const Json& id : list) {
    if (!id.is_number_integer()) throw HttpError(400, "'" + path + "' must hold token ids, but it holds " + Fields::shown(id), path);
    const bool wide = id.is_number_unsigned() ? id.get<std::uint64_t>() > static_cast<std::uint64_t>(most_tokens) : id.get<std::int64_t>() < 0;
    if (wide) throw HttpError(400, "token id " + dump(id) + " in '" + path + "' is outside the vocabulary", path);
    ids.push_back(id.get<int>());
  }
  return ids;
}

// A string, a list of strings, a list of ids, or a list of lists of ids.
inline std::vector<PlainPrompt> prompts_of(Fields& request) {
  const Json& prompt = request.need("prompt");
  if (prompt.is_string()) return {prompt.get<std::string>()};
  if (!prompt.is_array()) request.wrong("prompt", "a string, a list of token ids, or a list of such", prompt);
  if (prompt.empty() || prompt[0].is_number()) return {ids_of(prompt, "prompt")};
  std::vector<PlainPrompt> prompts;
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    const std::string name = "prompt[" + std::to_string(i) + "]";
    if (prompt[i].is_string()) prompts.emplace_back(prompt[i].get<std::string>());
    else if (prompt[i].is_array()) prompts.emplace_back(ids_of(prompt[i], name));
    else request.wrong(name, "a string or a list of token ids", prompt[i]);
  }
  return prompts;
}

inline std::vector<std::string> stops_of(Fields& request) {
  const Json* stop = request.find("stop");
  if (!stop) return {};
  std::vector<std::string> stops;
  if (stop->is_string()) stops.push_back(stop->get<std::string>());
  else if (!stop->is_array()) request.wrong("stop", "a string or a list of strings", *stop);
  else
    for (const Json& one : *stop) {
      if (!one.is_string()) request.wrong("stop", "a list of strings", one);
      stops.push_back(one.get<std::string>());
    }
  if (stops.size() > most_stops) throw HttpError(400, "'stop' has " + std::to_string(stops.size()) + " strings, " + std::to_string(most_stops) + " are the most", "stop");
  for (const std::string& one : stops) {
    if (one.empty()) throw HttpError(400, "'stop' holds an empty string", "stop");
    if (one.size() > longest_stop) throw HttpError(400, "'stop' holds a string of " + std::to_string(one.size()) + " bytes, " + std::to_string(longest_stop) + " are the most", "stop");
  }
  return stops;
}

inline SamplingChoice sampling_of(Fields& request) {
  SamplingChoice choice;
  choice.temperature = request.number("temperature");
  choice.top_p = request.number("top_p");
  choice.min_p = request.number("min_p");
  choice.repetition_penalty = request.number("repetition_penalty");
  choice.presence_penalty = request.number("presence_penalty");
  choice.frequency_penalty = request.number("frequency_penalty");
  if (const auto top_k = request.at_most("top_k", -1, most_tokens)) choice.top_k = static_cast<int>(*top_k);
  if (const Json* seed = request.find("seed")) {
    if (!seed->is_number_integer()) request.wrong("seed", "a whole number of at most 64 bits", *seed);
    choice.seed = seed->is_number_unsigned() ? seed->get<std::uint64_t>() : static_cast<std::uint64_t>(seed->get<std::int64_t>());
  }
  return choice;
}

inline void logprobs_of(Fields& request, Asked& asked) {
  if (!asked.chat) {
    if (const auto top = request.integer("logprobs", 0, 20)) asked.logprobs = static_cast<int>(*top);
    return;
  }
  const bool wanted = request.flag("logprobs").value_or(false);
  const auto top = request.integer("top_logprobs", 0, 20);
  if (top && !wanted) throw HttpError(400, "'top_logprobs' needs 'logprobs': true", "top_logprobs");
  if (wanted) asked.logprobs = static_cast<int>(top.value_or(0));
}

// What clients send that changes nothing here, and what asks for something else than a text.
inline void other_fields(Fields& request) {
  for (const char* harmless : {"model", "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "parallel_tool_calls", "tool_choice"}) request.ignore(harmless);
  request.only("tools", Json::array());
  request.only("functions", Json::array());
  request.only("function_call", "none");
  request.only("logit_bias", Json::object());
  request.only("response_format", Json{{"type", "text"}});
  request.only("modalities", Json::array({"text"}));
  request.only("echo", false);
  request.only("best_of", 1);
  request.only("suffix", "");
}

}  // namespace detail

// most_choices: of all prompts together.
inline Asked read_asked(const Json& json, bool chat, int most_choices) {
  using namespace detail;
  Fields request(json);
  Asked asked;
  asked.chat = chat;
  request.text("model");  // any: there is one model, and the answer says which
  if (chat) asked.messages = messages_of(request);
  else asked.prompts = prompts_of(request);
  asked.sampling = sampling_of(request);
  auto most = request.at_most("max_tokens", 1, most_tokens);
  if (chat)
    if (const auto newer = request.at_most("max_completion_tokens", 1, most_tokens)) most = newer;
  if (most) asked.max_tokens = static_cast<int>(*most);
  asked.stop = stops_of(request);
  logprobs_of(request, asked);
  asked.choices = static_cast<int>(request.integer("n", 1, most_choices).value_or(1));
  asked.stream = request.flag("stream").value_or(false);
  if (const Json* options = request.find("stream_options")) {
    if (!asked.stream) throw HttpError(400, "'stream_options' needs 'stream': true", "stream_options");
    Fields fields(*options, "stream_options");
    asked.include_usage = fields.flag("include_usage").value_or(false);
    fields.ignore("include_obfuscation");
    fields.finish();
  }
  other_fields(request);
  request.finish();
  if (asked.prompts.size() * static_cast<std::size_t>(asked.choices) > static_cast<std::size_t>(most_choices))
    throw HttpError(400, std::to_string(asked.prompts.size()) + " prompts with " + std::to_string(asked.choices) + " answers each were asked, " + std::to_string(most_choices) + " answers are the most");
  return asked;
}

}  // namespace diecast::serve
