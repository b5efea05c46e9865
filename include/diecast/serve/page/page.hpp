// The page at `/`: one document, nothing from outside. Its policy lets it run its own script and talk to this server, and nothing else.
#pragma once

#include <string>

#include <diecast/serve/http_text.hpp>
#include <diecast/serve/page/markup.hpp>
#include <diecast/serve/page/script.hpp>
#include <diecast/serve/page/style.hpp>

namespace diecast::serve {

inline Response page_response() {
  return {.type = "text/html; charset=utf-8",
          .body = std::string(page_begin) + page_style + page_middle + page_script + page_end,
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}}};
}

}  // namespace diecast::serve
