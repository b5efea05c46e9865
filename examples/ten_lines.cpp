#include <iostream>

#include <diecast/configs/smollm2_135m_instruct.hpp>
#include <diecast/diecast.hpp>
#include <diecast/reference.hpp>

int main(int, char** argv) {
  const auto engine = diecast::reference::load<configs::smollm2_135m_instruct>(argv[1]);
  std::cout << engine.answer("What is the capital of France?").text << '\n';
}
