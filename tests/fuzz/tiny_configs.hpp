// config.json of one small model of each family that safetensors seeds are written for: hidden 4, one layer, vocabulary 3.
#pragma once

namespace diecast_fuzz {

inline constexpr const char* tiny_configs[] = {
    R"({"model_type": "llama", "vocab_size": 3, "hidden_size": 4, "intermediate_size": 5, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 1, "max_position_embeddings": 8, "rms_norm_eps": 1e-5, "tie_word_embeddings": true})",
    R"({"model_type": "gpt2", "vocab_size": 3, "n_positions": 6, "n_embd": 4, "n_layer": 1, "n_head": 2, "n_inner": 5})",
    R"({"model_type": "gemma3_text", "vocab_size": 3, "hidden_size": 4, "intermediate_size": 5, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 2, "max_position_embeddings": 8, "sliding_window": 4})"};

}  // namespace diecast_fuzz
