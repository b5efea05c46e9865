// The core in one include: everything that needs no more than the standard library and Boost.Hana, in the order of the seven steps.
// Further parts have a header each, with the library that they bring: hf.hpp, reference.hpp, identity.hpp.
#pragma once

// What a model is, and the instruction set of this unit.
#include <diecast/error.hpp>
#include <diecast/isa.hpp>
#include <diecast/spec/check.hpp>
#include <diecast/spec/compare.hpp>
#include <diecast/spec/json.hpp>
#include <diecast/spec/spec.hpp>
#include <diecast/spec/walk.hpp>

// Files: GGUF, and what every container is read into.
#include <diecast/files/compiled.hpp>
#include <diecast/files/decode.hpp>
#include <diecast/files/format.hpp>
#include <diecast/files/gguf.hpp>
#include <diecast/files/gguf_model.hpp>
#include <diecast/files/mapping.hpp>
#include <diecast/files/model.hpp>
#include <diecast/files/weights.hpp>

// 1 template, 2 tokenize, and back.
#include <diecast/chat/chat_template.hpp>
#include <diecast/chat/prompt_text.hpp>
#include <diecast/tokens/byte_level_bpe.hpp>
#include <diecast/tokens/detokenizer.hpp>
#include <diecast/tokens/make_tokenizer.hpp>
#include <diecast/tokens/tokenizer.hpp>

// 3 embed, 4 blocks, 5 head: what every backend promises, and the door where batches lose their padding.
#include <diecast/backend/backend.hpp>
#include <diecast/backend/block_table.hpp>
#include <diecast/backend/door.hpp>
#include <diecast/backend/layer_view.hpp>
#include <diecast/backend/rows.hpp>

// 6 sample.
#include <diecast/sample/defaults.hpp>
#include <diecast/sample/logprobs.hpp>
#include <diecast/sample/options.hpp>
#include <diecast/sample/sampler.hpp>

// 7 decode until a stop condition.
#include <diecast/generate/answer.hpp>
#include <diecast/generate/conversation.hpp>
#include <diecast/generate/engine.hpp>
#include <diecast/generate/prefix_cache.hpp>
#include <diecast/generate/scheduler.hpp>
#include <diecast/generate/scheduling.hpp>
#include <diecast/generate/sequence_file.hpp>
#include <diecast/generate/session.hpp>
#include <diecast/generate/stop.hpp>

// Where the time goes.
#include <diecast/trace/chrome.hpp>
#include <diecast/trace/table.hpp>
#include <diecast/trace/timing.hpp>
#include <diecast/trace/trace.hpp>
