// The replaced operators, once in the program (a replacement must not be inline).
#include "files/allocations.hpp"

#include <cstdlib>
#include <new>

void* operator new(std::size_t size) {
  diecast_test::allocated_bytes += size;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
