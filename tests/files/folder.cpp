// A folder's files by name, on disk and in memory.
#include <diecast/hf.hpp>

#include <catch2/catch.hpp>

#include <memory>
#include <string>

#include "files/hf_support.hpp"

using namespace diecast;
using namespace diecast::testing;
using Catch::Matchers::Contains;

TEST_CASE("folder on disk: names, places and bytes") {
  const TempFolder there;
  there.write("config.json", "{\"a\":1}");
  const Folder folder(there.path() + "/");
  CHECK(folder.name().empty() == false);
  CHECK(Folder(there.path()).name() == folder.name());
  CHECK(folder.where("config.json") == there.path() + "/config.json");
  CHECK(folder.has("config.json"));
  CHECK_FALSE(folder.has("other"));
  CHECK(as_text(folder.open("config.json").bytes) == "{\"a\":1}");
  CHECK(read_json(folder, "config.json")["a"] == 1);
  CHECK_THAT(sentence([&] { folder.open("other"); }), Contains(there.path() + "/other cannot be opened"));
  CHECK_THAT(sentence([&] { Folder(there.path() + "/config.json"); }), Contains("config.json is not a folder"));
}

TEST_CASE("folder in memory: the bytes live as long as anybody holds them, and sentences name the place") {
  auto owner = std::make_shared<std::string>("{\"a\":");
  const std::weak_ptr<std::string> watched = owner;
  FileBytes file;
  {
    const Folder folder("the model inside", "tiny", {{"config.json", {std::as_bytes(std::span(*owner)), owner}}, {"empty", {}}});
    owner.reset();
    CHECK(folder.name() == "tiny");
    CHECK(folder.has("empty"));
    CHECK(folder.open("empty").bytes.empty());
    CHECK(folder.where("config.json") == "the model inside: config.json");
    CHECK_THAT(sentence([&] { read_json(folder, "config.json"); }), Contains("the model inside: config.json is not JSON"));
    CHECK_THAT(sentence([&] { folder.open("other"); }), Contains("the model inside has no other"));
    CHECK_THAT(sentence([&] { read_safetensors_folder(folder); }), Contains("the model inside has neither model.safetensors nor"));
    file = folder.open("config.json");
  }
  CHECK_FALSE(watched.expired());
  CHECK(as_text(file.bytes) == "{\"a\":");
  file = {};
  CHECK(watched.expired());
}
