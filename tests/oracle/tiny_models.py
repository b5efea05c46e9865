"""The tiny random models: one entry a model, each the smallest that shows what its architecture has.

Sizes are odd on purpose and differ on every axis, so that a swapped or assumed extent cannot go unseen: vocabularies of
4k + 1, hidden sizes that are no multiple of 32, head sizes that are not hidden / heads, groups of 7, 3, 2 and 1.

Keys of an entry
  config    config.json, in the words that HF transformers reads (old and new spellings of RoPE both occur)
  dtype     how model.safetensors stores the weights
  gguf      the GGUF storage of matrices, or absent: no model.gguf
  tokens    which toy vocabulary goes into the files: byte-level BPE by pre-tokenizer, "spm", or "letters": as many printable bytes
            as the vocabulary holds, in the GGUF alone (families whose tokenizers are none of the toy ones)
  seed      of the weights and the prompts
  min_margin  least distance of the two best logits at each greedy step; absent: 0.05
  bare      tensor names without the prefix "transformer.", with the mask buffers of the first GPT-2 checkpoints
  embed_out  the head is stored under its name in published GPT-NeoX files, which transformers 5 renames
  acts      changes of the config that must change the logits: proof that the feature acts within the prompt
"""

DEFAULT_BOS = {"bos_token_id": 1, "eos_token_id": 2}
END = {"bos_token_id": 260, "eos_token_id": 260}

