// The memory of a device that does not exist. What a kernel is given are addresses that nobody can dereference: the bytes lie elsewhere,
// and the context alone knows where. So an access past the context stops there and then. Around every buffer lie guard zones; a buffer
// is unwritten until somebody writes it, and what is unwritten may not be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace diecast::simt {

class Machine;

class Memory {
 public:
  // `reserve`: addresses for buffers and their guard zones. Pages that nobody touches cost nothing.
  explicit Memory(std::size_t reserve = std::size_t{1} << 34);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // `element` is what indices in reports count, in bytes. Constants are never stored to by a kernel. Throws Error when addresses run out.
  void* allocate(std::size_t bytes, const std::string& name, std::size_t element = 1, bool constant = false);
  void release(void* buffer);  // what allocate gave
  // From and to the host. Bytes that nobody wrote come as 0xff: NaN in every float format.
  void upload(void* to, const void* from, std::size_t bytes);
  void download(void* to, const void* from, std::size_t bytes) const;
  std::size_t unwritten(const void* from, std::size_t bytes) const;  // how many bytes nobody wrote
  void forget(void* at, std::size_t bytes);                          // makes them unwritten
  void may_differ(const void* buffer);  // what a kernel leaves there may depend on the schedule (tickets, scratch): agree looks away

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// A buffer that lives as long as this object does, and not longer than its memory.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer(Memory& memory, const std::string& name, std::size_t size, bool constant = false)
      : memory_(&memory), size_(size), data_(static_cast<T*>(memory.allocate(size * sizeof(T), name, sizeof(T), constant))) {}
  Buffer(Memory& memory, const std::string& name, const std::vector<T>& values, bool constant = false)
      : Buffer(memory, name, values.size(), constant) {
    write(values);
  }
  Buffer(Buffer&& other) noexcept : memory_(other.memory_), size_(other.size_), data_(std::exchange(other.data_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) memory_->release(data_);
  }

  T* data() const { return data_; }  // for Params: an address, nothing to dereference
  std::size_t size() const { return size_; }
  void write(const std::vector<T>& values, std::size_t at = 0) { memory_->upload(data_ + at, values.data(), values.size() * sizeof(T)); }
  std::vector<T> values() const {
    std::vector<T> out(size_);
    memory_->download(out.data(), data_, size_ * sizeof(T));
    return out;
  }
  std::size_t unwritten() const { return memory_->unwritten(data_, size_ * sizeof(T)); }  // bytes
  void forget() { memory_->forget(data_, size_ * sizeof(T)); }
  void may_differ() { memory_->may_differ(data_); }

 private:
  Memory* memory_;
  std::size_t size_;
  T* data_;
};

// Shorter to write in tests.
template <class T>
Buffer<T> buffer(Memory& memory, const std::string& name, const std::vector<T>& values) {
  return Buffer<T>(memory, name, values);
}
template <class T>
Buffer<T> constants(Memory& memory, const std::string& name, const std::vector<T>& values) {
  return Buffer<T>(memory, name, values, true);
}

}  // namespace diecast::simt
