// `tokens`: what the tokenizer makes of a text.
#include <fmt/core.h>

#include "load.hpp"
#include "text.hpp"

namespace diecast::shell {

int tokens(const Compiled& compiled, const CommonOptions& common, const TokensOptions& options) {
  const Engine engine = load_without_backend(compiled, common);
  const Tokenizer& tokenizer = engine.tokenizer();
  std::vector<int> ids;
  if (options.chat) {
    ids = tokenizer.encode(render(engine, {{"user", options.text}}));
    put_bos(tokenizer, ids);
  } else {
    ids = tokenizer.encode(options.text);
    if (options.special) {
      put_bos(tokenizer, ids);
      if (tokenizer.add_eos && tokenizer.eos) ids.push_back(*tokenizer.eos);
    }
  }
  if (common.json) {
    Json pieces = Json::array();
    for (const int id : ids) pieces.push_back(tokenizer.piece(id));
    put(line_of({{"ids", ids}, {"pieces", std::move(pieces)}}));
  } else {
    for (const int id : ids) put(fmt::format("{:>8}  {}\n", id, one_line(tokenizer.piece(id))));
  }
  return 0;
}

}  // namespace diecast::shell
