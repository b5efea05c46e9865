// JSON as model folders write it, read with suspicion: bounded nesting, no key twice, no byte order mark, and every fault a
// sentence with file and place. `Fields` takes typed values out of one object, so that a wrong value is named with its key.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <diecast/error.hpp>
#include <diecast/text.hpp>
#include <diecast/files/mapping.hpp>

namespace diecast {

using Json = nlohmann::json;

// A value as it may stand in a sentence. Objects and arrays are only named: they can be as large as the file.
inline std::string shown(const Json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return value.dump();
}

namespace hf_detail {

inline std::string place(std::string_view text, std::size_t byte) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (const char c : text.substr(0, byte)) {
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Watches the parser: how deep it is, and which keys the objects around it already have.
class Watch {
 public:
  Watch(std::string where, std::size_t deepest) : where_(std::move(where)), deepest_(deepest) {}

  bool operator()(Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (keys_.size() == deepest_) throw Error(where_ + " nests deeper than " + std::to_string(deepest_) + " levels");
      keys_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) throw Error(where_ + " has the key " + in_quotes(key) + " twice in one object");
    }
    return true;
  }

 private:
  std::string where_;
  std::size_t deepest_;
  std::vector<std::unordered_set<std::string>> keys_;
};

}  // namespace hf_detail

// `where` opens every sentence: a path, or a path and a part of the file.
inline Json parse_json(std::string_view text, const std::string& where, std::size_t deepest = 64) {
  if (text.starts_with("\xef\xbb\xbf") || text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    throw Error(where + " starts with a byte order mark at line 1, column 1; JSON is plain UTF-8 without one");
  hf_detail::Watch watch(where, deepest);
  try {
    return Json::parse(text.begin(), text.end(), [&watch](int, Json::parse_event_t event, Json& parsed) { return watch(event, parsed); });
  } catch (const Json::parse_error& error) {
    throw Error(where + " is not JSON: it breaks at " + hf_detail::place(text, error.byte > 0 ? error.byte - 1 : 0));
  } catch (const Json::exception&) {
    throw Error(where + " is not JSON that can be read: it holds a number too large for any number type");
  }
}

inline std::string_view as_text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

inline Json read_json(const std::string& path) {
  const auto file = Mapping::open(path);
  return parse_json(as_text(file->bytes()), path);
}

// One object's values by key. JSON's null counts as absent, except for has().
class Fields {
 public:
  static constexpr int largest = (std::numeric_limits<int>::max)();

  // The object must outlive the fields.
  Fields(const Json& object, std::string where) : object_(&object), where_(std::move(where)) {
    if (!object.is_object()) throw Error(where_ + " must be an object and is " + shown(object));
  }

  const std::string& where() const { return where_; }
  bool has(const std::string& key) const { return object_->contains(key); }  // null included
  const Json* find(const std::string& key) const {
    const auto it = object_->find(key);
    return it == object_->end() || it->is_null() ? nullptr : &*it;
  }
  Fields object(const std::string& key) const { return {need(key), at(key)}; }

  std::optional<int> integer(const std::string& key, int least, int most = largest) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    // Unsigned first: a JSON number over 2^63 is unsigned, and would be negative as a signed one.
    const bool fits =
        value->is_number_unsigned() ? value->get<std::uint64_t>() <= static_cast<std::uint64_t>(largest) : value->is_number_integer();
    if (fits)
      if (const auto number = value->get<std::int64_t>(); number >= least && number <= most) return static_cast<int>(number);
    throw Error(at(key) + " is " + shown(*value) + ", and must be a whole number from " + std::to_string(least) + " to " +
                std::to_string(most));
  }
  int count(const std::string& key) const {
    need(key);
    return *integer(key, 1);
  }
  int count(const std::string& key, int otherwise) const { return integer(key, 1).value_or(otherwise); }

  std::optional<double> number(const std::string& key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
    throw Error(at(key) + " is " + shown(*value) + ", and must be a number");
  }
  std::optional<double> positive(const std::string& key) const {
    const auto value = number(key);
    if (value && !(*value > 0)) throw Error(at(key) + " is " + shown(*find(key)) + ", and must be greater than 0");
    return value;
  }
  double needed_positive(const std::string& key) const {
    need(key);
    return *positive(key);
  }

  std::optional<bool> flag(const std::string& key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    throw Error(at(key) + " is " + shown(*value) + ", and must be true or false");
  }
  bool flag(const std::string& key, bool otherwise) const { return flag(key).value_or(otherwise); }

  std::optional<std::string> text(const std::string& key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    throw Error(at(key) + " is " + shown(*value) + ", and must be a text");
  }

  const Json& need(const std::string& key) const {
    if (const Json* value = find(key)) return *value;
    throw Error(at(key) + " is missing");
  }

 private:
  // Keys are words of ours, but for those of maps, which the file chooses: these go into quotes where they are not plain.
  std::string at(const std::string& key) const {
    const bool plain = key.size() <= 64 && std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '"'; });
    return where_ + ": " + (plain ? key : in_quotes(key));
  }

  const Json* object_;
  std::string where_;
};

}  // namespace diecast
