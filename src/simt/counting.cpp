#include "counting.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace diecast::simt {
namespace {

struct Key {
  const char* file;
  std::uint32_t line, column;
  bool shared;  // a copy is a load of global and a store to shared memory at one place
  std::uint32_t occurrence;
  bool operator<(const Key& other) const {
    return std::tie(line, column, shared, occurrence, file) < std::tie(other.line, other.column, other.shared, other.occurrence, other.file);
  }
};

// Different values of address / unit among the lanes' bytes.
std::uint64_t different(const std::vector<const Request*>& lanes, Address unit) {
  std::vector<Address> touched;
  for (const Request* one : lanes)
    for (Address at = one->address / unit; at <= (one->address + one->bytes - 1) / unit; ++at) touched.push_back(at);
  std::sort(touched.begin(), touched.end());
  return static_cast<std::uint64_t>(std::unique(touched.begin(), touched.end()) - touched.begin());
}

// 32 banks of four bytes. Accesses of 8 and 16 bytes are served half a warp and a quarter of a warp at a time; different words in one
// bank need a wavefront each.
void count_shared(const std::vector<const Request*>& by_lane, SharedTraffic& traffic) {
  const std::size_t bytes = by_lane.front()->bytes;
  const std::size_t lanes_at_once = bytes <= 4 ? 32 : 128 / bytes;
  ++traffic.requests;
  for (std::size_t first = 0; first < by_lane.size(); first += lanes_at_once) {
    std::vector<Address> of_bank[32];
    for (std::size_t i = first; i < (std::min)(first + lanes_at_once, by_lane.size()); ++i)
      for (Address word = by_lane[i]->address / 4; word <= (by_lane[i]->address + bytes - 1) / 4; ++word) {
        auto& bank = of_bank[word % 32];
        if (std::find(bank.begin(), bank.end(), word) == bank.end()) bank.push_back(word);
      }
    std::size_t most = 0;
    for (const auto& bank : of_bank) most = (std::max)(most, bank.size());
    traffic.wavefronts += most;
    ++traffic.least_wavefronts;
  }
}

}  // namespace

void count_requests(const std::vector<std::vector<Request>*>& of_lane, Counters& counters) {
  std::map<Key, std::vector<const Request*>> instructions;
  for (const auto* requests : of_lane) {
    std::map<Key, std::uint32_t> seen;  // with occurrence 0
    for (const Request& one : *requests) {
      Key key{one.place.file_name(), one.place.line(), one.place.column(), one.region == nullptr, 0};
      key.occurrence = seen[key]++;
      instructions[key].push_back(&one);
    }
  }
  for (const auto& [key, lanes] : instructions) {
    const Request& first = *lanes.front();
    if (first.region == nullptr) {
      if (first.copies) ++counters.copies;
      count_shared(lanes, first.stores ? counters.shared_written : counters.shared_read);
      continue;
    }
    Counters::OfBuffer& buffer = counters.buffers[first.region->name];
    Traffic& traffic = first.stores ? buffer.written : buffer.read;
    ++traffic.requests;
    traffic.bytes += different(lanes, 1);
    traffic.sectors += different(lanes, 32);
    if (!first.stores) ++counters.loads[static_cast<std::size_t>(__builtin_ctz(first.bytes))];
  }
  for (auto* requests : of_lane) requests->clear();
}

}  // namespace diecast::simt
