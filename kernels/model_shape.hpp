// All numbers of a model that its kernels are compiled for, as one value, and the operations that they select. Single launches and the kernel
// that runs a whole token take their operations from here, so they are the same code.
#pragma once

#include <cstdint>
#include <type_traits>

#include <diecast/kernels/add_branch.hpp>
#include <diecast/kernels/attention.hpp>
#include <diecast/kernels/draw.hpp>
#include <diecast/kernels/embed.hpp>
#include <diecast/kernels/flash_attention.hpp>
#include <diecast/kernels/gate_up.hpp>
#include <diecast/kernels/head.hpp>
#include <diecast/kernels/linear_residual.hpp>
#include <diecast/kernels/norm_rope_append.hpp>
#include <diecast/kernels/prefill.hpp>
#include <diecast/kernels/project_qkv.hpp>
#include <diecast/kernels/qkv_append.hpp>

namespace diecast::kernels {

enum class HeadNorms { none, each_head, all_heads };  // of Q and K
enum class Branches { in_order, beside };             // the MLP reads what attention was added to, or what attention reads

struct ModelShape {
  int hidden;
  HeadShape heads;
  RotaryDim rotary;
  HeadNorms head_norms;
  MlpShape mlp;
  int vocab;
  NormKind norm;
  bool norm_before;  // of a branch's input
  bool norm_after;   // of what a branch gives
  Branches branches;
  FormSet forms;
  Team team;

  constexpr Prologue branch_prologue() const { return {norm_before ? norm : NormKind::none, norm_after, norm}; }
  constexpr Prologue head_prologue() const { return {norm, norm_after, norm}; }
  constexpr Ending ending() const { return norm_after ? Ending::leave : Ending::add; }
};

template <ModelShape m, class CacheElement>
struct ModelOperations {
  static_assert(m.branches == Branches::in_order || !m.norm_after, "branches beside each other are not normalised before they are added");
  static constexpr Hidden hidden{m.hidden};
  static constexpr bool fused_qkv = m.head_norms == HeadNorms::none;  // else two steps: ProjectQkv, NormRopeAppend
  using Embed = kernels::Embed<hidden, m.forms, m.team>;
  using QkvAppend = kernels::QkvAppend<hidden, m.heads, m.rotary, m.branch_prologue(), m.forms, CacheElement, m.team>;
  using ProjectQkv = kernels::ProjectQkv<hidden, m.heads, m.branch_prologue(), m.forms, m.team>;
  using NormRopeAppend =
      kernels::NormRopeAppend<m.heads, m.rotary, m.head_norms == HeadNorms::all_heads ? HeadNorm::all_heads : HeadNorm::each_head,
                              CacheElement, m.team>;
  using Attention = kernels::Attention<m.heads, CacheElement, m.team>;
  using Output = LinearResidual<Extents{m.hidden, m.heads.heads* m.heads.head_dim}, m.ending(), m.forms, m.team>;
  using GateUp = kernels::GateUp<hidden, m.mlp, m.branch_prologue(), m.forms, m.team>;
  using Down = LinearResidual<Extents{m.hidden, m.mlp.width}, m.ending(), m.forms, m.team>;
  using Head = kernels::Head<hidden, Vocabulary{m.vocab}, m.head_prologue(), m.forms, m.team>;
  using Draw = kernels::Draw<Vocabulary{m.vocab}, m.team>;

  // For prompts, on tensor cores: the same parameters. Element: what token rows and weights are rounded to.
  using Element = std::conditional_t<m.forms.find(bf16_form) >= 0, Bfloat16, Half>;
  using AddBranch = kernels::AddBranch<hidden, m.norm, m.team>;
  using PrefillQkv = kernels::PrefillQkv<hidden, m.heads, m.rotary, m.branch_prologue(), m.forms, Element, CacheElement, m.team>;
  using PrefillProject = kernels::PrefillProject<hidden, m.heads, m.branch_prologue(), m.forms, Element, m.team>;
  static constexpr bool has_flash_attention = m.heads.head_dim <= most_flash_dim;  // else prompts go through the attention of single tokens
  using FlashAttention = kernels::FlashAttention<m.heads, CacheElement, Element, m.team>;
  using PrefillOutput = PrefillLinear<Extents{m.hidden, m.heads.heads* m.heads.head_dim}, m.ending(), m.forms, Element, m.team>;
  using PrefillGateUp = kernels::PrefillGateUp<hidden, m.mlp, m.branch_prologue(), m.forms, Element, m.team>;
  using PrefillDown = PrefillLinear<Extents{m.hidden, m.mlp.width}, m.ending(), m.forms, Element, m.team>;

  // What one layer's operations are given. Which of the first three are used: fused_qkv.
  struct Layer {
    typename QkvAppend::Params qkv;
    typename ProjectQkv::Params project;
    typename NormRopeAppend::Params norm_rope;
    typename Attention::Params attention;
    typename Output::Params output;
    typename GateUp::Params gate_up;
    typename Down::Params down;
  };
};

}  // namespace diecast::kernels
