// Stop strings in text that comes in pieces.
#include <catch2/catch.hpp>

#include <random>

#include <diecast/generate/stop.hpp>

using namespace diecast;

namespace {

struct Found {
  std::string text;
  bool stopped;
  bool operator==(const Found&) const = default;
};

Found feed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopStrings search(stops);
  std::string text;
  for (const std::string& piece : pieces) {
    text += search.push(piece);
    if (search.stopped()) return {text, true};
  }
  return {text + search.finish(), false};
}

// By definition: the shortest beginning of the whole text that ends with a stop string, less the longest one it ends with.
Found oracle(const std::vector<std::string>& stops, const std::string& whole) {
  for (std::size_t length = 1; length <= whole.size(); ++length) {
    std::size_t longest = 0;
    for (const std::string& stop : stops)
      if (length >= stop.size() && whole.compare(length - stop.size(), stop.size(), stop) == 0) longest = std::max(longest, stop.size());
    if (longest > 0) return {whole.substr(0, length - longest), true};
  }
  return {whole, false};
}

}  // namespace

TEST_CASE("E2: stop strings in pieces of text") {
  CHECK(feed({"DEFGHIJ"}, {"DEF", "G", "HI", "J"}) == Found{"", true});
  CHECK(feed({"DEFGHIJ"}, {"DEF", "G", "HX"}) == Found{"DEFGHX", false});
  CHECK(feed({"aab"}, {"a", "a", "a", "b"}) == Found{"a", true});
  CHECK(feed({"\n\nUser:"}, {"b\n\nUs", "er:"}) == Found{"b", true});
}

TEST_CASE("Text is released as soon as it cannot belong to a stop string") {
  StopStrings search({"END", "\n\n"});
  CHECK(search.push("abc") == "abc");
  CHECK(search.push("E").empty());
  CHECK(search.push("N").empty());
  CHECK(search.push("E") == "EN");  // the second E may begin another one
  CHECK(search.push("x\n") == "Ex");
  CHECK(search.push("y") == "\ny");
  CHECK(search.push("\n\nmore") == "");
  CHECK(search.stopped());
  CHECK(search.push("never").empty());
  CHECK(search.finish().empty());
}

TEST_CASE("Of several stop strings the one that is complete first counts, the longest of those complete at once") {
  CHECK(feed({"abcd", "c"}, {"abcd"}) == Found{"ab", true});
  CHECK(feed({"c", "bc", "xbc"}, {"abc"}) == Found{"a", true});
  CHECK(feed({}, {"a", "b"}) == Found{"ab", false});
}

TEST_CASE("One stop string: the text before its first occurrence in the whole, however it is split") {
  std::mt19937 random(1);
  for (int round = 0; round < 4000; ++round) {
    const auto word = [&](std::size_t least, std::size_t most) {
      std::string text;
      for (std::size_t length = least + random() % (most - least + 1); length > 0; --length) text += static_cast<char>('a' + random() % 2);
      return text;
    };
    const std::string whole = word(0, 24);
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < whole.size();) {
      const std::size_t length = std::min<std::size_t>(random() % 5, whole.size() - at);  // empty ones too
      pieces.push_back(whole.substr(at, length));
      at += length;
    }
    const std::string one = word(1, 6);
    const std::size_t place = whole.find(one);
    CHECK(feed({one}, pieces) == Found{whole.substr(0, place), place != std::string::npos});
    const std::vector<std::string> many{one, word(1, 6), word(2, 5)};
    CHECK(feed(many, pieces) == oracle(many, whole));
  }
}

TEST_CASE("Long texts take linear time: a near miss of 100,000 bytes") {
  const std::string run(100'000, 'a');
  CHECK(feed({run + "b"}, {run, run, "b"}) == Found{run, true});
}

TEST_CASE("Impossible stop strings are refused") {
  CHECK_THROWS_WITH(StopStrings({"a", ""}), "a stop string is empty");
  CHECK_THROWS_WITH(StopStrings({"\x98x"}), "a stop string begins in the middle of a UTF-8 character");
}
