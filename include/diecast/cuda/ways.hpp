// Which kernels a forward on a device takes.
#pragma once

namespace diecast::cuda {

struct Ways {
  bool whole = false;         // one for a whole token, instead of one for each operation
  bool tensor_cores = false;  // prompts of 16 tokens or more on tensor cores, their values rounded to 16 bits before products
};

}  // namespace diecast::cuda
