#include <diecast/backend/door.hpp>

#include <catch2/catch.hpp>

using namespace diecast;

namespace {

PaddedBatch batch(const std::vector<int>& ids, const std::vector<int>& mask, int rows) {
  return {ids, mask, rows, static_cast<int>(ids.size()) / rows};
}

}  // namespace

TEST_CASE("P4: the last valid position, padded right and left") {
  const std::vector<int> right_ids{10, 11, 0, 12, 13, 14}, right_mask{1, 1, 0, 1, 1, 1};
  CHECK(last_valid(batch(right_ids, right_mask, 2)) == std::vector<int>{1, 2});
  const std::vector<int> left_ids{0, 10, 11, 12, 13, 14}, left_mask{0, 1, 1, 1, 1, 1};
  CHECK(last_valid(batch(left_ids, left_mask, 2)) == std::vector<int>{2, 2});
}

TEST_CASE("P4: a row that is all padding is an error before anything runs") {
  const std::vector<int> ids{1, 2, 3, 4}, mask{1, 1, 0, 0};
  CHECK_THROWS_WITH(last_valid(batch(ids, mask, 2)), "row 1 of the batch is all padding");
}

TEST_CASE("P1: real tokens get the positions 0, 1, 2 wherever the padding stands") {
  const std::vector<int> ids{0, 0, 7, 8, 9}, mask{0, 0, 1, 1, 1};
  CHECK(unpad(batch(ids, mask, 1)) == std::vector<std::vector<int>>{{7, 8, 9}});
  BlockTable table(16);
  const std::vector<int> sequences{table.add()};
  const auto tokens = unpad(batch(ids, mask, 1));
  const auto rows = pack(table, sequences, tokens);
  REQUIRE(rows.size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(rows[static_cast<std::size_t>(i)].position == i);
    CHECK(rows[static_cast<std::size_t>(i)].logits == (i == 2));
  }
}

TEST_CASE("shapes and mask values are checked, both values named") {
  const std::vector<int> ids{1, 2, 3}, mask{1, 2, 1}, empty;
  CHECK_THROWS_WITH(last_valid({ids, mask, 1, 3}), "attention_mask holds 2 at row 0, column 1; it may hold 0 and 1");
  CHECK_THROWS_WITH(last_valid({ids, mask, 2, 2}), "a batch of 2 x 2 needs as many ids and mask values, not 3 and 3");
  CHECK_THROWS_WITH(last_valid({empty, empty, 0, 0}), "a batch needs at least one row and one column, not 0 and 0");
}
