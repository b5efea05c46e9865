// What a backend is given: packed token rows. Padding, masks and batches end at the door (door.hpp); no backend ever sees a pad.
#pragma once

namespace diecast {

struct Row {
  int id;        // token
  int position;  // in its sequence, from 0
  int sequence;  // a handle of the context's block table
  bool logits;   // whether this row's next-token logits are asked for
};

}  // namespace diecast
