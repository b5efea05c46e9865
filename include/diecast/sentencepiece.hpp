// The part for models whose tokenizer is SentencePiece: needs libsentencepiece (CMake: diecast::sentencepiece).
#pragma once

#include <diecast/tokens/sentencepiece.hpp>
