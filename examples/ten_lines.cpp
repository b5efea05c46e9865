#include <iostream>

#include <configs/smollm2_135m_instruct.hpp>
#include <diecast/diecast.hpp>
#include <diecast/reference.hpp>

int main(int, char** argv) {
  diecast::Engine<configs::smollm2_135m_instruct> engine{argv[1]};
  std::cout << engine.answer("What is the capital of France?").text << '\n';
}
