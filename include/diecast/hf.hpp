// Reading model folders: config.json, safetensors and tokenizer files; and a model by its path, whichever of the containers it is.
// This part brings nlohmann-json.
#pragma once

#include <diecast/chat/from_json.hpp>
#include <diecast/files/hf_folder.hpp>
#include <diecast/files/open.hpp>
