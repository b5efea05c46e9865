// How a kernel finds the weights of one matrix row. Every format of a file is packed, without rounding, into one of these forms: floats,
// or integers q of 4, 5, 6 or 8 bits with w = scale * (q - zero) + minimum. A lane takes 8 neighbouring floats, or a block of 32 integers,
// and whatever it loads of them lies beside what the next lane loads: a row is a few planes, each in the order of the lanes.
//
//   f32               [2][octet][4]    the lower four of each eight columns, then the upper four
//   f16, bf16         [octet][8]
//   low bits          [block][16]      byte i: column i in its lower, column i + 16 in its upper half; of 8 bits [2][block][16]: a byte each
//   fifth bits        [block][4]       bit k of byte i: of column 4 k + i
//   fifth and sixth   [block][8]       bits 2 (k % 4) of byte 4 (k / 4) + i: of column 4 k + i
//   scales            [block] a half, or a half and the half minimum; on two levels [256 columns] the halves, then [block] a byte for each
//                     group: of the scale, then of the minimum
//
// Rows begin at multiples of 16 bytes. The host packs them: include/diecast/cuda/pack.hpp.
#pragma once

#include <cstdint>

#include <diecast/kernels/device_begin.hpp>

namespace diecast::kernels {

inline constexpr int octet_columns = 8;
inline constexpr int block_columns = 32;
inline constexpr int super_columns = 256;

struct WeightForm {
  int bits;        // of a weight: 32 and 16 are floats
  bool brain;      // of 16 bits: bfloat16
  int zero;        // the q that means 0 in forms without a minimum
  bool is_signed;  // q is a signed byte
  int group;       // columns that share a scale, 32 or 16
  bool minimum;
  bool two_levels;  // a half for 256 columns, and a byte for each group

  constexpr bool operator==(const WeightForm&) const = default;
  DIECAST_HOST_DEVICE constexpr bool integers() const { return bits < 16; }
  DIECAST_HOST_DEVICE constexpr int halves() const { return minimum ? 2 : 1; }
  DIECAST_HOST_DEVICE constexpr int groups() const { return integers() ? block_columns / group : 1; }  // of a block

  // Byte offsets within a row of `columns`.
  DIECAST_HOST_DEVICE constexpr std::int64_t low_bytes(int columns) const {
    if (!integers()) return static_cast<std::int64_t>(octets(columns)) * octet_columns * (bits / 8);
    return static_cast<std::int64_t>(columns / block_columns) * (bits == 8 ? 32 : 16);
  }
  DIECAST_HOST_DEVICE constexpr std::int64_t high_bytes(int columns) const {
    return bits == 5 || bits == 6 ? static_cast<std::int64_t>(columns / block_columns) * 4 * (bits - 4) : 0;
  }
  DIECAST_HOST_DEVICE constexpr std::int64_t scale_offset(int columns) const { return low_bytes(columns) + high_bytes(columns); }
  DIECAST_HOST_DEVICE constexpr std::int64_t factor_offset(int columns) const {
    return scale_offset(columns) + columns / super_columns * 2 * halves();
  }
  DIECAST_HOST_DEVICE constexpr std::int64_t row_bytes(int columns) const {
    std::int64_t bytes = scale_offset(columns);
    if (integers())
      bytes = two_levels ? factor_offset(columns) + columns / block_columns * groups() * halves()
                         : bytes + columns / block_columns * 2 * halves();
    return (bytes + 15) / 16 * 16;
  }
  DIECAST_HOST_DEVICE constexpr bool fits(int columns) const {
    return !integers() || columns % (two_levels ? super_columns : block_columns) == 0;
  }

