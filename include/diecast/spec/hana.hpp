// The only place that includes Boost.Hana. Hana uses names that other headers are fond of defining as macros
// (windows.h: min, max, small; complex.h: I; termios.h: B0), so they are put aside while it is read.
#pragma once

#pragma push_macro("min")
#pragma push_macro("max")
#pragma push_macro("small")
#pragma push_macro("I")
#pragma push_macro("B0")
#undef min
#undef max
#undef small
#undef I
#undef B0

#include <boost/hana/accessors.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>

#pragma pop_macro("B0")
#pragma pop_macro("I")
#pragma pop_macro("small")
#pragma pop_macro("max")
#pragma pop_macro("min")