MODELS = {
    # 7 query heads share one KV head of size 80.
    "tiny-llama": dict(
        seed=101, dtype="float16", gguf="F16", tokens="smollm",
        config=dict(
            model_type="llama", architectures=["LlamaForCausalLM"], vocab_size=261, hidden_size=21, intermediate_size=31,
            num_hidden_layers=2, num_attention_heads=7, num_key_value_heads=1, head_dim=80, hidden_act="silu",
            max_position_embeddings=96, rms_norm_eps=1e-5, tie_word_embeddings=False, attention_bias=False, mlp_bias=False,
            rope_parameters=dict(rope_type="default", rope_theta=20000.0), **END),
        acts=[dict(rope_parameters=dict(rope_type="default", rope_theta=10000.0)), dict(rms_norm_eps=1e-2)]),
    # Llama 3.1's scaling with an original context so short that all three bands are there; every bias.
    "tiny-llama-scaled": dict(
        seed=102, dtype="float16", gguf="F16", tokens="smollm",
        config=dict(
            model_type="llama", architectures=["LlamaForCausalLM"], vocab_size=261, hidden_size=36, intermediate_size=47,
            num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, head_dim=10, hidden_act="silu",
            max_position_embeddings=256, rms_norm_eps=1e-6, tie_word_embeddings=False, attention_bias=True, mlp_bias=True,
            rope_theta=500.0,
            rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                              original_max_position_embeddings=32), **END),
        acts=[dict(rope_scaling=None), dict(rope_scaling=dict(rope_type="linear", factor=8.0))]),
    # The old spelling of linear scaling ("type"), one KV head a query head, tied head, three layers.
    "tiny-llama-linear": dict(
        seed=103, dtype="float32",
        config=dict(
            model_type="llama", architectures=["LlamaForCausalLM"], vocab_size=61, hidden_size=30, intermediate_size=53,
            num_hidden_layers=3, num_attention_heads=5, num_key_value_heads=5, hidden_act="silu",
            max_position_embeddings=128, rms_norm_eps=1e-5, tie_word_embeddings=True, rope_theta=10000.0,
            rope_scaling=dict(type="linear", factor=4.0), **DEFAULT_BOS),
        acts=[dict(rope_scaling=None)]),
    "tiny-gpt2": dict(
        seed=104, dtype="float16", gguf="F32", tokens="gpt-2",
        config=dict(
            model_type="gpt2", architectures=["GPT2LMHeadModel"], vocab_size=261, n_positions=40, n_embd=42, n_layer=2, n_head=3,
            n_inner=83, activation_function="gelu_new", layer_norm_epsilon=1e-5, tie_word_embeddings=True, **END),
        acts=[dict(activation_function="gelu_pytorch_tanh", same=True), dict(activation_function="relu"),
              dict(layer_norm_epsilon=1e-2)]),
    # A head of its own, the exact GELU, n_inner absent (then 4 n_embd).
    "tiny-gpt2-untied": dict(
        seed=105, dtype="float32",
        config=dict(
            model_type="gpt2", architectures=["GPT2LMHeadModel"], vocab_size=65, n_positions=37, n_embd=25, n_layer=3, n_head=5,
            n_inner=None, activation_function="gelu", layer_norm_epsilon=1e-6, tie_word_embeddings=False, **DEFAULT_BOS),
        acts=[dict(activation_function="relu")]),
    # Tensor names as in the first GPT-2 checkpoints: no prefix, and the causal masks stored as if they were weights.
    "tiny-gpt2-bare": dict(
        seed=110, dtype="bfloat16", bare=True,
        config=dict(
            model_type="gpt2", architectures=["GPT2LMHeadModel"], vocab_size=73, n_positions=36, n_ctx=36, n_embd=22, n_layer=2,
            n_head=11, activation_function="gelu_new", layer_norm_epsilon=1e-5, tie_word_embeddings=True, **DEFAULT_BOS),
        acts=[dict(activation_function="relu")]),
    "tiny-qwen2": dict(
        seed=106, dtype="bfloat16", gguf="BF16", tokens="qwen2",
        config=dict(
            model_type="qwen2", architectures=["Qwen2ForCausalLM"], vocab_size=261, hidden_size=56, intermediate_size=51,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_act="silu", max_position_embeddings=80,
            rms_norm_eps=1e-6, tie_word_embeddings=True, rope_theta=1000000.0, use_sliding_window=False, sliding_window=80,
            max_window_layers=2, **END),
        acts=[dict(rope_theta=10000.0)]),
    # Window 7, every third layer sees all; its RoPE has another base and linear scaling; scores scaled by 1 / sqrt(23).
    "tiny-gemma3": dict(
        seed=107, dtype="bfloat16",
        config=dict(
            model_type="gemma3_text", architectures=["Gemma3ForCausalLM"], vocab_size=65, hidden_size=28, intermediate_size=37,
            num_hidden_layers=5, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
            hidden_activation="gelu_pytorch_tanh", max_position_embeddings=128, rms_norm_eps=1e-6, tie_word_embeddings=True,
            query_pre_attn_scalar=23, sliding_window=7, sliding_window_pattern=3, rope_theta=300000.0,
            rope_local_base_freq=500.0, rope_scaling=dict(rope_type="linear", factor=8.0), attention_bias=False,
            final_logit_softcapping=None, attn_logit_softcapping=None, pad_token_id=0, bos_token_id=2, eos_token_id=1),
        acts=[dict(sliding_window=64), dict(sliding_window=8), dict(sliding_window_pattern=2), dict(query_pre_attn_scalar=16),
              dict(rope_local_base_freq=300000.0), dict(rope_scaling=None)]),
    # What a GGUF of Gemma 3 cannot say is as in the real ones: every sixth layer full, local base 10000, 1 / sqrt(head_dim).
    "tiny-gemma3-file": dict(
        seed=108, dtype="float16", gguf="F16", tokens="spm",
        config=dict(
            model_type="gemma3_text", architectures=["Gemma3ForCausalLM"], vocab_size=265, hidden_size=20, intermediate_size=33,
            num_hidden_layers=7, num_attention_heads=2, num_key_value_heads=1, head_dim=22,
            hidden_activation="gelu_pytorch_tanh", max_position_embeddings=128, rms_norm_eps=1e-6, tie_word_embeddings=True,
            query_pre_attn_scalar=22, sliding_window=6,
            layer_types=["sliding_attention"] * 5 + ["full_attention", "sliding_attention"],
            rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=1000000.0),
                                 sliding_attention=dict(rope_type="default", rope_theta=10000.0)),
            attention_bias=False, final_logit_softcapping=None, attn_logit_softcapping=None, pad_token_id=0, bos_token_id=2,
            eos_token_id=1),
        acts=[dict(sliding_window=64), dict(layer_types=["sliding_attention"] * 7)]),
    # Caps so small that they act, every other layer with a window of 5.
    "tiny-gemma2": dict(
        seed=109, dtype="float32", min_margin=0.01,
        config=dict(
            model_type="gemma2", architectures=["Gemma2ForCausalLM"], vocab_size=69, hidden_size=27, intermediate_size=41,
            num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=3, head_dim=14,
            hidden_activation="gelu_pytorch_tanh", max_position_embeddings=64, rms_norm_eps=1e-6, tie_word_embeddings=True,
            query_pre_attn_scalar=9, sliding_window=5, rope_theta=10000.0, attention_bias=False, attn_logit_softcapping=2.0,
            final_logit_softcapping=3.0, pad_token_id=0, bos_token_id=2, eos_token_id=1),
        acts=[dict(sliding_window=64), dict(attn_logit_softcapping=None), dict(final_logit_softcapping=None),
              dict(query_pre_attn_scalar=14)]),
    # QK-norm on each head, head size apart from hidden / heads.
    "tiny-qwen3": dict(
        seed=111, dtype="bfloat16", gguf="BF16", tokens="letters",
        config=dict(
            model_type="qwen3", architectures=["Qwen3ForCausalLM"], vocab_size=65, hidden_size=42, intermediate_size=39,
            num_hidden_layers=2, num_attention_heads=7, num_key_value_heads=1, head_dim=10, hidden_act="silu",
            max_position_embeddings=80, rms_norm_eps=1e-6, tie_word_embeddings=True, attention_bias=False,
            rope_theta=1000000.0, use_sliding_window=False, sliding_window=None, max_window_layers=2, **DEFAULT_BOS),
        acts=[dict(rope_theta=10000.0), dict(rms_norm_eps=1.0)]),
    # Each of the four multipliers at work.
    "tiny-granite": dict(
        seed=112, dtype="float16", gguf="F16", tokens="letters",
        config=dict(
            model_type="granite", architectures=["GraniteForCausalLM"], vocab_size=69, hidden_size=40, intermediate_size=37,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_act="silu", max_position_embeddings=96,
            rms_norm_eps=1e-5, tie_word_embeddings=False, attention_bias=False, mlp_bias=False, rope_theta=10000.0,
            embedding_multiplier=12.0, residual_multiplier=0.375, attention_multiplier=0.125, logits_scaling=1.5, **DEFAULT_BOS),
        acts=[dict(embedding_multiplier=1.0), dict(residual_multiplier=1.0), dict(attention_multiplier=0.3),
              dict(logits_scaling=1.0)]),
    # One matrix for Q, K and V, one for gate and up; three quarters of a head turn; a window of 9.
    "tiny-phi3": dict(
        seed=113, dtype="float16", gguf="F16", tokens="letters",
        config=dict(
            model_type="phi3", architectures=["Phi3ForCausalLM"], vocab_size=73, hidden_size=48, intermediate_size=35,
            num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, hidden_act="silu", max_position_embeddings=72,
            original_max_position_embeddings=72, rms_norm_eps=1e-5, tie_word_embeddings=False, rope_theta=10000.0,
            partial_rotary_factor=0.75, sliding_window=9, pad_token_id=0, **DEFAULT_BOS),
        acts=[dict(sliding_window=None), dict(partial_rotary_factor=0.5)]),
    # LayerNorm with a gated MLP, a quarter of a head of 24 turns, biases on Q, K and V.
    "tiny-stablelm": dict(
        seed=114, dtype="float16", gguf="F16", tokens="letters",
        config=dict(
            model_type="stablelm", architectures=["StableLmForCausalLM"], vocab_size=77, hidden_size=48, intermediate_size=31,
            num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, hidden_act="silu", max_position_embeddings=64,
            layer_norm_eps=1e-5, tie_word_embeddings=False, rope_theta=10000.0, partial_rotary_factor=0.25, use_qkv_bias=True,
            use_parallel_residual=False, qk_layernorm=False, **DEFAULT_BOS),
        acts=[dict(partial_rotary_factor=0.5), dict(layer_norm_eps=1e-1)]),
    # Both branches read one norm; no bias.
    "tiny-stablelm-parallel": dict(
        seed=115, dtype="bfloat16", gguf="BF16", tokens="letters",
        config=dict(
            model_type="stablelm", architectures=["StableLmForCausalLM"], vocab_size=61, hidden_size=36, intermediate_size=45,
            num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=3, hidden_act="silu", max_position_embeddings=64,
            layer_norm_eps=1e-5, tie_word_embeddings=False, rope_theta=10000.0, partial_rotary_factor=0.5, use_qkv_bias=False,
            use_parallel_residual=True, qk_layernorm=False, **DEFAULT_BOS),
        acts=[dict(partial_rotary_factor=1.0)]),
    # Norms on the output alone; Q and K normalised over all heads together.
    "tiny-olmo2": dict(
        seed=116, dtype="float16", gguf="F16", tokens="letters",
        config=dict(
            model_type="olmo2", architectures=["Olmo2ForCausalLM"], vocab_size=81, hidden_size=42, intermediate_size=33,
            num_hidden_layers=2, num_attention_heads=7, num_key_value_heads=7, hidden_act="silu", max_position_embeddings=80,
            rms_norm_eps=1e-6, tie_word_embeddings=False, attention_bias=False, rope_theta=500000.0, pad_token_id=0, **DEFAULT_BOS),
        acts=[dict(rope_theta=100.0), dict(rms_norm_eps=1.0)]),
    # Biases everywhere, a plain MLP, a window of 8, one KV head.
    "tiny-starcoder2": dict(
        seed=117, dtype="float16", gguf="F16", tokens="letters",
        config=dict(
            model_type="starcoder2", architectures=["Starcoder2ForCausalLM"], vocab_size=85, hidden_size=40, intermediate_size=53,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=1, hidden_act="gelu_pytorch_tanh",
            max_position_embeddings=64, norm_epsilon=1e-5, tie_word_embeddings=True, use_bias=True, rope_theta=100000.0,
            sliding_window=8, **DEFAULT_BOS),
        acts=[dict(sliding_window=None), dict(hidden_act="relu"), dict(rope_theta=100.0)]),
    # Q, K and V head by head in one matrix, parallel branches with a norm each, the exact GELU, a quarter of a head of 16 turns.
    "tiny-gpt-neox": dict(
        seed=118, dtype="float16", gguf="F16", tokens="letters", embed_out=True,
        config=dict(
            model_type="gpt_neox", architectures=["GPTNeoXForCausalLM"], vocab_size=89, hidden_size=48, intermediate_size=41,
            num_hidden_layers=2, num_attention_heads=3, hidden_act="gelu", max_position_embeddings=56, layer_norm_eps=1e-5,
            tie_word_embeddings=False, rotary_pct=0.25, rotary_emb_base=10000, use_parallel_residual=True, attention_bias=True,
            **DEFAULT_BOS),
        acts=[dict(use_parallel_residual=False), dict(rotary_pct=0.5), dict(hidden_act="relu")]),
    "tiny-gpt-neox-sequential": dict(
        seed=119, dtype="float32", gguf="F32", tokens="letters",
        config=dict(
            model_type="gpt_neox", architectures=["GPTNeoXForCausalLM"], vocab_size=61, hidden_size=30, intermediate_size=37,
            num_hidden_layers=2, num_attention_heads=5, hidden_act="gelu", max_position_embeddings=56, layer_norm_eps=1e-5,
            tie_word_embeddings=False, rotary_pct=1.0, rotary_emb_base=10000, use_parallel_residual=False, attention_bias=True,
            **DEFAULT_BOS),
        acts=[dict(use_parallel_residual=True)]),
    # Norms as w of 1 + w, scaled embeddings, "gelu" that means the approximation.
    "tiny-gemma": dict(
        seed=120, dtype="bfloat16", gguf="BF16", tokens="letters",
        config=dict(
            model_type="gemma", architectures=["GemmaForCausalLM"], vocab_size=93, hidden_size=34, intermediate_size=43,
            num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1, head_dim=18, hidden_act="gelu",
            max_position_embeddings=64, rms_norm_eps=1e-6, tie_word_embeddings=True, attention_bias=False, rope_theta=10000.0,
            pad_token_id=0, bos_token_id=2, eos_token_id=1),
        acts=[dict(hidden_act="gelu_pytorch_tanh", same=True), dict(hidden_act="silu")]),
    # YaRN with an original context so short that all three bands are there.
    "tiny-llama-yarn": dict(
        seed=121, dtype="float16", gguf="F16", tokens="letters",
        config=dict(
            model_type="llama", architectures=["LlamaForCausalLM"], vocab_size=65, hidden_size=40, intermediate_size=37,
            num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=20, hidden_act="silu",
            max_position_embeddings=256, rms_norm_eps=1e-5, tie_word_embeddings=False, attention_bias=False, mlp_bias=False,
            rope_theta=500.0,
            rope_scaling=dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=32, beta_fast=4.0, beta_slow=0.5),
            **DEFAULT_BOS),
        acts=[dict(rope_scaling=None), dict(rope_scaling=dict(rope_type="linear", factor=8.0)),
              dict(rope_scaling=dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=32, beta_fast=4.0, beta_slow=0.5,
                                     attention_factor=1.0))]),
    # Stretched by what mscale and mscale_all_dim make; a window of 6.
    "tiny-mistral-yarn": dict(
        seed=122, dtype="bfloat16",
        config=dict(
            model_type="mistral", architectures=["MistralForCausalLM"], vocab_size=61, hidden_size=36, intermediate_size=41,
            num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, head_dim=8, hidden_act="silu",
            max_position_embeddings=128, rms_norm_eps=1e-5, tie_word_embeddings=False, sliding_window=6, rope_theta=300.0,
            rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32, beta_fast=3.0, beta_slow=1.0,
                              mscale=2.0, mscale_all_dim=0.5), **DEFAULT_BOS),
        acts=[dict(rope_scaling=None), dict(sliding_window=None),
              dict(rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32, beta_fast=3.0, beta_slow=1.0))]),
}
