// `pack`: the model as this engine runs it, in a file that is mapped and used as it lies.
#include <fmt/core.h>

#include <diecast/cpu/engine_file.hpp>
#include <diecast/cpu/parts.hpp>
#include <diecast/identity/identity.hpp>

#include "load.hpp"
#include "waiting.hpp"

namespace diecast::shell {

int pack(const Compiled& compiled, const CommonOptions& common, const std::string& output) {
  Opened opened = open_checked(compiled, common);
  if (opened.packed) throw Error(fmt::format("{} is packed already", opened.model.path));
  const Waiting waiting("packing the model");
  const Identity identity = identity_of(opened.model);
  check_identity(compiled, opened.model, identity);
  const auto packed = cpu::pack(opened.model.spec, opened.model.weights, thread_count(common));
  prepare_tokenizer(opened);
  cpu::write_engine_file(output, opened.model, {identity.weights, identity.tokenizer, identity.chat_template, identity.generation, identity.whole}, packed);
  return 0;
}

}  // namespace diecast::shell
