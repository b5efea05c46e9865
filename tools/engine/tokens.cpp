// `tokens`: what the tokenizer makes of a text.
#include <fmt/core.h>

#include <diecast/tokens/sentencepiece.hpp>

#include "load.hpp"
#include "text.hpp"

namespace diecast::shell {

int tokens(const Compiled& compiled, const CommonOptions& common, const TokensOptions& options) {
  Model model = open_checked(compiled, common);
  auto tokenizer = make_any_tokenizer(model.tokenizer);
  const Engine engine(std::move(model), nullptr, tokenizer);  // nothing is run
  std::vector<int> ids;
  if (options.chat) {
    ids = tokenizer->encode(engine.prompt(options.text));
    put_bos(*tokenizer, ids);
  } else {
    ids = tokenizer->encode(options.text);
    if (options.special) {
      put_bos(*tokenizer, ids);
      if (tokenizer->add_eos && tokenizer->eos) ids.push_back(*tokenizer->eos);
    }
  }
  if (common.json) {
    Json pieces = Json::array();
    for (const int id : ids) pieces.push_back(tokenizer->piece(id));
    put(line_of({{"ids", ids}, {"pieces", std::move(pieces)}}));
  } else {
    for (const int id : ids) put(fmt::format("{:>8}  {}\n", id, tokenizer->piece(id)));
  }
  return 0;
}

}  // namespace diecast::shell
