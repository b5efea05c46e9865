// Writes the header that tests/cast/writer.cpp includes: configs of hostile models, and every odd spec.
#include <fstream>

#include "../../tools/cast/config_writer.hpp"
#include "hostile_texts.hpp"
#include "odd_specs.hpp"

int main(int, char** argv) {
  using namespace diecast;
  std::ofstream file(argv[1], std::ios::binary);
  Model model = hostile::model();
  const auto specs = testing::odd_specs();
  cast::ConfigFacts facts{.name = "hostile", .identifier = "hostile", .spec = specs[0].second, .formats = {Format::q4_1, Format::f32}, .model = &model};
  facts.identity = identity_of(model);
  file << cast::config_text(facts);
  model.chat_template = hostile::large_template();
  facts.identifier = "hostile_large";
  file << cast::config_text(facts);
  file << "#include <array>\nnamespace configs {\nstatic constexpr std::array<diecast::Spec, " << specs.size() << "> odd_specs{{\n";
  for (const auto& [name, spec] : specs) file << "  diecast::Spec" << cast::writing::spec_text(spec) << ",\n";
  file << "}};\n}\n";
  return file.flush() ? 0 : 1;
}
