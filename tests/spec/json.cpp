#include <diecast/spec/json.hpp>

#include <catch2/catch.hpp>

#include "specs.hpp"

TEST_CASE("a spec as JSON: kinds named, absent fields left out") {
  CHECK(diecast::to_json(diecast::test::rope_spec) ==
        R"({"kind":"Spec","hidden":576,"layers":30,"vocab":49152,"context":8192,)"
        R"("attention":{"kind":"Attention","heads":9,"kv_heads":3,"head_dim":64,"qkv_bias":false,"output_bias":false},)"
        R"("position":{"kind":"Rope","theta":1e+05},"norm":{"kind":"RmsNorm","epsilon":1e-05},)"
        R"("mlp":{"kind":"GatedMlp","width":1536,"activation":"silu","bias":false},"head":{"kind":"TiedHead","bias":false},"norm_placement":"before","residual":"sequential"})");
}
