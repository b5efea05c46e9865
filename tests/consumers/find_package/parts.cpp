// Every part from its installed header: a folder is read (hf), its text becomes ids, the first token is computed (reference) and the weights
// are digested (identity).
#include <iostream>

#include <diecast/configs/tiny_shakespeare.hpp>
#include <diecast/diecast.hpp>
#include <diecast/hf.hpp>
#include <diecast/identity.hpp>
#include <diecast/kernels/weight_form.hpp>
#include <diecast/reference.hpp>
#ifdef WITH_SENTENCEPIECE
#include <diecast/sentencepiece.hpp>
#endif

int main(int, char** argv) {
  const diecast::Model model = diecast::open_model(argv[1]);
#ifdef WITH_SENTENCEPIECE
  const auto tokenizer = diecast::make_any_tokenizer(model.tokenizer);
#else
  const auto tokenizer = diecast::make_tokenizer(model.tokenizer);
#endif
  std::cout << "differences: " << diecast::differences(configs::tiny_shakespeare::spec, model.spec).size() << "\nids:";
  const std::vector<int> ids = tokenizer->encode("ROMEO:\n");
  for (const int id : ids) std::cout << ' ' << id;

  const diecast::Reference<float> backend(model.spec, model.weights);
  const auto context = backend.open(16);
  const int sequence = context->table().add();
  const diecast::Logits logits = context->forward(diecast::pack(context->table(), std::span(&sequence, 1), std::span(&ids, 1)));
  const std::string digest = diecast::identity_of(model).whole;
  std::cout << "\nnext: " << diecast::Sampler({}, tokenizer->size()).sample(logits.row(0)) << "\ndigits of the identity: " << digest.size() << '\n';
}
