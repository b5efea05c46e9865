// One of the likeliest next tokens. Where a sampler says how many it needs, a backend may give these instead of all logits.
#pragma once

namespace diecast {

struct Candidate {
  int id;
  float logit;
};

// How many of the likeliest suffice, and how many ids may be chosen from: logits behind the tokenizer's last id are never sampled.
struct Best {
  int count = 0;  // 0: all logits are needed
  int ids = 0;
};

}  // namespace diecast
