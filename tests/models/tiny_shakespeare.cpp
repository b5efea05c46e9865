#include "oracle.hpp"

TEST_CASE("tiny-shakespeare equals transformers: ids, logits, likelihood, greedy answers") { diecast::testing::check_against_oracle("tiny-shakespeare"); }
