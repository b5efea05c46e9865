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

TEST_CASE("shared blocks are free when nobody holds them any more, and are never written") {
  BlockTable table(96);  // 6 blocks
  const int a = table.add();
  for (int i = 0; i < 40; ++i) table.append(a);  // 3 blocks, the last one with 8
  const BlockTable::Fork fork = table.fork(a);
  CHECK(table.free_blocks() == 2);
  REQUIRE((fork.from && fork.to));
  CHECK(*fork.from == table.blocks_of(a)[2]);
  CHECK(*fork.to == table.blocks_of(fork.sequence)[2]);
  CHECK(*fork.from != *fork.to);
  CHECK(table.length(fork.sequence) == 40);
  CHECK(table.slot(a, 31) == table.slot(fork.sequence, 31));
  CHECK(table.slot(a, 32) != table.slot(fork.sequence, 32));
  CHECK(table.holders(table.blocks_of(a)[0]) == 2);
  CHECK(table.append(fork.sequence) == 40);

  table.truncate(fork.sequence, 20);  // into a shared block
  CHECK_THROWS_WITH(table.append(fork.sequence), Catch::Contains("is shared and cannot be written"));
  table.truncate(fork.sequence, 16);
  CHECK(table.append(fork.sequence) == 16);
  CHECK(table.slot(fork.sequence, 16) != table.slot(a, 16));
  table.remove(a);
  CHECK(table.free_blocks() == 4);
  CHECK(table.holders(table.blocks_of(fork.sequence)[0]) == 1);
  table.remove(fork.sequence);
  CHECK(table.free_blocks() == 6);
}

TEST_CASE("a fork at the end of a block copies nothing; one that finds no room changes nothing") {
  BlockTable table(32);
  const int a = table.add();
  for (int i = 0; i < 16; ++i) table.append(a);
  const BlockTable::Fork fork = table.fork(a);
  CHECK_FALSE(fork.from);
  CHECK(table.free_blocks() == 1);
  CHECK(table.append(a) == 16);
  CHECK_THROWS_AS(table.fork(a), Error);
  CHECK_FALSE(table.alive(2));
  CHECK(table.length(fork.sequence) == 16);
}

TEST_CASE("kept blocks outlive their sequences and are counted") {
  BlockTable table(64);
  const int a = table.add();
  for (int i = 0; i < 32; ++i) table.append(a);
  const int block = table.blocks_of(a)[0];
  table.keep(block);
  CHECK(table.idle_blocks() == 0);
  table.remove(a);
  CHECK(table.idle_blocks() == 1);
  CHECK(table.free_blocks() == 3);
  const int b = table.add();
  table.share(b, std::span(&block, 1));
  CHECK(table.idle_blocks() == 0);
  CHECK(table.length(b) == 16);
  table.append(b);
  CHECK_THROWS_AS(table.share(b, std::span(&block, 1)), Error);  // its last block has room left
  table.truncate(b, 16);
  table.share(b, std::span(&block, 1));
  CHECK(table.length(b) == 32);
  table.truncate(b, 16);

  const int c = table.add();  // computes the same again and takes the known block in place of its own
  for (int i = 0; i < 17; ++i) table.append(c);
  CHECK(table.free_blocks() == 1);
  CHECK_THROWS_AS(table.replace(c, 1, block), Error);  // not full
  table.replace(c, 0, block);
  table.replace(c, 0, block);
  CHECK(table.free_blocks() == 2);
  CHECK(table.holders(block) == 3);
  table.remove(b);
  table.drop(block);
  CHECK(table.holders(block) == 1);
  CHECK(table.idle_blocks() == 0);
  table.remove(c);
  CHECK(table.free_blocks() == 4);
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
