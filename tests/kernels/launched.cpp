// What a model's context launches is what kernels/launched.hpp lists, so that all of it is compiled and inspected: a device that takes nothing else. What
// models share follows from the lists.
#include <catch2/catch.hpp>

#include <span>
#include <string>

#include <diecast/cuda/device_context.hpp>
#include <diecast/kernels/launched.hpp>

#include "smollm2_shape.hpp"

namespace diecast_test {

using namespace diecast::kernels;

template <class List>
class ListedDevice {
 public:
  template <class T>
  T* allocate(const std::string&, std::size_t) {
    return nullptr;
  }
  template <class T>
  void release(T*) {}
  template <class T>
  void upload(T*, std::span<const T>) {}
  template <class T>
  void download(const T*, std::span<T>) {}
  template <class Op>
  void launch(int, const typename Op::Params&) {
    static_assert(List::template has<Op>, "a context launches a kernel that kernels/launched.hpp does not list");
  }
};

constexpr ModelShape with_norms(ModelShape m) {
  m.head_norms = HeadNorms::each_head;
  m.norm_after = true;
  return m;
}
constexpr ModelShape with_vocab(ModelShape m, int vocab) {
  m.vocab = vocab;
  return m;
}

}  // namespace diecast_test

namespace diecast::cuda {

using namespace diecast_test;
template class DeviceContext<smollm2, Half, ListedDevice<Launched<smollm2, Half>>>;
template class DeviceContext<with_norms(smollm2), Half, ListedDevice<Launched<with_norms(smollm2), Half>>>;

}  // namespace diecast::cuda

using namespace diecast_test;

TEST_CASE("a second model adds the kernels in which it differs") {
  using First = Launched<smollm2, Half>;
  using OtherVocabulary = Launched<with_vocab(smollm2, 50304), Half>;
  using OtherNorms = Launched<with_norms(smollm2), Half>;
  CHECK(First::count == First::shared_with<First>);
  CHECK(OtherVocabulary::shared_with<First> == First::count - 3);  // without the head, the draw and the kernel that runs whole tokens
  CHECK(OtherNorms::shared_with<First> == 4);                      // the embedding's, both attentions and the draw
}
