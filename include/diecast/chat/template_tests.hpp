// The tests of the template language, `value is name(argument)`.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <diecast/chat/arguments.hpp>
#include <diecast/chat/interpreter.hpp>
#include <diecast/chat/methods.hpp>
#include <diecast/chat/python.hpp>

namespace diecast::chat {

using TestBody = bool (*)(Interpreter&, const Value&, Arguments&);

struct TestEntry {
  std::string_view name;
  TestBody body;
};

template <bool (*Holds)(const Value&)>
bool plain_test(Interpreter&, const Value& value, Arguments& arguments) {
  Bound bound("test", arguments, {});
  return Holds(value);
}

template <Operator Op>
bool compare_test(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("test", arguments, {"other"});
  Budget& budget = interpreter.budget();
  const Value& other = bound.need(0);
  switch (Op) {
    case Operator::eq: return equal(budget, value, other);
    case Operator::ne: return !equal(budget, value, other);
    case Operator::lt: return order(budget, value, other, "<") == -1;
    case Operator::gt: return order(budget, value, other, ">") == 1;
    case Operator::ge: return order(budget, value, other, ">=") >= 0;
    case Operator::le: {
      const int result = order(budget, value, other, "<=");
      return result == -1 || result == 0;
    }
    default: return contains(budget, other, value);
  }
}

inline Value remainder_of(const Value& value, const Value& divisor) {
  if (value.is_undefined()) fail_undefined(value);
  if (divisor.is_undefined()) fail_undefined(divisor);
  if (!value.is_number() || !divisor.is_number())
    fail("unsupported operand type(s) for %: " + quoted_type(value) + " and " + quoted_type(divisor));
  if (value.is_integral() && divisor.is_integral()) return integer_arithmetic(Operator::mod, value.as_int(), divisor.as_int());
  return real_arithmetic(Operator::mod, value.as_real(), divisor.as_real());
}

template <int Rest>
bool parity_test(Interpreter&, const Value& value, Arguments& arguments) {
  Bound bound("test", arguments, {});
  return remainder_of(value, 2).as_real() == Rest;
}

inline bool divisible_test(Interpreter&, const Value& value, Arguments& arguments) {
  Bound bound("divisibleby", arguments, {"num"});
  return remainder_of(value, bound.need(0)).as_real() == 0;
}

inline bool same_test(Interpreter&, const Value& value, Arguments& arguments) {
  Bound bound("sameas", arguments, {"other"});
  return value.same_as(bound.need(0));
}

template <bool Upper>
bool case_test(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  Bound bound("test", arguments, {});
  return all_are(str(interpreter.budget(), value), Upper ? "isupper" : "islower");
}

inline bool is_defined(const Value& value) { return !value.is_undefined(); }
inline bool is_undefined(const Value& value) { return value.is_undefined(); }
inline bool is_none(const Value& value) { return value.is_none(); }
inline bool is_boolean(const Value& value) { return value.is_bool(); }
inline bool is_true(const Value& value) { return value.is_bool() && value.as_bool(); }
inline bool is_false(const Value& value) { return value.is_bool() && !value.as_bool(); }
inline bool is_integer(const Value& value) { return value.is_int(); }
inline bool is_float(const Value& value) { return value.is_real(); }
inline bool is_number(const Value& value) { return value.is_number(); }
inline bool is_string(const Value& value) { return value.is_string(); }
inline bool is_mapping(const Value& value) { return value.is_dict(); }
inline bool is_callable(const Value& value) { return value.is_undefined() || (value.is_object() && value.as_object()->callable()); }
inline bool is_sequence(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is_dict() || (value.is_list() && value.as_list().kind <= ListKind::group);
}
inline bool is_escaped(const Value& value) { return value.is_string() && value.as_text().is_markup(); }

inline constexpr std::array tests{TestEntry{"!=", compare_test<Operator::ne>},
                                  TestEntry{"boolean", plain_test<is_boolean>},
                                  TestEntry{"callable", plain_test<is_callable>},
                                  TestEntry{"defined", plain_test<is_defined>},
                                  TestEntry{"divisibleby", divisible_test},
                                  TestEntry{"eq", compare_test<Operator::eq>},
                                  TestEntry{"equalto", compare_test<Operator::eq>},
                                  TestEntry{"==", compare_test<Operator::eq>},
                                  TestEntry{"escaped", plain_test<is_escaped>},
                                  TestEntry{"even", parity_test<0>},
                                  TestEntry{"false", plain_test<is_false>},
                                  TestEntry{"float", plain_test<is_float>},
                                  TestEntry{"ge", compare_test<Operator::ge>},
                                  TestEntry{">=", compare_test<Operator::ge>},
                                  TestEntry{"greaterthan", compare_test<Operator::gt>},
                                  TestEntry{"gt", compare_test<Operator::gt>},
                                  TestEntry{">", compare_test<Operator::gt>},
                                  TestEntry{"in", compare_test<Operator::in>},
                                  TestEntry{"integer", plain_test<is_integer>},
                                  TestEntry{"iterable", plain_test<iterable>},
                                  TestEntry{"le", compare_test<Operator::le>},
                                  TestEntry{"<=", compare_test<Operator::le>},
                                  TestEntry{"lessthan", compare_test<Operator::lt>},
                                  TestEntry{"lower", case_test<false>},
                                  TestEntry{"lt", compare_test<Operator::lt>},
                                  TestEntry{"<", compare_test<Operator::lt>},
                                  TestEntry{"mapping", plain_test<is_mapping>},
                                  TestEntry{"ne", compare_test<Operator::ne>},
                                  TestEntry{"none", plain_test<is_none>},
                                  TestEntry{"number", plain_test<is_number>},
                                  TestEntry{"odd", parity_test<1>},
                                  TestEntry{"sameas", same_test},
                                  TestEntry{"sequence", plain_test<is_sequence>},
                                  TestEntry{"string", plain_test<is_string>},
                                  TestEntry{"true", plain_test<is_true>},
                                  TestEntry{"undefined", plain_test<is_undefined>},
                                  TestEntry{"upper", case_test<true>}};

inline const TestEntry* find_test(std::string_view name) {
  const auto* const found = std::find_if(tests.begin(), tests.end(), [&](const TestEntry& entry) { return entry.name == name; });
  return found == tests.end() ? nullptr : found;
}

}  // namespace diecast::chat
