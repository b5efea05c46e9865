// The storage formats of weights, and how many bytes a row of each takes.
// A format belongs to a tensor: files mix them by tensor and by layer.
#pragma once

#include <cstdint>
#include <string_view>

namespace diecast {

enum class Format : std::uint8_t { f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k };

struct FormatLayout {
  std::string_view name;   // as GGUF spells it: "Q4_1"
  int block;               // weights in a block
  int bytes;               // bytes of a block
};

constexpr FormatLayout layout(Format format) {
  switch (format) {
    case Format::f32: return {"F32", 1, 4};
    case Format::f16: return {"F16", 1, 2};
    case Format::bf16: return {"BF16", 1, 2};
    case Format::q4_0: return {"Q4_0", 32, 18};
    case Format::q4_1: return {"Q4_1", 32, 20};
    case Format::q5_0: return {"Q5_0", 32, 22};
    case Format::q5_1: return {"Q5_1", 32, 24};
    case Format::q8_0: return {"Q8_0", 32, 34};
    case Format::q4_k: return {"Q4_K", 256, 144};
    case Format::q5_k: return {"Q5_K", 256, 176};
    case Format::q6_k: return {"Q6_K", 256, 210};
  }
  return {"?", 1, 0};
}

}  // namespace diecast
