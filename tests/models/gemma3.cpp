#include "oracle.hpp"

TEST_CASE("Gemma 3 270M equals transformers: ids, logits, likelihood, greedy answers") { diecast::testing::check_against_oracle("gemma-3-270m"); }
