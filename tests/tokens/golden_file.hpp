// The right values of tests/data/tokens, made by tests/oracle/make_tokenizer_goldens.py.
#pragma once

#include <catch2/catch.hpp>

#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tokens_test {

inline nlohmann::json golden_cases(const std::string& name) {
  std::ifstream file(std::string(DIECAST_SOURCE_DIR) + "/tests/data/tokens/" + name);
  REQUIRE(file);
  return nlohmann::json::parse(file).at("cases");
}

}  // namespace tokens_test
