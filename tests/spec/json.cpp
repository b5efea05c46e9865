#include <diecast/spec/json.hpp>

#include <catch2/catch.hpp>

#include "odd_specs.hpp"

TEST_CASE("a spec as JSON: kinds named, absent fields left out") {
  CHECK(diecast::to_json(diecast::testing::rope_spec) ==
        R"({"kind":"Spec","hidden":46,"layers":2,"vocab":65,"context":64,)"
        R"("attention":{"kind":"Attention","heads":7,"kv_heads":1,"head_dim":10,"qkv_bias":false,"output_bias":false},)"
        R"("position":{"kind":"Rope","theta":10000},"norm":{"kind":"RmsNorm","epsilon":1e-05},)"
        R"("mlp":{"kind":"GatedMlp","width":101,"activation":"silu","bias":false},"head":{"kind":"TiedHead","bias":false},"norm_placement":"before","residual":"sequential"})");
}
