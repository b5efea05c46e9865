// The stages of a token's way, and the places in memory through which they hand on their results.
#pragma once

namespace diecast::kernels {

enum class Stage { embed, qkv, project, norm_rope, attention, output, gate_up, down, head, draw, advance };

// What stages read and write, as bits of a set. A layer's weights are written by nobody.
enum Place : unsigned {
  token_rows = 1,
  hidden = 2,
  other_hidden = 4,
  branch = 8,
  queries = 16,
  projected = 32,
  attended = 64,
  inner = 128,
  kv_cache = 256,
  partials = 512,
  logits = 1024,
  best_ids = 2048,
  drawn_ids = 4096
};

}  // namespace diecast::kernels
