// A backend on a device as the other units of a program see it. They know neither its kernels nor CUDA: the unit that has them is compiled apart,
// by nvcc where the device is a GPU, and hands over a function.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/cuda/ways.hpp>
#include <diecast/files/weights.hpp>
#include <diecast/kernels/stage.hpp>

namespace diecast::cuda {

class OnDevice : public Context {
 public:
  // Greedy decoding without the host: each row, the next token of a sequence of its own, is continued by up to `tokens` ids, of which the first comes
  // from this row's logits, until a stop id (which is among them). Each sequence's cache then holds the row and all of its ids but the last.
  virtual std::vector<std::vector<int>> generate(std::span<const Row> rows, int tokens, std::span<const int> stop_ids) = 0;

  // One stage at a time, to be verified. begin appends rows to their sequences, as forward does, and tells the device of them; run launches the kernel of one
  // stage, with what lies in its places now.
  virtual void begin(std::span<const Row> rows) = 0;
  virtual std::vector<kernels::Stage> layer_stages() const = 0;  // of every layer, in order
  virtual void run(kernels::Stage stage, int layer) = 0;
  virtual std::vector<float> read(kernels::Place place) const = 0;                             // [row, width]; logits: [asking row, vocab]
  virtual std::vector<float> cached(int layer, bool keys, int sequence, int count) const = 0;  // [position, kv_heads, head_dim]
  virtual double cache_rounding() const = 0;  // relative, of a value that comes into the cache
};

class DeviceBackend : public Backend {
 public:
  virtual std::unique_ptr<OnDevice> open_on_device(int tokens) const = 0;
  virtual std::size_t step_bytes() const = 0;  // of weights: what one step reads, whatever the number of its tokens
};

using OpenDevice = std::shared_ptr<const DeviceBackend> (*)(const Weights&, const Ways&);

// Null: not compiled in.
struct Doors {
  OpenDevice emulated = nullptr, cuda = nullptr;
};

}  // namespace diecast::cuda
