// Where padding ends: a batch with an attention mask comes in, packed rows of the valid tokens go to the backend, and the logits of
// each sequence's last valid position come out. Positions count valid tokens only, so padding on either side changes nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <diecast/backend/backend.hpp>
#include <diecast/error.hpp>

namespace diecast {

struct PaddedBatch {
  std::span<const int> input_ids;       // [batch, length]
  std::span<const int> attention_mask;  // [batch, length], 1: a token, 0: padding
  int batch;
  int length;
};

namespace detail {

inline void check_shape(const PaddedBatch& padded) {
  if (padded.batch < 1 || padded.length < 1)
    throw Error("a batch needs at least one row and one column, not " + std::to_string(padded.batch) + " and " + std::to_string(padded.length));
  const auto cells = static_cast<std::size_t>(padded.batch) * static_cast<std::size_t>(padded.length);
  if (padded.input_ids.size() != cells || padded.attention_mask.size() != cells)
    throw Error("a batch of " + std::to_string(padded.batch) + " x " + std::to_string(padded.length) + " needs as many ids and mask values, not " +
                std::to_string(padded.input_ids.size()) + " and " + std::to_string(padded.attention_mask.size()));
}

}  // namespace detail

// The column of each row's last valid token. A row that is all padding is an error.
inline std::vector<int> last_valid(const PaddedBatch& padded) {  // [batch]
  detail::check_shape(padded);
  std::vector<int> last;
  for (int row = 0; row < padded.batch; ++row) {
    int found = -1;
    for (int column = 0; column < padded.length; ++column) {
      const int mask = padded.attention_mask[static_cast<std::size_t>(row) * static_cast<std::size_t>(padded.length) + static_cast<std::size_t>(column)];
      if (mask != 0 && mask != 1)
        throw Error("attention_mask holds " + std::to_string(mask) + " at row " + std::to_string(row) + ", column " + std::to_string(column) + "; it may hold 0 and 1");
      if (mask == 1) found = column;
    }
    if (found < 0) throw Error("row " + std::to_string(row) + " of the batch is all padding");
    last.push_back(found);
  }
  return last;
}

// The valid tokens of each row, in order.
inline std::vector<std::vector<int>> unpad(const PaddedBatch& padded) {
  (void)last_valid(padded);
  std::vector<std::vector<int>> sequences(static_cast<std::size_t>(padded.batch));
  for (std::size_t cell = 0; cell < padded.input_ids.size(); ++cell)
    if (padded.attention_mask[cell] == 1) sequences[cell / static_cast<std::size_t>(padded.length)].push_back(padded.input_ids[cell]);
  return sequences;
}

// The rows that continue each sequence by its tokens; the last row of each asks for logits.
inline std::vector<Row> pack(const BlockTable& table, std::span<const int> sequences, std::span<const std::vector<int>> tokens) {
  std::vector<Row> rows;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    int position = table.length(sequences[s]);
    for (std::size_t i = 0; i < tokens[s].size(); ++i) rows.push_back({tokens[s][i], position++, sequences[s], i + 1 == tokens[s].size()});
  }
  return rows;
}

struct BatchResult {
  std::vector<int> sequences;  // [batch] handles in the context's table, to decode on
  Logits logits;               // [batch, vocab], of each row's last valid position
};

// Prefill of a padded batch, all at once.
inline BatchResult prefill(Context& context, const PaddedBatch& padded) {
  const std::vector<std::vector<int>> tokens = unpad(padded);
  std::vector<int> sequences;
  try {
    for (std::size_t row = 0; row < tokens.size(); ++row) sequences.push_back(context.table().add());
    const Logits logits = context.forward(pack(context.table(), sequences, tokens));
    return {std::move(sequences), logits};
  } catch (...) {
    for (int sequence : sequences) context.table().remove(sequence);
    throw;
  }
}

}  // namespace diecast
