// The same for model folders: <diecast/compiled.hpp> and <diecast/hf.hpp>, with open_model compiled in diecast::compiled.
#pragma once

#include <diecast/compiled.hpp>
#include <diecast/hf.hpp>

namespace diecast {

extern template Model detail::open_model<void>(const std::string&, const AcceptModel&);

}  // namespace diecast
