// config.json -> Spec, for each family by the names and the defaults that transformers gives to that model_type.
// Whatever would need other arithmetic than a Spec can say is refused by its name, before any other value is looked at.
// Only numbers are made here; nothing is allocated by them.
#pragma once

#include <string>

#include <diecast/error.hpp>
#include <diecast/files/hf_json.hpp>
#include <diecast/files/hf_layer_norm_families.hpp>
#include <diecast/files/hf_llama_families.hpp>
#include <diecast/spec/check.hpp>
#include <diecast/spec/spec.hpp>

namespace diecast {

namespace hf_detail {

// Kinds of models that no number of the config could make run.
inline void refuse_other_kinds(const Fields& config) {
  const std::string kind = "model_type " + (config.find("model_type") ? shown(*config.find("model_type")) : "(none)");
  if (config.find("is_encoder_decoder") && config.flag("is_encoder_decoder", false))
    throw Error(config.where() + ": " + kind + " is an encoder-decoder model, and only decoder-only models are supported");
  if (const Json* quantization = config.find("quantization_config")) {
    const Json* method = quantization->is_object() && quantization->contains("quant_method") ? &(*quantization)["quant_method"] : nullptr;
    throw Error(config.where() + ": the weights are quantized" + (method ? " by " + shown(*method) : std::string{}) +
                " (quantization_config), which is not supported; a GGUF can be");
  }
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"})
    if (config.find(key))
      throw Error(config.where() + ": " + kind + " is a mixture of experts (" + key + " is " + shown(*config.find(key)) +
                  "), which is not supported");
  for (const char* key : {"vision_config", "audio_config", "vision_tower", "mm_vision_tower", "speech_config"})
    if (config.find(key))
      throw Error(config.where() + ": " + kind + " has a part for images or sound (" + key + "), which is not supported");
}

}  // namespace hf_detail

inline std::string hf_model_type(const Json& config, const std::string& where) {
  const Fields fields(config, where);
  fields.need("model_type");
  return *fields.text("model_type");
}

namespace hf_detail {

inline Spec spec_of(const Fields& config, const std::string& type) {
  if (type == "llama") return llama_spec(config);
  if (type == "mistral") return mistral_spec(config);
  if (type == "qwen2") return qwen2_spec(config);
  if (type == "qwen3") return qwen3_spec(config);
  if (type == "granite") return granite_spec(config);
  if (type == "phi3") return phi3_spec(config);
  if (type == "olmo2") return olmo2_spec(config);
  if (type == "gpt2") return gpt2_spec(config);
  if (type == "gpt_neox") return gpt_neox_spec(config);
  if (type == "stablelm") return stablelm_spec(config);
  if (type == "starcoder2") return starcoder2_spec(config);
  if (type == "gemma") return gemma1_spec(config);
  if (type == "gemma2") return gemma2_spec(config);
  if (type == "gemma3_text") return gemma3_spec(config);
  if (type == "gemma3") {
    if (!config.find("text_config")) return gemma3_spec(config);
    const Fields text = config.object("text_config");
    refuse_other_kinds(text);
    return gemma3_spec(text);
  }
  throw Error(config.where() + ": the architecture " + in_quotes(type) +
              " (model_type) is not supported; supported are gpt2, llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3, granite, phi3, "
              "stablelm, olmo2, starcoder2 and gpt_neox");
}

}  // namespace hf_detail

// `where` opens every sentence: the path of config.json. What comes back is a possible model (spec/check.hpp).
inline Spec hf_spec(const Json& config, const std::string& where) {
  const Fields fields(config, where);
  hf_detail::refuse_other_kinds(fields);
  const Spec spec = hf_detail::spec_of(fields, hf_model_type(config, where));
  try {
    check_file(spec);
  } catch (const Error& impossible) {
    throw Error(where + ": " + impossible.what());
  }
  return spec;
}

}  // namespace diecast