  DIECAST_HOST_DEVICE static constexpr int octets(int columns) { return (columns + octet_columns - 1) / octet_columns; }
};

inline constexpr WeightForm f32_form{32, false, 0, false, 1, false, false};
inline constexpr WeightForm f16_form{16, false, 0, false, 1, false, false};
inline constexpr WeightForm bf16_form{16, true, 0, false, 1, false, false};
inline constexpr WeightForm q8_0_form{8, false, 0, true, 32, false, false};
inline constexpr WeightForm q4_0_form{4, false, 8, false, 32, false, false};
inline constexpr WeightForm q4_1_form{4, false, 0, false, 32, true, false};
inline constexpr WeightForm q5_0_form{5, false, 16, false, 32, false, false};
inline constexpr WeightForm q5_1_form{5, false, 0, false, 32, true, false};
inline constexpr WeightForm q4_k_form{4, false, 0, false, 32, true, true};
inline constexpr WeightForm q5_k_form{5, false, 0, false, 32, true, true};
inline constexpr WeightForm q6_k_form{6, false, 32, false, 16, false, true};

// All forms that there are, in the order in which a set names them.
inline constexpr WeightForm all_forms[] = {f32_form,  f16_form,  bf16_form, q8_0_form, q4_0_form, q4_1_form,
                                           q5_0_form, q5_1_form, q4_k_form, q5_k_form, q6_k_form};

// The forms that a model's matrices may have: what a kernel is compiled for. One switch a matrix picks the right one. A number and not a list, because nvcc
// cannot write a list into the name of a kernel.
struct FormSet {
  unsigned mask = 0;  // bit i: all_forms[i]

  constexpr bool operator==(const FormSet&) const = default;
  constexpr int count() const {
    int bits = 0;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) ++bits;
    return bits;
  }
  constexpr WeightForm at(int place) const {
    unsigned rest = mask;
    for (; place > 0; --place) rest &= rest - 1;  // without its lowest bit
    int i = 0;
    while ((rest >> i & 1u) == 0) ++i;
    return all_forms[i];
  }
  constexpr int find(const WeightForm& form) const {  // its place, or -1
    for (int place = 0; place < count(); ++place)
      if (at(place) == form) return place;
    return -1;
  }
  constexpr bool any_integers() const {
    for (int place = 0; place < count(); ++place)
      if (at(place).integers()) return true;
    return false;
  }
  constexpr bool any_floats() const {
    for (int place = 0; place < count(); ++place)
      if (!at(place).integers()) return true;
    return false;
  }
};

constexpr FormSet with(FormSet set, const WeightForm& form) {
  for (int i = 0; i < static_cast<int>(sizeof(all_forms) / sizeof(all_forms[0])); ++i)
    if (all_forms[i] == form) set.mask |= 1u << i;
  return set;
}
template <class... Form>
constexpr FormSet forms(const Form&... form) {
  FormSet set;
  ((set = with(set, form)), ...);
  return set;
}

// As constants, because device code cannot call FormSet's functions, not even at compile time.
template <FormSet set>
inline constexpr int form_count = set.count();
template <FormSet set, int place>
inline constexpr WeightForm form_at = set.at(place);

// Weights of a linear map as a kernel is given them: y = W x + b.
struct Linear {
  const unsigned char* rows;  // [out][row_bytes]
  const float* bias;          // [out], or null
  std::int32_t form;          // which one of the kernel's FormSet
};

// One of Q, K and V, field by field: choosing among the three objects would put all of them into memory.
DIECAST_DEVICE constexpr Linear one_of(bool is_q, bool is_k, const Linear& q, const Linear& k, const Linear& v) {
  return {is_q ? q.rows : is_k ? k.rows : v.rows, is_q ? q.bias : is_k ? k.bias : v.bias, is_q ? q.form : is_k ? k.form : v.form};
}

// Calls visit.template operator()<form>() for the matrix's form; with a set of one there is nothing to decide.
template <FormSet set, int first = 0, class Visit>
DIECAST_DEVICE void with_form(int form, const Visit& visit) {
  static_assert(form_count<set> > 0, "a kernel needs at least one weight form");
  if constexpr (first + 1 >= form_count<set>) {
    visit.template operator()<form_at<set, first>>();
  } else {
    if (form == first)
      visit.template operator()<form_at<set, first>>();
    else
      with_form<set, first + 1>(form, visit);
  }
}

}  // namespace diecast::kernels

#include <diecast/kernels/device_end.hpp>
