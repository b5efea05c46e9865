// The page's markup.
#pragma once

namespace diecast::serve {

inline constexpr char page_begin[] = R"html(<!doctype html><title>engine</title><style>)html";
inline constexpr char page_middle[] = R"html(</style><p>engine</p><script>)html";
inline constexpr char page_end[] = R"html(</script>)html";

}  // namespace diecast::serve
