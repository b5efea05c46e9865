// The filters, `value | name(arguments)`: one table of names. What they do to strings, lists and pairs is in three headers of their own.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <diecast/chat/arguments.hpp>
#include <diecast/chat/filter_lists.hpp>
#include <diecast/chat/filter_numbers.hpp>
#include <diecast/chat/filter_texts.hpp>
#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/template_tests.hpp>

namespace diecast::chat {

struct FilterEntry {
  std::string_view name;
  FilterBody body;
};

inline constexpr std::array filters{FilterEntry{"abs", filter_abs},
                                    FilterEntry{"attr", filter_attr},
                                    FilterEntry{"batch", filter_batch},
                                    FilterEntry{"capitalize", filter_capitalize},
                                    FilterEntry{"center", filter_center},
                                    FilterEntry{"count", filter_length},
                                    FilterEntry{"d", filter_default},
                                    FilterEntry{"default", filter_default},
                                    FilterEntry{"dictsort", filter_dictsort},
                                    FilterEntry{"e", filter_escape},
                                    FilterEntry{"escape", filter_escape},
                                    FilterEntry{"filesizeformat", filter_filesizeformat},
                                    FilterEntry{"first", filter_first},
                                    FilterEntry{"float", filter_float},
                                    FilterEntry{"forceescape", filter_escape},
                                    FilterEntry{"format", filter_format},
                                    FilterEntry{"groupby", filter_groupby},
                                    FilterEntry{"indent", filter_indent},
                                    FilterEntry{"int", filter_int},
                                    FilterEntry{"items", filter_items},
                                    FilterEntry{"join", filter_join},
                                    FilterEntry{"last", filter_last},
                                    FilterEntry{"length", filter_length},
                                    FilterEntry{"list", filter_list},
                                    FilterEntry{"lower", filter_lower},
                                    FilterEntry{"map", filter_map},
                                    FilterEntry{"max", filter_max},
                                    FilterEntry{"min", filter_min},
                                    FilterEntry{"pprint", filter_pprint},
                                    FilterEntry{"reject", filter_reject},
                                    FilterEntry{"rejectattr", filter_rejectattr},
                                    FilterEntry{"replace", filter_replace},
                                    FilterEntry{"reverse", filter_reverse},
                                    FilterEntry{"round", filter_round},
                                    FilterEntry{"safe", filter_safe},
                                    FilterEntry{"select", filter_select},
                                    FilterEntry{"selectattr", filter_selectattr},
                                    FilterEntry{"slice", filter_slice},
                                    FilterEntry{"sort", filter_sort},
                                    FilterEntry{"string", filter_string},
                                    FilterEntry{"striptags", filter_striptags},
                                    FilterEntry{"sum", filter_sum},
                                    FilterEntry{"title", filter_title},
                                    FilterEntry{"tojson", filter_tojson},
                                    FilterEntry{"trim", filter_trim},
                                    FilterEntry{"truncate", filter_truncate},
                                    FilterEntry{"unique", filter_unique},
                                    FilterEntry{"upper", filter_upper},
                                    FilterEntry{"urlencode", filter_urlencode},
                                    FilterEntry{"wordcount", filter_wordcount}};

inline const FilterEntry* find_filter(std::string_view name) {
  const auto* const found = std::find_if(filters.begin(), filters.end(), [&](const FilterEntry& entry) { return entry.name == name; });
  return found == filters.end() ? nullptr : found;
}

inline Value Interpreter::apply_filter(std::string_view name, const Value& input, Arguments& arguments) {
  Level level(*this);
  budget_.step();
  const FilterEntry* filter = find_filter(name);
  if (filter == nullptr) fail("there is no filter named '" + std::string(name) + "'");
  return filter->body(*this, input, arguments);
}

inline bool Interpreter::apply_test(std::string_view name, const Value& input, Arguments& arguments) {
  Level level(*this);
  budget_.step();
  if (name == "filter" || name == "test") {
    Bound bound(name, arguments, {});
    check_hashable(input);
    if (!input.is_string()) return false;
    const std::string_view asked = input.as_text().view();
    return name == "filter" ? find_filter(asked) != nullptr : find_test(asked) != nullptr;
  }
  const TestEntry* test = find_test(name);
  if (test == nullptr) fail("there is no test named '" + std::string(name) + "'");
  return test->body(*this, input, arguments);
}

}  // namespace diecast::chat
