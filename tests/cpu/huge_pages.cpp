// A mapping that is moved to huge pages keeps its bytes, for whoever reads them meanwhile, too, and gives the file's pages back.
#include <diecast/cpu/huge_pages.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <diecast/files/mapping.hpp>

using namespace diecast;

namespace {

constexpr std::size_t words = (std::size_t{13} << 20) / 8 + 17;  // of 8 bytes: no multiple of a page

std::uint64_t word(std::size_t i) { return (i + 1) * 0x9e3779b97f4a7c15U; }

// Whether all words are what was written.
bool whole(std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t found;
    std::memcpy(&found, bytes.data() + 8 * i, 8);
    if (found != word(i)) return false;
  }
  return bytes.size() == 8 * words;
}

struct File {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("diecast-huge-pages-" + std::to_string(std::hash<std::thread::id>()(std::this_thread::get_id())));
  File() {
    std::vector<std::uint64_t> all(words);
    for (std::size_t i = 0; i < words; ++i) all[i] = word(i);
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(8 * words));
  }
  ~File() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("a mapping keeps its bytes while it is moved to huge pages") {
  const File file;
  const auto mapping = Mapping::open(file.path.string());
  cpu::HugePages pages(mapping->bytes());
  std::atomic<bool> wrong{false}, over{false};
  {
    std::jthread reader([&] {
      while (!over) wrong = wrong || !whole(mapping->bytes());
    });
    std::vector<std::jthread> movers;
    for (int i = 0; i < 2; ++i)
      movers.emplace_back([&] {
        while (!pages.done()) pages.move_next();
      });
    movers.clear();
    over = true;
  }
  CHECK_FALSE(wrong);
  CHECK(pages.done());
  CHECK(whole(mapping->bytes()));
  pages.move_next();  // one too many does nothing
  CHECK(whole(mapping->bytes()));
}

TEST_CASE("less than a piece is left as it is") {
  const std::vector<std::byte> memory(cpu::HugePages::piece - 1);
  cpu::HugePages pages(memory);
  CHECK(pages.done());
  pages.move_next();
}
