// A context for a chat template from JSON, as `cast --render` and the server read it. Part of HF folders, since it needs nlohmann-json.
// All strings are typed text, keys too, except the known roles of messages and the tokens that the model's files define.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <diecast/chat/chat_template.hpp>
#include <diecast/chat/value.hpp>
#include <diecast/error.hpp>

namespace diecast::chat {

using Json = nlohmann::ordered_json;

inline Value value_from_json(const Json& json, bool typed = true, int depth = 0) {
  if (depth > max_value_depth - 2)
    throw Error("the JSON of the context nests deeper than " + std::to_string(max_value_depth - 2) + " levels");
  switch (json.type()) {
    case Json::value_t::null: return None{};
    case Json::value_t::boolean: return json.get<bool>();
    case Json::value_t::number_integer: return json.get<std::int64_t>();
    case Json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() > static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)())) {
        throw Error("an integer in the context's JSON does not fit in 64 bits: " + json.dump());
      }
      return json.get<std::int64_t>();
    case Json::value_t::number_float: return json.get<double>();
    case Json::value_t::string:
      return typed ? Value::typed(json.get_ref<const std::string&>()) : Value::plain(json.get_ref<const std::string&>());
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) items.push_back(value_from_json(item, typed, depth + 1));
      return Value::list(std::move(items));
    }
    case Json::value_t::object: {
      Dict dict;
      for (const auto& [key, item] : json.items()) {
        dict.set(typed ? Value::typed(key) : Value::plain(key), value_from_json(item, typed, depth + 1));
      }
      return Value(std::move(dict));
    }
    default: throw Error("the context's JSON holds something that is no JSON value");
  }
}

inline Value messages_from_json(const Json& json) {
  if (!json.is_array()) throw Error("'messages' must be a list, but it is " + std::string(json.type_name()));
  std::vector<Value> messages;
  for (const Json& message : json) {
    Value value = value_from_json(message, true, 1);
    if (message.is_object() && message.contains("role") && message["role"].is_string()) {
      Dict with_role = value.as_dict();
      with_role.set(Value::plain("role"), role_value(message["role"].get_ref<const std::string&>()));
      value = Value(std::move(with_role));
    }
    messages.push_back(std::move(value));
  }
  return Value::list(std::move(messages));
}

// The special tokens come from the model's own files: their markers count. Everything else is somebody's text.
// A server gives the tokens itself and takes only the rest from a request (messages_from_json, value_from_json).
inline TemplateContext context_from_json(const Json& json) {
  if (!json.is_object()) throw Error("the context must be a JSON object, but it is " + std::string(json.type_name()));
  TemplateContext context;
  for (const auto& [name, item] : json.items()) {
    const bool is_token = name == "bos_token" || name == "eos_token" || name == "pad_token" || name == "unk_token" || name == "sep_token" ||
                          name == "cls_token" || name == "mask_token";
    if (name == "messages") {
      context.messages = messages_from_json(item);
    } else if (name == "add_generation_prompt" && item.is_boolean()) {
      context.add_generation_prompt = item.get<bool>();
    } else {
      context.others.emplace_back(name, value_from_json(item, !is_token, 1));
    }
  }
  return context;
}

}  // namespace diecast::chat

namespace diecast {

inline PromptText render_json(const ChatTemplate& chat_template, std::string_view context_json,
                              std::function<std::tm()> clock = chat::local_time) {
  chat::Json json;
  try {
    json = chat::Json::parse(context_json);
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("the context is not valid JSON: ") + error.what());
  }
  TemplateContext context = chat::context_from_json(json);
  context.clock = std::move(clock);
  return chat_template.render(context);
}

}  // namespace diecast
