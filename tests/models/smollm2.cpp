#include "oracle.hpp"

TEST_CASE("SmolLM2 135M Instruct equals transformers: ids, logits, likelihood, greedy answers") { diecast::testing::check_against_oracle("smollm2-135m-instruct"); }
