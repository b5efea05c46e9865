// What each lane knows of the others: vector clocks (Mattern 1989; in the detector of Flanagan and Freund 2009), in two levels since lanes
// of a block meet often and blocks seldom. A lane's own steps are its epoch; Known is one version of "up to which epoch of each lane of
// a block all is ordered before me", shared by all who left the same barrier.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

namespace diecast::simt {

struct Known : boost::intrusive_ref_counter<Known, boost::thread_unsafe_counter> {
  std::vector<std::uint32_t> epoch;          // of each lane of the block, and of 32 bulk copies as of one more warp
  std::vector<std::uint32_t> least_of_warp;  // of its lanes' epochs

  void seal() {
    least_of_warp.resize(epoch.size() / 32);
    for (std::size_t warp = 0; warp < least_of_warp.size(); ++warp)
      least_of_warp[warp] = *std::min_element(epoch.begin() + static_cast<std::ptrdiff_t>(32 * warp),
                                              epoch.begin() + static_cast<std::ptrdiff_t>(32 * warp + 32));
  }
};
using KnownPtr = boost::intrusive_ptr<const Known>;

struct OfBlock {
  std::uint32_t block;
  KnownPtr known;
};
// Sorted by block; blocks of which nothing is known are absent.
struct Others : boost::intrusive_ref_counter<Others, boost::thread_unsafe_counter> {
  std::vector<OfBlock> blocks;

  const KnownPtr* of(std::uint32_t block) const {
    const auto at =
        std::lower_bound(blocks.begin(), blocks.end(), block, [](const OfBlock& one, std::uint32_t number) { return one.block < number; });
    return at != blocks.end() && at->block == block ? &at->known : nullptr;
  }
  const Known* find(std::uint32_t block) const {
    const KnownPtr* known = of(block);
    return known != nullptr ? known->get() : nullptr;
  }
};
using OthersPtr = boost::intrusive_ptr<const Others>;

inline KnownPtr later(const KnownPtr& a, const KnownPtr& b) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr) return b;
  boost::intrusive_ptr<Known> both(new Known);
  both->epoch.resize(a->epoch.size());
  for (std::size_t i = 0; i < both->epoch.size(); ++i) both->epoch[i] = (std::max)(a->epoch[i], b->epoch[i]);
  both->seal();
  return both;
}

inline OthersPtr later(const OthersPtr& a, const OthersPtr& b) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr) return b;
  boost::intrusive_ptr<Others> both(new Others);
  both->blocks.reserve(a->blocks.size() + b->blocks.size());
  auto i = a->blocks.begin(), j = b->blocks.begin();
  while (i != a->blocks.end() || j != b->blocks.end()) {
    if (j == b->blocks.end() || (i != a->blocks.end() && i->block < j->block))
      both->blocks.push_back(*i++);
    else if (i == a->blocks.end() || j->block < i->block)
      both->blocks.push_back(*j++);
    else
      both->blocks.push_back({i->block, later((i++)->known, (j++)->known)});
  }
  return both;
}

struct Clock {
  std::uint32_t epoch = 1;    // the lane's own
  std::uint32_t version = 0;  // equal ones know the same: those who left the same barrier
  KnownPtr own;               // of its block
  OthersPtr others;           // of the other blocks
};

// What all of those know who come to a barrier; each of them leaves with it.
class Gathering {
 public:
  void add(const Clock& clock, int thread) {
    if (clock.own != last_) {
      last_ = clock.own;
      if (epochs_.empty())
        epochs_ = clock.own->epoch;
      else
        for (std::size_t i = 0; i < epochs_.size(); ++i) epochs_[i] = (std::max)(epochs_[i], clock.own->epoch[i]);
    }
    came_.push_back({static_cast<std::uint32_t>(thread), clock.epoch});
    others_ = later(others_, clock.others);
    latest_ = (std::max)(latest_, clock.epoch);
  }
  // All epochs after a barrier are the same new one, so that the accesses of a warp are kept together.
  Clock close(std::uint32_t version) {
    for (const Came& one : came_) epochs_[one.thread] = (std::max)(epochs_[one.thread], one.epoch);
    boost::intrusive_ptr<Known> known(new Known);
    known->epoch = std::move(epochs_);
    known->seal();
    Clock after{latest_ + 1, version, known, others_};
    *this = {};
    return after;
  }

 private:
  struct Came {
    std::uint32_t thread, epoch;
  };
  std::vector<std::uint32_t> epochs_;
  std::vector<Came> came_;
  KnownPtr last_;
  OthersPtr others_;
  std::uint32_t latest_ = 0;
};

}  // namespace diecast::simt
