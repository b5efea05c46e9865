// The compiled spec against a file's, field by field: "attention.kv_heads: compiled 3, file 4".
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <diecast/spec/walk.hpp>

namespace diecast {

namespace detail {

// Every field as (path, text), in the spec's order.
class Flatten {
 public:
  std::vector<std::pair<std::string, std::string>> fields;

  void begin(std::string_view key, std::string_view type) {
    const std::size_t parent = path_.size();
    if (!key.empty()) {
      path_ += std::string(path_.empty() ? "" : ".") + std::string(key);
      fields.emplace_back(path_, type);
    }
    lengths_.push_back(parent);
  }
  void end() {
    path_.resize(lengths_.back());
    lengths_.pop_back();
  }
  template <class T>
  void leaf(std::string_view key, const T& value) { fields.emplace_back(full(key), text_of(value)); }
  void absent(std::string_view key) { fields.emplace_back(full(key), "absent"); }

 private:
  std::string full(std::string_view key) const { return path_.empty() ? std::string(key) : path_ + "." + std::string(key); }
  std::string path_;
  std::vector<std::size_t> lengths_;
};

template <class T>
std::vector<std::pair<std::string, std::string>> fields_of(const T& value) {
  Flatten visitor;
  walk(visitor, "", value);
  return visitor.fields;
}

}  // namespace detail

// One sentence part for each field that differs; empty when both are equal. T: a Spec, or any other struct that Hana knows.
template <class T>
std::vector<std::string> differences(const T& compiled, const T& file) {
  const auto ours = detail::fields_of(compiled);
  const auto theirs = detail::fields_of(file);
  const auto find = [](const auto& fields, const std::string& path) {
    return std::find_if(fields.begin(), fields.end(), [&path](const auto& field) { return field.first == path; });
  };
  std::vector<std::string> result;
  const auto report = [&result](const std::string& path, const std::string& left, const std::string& right) {
    if (left != right) result.push_back(path + ": compiled " + left + ", file " + right);
  };
  for (const auto& field : ours) {
    const auto theirs_at = find(theirs, field.first);
    report(field.first, field.second, theirs_at == theirs.end() ? "absent" : theirs_at->second);
  }
  for (const auto& field : theirs)
    if (find(ours, field.first) == ours.end()) report(field.first, "absent", field.second);
  return result;
}

}  // namespace diecast
