"""Writes a tiny model as GGUF, laid out as llama.cpp's converter lays out the real ones.

Matrices in the asked type; vectors, norms and the position table in F32. Llama's and Granite's Q and K rows are permuted from
half-split pairs to neighbouring ones (the others keep the half-split order); GPT-2's [in, out] matrices are transposed; GPT-NeoX's
rows [heads, 3, head_dim] become Q, K, V; Gemma's norms become 1 + w; llama3 scaling becomes the tensor rope_freqs.weight.
Keys as in the real files. Writer: the gguf package.
"""
import math

import gguf
import numpy as np

from toy_tokenizers import MERGES, byte_level_pieces, spm_pieces

LLAMA_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}
GEMMA_NAMES = {**LLAMA_NAMES, "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
               "post_feedforward_layernorm": "post_ffw_norm"}
GPT2_NAMES = {
    "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm", "lm_head": "output",
    "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}
PHI3_NAMES = {**LLAMA_NAMES, "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}
OLMO2_NAMES = {**LLAMA_NAMES, "post_attention_layernorm": "post_attention_norm", "post_feedforward_layernorm": "post_ffw_norm"}
STARCODER2_NAMES = {**LLAMA_NAMES, "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
GPT_NEOX_NAMES = {
    "gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output",
    "post_attention_layernorm": "ffn_norm", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down",
}
CHECKED_BY_HF = ("llama", "qwen2", "gpt2", "gemma3_text")  # what transformers reads back from GGUF
ARCHITECTURES = {"llama": ("llama", LLAMA_NAMES, "model.layers."), "qwen2": ("qwen2", LLAMA_NAMES, "model.layers."),
                 "gemma3_text": ("gemma3", GEMMA_NAMES, "model.layers."), "gpt2": ("gpt2", GPT2_NAMES, "transformer.h."),
                 "qwen3": ("qwen3", LLAMA_NAMES, "model.layers."), "granite": ("granite", LLAMA_NAMES, "model.layers."),
                 "phi3": ("phi3", PHI3_NAMES, "model.layers."), "stablelm": ("stablelm", LLAMA_NAMES, "model.layers."),
                 "olmo2": ("olmo2", OLMO2_NAMES, "model.layers."), "starcoder2": ("starcoder2", STARCODER2_NAMES, "model.layers."),
                 "gpt_neox": ("gptneox", GPT_NEOX_NAMES, "gpt_neox.layers."), "gemma": ("gemma", LLAMA_NAMES, "model.layers.")}


def gguf_name(name, names, prefix):
    stem, kind = name.rsplit(".", 1)
    if not name.startswith(prefix):
        return f"{names[stem]}.{kind}"
    layer, rest = stem[len(prefix):].split(".", 1)
    return f"blk.{layer}.{names[rest]}.{kind}"


def neighbouring_pairs(w, heads):
    """Rows of each head: (0 .. d/2-1, d/2 .. d-1) becomes 0, d/2, 1, d/2+1, ..."""
    half = w.shape[0] // heads // 2
    return w.reshape(heads, 2, half, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def llama3_factors(head_dim, theta, s):
    """What each pair's frequency is divided by (Llama 3.1)."""
    factors = []
    for i in range(0, head_dim, 2):
        wavelength = 2 * math.pi * theta ** (i / head_dim)
        turns = s["original_max_position_embeddings"] / wavelength
        keep = min(max((turns - s["low_freq_factor"]) / (s["high_freq_factor"] - s["low_freq_factor"]), 0.0), 1.0)
        factors.append(1.0 / (keep + (1.0 - keep) / s["factor"]))
    return np.array(factors, dtype=np.float32)


def add_tokenizer(w, tokens, words):
    if tokens == "spm":
        pieces, scores, kinds = zip(*spm_pieces())
        w.add_tokenizer_model("llama")
        w.add_tokenizer_pre("default")
        w.add_token_list(list(pieces))
        w.add_token_scores(list(scores))
        w.add_token_types([int(k) for k in kinds])
        w.add_bos_token_id(2)
        w.add_eos_token_id(1)
        w.add_unk_token_id(3)
        w.add_pad_token_id(0)
        w.add_add_bos_token(True)
        w.add_add_eos_token(False)
        w.add_add_space_prefix(False)
        count = len(pieces)
    elif tokens == "letters":
        pieces = [chr(33 + i) for i in range(words["vocab_size"] - 1)] + ['!"']
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre("gpt-2")
        w.add_token_list(pieces)
        w.add_token_types([int(gguf.TokenType.NORMAL)] * len(pieces))
        w.add_token_merges(['! "'])
        w.add_eos_token_id(words["eos_token_id"])
        w.add_add_bos_token(False)
        count = len(pieces)
    else:
        pieces = byte_level_pieces()
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre(tokens)
        w.add_token_list(pieces)
        w.add_token_types([int(gguf.TokenType.NORMAL)] * 260 + [int(gguf.TokenType.CONTROL)])
        w.add_token_merges(MERGES)
        w.add_bos_token_id(260)
        w.add_eos_token_id(260)
        w.add_add_bos_token(False)
        count = len(pieces)
    assert count == words["vocab_size"], (count, words["vocab_size"])


def add_keys(w, c, arch, storage):
    gpt2 = arch == "gpt2"
    heads = c["n_head"] if gpt2 else c["num_attention_heads"]
    w.add_context_length(c["n_positions"] if gpt2 else c["max_position_embeddings"])
    w.add_embedding_length(c["n_embd"] if gpt2 else c["hidden_size"])
    w.add_block_count(c["n_layer"] if gpt2 else c["num_hidden_layers"])
    w.add_feed_forward_length((c["n_inner"] or 4 * c["n_embd"]) if gpt2 else c["intermediate_size"])
    w.add_head_count(heads)
    w.add_file_type({"F32": 0, "F16": 1, "BF16": 32}[storage])
    if gpt2:
        w.add_layer_norm_eps(c["layer_norm_epsilon"])
        return
    head_dim = c.get("head_dim", c["hidden_size"] // heads)
    if arch == "gptneox":
        w.add_rope_dimension_count(int(head_dim * c["rotary_pct"]))
        w.add_parallel_residual(c["use_parallel_residual"])
        w.add_layer_norm_eps(c["layer_norm_eps"])
        return
    w.add_head_count_kv(c["num_key_value_heads"])
    if arch in ("stablelm", "starcoder2"):
        w.add_layer_norm_eps(c["layer_norm_eps" if arch == "stablelm" else "norm_epsilon"])
    else:
        w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    if arch == "stablelm":
        w.add_parallel_residual(c["use_parallel_residual"])
    if "partial_rotary_factor" in c:
        w.add_rope_dimension_count(int(head_dim * c["partial_rotary_factor"]))
    if arch == "granite":
        w.add_rope_dimension_count(head_dim)
        w.add_attention_scale(c["attention_multiplier"])
        w.add_embedding_scale(c["embedding_multiplier"])
        w.add_residual_scale(c["residual_multiplier"])
        w.add_logit_scale(c["logits_scaling"])
    if arch == "phi3":
        w.add_rope_scaling_orig_ctx_len(c["original_max_position_embeddings"])
    if (c.get("rope_scaling") or {}).get("rope_type") == "yarn":
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(c["rope_scaling"]["factor"])
        w.add_rope_scaling_yarn_beta_fast(c["rope_scaling"]["beta_fast"])
        w.add_rope_scaling_yarn_beta_slow(c["rope_scaling"]["beta_slow"])
    rope = c.get("rope_parameters", {})
    w.add_rope_freq_base(c.get("rope_theta") or rope.get("rope_theta") or rope["full_attention"]["rope_theta"])
    if arch == "llama":
        w.add_vocab_size(c["vocab_size"])
        w.add_rope_dimension_count(head_dim)
    if "head_dim" in c:
        w.add_key_length(head_dim)
        w.add_value_length(head_dim)
    if "original_max_position_embeddings" in (c.get("rope_scaling") or {}):
        # Not written by the converter; without it nothing in the file tells an original context that is not a usual one.
        w.add_rope_scaling_orig_ctx_len(c["rope_scaling"]["original_max_position_embeddings"])
    if arch in ("gemma3", "phi3", "starcoder2"):  # StarCoder 2's is not written by the converter
        w.add_sliding_window(c["sliding_window"])


def write_gguf(path, name, c, weights, storage, tokens):
    arch, names, prefix = ARCHITECTURES[c["model_type"]]
    w = gguf.GGUFWriter(str(path), arch)
    w.add_type("model")
    w.add_name(name)
    add_keys(w, c, arch, storage)
    add_tokenizer(w, tokens, c)
    w.add_quantization_version(2)
    kind = gguf.GGMLQuantizationType[storage]
    if (c.get("rope_scaling") or {}).get("rope_type") == "llama3":
        w.add_tensor("rope_freqs.weight", llama3_factors(c["head_dim"], c["rope_theta"], c["rope_scaling"]))
    for hf_name, tensor in weights.items():
        x = tensor.float().numpy()
        if arch == "gpt2" and x.ndim == 2 and "wte" not in hf_name and "wpe" not in hf_name and "lm_head" not in hf_name:
            x = x.T  # HF's Conv1D stores [in, out]
        if arch in ("llama", "granite") and ".q_proj." in hf_name:
            x = neighbouring_pairs(x, c["num_attention_heads"])
        if arch in ("llama", "granite") and ".k_proj." in hf_name:
            x = neighbouring_pairs(x, c["num_key_value_heads"])
        if arch == "gptneox" and ".query_key_value." in hf_name:
            heads = c["num_attention_heads"]
            x = x.reshape(heads, 3, x.shape[0] // heads // 3, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape)
        if arch in ("gemma", "gemma3") and "norm" in hf_name:
            x = x + np.float32(1)
        out = gguf_name(hf_name, names, prefix)
        x = np.ascontiguousarray(x, dtype=np.float32)
        if storage == "F32" or x.ndim == 1 or out == "position_embd.weight":
            w.add_tensor(out, x)
        else:
            q = gguf.quants.quantize(x, kind)
            assert np.array_equal(gguf.quants.dequantize(q, kind), x), out  # nothing is lost
            w.add_tensor(out, q, raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
