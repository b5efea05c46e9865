// diecast::compiled: what <diecast/compiled_hf.hpp> promises.
#include <diecast/compiled_hf.hpp>

namespace diecast {

template Model detail::open_model<void>(const std::string&, const AcceptModel&);

}  // namespace diecast
