// A spec as JSON, for `info`: each part an object whose "kind" is its type's name; absent fields are left out.
#pragma once

#include <string>

#include <diecast/spec/walk.hpp>

namespace diecast {

namespace detail {

class WriteJson {
 public:
  std::string text;

  void begin(std::string_view key, std::string_view type) {
    name(key);
    text += "{\"kind\":\"" + std::string(type) + "\"";
    first_ = false;
  }
  void end() {
    text += '}';
    first_ = false;
  }
  template <class T>
  void leaf(std::string_view key, const T& value) {
    name(key);
    if constexpr (std::is_enum_v<T>) text += '"' + text_of(value) + '"';
    else text += text_of(value);
  }
  void absent(std::string_view) {}

 private:
  void name(std::string_view key) {
    if (!first_) text += ',';
    first_ = false;
    if (!key.empty()) text += '"' + std::string(key) + "\":";
  }
  bool first_ = true;
};

}  // namespace detail

inline std::string to_json(const Spec& spec) {
  detail::WriteJson visitor;
  walk(visitor, "", spec);
  return visitor.text;
}

}  // namespace diecast
