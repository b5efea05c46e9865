#include <diecast/backend/block_table.hpp>

#include <catch2/catch.hpp>

#include <set>

#include <diecast/backend/rows.hpp>

#include "odd_specs.hpp"

using namespace diecast;

TEST_CASE("no two positions share a slot, whatever the order of appending") {
  BlockTable table(100);  // 7 blocks
  CHECK(table.capacity() == 112);
  const int a = table.add(), b = table.add();
  for (int i = 0; i < 40; ++i) {
    CHECK(table.append(a) == i);
    CHECK(table.append(b) == i);
  }
  std::set<std::size_t> slots;
  for (int i = 0; i < 40; ++i) {
    slots.insert(table.slot(a, i));
    slots.insert(table.slot(b, i));
  }
  CHECK(slots.size() == 80);
  CHECK(*slots.rbegin() < 112);
}

TEST_CASE("V1: a full table refuses, and is whole afterwards") {
  BlockTable table(32);
  const int a = table.add();
  for (int i = 0; i < 32; ++i) table.append(a);
  CHECK_THROWS_WITH(table.append(a), "the cache is full: all 2 blocks of 16 tokens are in use");
  CHECK(table.length(a) == 32);
  table.truncate(a, 16);
  CHECK(table.free_blocks() == 1);
  CHECK(table.append(a) == 16);
}

TEST_CASE("truncate and remove give whole blocks back") {
  BlockTable table(64);
  const int a = table.add();
  for (int i = 0; i < 33; ++i) table.append(a);
  CHECK(table.free_blocks() == 1);
  table.truncate(a, 17);
  CHECK(table.free_blocks() == 2);
  table.truncate(a, 16);
  CHECK(table.free_blocks() == 3);
  table.remove(a);
  CHECK(table.free_blocks() == 4);
  CHECK_THROWS_WITH(table.length(a), "there is no sequence 0");
  CHECK(table.add() == a);
  CHECK(table.length(a) == 0);
}

TEST_CASE("rows are refused before any work") {
  Spec spec = testing::odd_specs()[0].second;  // vocabulary 65, context 64
  BlockTable table(16);
  const int s = table.add();
  const auto refusal = [&](std::vector<Row> rows) {
    try {
      check_rows(spec, table, rows);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(refusal({{0, 0, s, true}, {64, 1, s, true}}) == "");
  CHECK(refusal({{65, 0, s, true}}) == "token id 65 is outside the vocabulary of 65");
  CHECK(refusal({{-1, 0, s, true}}) == "token id -1 is outside the vocabulary of 65");
  CHECK(refusal({{0, 1, s, true}}) == "sequence 0 continues at position 0, not 1");
  CHECK(refusal({{0, 0, s, true}, {0, 0, s, true}}) == "sequence 0 continues at position 1, not 0");
  CHECK(refusal({{0, 0, 7, true}}) == "there is no sequence 7");
  std::vector<Row> many;
  for (int i = 0; i < 17; ++i) many.push_back({0, i, s, false});
  CHECK(refusal(many) == "the cache is full: 2 more blocks of 16 tokens are needed, 1 are free");
  spec.context = 2;
  CHECK(refusal({{0, 0, s, true}, {0, 1, s, true}, {0, 2, s, true}}) == "position 2 lies beyond the context of 2 tokens");
}
