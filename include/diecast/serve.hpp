// The server: an engine over HTTP, with the API that OpenAI's clients speak. A part of its own: Boost.Asio, Boost.Beast, nlohmann-json.
#pragma once

#include <diecast/diecast.hpp>
#include <diecast/serve/listener.hpp>
#include <diecast/serve/server.hpp>
