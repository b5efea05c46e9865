// What is refused, and who decides: the user over the file over greedy.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include <diecast/sample/defaults.hpp>
#include <diecast/sample/sampler.hpp>

using namespace diecast;

namespace {

struct File {  // GenerationDefaults, of which any part may be left out
  std::optional<bool> do_sample{};
  std::optional<double> temperature{}, top_p{}, repetition_penalty{};
  std::optional<int> top_k{}, max_new_tokens{};
  operator GenerationDefaults() const {
    GenerationDefaults file{};
    file.do_sample = do_sample;
    file.temperature = temperature;
    file.top_p = top_p;
    file.repetition_penalty = repetition_penalty;
    file.top_k = top_k;
    file.max_new_tokens = max_new_tokens;
    return file;
  }
};

}  // namespace

TEST_CASE("S3: impossible sampling options are refused with a sentence") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const auto refused = [](SamplingOptions options) {
    try {
      Sampler(options, 4);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused({.temperature = -1}) == "temperature is -1 but must be 0 or a positive number");
  CHECK(refused({.temperature = nan}) == "temperature is nan but must be 0 or a positive number");
  CHECK(refused({.temperature = infinity}) == "temperature is inf but must be 0 or a positive number");
  CHECK(refused({.top_k = -2}) == "top_k is -2 but must be positive, or 0 or -1 to switch it off");
  CHECK(refused({.top_p = 1.5}) == "top_p is 1.5 but must lie between 0 and 1");
  for (const double wrong : {-0.1, 1.01, nan, infinity, -infinity}) {
    CHECK(!refused({.top_p = wrong}).empty());
    CHECK(!refused({.min_p = wrong}).empty());
  }
  for (const double wrong : {0.0, -1.0, nan, infinity}) CHECK(!refused({.repetition_penalty = wrong}).empty());
  for (const double wrong : {-2.5, 2.5, nan, infinity}) {
    CHECK(!refused({.presence_penalty = wrong}).empty());
    CHECK(!refused({.frequency_penalty = wrong}).empty());
  }
  for (const double right : {0.0, 5e-324, 1e-40, 1e-7, 1.0, 1e300}) CHECK(refused({.temperature = right}).empty());
  for (const int right : {-1, 0, 1, 9999999}) CHECK(refused({.top_k = right}).empty());
  for (const double right : {0.0, 1.0}) CHECK(refused({.top_p = right, .min_p = right}).empty());
}

TEST_CASE("Nothing said about sampling: greedy, 256 tokens") {
  const SamplingOptions options = resolve({}, {});
  CHECK(options.greedy());
  CHECK_FALSE(options.penalises());
  CHECK(resolve_max_tokens({}, {}) == 256);
  CHECK(resolve_max_tokens({}, File{.max_new_tokens = 40}) == 40);
  CHECK(resolve_max_tokens(7, File{.max_new_tokens = 40}) == 7);
}

TEST_CASE("The file's defaults count where the user says nothing") {
  const File file{.do_sample = true, .temperature = 0.6, .top_p = 0.9, .repetition_penalty = 1.1, .top_k = 40};
  CHECK(resolve({}, file).temperature == 0.6);
  CHECK(resolve({}, file).top_k == 40);
  CHECK(resolve({}, file).top_p == 0.9);
  CHECK(resolve({}, file).repetition_penalty == 1.1);
  const SamplingOptions mixed = resolve({.temperature = 0.2, .top_k = 0, .seed = 3}, file);
  CHECK(mixed.temperature == 0.2);
  CHECK(mixed.top_k == 0);
  CHECK(mixed.top_p == 0.9);
  CHECK(mixed.seed == 3u);
  const SamplingOptions greedy = resolve({.greedy = true}, file);
  CHECK(greedy.greedy());
  CHECK(greedy.repetition_penalty == 1.1);  // a penalty belongs to greedy decoding too, as in Hugging Face
  CHECK(resolve({.temperature = 0}, file).greedy());
}

TEST_CASE("do_sample decides what the file's numbers mean, and the user's own numbers switch sampling on") {
  CHECK(resolve({}, File{.do_sample = false, .temperature = 0.6}).greedy());
  CHECK(resolve({}, File{.do_sample = true}).temperature == 1);
  CHECK(resolve({}, File{.temperature = 0.6}).temperature == 0.6);
  CHECK(resolve({}, File{.top_k = 50}).temperature == 1);
  CHECK(resolve({}, File{.repetition_penalty = 1.2}).greedy());
  CHECK(resolve({.temperature = 0.3}, File{.do_sample = false, .temperature = 0.6}).temperature == 0.3);
  CHECK(resolve({.top_p = 0.5}, File{.do_sample = false, .temperature = 0.6}).temperature == 0.6);
  CHECK(resolve({.top_p = 0.5}, {}).temperature == 1);
  CHECK(resolve({.seed = 1}, {}).greedy());
}

TEST_CASE("Contradictions and a file's nonsense are refused") {
  CHECK_THROWS_WITH(resolve({.greedy = true, .temperature = 0.8}, {}), "greedy and temperature 0.8 exclude each other");
  CHECK(resolve({.greedy = true, .temperature = 0}, {}).greedy());
  CHECK_THROWS_AS(resolve({}, File{.temperature = -3}), Error);
  CHECK_THROWS_AS(resolve({}, File{.do_sample = true, .top_p = 7}), Error);
}
