// The loop over weights of every form, in a row that is long enough to leave it a loop: for one token and for two.
#include "every_kernel.cuh"

namespace diecast::kernels {

template <int form, int tokens>
using Wide = LinearResidual<Extents{4096, 4096}, Ending::add, forms(all_forms[form]), Team{256, tokens}>;

template <int... form>
OperationList<Wide<form, 1>..., Wide<form, 2>...> wide(std::integer_sequence<int, form...>);
using EveryForm = decltype(wide(std::make_integer_sequence<int, static_cast<int>(sizeof(all_forms) / sizeof(all_forms[0]))>{}));

}  // namespace diecast::kernels

DIECAST_KERNELS(diecast::kernels::EveryForm)
