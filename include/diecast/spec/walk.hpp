// The one visitor over a spec, made of Boost.Hana's introspection: comparison, JSON and the writing of configs walk the same fields.
// A visitor has begin(key, type), end(), leaf(key, value) for int, double, bool and the enums, and absent(key); one that also has
// leaves_out(value, standard) may pass over a field by its value and the one that it has where nothing is said.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include <diecast/spec/spec.hpp>
#include <diecast/text.hpp>

namespace diecast {

constexpr std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::silu: return "silu";
    case Activation::gelu: return "gelu";
    case Activation::gelu_tanh: return "gelu_tanh";
    case Activation::relu: return "relu";
  }
  return "?";
}

constexpr std::string_view name_of(QkNorm norm) { return norm == QkNorm::each_head ? "each_head" : "all_heads"; }
constexpr std::string_view name_of(NormPlacement placement) {
  switch (placement) {
    case NormPlacement::before: return "before";
    case NormPlacement::before_and_after: return "before_and_after";
    case NormPlacement::after: return "after";
  }
  return "?";
}
constexpr std::string_view name_of(Residual residual) {
  switch (residual) {
    case Residual::sequential: return "sequential";
    case Residual::parallel: return "parallel";
    case Residual::parallel_shared_norm: return "parallel_shared_norm";
  }
  return "?";
}

// The type of an enum as C++ spells it: "Activation" for Activation::silu.
constexpr std::string_view type_name_of(Activation) { return "Activation"; }
constexpr std::string_view type_name_of(QkNorm) { return "QkNorm"; }
constexpr std::string_view type_name_of(NormPlacement) { return "NormPlacement"; }
constexpr std::string_view type_name_of(Residual) { return "Residual"; }

namespace detail {

template <class T>
struct Called;  // the name of a part of the spec
template <> struct Called<LinearScaling> { static constexpr std::string_view name = "LinearScaling"; };
template <> struct Called<Llama3Scaling> { static constexpr std::string_view name = "Llama3Scaling"; };
template <> struct Called<YarnScaling> { static constexpr std::string_view name = "YarnScaling"; };
template <> struct Called<Rope> { static constexpr std::string_view name = "Rope"; };
template <> struct Called<Absolute> { static constexpr std::string_view name = "Absolute"; };
template <> struct Called<RmsNorm> { static constexpr std::string_view name = "RmsNorm"; };
template <> struct Called<LayerNorm> { static constexpr std::string_view name = "LayerNorm"; };
template <> struct Called<SlidingWindow> { static constexpr std::string_view name = "SlidingWindow"; };
template <> struct Called<Attention> { static constexpr std::string_view name = "Attention"; };
template <> struct Called<GatedMlp> { static constexpr std::string_view name = "GatedMlp"; };
template <> struct Called<PlainMlp> { static constexpr std::string_view name = "PlainMlp"; };
template <> struct Called<TiedHead> { static constexpr std::string_view name = "TiedHead"; };
template <> struct Called<UntiedHead> { static constexpr std::string_view name = "UntiedHead"; };
template <> struct Called<Spec> { static constexpr std::string_view name = "Spec"; };

template <class T> inline constexpr bool is_variant = false;
template <class... T> inline constexpr bool is_variant<std::variant<T...>> = true;
template <class T> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;

// A visitor may pass over members that have their usual value, by leaves_out(value, usual). A function of its own, because nvcc compiles
// what `if constexpr` discards inside a generic lambda.
template <class Visitor, class Member>
bool left_out(Visitor& visitor, const Member& value, const Member& usual) {
  if constexpr (requires { visitor.leaves_out(value, usual); }) return visitor.leaves_out(value, usual);
  else return false;
}

}  // namespace detail

template <class Visitor, class T>
void walk(Visitor& visitor, std::string_view key, const T& value) {
  if constexpr (detail::is_optional<T>) {
    if (value) walk(visitor, key, *value);
    else visitor.absent(key);
  } else if constexpr (detail::is_variant<T>) {
    std::visit([&](const auto& alternative) { walk(visitor, key, alternative); }, value);
  } else if constexpr (std::is_class_v<T>) {
    visitor.begin(key, detail::Called<T>::name);
    boost::hana::for_each(boost::hana::accessors<T>(), [&](auto accessor) {
      const auto& member = boost::hana::second(accessor)(value);
      if (detail::left_out(visitor, member, std::remove_cvref_t<decltype(member)>(boost::hana::second(accessor)(T{})))) return;
      walk(visitor, std::string_view(boost::hana::to<const char*>(boost::hana::first(accessor))), member);
    });
    visitor.end();
  } else {
    visitor.leaf(key, value);
  }
}

inline std::string text_of(int value) { return std::to_string(value); }
inline std::string text_of(bool value) { return value ? "true" : "false"; }
template <class Enum, class = std::enable_if_t<std::is_enum_v<Enum>>>
std::string text_of(Enum value) {
  return std::string(name_of(value));
}

}  // namespace diecast
