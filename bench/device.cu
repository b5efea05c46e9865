// bench_device: what the GPU of this machine can do at best, as one line of JSON: reading memory (the median of several reads of a buffer that no cache holds), a
// meeting of all blocks, and what it is. bench/device.sh runs it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include <diecast/cuda/cuda_device.hpp>
#include <diecast/cuda/device_array.hpp>

#include "device_ceilings.hpp"

namespace {

using namespace diecast;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double read_bytes_s(const std::shared_ptr<diecast::cuda::CudaDevice>& device) {
  using Read = bench::ReadOnce<512>;
  constexpr int blocks_a_processor = 4, repeats = 15;
  const int blocks = blocks_a_processor * device->processors();
  const std::size_t bytes = std::max<std::size_t>(std::size_t{1} << 30, 16 * device->l2_bytes()), pieces = bytes / sizeof(Read::Piece);
  const diecast::cuda::DeviceArray<std::uint32_t, diecast::cuda::CudaDevice> sums(device, "sums", static_cast<std::size_t>(blocks) * Read::threads);
  diecast::cuda::DeviceArray<Read::Piece, diecast::cuda::CudaDevice> buffer(device, "a buffer to read", pieces);
  const std::vector<Read::Piece> some(pieces / 8);
  for (std::size_t eighth = 0; eighth < 8; ++eighth) buffer.write(some, eighth * some.size());
  std::vector<double> seconds;
  for (int i = -2; i < repeats; ++i) {
    const double one = device->seconds([&] { device->launch<Read>(blocks, {buffer.data(), static_cast<std::int64_t>(pieces), sums.data()}); });
    if (i >= 0) seconds.push_back(one);
  }
  return static_cast<double>(pieces * sizeof(Read::Piece)) / median(seconds);
}

double meeting_s(const std::shared_ptr<diecast::cuda::CudaDevice>& device) {
  using Meet = bench::Meetings<256>;
  constexpr int times = 2000;
  std::vector<double> seconds;
  for (int i = -1; i < 7; ++i) {
    const diecast::cuda::DeviceArray<std::uint32_t, diecast::cuda::CudaDevice> arrived(device, "counter", std::span<const std::uint32_t>(std::vector<std::uint32_t>{0}));
    const double one = device->seconds([&] { device->launch<Meet>(device->processors(), {arrived.data(), times}); });
    if (i >= 0) seconds.push_back(one / times);
  }
  return median(seconds);
}

}  // namespace

int main() {
  try {
    const auto device = std::make_shared<diecast::cuda::CudaDevice>();
    const double read = read_bytes_s(device), meeting = meeting_s(device);
    std::printf("{\"gpu\": \"%s\", \"architecture\": %d, \"processors\": %d, \"read_bytes_s\": %.6g, \"meeting_s\": %.6g}\n", device->gpu().c_str(), device->architecture(),
                device->processors(), read, meeting);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.blame() == Blame::user ? 2 : 1;
  }
}
