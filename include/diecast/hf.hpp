// Reading model folders: config.json, safetensors and tokenizer files. This part brings nlohmann-json.
#pragma once

#include <diecast/files/hf_folder.hpp>
