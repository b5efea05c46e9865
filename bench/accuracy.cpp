// The float32 logits of every position of some sequences of ids, to a file: what bench/accuracy.py compares with other engines' and with the
// reference's. Works with any model.
// bench_accuracy MODEL IDS OUTPUT reference|fast|balanced|exact [THREADS]; IDS has a sequence on each line.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <diecast/cpu/parts.hpp>
#include <diecast/cpu/path.hpp>
#include <diecast/files/open.hpp>
#include <diecast/reference/reference.hpp>

diecast::cpu::Path kernels();

namespace {

using namespace diecast;

std::shared_ptr<const Backend> backend_of(const Model& model, const std::string& name, int threads) {
  if (name == "reference") return std::make_shared<const Reference<float>>(model.spec, model.weights, threads);
  const auto precision = cpu::precision_of(name);
  if (!precision) throw Error("there is no '" + name + "': reference, fast, balanced and exact are possible");
  const cpu::Path path = kernels();
  cpu::check_machine(path);
  return path.run(std::make_shared<const cpu::PackedModel>(cpu::pack(model.spec, model.weights, threads)), {threads, cpu::CacheType::f16, *precision});
}

void write(Context& context, const std::vector<int>& ids, std::ostream& output) {
  const int sequence = context.table().add();
  constexpr std::size_t chunk = 64;  // bounds the memory of the logits
  for (std::size_t begin = 0; begin < ids.size(); begin += chunk) {
    std::vector<Row> rows;
    for (std::size_t i = begin; i < (std::min)(begin + chunk, ids.size()); ++i) rows.push_back({ids[i], static_cast<int>(i), sequence, true});
    const Logits logits = context.forward(rows);
    output.write(reinterpret_cast<const char*>(logits.values.data()), static_cast<std::streamsize>(logits.values.size_bytes()));
  }
  context.table().remove(sequence);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 5) throw diecast::Error("usage: bench_accuracy MODEL IDS OUTPUT reference|fast|balanced|exact [THREADS]");
    const Model model = open_model(argv[1]);
    const auto backend = backend_of(model, argv[4], argc > 5 ? std::atoi(argv[5]) : 2);
    const auto context = backend->open(model.spec.context < 4096 ? model.spec.context : 4096);
    std::ifstream input(argv[2]);
    std::ofstream output(argv[3], std::ios::binary);
    for (std::string line; std::getline(input, line);) {
      std::istringstream words(line);
      std::vector<int> ids;
      for (int id; words >> id;) ids.push_back(id);
      write(*context, ids, output);
    }
    if (!output.flush()) throw Error(std::string(argv[3]) + " cannot be written");
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
