// Texts that try to break out of the literals they are written into, and a model made of them.
#pragma once

#include <string>

#include <diecast/files/model.hpp>

namespace hostile {

inline std::string every_byte() {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    text += static_cast<char>(byte);
    text += "0f";  // digits that a careless escape would swallow
  }
  return text;
}
inline std::string quotes() { return "\")\"; } */ /* // ?\?/ ?\?) ?\?' \\ \\\" )\" R\"( \n#error out\n\\"; }
inline std::string with_nul() { return std::string("a\0b\"\0", 5); }
inline std::string chat_template() {
  return "{# " + quotes() + " #}\n{% for m in messages %}\r\n\t{{ '\\n?\?/\\\\' ~ \"\\t\" }}{{ m['content'] }}\n{% endfor %}\n\n" + with_nul() + "\xff\xfe \xe2\x80\xae ?\?/";
}
inline std::string large_template() {
  std::string text = "{# ";
  while (text.size() < (1u << 20) - 3) text += text.size() % 7 == 0 ? "\\\"\n" : text.size() % 5 == 0 ? "?\?/" : "?\x7f";
  text.resize((1u << 20) - 3);
  return text + " #}";
}

inline diecast::Model model() {
  diecast::Model model;
  model.name = every_byte();
  model.tokenizer.pre_tokenizer = quotes();
  model.tokenizer.normalizer = with_nul();
  model.tokenizer.pieces = {quotes(), every_byte()};
  model.chat_template = chat_template();
  model.generation.temperature = 0.1;
  model.generation.top_k = 40;
  model.generation.do_sample = true;
  model.generation.eos = {0, 2};
  return model;
}

}  // namespace hostile
