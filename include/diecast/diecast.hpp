// The core in one include: everything that needs no more than the standard library and Boost.Hana.
// Further parts have a header each: hf.hpp, reference.hpp, sentencepiece.hpp. In the order of the seven steps.
#pragma once

// What a model is.
#include <diecast/error.hpp>
#include <diecast/spec/spec.hpp>

// Files.
#include <diecast/files/format.hpp>
#include <diecast/files/mapping.hpp>
#include <diecast/files/model.hpp>
#include <diecast/files/weights.hpp>

// 1 template, 2 tokenize.
#include <diecast/chat/prompt_text.hpp>
#include <diecast/tokens/tokenizer.hpp>

// 3 embed, 4 blocks, 5 head: what every backend promises.
#include <diecast/backend/backend.hpp>
#include <diecast/backend/block_table.hpp>
#include <diecast/backend/rows.hpp>

// Where the time goes.
#include <diecast/trace/trace.hpp>
