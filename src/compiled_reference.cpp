// diecast::compiled: what <diecast/compiled_reference.hpp> promises.
#include <diecast/compiled_reference.hpp>

namespace diecast::reference {

template std::shared_ptr<const Parameters<float>> make_parameters<float>(const Spec&, const Weights&, int);
template std::shared_ptr<const Parameters<double>> make_parameters<double>(const Spec&, const Weights&, int);
template std::unique_ptr<Context> open_context<float>(std::shared_ptr<const Parameters<float>>, int);
template std::unique_ptr<Context> open_context<double>(std::shared_ptr<const Parameters<double>>, int);

}  // namespace diecast::reference
