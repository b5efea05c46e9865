// The core for programs of many units: what takes a compiler longest (chat templates, reading files, tokenizing, the loops of a session and of a scheduler)
// is compiled once, in the library diecast::compiled, and not again in each unit. Include this in place of <diecast/diecast.hpp> and link
// that library; all else is the same, and units that do without it may stand beside.
#pragma once

#include <diecast/diecast.hpp>

namespace diecast {

namespace chat {
extern template Index parse_into<void>(GrowingNodes&, const std::string&);
extern template std::shared_ptr<const std::vector<Value>> shared_constants<void>(const Tree&);
extern template PromptText render<void>(const Tree&, const std::vector<Value>&, const TemplateContext&);
extern template PromptText render<void>(const Tree&, const std::vector<Value>&, std::span<const Message>, bool, std::string_view,
                                        std::string_view);
}  // namespace chat

extern template void detail::check_compiled<void>(const Compiled&, const Spec&, std::span<const Format>);
extern template std::vector<std::string> detail::different_facts<void>(const Compiled&, const Model&);
extern template Model gguf_detail::read_file<void>(const std::string&, const AcceptModel&);
extern template std::shared_ptr<const Tokenizer> detail::make_byte_level_bpe<void>(const TokenizerTables&);
extern template std::string detail::prepared_state<void>(const TokenizerTables&);
extern template const Piece* Session::next<void>(Session::Turn&);
extern template bool detail::Stepper::step<void>();

}  // namespace diecast
