// The same for the reference backend: <diecast/compiled.hpp> and <diecast/reference.hpp>, with the matrices compiled in diecast::compiled.
#pragma once

#include <diecast/compiled.hpp>
#include <diecast/reference.hpp>

namespace diecast::reference {

extern template std::shared_ptr<const Parameters<float>> make_parameters<float>(const Spec&, const Weights&, int);
extern template std::shared_ptr<const Parameters<double>> make_parameters<double>(const Spec&, const Weights&, int);
extern template std::unique_ptr<Context> open_context<float>(std::shared_ptr<const Parameters<float>>, int);
extern template std::unique_ptr<Context> open_context<double>(std::shared_ptr<const Parameters<double>>, int);

}  // namespace diecast::reference
