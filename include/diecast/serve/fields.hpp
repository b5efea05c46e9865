// The fields of a request's JSON, read by name and type. What is wrong becomes a 400 with a sentence; null is as good as absent. What nobody has
// read at the end is unknown, and all of it is named at once: a misspelt field that does nothing is worse than a refusal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <diecast/serve/http_error.hpp>

namespace diecast::serve {

inline constexpr int deepest_json = 32;
inline constexpr std::size_t most_fields = 128;  // of one object: they are kept in order, so each is compared with all before it

// Refuses what is no JSON, nests deeper or has more fields than any request, has lone surrogates, broken UTF-8 or numbers beyond a double, or says a
// field twice.
inline Json parse_body(std::string_view body) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= deepest_json) throw HttpError(400, "the request's JSON nests deeper than " + std::to_string(deepest_json) + " levels");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw HttpError(400, "the request's JSON has the field '" + shortened(parsed.get<std::string>()) + "' twice in one object");
    if (event == Json::parse_event_t::key && keys.back().size() > most_fields)
      throw HttpError(400, "an object in the request's JSON has more than " + std::to_string(most_fields) + " fields");
    return true;
  };
  try {
    Json json = Json::parse(body, check);
    if (!json.is_object()) throw HttpError(400, "the request's body must be a JSON object, but it is " + std::string(json.type_name()));
    return json;
  } catch (const nlohmann::json::exception& error) {
    std::string_view what = error.what();  // "[json.exception.parse_error.101] parse error at ..."
    if (const auto end = what.find("] "); what.starts_with('[') && end != std::string_view::npos) what.remove_prefix(end + 2);
    throw HttpError(400, "the request's body is not valid JSON: " + shortened(what, 200));
  }
}

class Fields {
 public:
  // `json` must live as long. `where`: how sentences call the object, like "messages[0]"; empty: the request itself.
  explicit Fields(const Json& json, std::string where = {}) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) throw HttpError(400, (where_.empty() ? "the request" : "'" + where_ + "'") + " must be an object, but it is " + json.type_name(), where_);
  }

  // Null where it is absent or null.
  const Json* find(const std::string& name) {
    known_.insert(name);
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  const Json& need(const std::string& name) {
    if (const Json* found = find(name)) return *found;
    throw HttpError(400, "the field '" + path(name) + "' is missing", path(name));
  }

  std::optional<bool> flag(const std::string& name) {
    const Json* value = find(name);
    if (!value) return {};
    if (!value->is_boolean()) wrong(name, "true or false", *value);
    return value->get<bool>();
  }
  std::optional<double> number(const std::string& name) {
    const Json* value = find(name);
    if (!value) return {};
    if (!value->is_number()) wrong(name, "a number", *value);
    return value->get<double>();
  }
  std::optional<std::string> text(const std::string& name) {
    const Json* value = find(name);
    if (!value) return {};
    if (!value->is_string()) wrong(name, "a string", *value);
    return value->get<std::string>();
  }
  // A whole number; refused outside of least..most.
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t least, std::int64_t most) {
    const std::optional<std::int64_t> value = clamped(name, least, most);
    if (value && wide_) throw HttpError(400, "'" + path(name) + "' is " + dump(*find(name)) + " but must lie between " + std::to_string(least) + " and " + std::to_string(most), path(name));
    return value;
  }
  // The same, but what is larger than `most` counts as `most`.
  std::optional<std::int64_t> at_most(const std::string& name, std::int64_t least, std::int64_t most) {
    const std::optional<std::int64_t> value = clamped(name, least, most);
    if (value && wide_ && *value != most) throw HttpError(400, "'" + path(name) + "' is " + dump(*find(name)) + " but must be at least " + std::to_string(least), path(name));
    return value;
  }

  // Fields that mean something that this server does not do: only the value that asks for nothing is taken.
  void only(const std::string& name, const Json& nothing) {
    const Json* value = find(name);
    if (value && *value != nothing) throw HttpError(400, "'" + path(name) + "' is not supported here: only " + dump(nothing) + " or null", path(name));
  }
  void ignore(const std::string& name) { known_.insert(name); }

  // Everything that was not asked for, in one sentence.
  void finish() const {
    std::string unknown;
    for (const auto& [name, value] : json_.items())
      if (!known_.contains(name)) unknown += (unknown.empty() ? "'" : ", '") + path(shortened(name)) + "'";
    unknown = shortened(unknown, 2000);
    if (!unknown.empty()) throw HttpError(400, "unknown fields: " + unknown);
  }

  std::string path(const std::string& name) const { return where_.empty() ? name : where_ + "." + name; }

  [[noreturn]] void wrong(const std::string& name, const std::string& expected, const Json& value) const {
    throw HttpError(400, "'" + path(name) + "' must be " + expected + ", but it is " + shown(value), path(name));
  }
  static std::string shown(const Json& value) {
    if (value.is_number()) return "the number " + dump(value);
    return value.is_boolean() ? dump(value) : value.is_null() ? "null" : (value.is_string() ? "a " : value.is_array() ? "an " : "an ") + std::string(value.type_name());
  }

 private:
  std::optional<std::int64_t> clamped(const std::string& name, std::int64_t least, std::int64_t most) {
    const Json* value = find(name);
    wide_ = false;
    if (!value) return {};
    if (!value->is_number_integer()) wrong(name, "a whole number", *value);
    const bool above = value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
    const std::int64_t whole = above ? (std::numeric_limits<std::int64_t>::max)() : value->get<std::int64_t>();
    wide_ = above || whole < least || whole > most;
    return whole < least ? least : whole > most ? most : whole;
  }

  const Json& json_;
  std::string where_;
  std::set<std::string> known_;
  bool wide_ = false;  // the last whole number lay outside of its range
};

}  // namespace diecast::serve
