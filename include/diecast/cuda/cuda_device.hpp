// A GPU as device_array.hpp wants a device: memory, one stream, and checked launches. For nvcc. Whatever CUDA refuses is an Error that names the call or
// the kernel with its grid, block and shared memory. A kernel that fails while it runs is found by the next download, which names the last one launched.
#pragma once

#ifndef __CUDACC__
#error "diecast/cuda/cuda_device.hpp is for nvcc: host units take the backend through diecast/cuda/door.hpp"
#endif

#include <cuda_runtime.h>
#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include <diecast/cuda/architecture.hpp>
#include <diecast/error.hpp>
#include <diecast/kernels/cuda_context.hpp>

namespace diecast::cuda {

// What the units of this program that nvcc compiles are compiled for.
inline constexpr int compiled_architectures[] = {__CUDA_ARCH_LIST__};  // 800 for sm_80

class CudaDevice {
 public:
  static constexpr std::string_view name = "cuda";

  // The first GPU that CUDA shows (CUDA_VISIBLE_DEVICES chooses).
  CudaDevice() {
    int count = 0;
    const cudaError_t found = cudaGetDeviceCount(&count);
    if (found != cudaSuccess || count == 0)
      throw Error("there is no device for the backend cuda: no GPU, or none that this machine's driver offers (" +
                  std::string(found == cudaSuccess ? "CUDA counts 0" : cudaGetErrorString(found)) + ")");
    check(cudaGetDeviceProperties(&properties_, 0), "reading the properties of GPU 0");
    int compiled[std::size(compiled_architectures)];
    for (std::size_t i = 0; i < std::size(compiled); ++i) compiled[i] = compiled_architectures[i] / 10;
    check_architecture(compiled, 10 * properties_.major + properties_.minor, properties_.name);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  ~CudaDevice() { cudaStreamDestroy(stream_); }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  std::string gpu() const { return properties_.name; }
  int architecture() const { return 10 * properties_.major + properties_.minor; }
  int processors() const { return properties_.multiProcessorCount; }
  std::size_t l2_bytes() const { return static_cast<std::size_t>(properties_.l2CacheSize); }

  template <class T>
  T* allocate(const std::string& buffer, std::size_t count) {
    void* data = nullptr;
    const std::size_t bytes = count * sizeof(T);
    const cudaError_t result = cudaMalloc(&data, bytes);
    if (result == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // it is no longer to be reported by whoever asks next
      std::size_t left = 0, total = 0;
      cudaMemGetInfo(&left, &total);
      throw Error(gpu() + " has no room for the " + std::to_string(bytes) + " bytes of '" + buffer + "': " + std::to_string(left) + " of " +
                  std::to_string(total) + " are free");
    }
    check(result, "allocating " + std::to_string(bytes) + " bytes for '" + buffer + "'");
    return static_cast<T*>(data);
  }
  template <class T>
  void release(T* data) {
    cudaFree(const_cast<std::remove_const_t<T>*>(data));
  }
  template <class T>
  void upload(T* to, std::span<const T> values) {
    check(cudaMemcpyAsync(to, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream_), "a copy to the GPU");
    wait("a copy to the GPU");  // the values may be gone when the caller goes on
  }
  template <class T>
  void download(const T* from, std::span<T> values) {
    check(cudaMemcpyAsync(values.data(), from, values.size_bytes(), cudaMemcpyDeviceToHost, stream_), "a copy from the GPU");
    wait("a copy from the GPU");
  }

  template <class Op>
  void launch(int blocks, const typename Op::Params& params) {
    constexpr std::size_t shared = std::is_empty_v<typename Op::Shared> ? 0 : sizeof(typename Op::Shared), dynamic = kernels::dynamic_shared_bytes<Op>;
    const Launched what{&typeid(Op), blocks, Op::threads, shared};
    check_shared(what);
    if constexpr (dynamic > 0)
      check(cudaFuncSetAttribute(kernels::entry<Op>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(dynamic)), what.text());
    [[maybe_unused]] cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(static_cast<unsigned>(Op::threads));
    config.dynamicSmemBytes = dynamic;
    config.stream = stream_;
    if constexpr (is_cooperative<Op>) {
      check_fits<Op>(what, dynamic);
      attribute.id = cudaLaunchAttributeCooperative;
      attribute.val.cooperative = 1;
      config.attrs = &attribute;
      config.numAttrs = 1;
    }
    check(cudaLaunchKernelEx(&config, kernels::entry<Op>, params), what.text());
    const std::lock_guard lock(mutex_);
    last_ = what;
  }

  // Seconds that the GPU takes for what `work` launches.
  template <class Work>
  double seconds(const Work& work) {
    cudaEvent_t begin{}, end{};
    check(cudaEventCreate(&begin), "making an event");
    check(cudaEventCreate(&end), "making an event");
    check(cudaEventRecord(begin, stream_), "recording an event");
    work();
    check(cudaEventRecord(end, stream_), "recording an event");
    wait("a measurement");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "reading an event");
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return static_cast<double>(milliseconds) / 1000;
  }

 private:
  struct Launched {
    const std::type_info* type = nullptr;
    int blocks = 0, threads = 0;
    std::size_t shared = 0;
    std::string text() const {
      return "the kernel " + kernel_name(*type) + " (grid " + std::to_string(blocks) + ", block " + std::to_string(threads) + ", " + std::to_string(shared) +
             " bytes of shared memory)";
    }
  };

  template <class Op>
  static constexpr bool is_cooperative = [] {
    if constexpr (requires { Op::cooperative; })
      return static_cast<bool>(Op::cooperative);
    else
      return false;
  }();

  void check_shared(const Launched& what) const {
    if (what.shared > properties_.sharedMemPerBlockOptin)
      throw Error(what.text() + " wants more shared memory than a block of " + gpu() + " has, " + std::to_string(properties_.sharedMemPerBlockOptin) + " bytes");
  }

  // Blocks that wait for each other must all have a place at once.
  template <class Op>
  void check_fits(const Launched& what, std::size_t dynamic) const {
    int at_once = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernels::entry<Op>, Op::threads, dynamic), what.text());
    if (at_once * processors() < what.blocks)
      throw Error(what.text() + " has blocks that wait for each other, and " + gpu() + " runs only " + std::to_string(at_once * processors()) + " of them at once",
                  Blame::program);
  }

  // The class's own name: its template arguments and namespaces fill lines.
  static std::string kernel_name(const std::type_info& type) {
    int status = 0;
    char* const text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
    std::string kernel = status == 0 ? text : type.name();
    std::free(text);
    kernel = kernel.substr(0, kernel.find('<'));
    return kernel.substr(kernel.rfind(':') + 1);
  }

  static void check(cudaError_t result, const std::string& what) {
    if (result != cudaSuccess) throw Error(what + " failed: " + cudaGetErrorString(result) + " (" + cudaGetErrorName(result) + ")", Blame::program);
  }
  void wait(const std::string& what) {
    const cudaError_t result = cudaStreamSynchronize(stream_);
    if (result == cudaSuccess) return;
    const std::lock_guard lock(mutex_);
    check(result, last_.type == nullptr ? what : what + " after " + last_.text());
  }

  cudaDeviceProp properties_{};
  cudaStream_t stream_{};
  std::mutex mutex_;
  Launched last_;
};

}  // namespace diecast::cuda
