// diecast::compiled_serve: the server, so that who includes <diecast/serve/server.hpp> alone need not compile Boost.Beast.
#include <diecast/compiled.hpp>  // what that says to be compiled elsewhere is not needed here, so it is not compiled
#include <diecast/serve/listener.hpp>

template bool diecast::detail::Stepper::step<void>();  // this one is needed

namespace diecast::serve {

template std::unique_ptr<Serving> detail::open_server<void>(std::shared_ptr<const Engine>, Render, ServerOptions);

}  // namespace diecast::serve
