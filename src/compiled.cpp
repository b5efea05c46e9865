// diecast::compiled: what <diecast/compiled.hpp> promises.
#include <diecast/compiled.hpp>

namespace diecast {

namespace chat {
template Index parse_into<void>(GrowingNodes&, const std::string&);
template std::shared_ptr<const std::vector<Value>> shared_constants<void>(const Tree&);
template PromptText render<void>(const Tree&, const std::vector<Value>&, const TemplateContext&);
template PromptText render<void>(const Tree&, const std::vector<Value>&, std::span<const Message>, bool, std::string_view,
                                 std::string_view);
}  // namespace chat

template void detail::check_compiled<void>(const Compiled&, const Spec&, std::span<const Format>);
template std::vector<std::string> detail::different_facts<void>(const Compiled&, const Model&);
template Model gguf_detail::read_file<void>(const std::string&, const AcceptModel&);
template std::shared_ptr<const Tokenizer> detail::make_byte_level_bpe<void>(const TokenizerTables&);
template std::string detail::prepared_state<void>(const TokenizerTables&);
template const Piece* Session::next<void>(Session::Turn&);
template bool detail::Stepper::step<void>();

}  // namespace diecast
