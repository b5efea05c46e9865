#pragma once
namespace diecast::serve {
inline constexpr char page_style[] = "";
}
