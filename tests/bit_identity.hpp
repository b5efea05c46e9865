// A sequence's logits are the same bits alone or in any company: the design's promise, as a set of checks that any backend can be put through.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/backend/door.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast::testing {

using LogitRows = std::vector<std::vector<float>>;

inline std::vector<int> prompt_of(const Spec& spec, int length, int seed) {
  std::vector<int> ids;
  for (int i = 0; i < length; ++i) ids.push_back((seed * 31 + i * 17 + i * i) % spec.vocab);
  return ids;
}

inline std::vector<float> copy(std::span<const float> row) { return {row.begin(), row.end()}; }

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Every position's logits of one sequence, prefilled in chunks of this size.
inline LogitRows run_alone(const Backend& backend, const std::vector<int>& ids, int chunk) {
  const auto context = backend.open(static_cast<int>(ids.size()));
  const int sequence = context->table().add();
  LogitRows all;
  for (int begin = 0; begin < static_cast<int>(ids.size()); begin += chunk) {
    std::vector<Row> rows;
    for (int i = begin; i < std::min<int>(begin + chunk, static_cast<int>(ids.size())); ++i)
      rows.push_back({ids[static_cast<std::size_t>(i)], i, sequence, true});
    const Logits logits = context->forward(rows);
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) all.push_back(copy(logits.row(i)));
  }
  return all;
}

// make(threads): the backend on so many threads.
template <class Make>
void check_identity(const Make& make) {
  const std::shared_ptr<const Backend> made = make(1);
  const Backend& backend = *made;
  const Spec& spec = backend.spec();
  const std::vector<int> ids = prompt_of(spec, 37, 3);
  const LogitRows whole = run_alone(backend, ids, 37);
  for (const auto& row : whole)
    for (float logit : row) REQUIRE(std::isfinite(logit));
  REQUIRE_FALSE(same_bits(whole[0], whole[1]));

  for (int chunk : {1, 2, 3, 16, 19}) {  // R6: prefill = decode, in pieces of any size
    INFO("chunk " << chunk);
    CHECK((run_alone(backend, ids, chunk) == whole));
  }
  for (const auto& [threads, chunks] : {std::pair(2, std::pair(1, 37)), std::pair(3, std::pair(4, 37)), std::pair(4, std::pair(19, 37))}) {
    INFO("threads " << threads);
    const auto several = make(threads);
    CHECK((run_alone(*several, ids, chunks.first) == whole));
    CHECK((run_alone(*several, ids, chunks.second) == whole));
  }

  // P1, P5, P6: in a batch of three, padded left (on three threads) or right (on one), then four steps of decoding.
  for (bool left : {false, true}) {
    INFO((left ? "left" : "right") << " padding");
    const std::vector<int> lengths{5, 33, 18};
    constexpr int width = 33, steps = 4;
    std::vector<int> input_ids(3 * width, 0), mask(3 * width, 0);
    for (int row = 0; row < 3; ++row)
      for (int i = 0; i < lengths[static_cast<std::size_t>(row)]; ++i) {
        const int column = left ? width - lengths[static_cast<std::size_t>(row)] + i : i;
        input_ids[static_cast<std::size_t>(row * width + column)] = prompt_of(spec, 37, row + 1)[static_cast<std::size_t>(i)];
        mask[static_cast<std::size_t>(row * width + column)] = 1;
      }
    const std::shared_ptr<const Backend> batched = make(left ? 3 : 1);
    const auto context = batched->open(3 * 48);
    const BatchResult batch = prefill(*context, {input_ids, mask, 3, width});
    std::vector<LogitRows> steps_of(3);
    for (int row = 0; row < 3; ++row) steps_of[static_cast<std::size_t>(row)].push_back(copy(batch.logits.row(row)));
    for (int step = 0; step < steps; ++step) {
      std::vector<Row> rows;
      for (int row = 2; row >= 0; --row) {  // in another order than they came
        const int position = lengths[static_cast<std::size_t>(row)] + step;
        rows.push_back({prompt_of(spec, 37, row + 1)[static_cast<std::size_t>(position)], position, batch.sequences[static_cast<std::size_t>(row)], true});
      }
      const Logits logits = context->forward(rows);
      for (int row = 0; row < 3; ++row) steps_of[static_cast<std::size_t>(row)].push_back(copy(logits.row(2 - row)));
    }
    for (int row = 0; row < 3; ++row) {
      const LogitRows solo = run_alone(backend, prompt_of(spec, lengths[static_cast<std::size_t>(row)] + steps, row + 1), 64);
      for (int step = 0; step <= steps; ++step) {
        INFO("row " << row << ", step " << step);
        CHECK(same_bits(steps_of[static_cast<std::size_t>(row)][static_cast<std::size_t>(step)],
                        solo[static_cast<std::size_t>(lengths[static_cast<std::size_t>(row)] - 1 + step)]));
      }
    }
  }
}

}  // namespace diecast::testing
