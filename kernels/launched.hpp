// Every kernel that a model's context launches, as one list: whoever compiles or inspects a model's kernels takes them from here.
#pragma once

#include <type_traits>

#include <diecast/kernels/model_shape.hpp>
#include <diecast/kernels/whole_token.hpp>

namespace diecast::kernels {

template <class... Op>
struct OperationList {
  template <class Wanted>
  static constexpr bool has = (std::is_same_v<Wanted, Op> || ...);
  static constexpr int count = static_cast<int>(sizeof...(Op));
  template <class Other>
  static constexpr int shared_with = (0 + ... + (Other::template has<Op> ? 1 : 0));
};

template <class... Lists>
struct Joined;
template <class... Op>
struct Joined<OperationList<Op...>> {
  using type = OperationList<Op...>;
};
template <class... First, class... Second, class... Rest>
struct Joined<OperationList<First...>, OperationList<Second...>, Rest...> : Joined<OperationList<First..., Second...>, Rest...> {};

template <bool wanted, class List>
using ListIf = std::conditional_t<wanted, List, OperationList<>>;

template <ModelShape m, class CacheElement, class O = ModelOperations<m, CacheElement>>
using Launched = typename Joined<
    OperationList<typename O::Embed>,                                                                                        //
    ListIf<O::fused_qkv, OperationList<typename O::QkvAppend, typename O::PrefillQkv>>,                                      //
    ListIf<!O::fused_qkv, OperationList<typename O::ProjectQkv, typename O::PrefillProject, typename O::NormRopeAppend>>,    //
    ListIf<m.norm_after, OperationList<typename O::AddBranch>>,                                                              //
    OperationList<typename O::Attention, typename O::Output, typename O::GateUp, typename O::Down, typename O::Head>,        //
    OperationList<typename O::Draw, WholeToken<m, CacheElement>>,                                                            //
    ListIf<O::has_flash_attention, OperationList<typename O::FlashAttention>>,                                               //
    OperationList<typename O::PrefillOutput, typename O::PrefillGateUp, typename O::PrefillDown>>::type;

}  // namespace diecast::kernels
