#include <catch2/catch.hpp>

#include <map>
#include <string>

#include <diecast/tokens/unicode.hpp>

using namespace diecast::unicode;

// Counts by Python's unicodedata2 16.0.0, which agree with the totals in Unicode's DerivedGeneralCategory.txt.
TEST_CASE("the tables have as many code points of each category as Unicode 16 says") {
  std::map<Category, int> count;
  for (char32_t point = 0; point <= 0x10FFFF; ++point) ++count[category(point)];
  CHECK(std::string(version) == "16.0.0");
  CHECK(count[Category::Lu] == 1858);
  CHECK(count[Category::Ll] == 2258);
  CHECK(count[Category::Lt] == 31);
  CHECK(count[Category::Lm] == 404);
  CHECK(count[Category::Lo] == 136477);
  CHECK(count[Category::Nd] == 760);
  CHECK(count[Category::Nl] == 236);
  CHECK(count[Category::No] == 915);
  CHECK(count[Category::Cs] == 2048);
  CHECK(count[Category::Co] == 137468);
}

TEST_CASE("25 characters are white space, and the look-alikes are not") {
  int count = 0;
  for (char32_t point = 0; point <= 0x10FFFF; ++point) count += is_white_space(point);
  CHECK(count == 25);
  for (const char32_t point : {0x09u, 0x0Du, 0x20u, 0x85u, 0xA0u, 0x1680u, 0x2028u, 0x3000u}) CHECK(is_white_space(point));
  for (const char32_t point : {0x1Cu, 0x1Fu, 0x180Eu, 0x200Bu, 0xFEFFu, 0x2800u}) CHECK_FALSE(is_white_space(point));
}

TEST_CASE("characters past the end of Unicode are unassigned") {
  CHECK(category(0x110000) == category(0x10FFFF));
  CHECK(category(0xFFFFFFFF) == Category::Cn);
}
