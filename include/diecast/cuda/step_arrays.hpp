// What lies in a device's memory beside weights and buffers: the angles of RoPE, and what one step reads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <diecast/backend/block_table.hpp>
#include <diecast/backend/layer_view.hpp>
#include <diecast/backend/rows.hpp>
#include <diecast/cuda/device_array.hpp>
#include <diecast/kernels/token_rows.hpp>

namespace diecast::cuda {

// Cosines and sines of one RoPE, for every position that the context can hold.
template <class Device>
struct AngleTable {
  DeviceArray<float, Device> cosines, sines;  // [position, rotary_dim / 2]

  AngleTable(const std::shared_ptr<Device>& device, const LayerView& view, int positions) {
    std::vector<float> of_cosine, of_sine;
    for (int position = 0; position < positions; ++position)
      for (const double frequency : view.frequencies) {
        of_cosine.push_back(static_cast<float>(view.stretch * std::cos(position * frequency)));
        of_sine.push_back(static_cast<float>(view.stretch * std::sin(position * frequency)));
      }
    cosines = {device, "cosines", std::span<const float>(of_cosine)};
    sines = {device, "sines", std::span<const float>(of_sine)};
  }
};

// What one step reads: which tokens, and where their sequences' blocks are.
template <class Device>
struct StepArrays {
  DeviceArray<int, Device> rows;    // [2 + 4 * most rows]: counts, ids, positions, sequences, asked
  DeviceArray<int, Device> blocks;  // [sequence of the step, blocks of the cache]
  int most_rows, blocks_per_sequence;

  StepArrays(const std::shared_ptr<Device>& device, int most, int cache_blocks)
      : rows(device, "token rows", static_cast<std::size_t>(2 + 4 * most)),
        blocks(device, "block table", static_cast<std::size_t>(most) * static_cast<std::size_t>(cache_blocks)),
        most_rows(most),
        blocks_per_sequence(cache_blocks) {}

  kernels::TokenRows addresses() const {
    const int* at = rows.data();
    return {at, at + 2, at + 2 + most_rows, at + 2 + 2 * most_rows, at + 2 + 3 * most_rows};
  }

  // Returns how many rows ask for logits.
  int write(const BlockTable& table, std::span<const Row> tokens) {
    const auto most = static_cast<std::size_t>(most_rows);
    std::vector<int> values(2 + 4 * most), handles, entries;
    int asked = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const Row& row = tokens[i];
      auto known = std::find(handles.begin(), handles.end(), row.sequence);
      if (known == handles.end()) {
        known = handles.insert(handles.end(), row.sequence);
        const std::size_t begin = entries.size();
        for (int position = 0; position < table.length(row.sequence); position += BlockTable::block_tokens)
          entries.push_back(static_cast<int>(table.slot(row.sequence, position) / BlockTable::block_tokens));
        entries.resize(begin + static_cast<std::size_t>(blocks_per_sequence), -1);
      }
      values[2 + i] = row.id;
      values[2 + most + i] = row.position;
      values[2 + 2 * most + i] = static_cast<int>(known - handles.begin());
      if (row.logits) values[2 + 3 * most + static_cast<std::size_t>(asked++)] = static_cast<int>(i);
    }
    values[0] = static_cast<int>(tokens.size());
    values[1] = asked;
    rows.write(values);
    blocks.write(entries);
    return asked;
  }
};

}  // namespace diecast::cuda
