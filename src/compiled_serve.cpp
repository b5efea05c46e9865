// diecast::compiled_serve: the server, so that who includes <diecast/serve/server.hpp> alone need not compile Boost.Beast.
#include <diecast/serve.hpp>

namespace diecast::serve {

template std::unique_ptr<Serving> detail::open_server<void>(std::shared_ptr<const Engine>, Render, ServerOptions);

}  // namespace diecast::serve
