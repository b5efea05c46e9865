// What of a GPU's host side needs no GPU: which architectures are refused, and the two operations of bench/device.cu, on the host executor.
#include <catch2/catch.hpp>

#include <cstdint>
#include <numeric>
#include <vector>

#include <diecast/cuda/architecture.hpp>

#include "../../bench/device_ceilings.hpp"
#include "on_host.hpp"

using namespace diecast_test;
using diecast::bench::Meetings;
using diecast::bench::ReadOnce;

TEST_CASE("a GPU older than what kernels are compiled for is refused with both values") {
  const std::vector<int> compiled{90, 80};
  CHECK_NOTHROW(diecast::cuda::check_architecture(compiled, 80, "NVIDIA A100"));
  CHECK_NOTHROW(diecast::cuda::check_architecture(compiled, 100, "NVIDIA B200"));
  CHECK_THROWS_WITH(diecast::cuda::check_architecture(compiled, 75, "Tesla T4"),
                    "these kernels are compiled for sm_80 and up, Tesla T4 is sm_75; the least that they could be compiled for is sm_80");
  CHECK_THROWS_WITH(diecast::cuda::check_architecture(std::vector<int>{90}, 86, "NVIDIA A10"),
                    "these kernels are compiled for sm_90 and up, NVIDIA A10 is sm_86: compile them for it");
}

TEST_CASE("what measures reading reads every byte once, whatever the grid") {
  using Read = ReadOnce<64>;
  for (const int pieces : {0, 1, 127, 128, 1000})
    for (const int blocks : {1, 2, 3}) {
      std::vector<Read::Piece> values(static_cast<std::size_t>(pieces + 1));
      std::uint32_t want = 0, next = 1;
      for (int i = 0; i < pieces; ++i)
        for (std::uint32_t& value : values[static_cast<std::size_t>(i)].at) want += value = next *= 2654435761u;
      const Constants<Read::Piece> from(values);
      Values<std::uint32_t> sums(blocks * Read::threads);
      launch<Read>(blocks, {from.data(), pieces, sums.data()});
      const std::vector<std::uint32_t> all = sums.all();
      CHECK(std::accumulate(all.begin(), all.end(), 0u) == want);
    }
}

TEST_CASE("what measures meetings comes to its end with every block counted") {
  for (const int blocks : {1, 3}) {
    Values<std::uint32_t> arrived(std::vector<std::uint32_t>{0});
    launch<Meetings<64>>(blocks, {arrived.data(), 5});
    CHECK(arrived[0] == static_cast<std::uint32_t>(5 * blocks));
  }
}
