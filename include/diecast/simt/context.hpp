// The execution context on the host: the twin of kernels/cuda_context.hpp. What needs to know memory or other lanes goes to the executor;
// arithmetic is done here. Every function takes the place of its call, so that a report can name it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <diecast/kernels/context.hpp>
#include <diecast/simt/lane.hpp>
#include <diecast/simt/warp.hpp>

namespace diecast::simt {

class Context {
 public:
  using Order = kernels::Order;
  using Half = kernels::Half;
  using Bfloat16 = kernels::Bfloat16;

  // What a pointer points to, or an array is made of.
  template <class P>
  using Of = std::remove_cv_t<std::remove_pointer_t<std::decay_t<P>>>;

  explicit Context(Lane& lane) : lane_(&lane) {}

  int block() const { return lane_->block; }
  int blocks() const { return lane_->blocks; }
  int thread() const { return lane_->thread; }
  int threads() const { return lane_->threads; }
  int lane() const { return lane_->thread % kernels::warp_lanes; }
  int warp() const { return lane_->thread / kernels::warp_lanes; }

  // An array of a known size is given as such, so that its own bounds hold, and not only those of the memory that it lies in.
  template <class P>
  Of<P> load(const P& from, std::int64_t index, const Place& at = Place::current()) {
    return read(from, index, Access::load, at);
  }
  template <class P>
  Of<P> load_constant(const P& from, std::int64_t index, const Place& at = Place::current()) {
    return read(from, index, Access::load_constant, at);
  }
  template <class P>
  Of<P> load_once(const P& from, std::int64_t index, const Place& at = Place::current()) {
    return read(from, index, Access::load_constant, at);
  }
  template <class P>
  void store(P&& to, std::int64_t index, std::type_identity_t<Of<P>> value, const Place& at = Place::current()) {
    static_assert(!std::is_const_v<std::remove_pointer_t<std::decay_t<P>>>, "a store needs a pointer to what is not const");
    check_type<Of<P>>();
    check_extent<P>(index, at);
    std::memcpy(lane_->access(address(to), index, sizeof value, sizeof value, Access::store, at), &value, sizeof value);
  }
  template <class P>
  void store_once(P&& to, std::int64_t index, std::type_identity_t<Of<P>> value, const Place& at = Place::current()) {
    store(to, index, value, at);
  }
  template <class T>
  void prefetch(const T* from, std::int64_t index, const Place& at = Place::current()) {
    lane_->prefetch(from, index, sizeof(T), at);
  }

  template <class P, class T>
  void copy_async(P&& to, std::int64_t index, const T* from, std::int64_t from_index, bool valid = true,
                  const Place& at = Place::current()) {
    static_assert(std::is_same_v<Of<P>, T>, "an asynchronous copy keeps the type");
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
    check_extent<P>(index, at);
    lane_->copy_async(address(to), index, from, from_index, sizeof(T), valid, at);
  }
  void commit_copies() { lane_->commit_copies(); }
  template <int groups>
  void wait_copies(kernels::Pending<groups>) {
    lane_->wait_copies(groups);
  }

  void init_bulk(kernels::CopyBarrier* barrier, std::int64_t index, int copies, const Place& at = Place::current()) {
    lane_->init_bulk(barrier, index, copies, at);
  }
  template <class P, class T>
  void copy_bulk(P&& to, std::int64_t index, const T* from, std::int64_t from_index, int count, kernels::CopyBarrier* barrier,
                 std::int64_t barrier_index, const Place& at = Place::current()) {
    static_assert(std::is_same_v<Of<P>, T>, "a bulk copy keeps the type");
    check_extent<P>(index, at);
    check_extent<P>(index + count - 1, at);
    lane_->copy_bulk(address(to), index, from, from_index, sizeof(T), count, barrier, barrier_index, at);
  }
  void wait_bulk(kernels::CopyBarrier* barrier, std::int64_t index, std::uint32_t phase, const Place& at = Place::current()) {
    lane_->wait_bulk(barrier, index, phase, at);
  }

  void barrier(const Place& at = Place::current()) { lane_->barrier(at); }
  void named_barrier(int id, int threads, const Place& at = Place::current()) { lane_->named_barrier(id, threads, true, at); }
  void named_arrive(int id, int threads, const Place& at = Place::current()) { lane_->named_barrier(id, threads, false, at); }
  void sync_warp(std::uint32_t lanes = kernels::all_lanes, const Place& at = Place::current()) { lane_->sync_warp(lanes, at); }

  std::uint32_t load_acquire(const std::uint32_t* from, std::int64_t index, const Place& at = Place::current()) {
    return word(Update::load, from, index, 0, 0, Order::acquire, at);
  }
  std::uint32_t load_relaxed(const std::uint32_t* from, std::int64_t index, const Place& at = Place::current()) {
    return word(Update::load, from, index, 0, 0, Order::relaxed, at);
  }
  void store_release(std::uint32_t* to, std::int64_t index, std::uint32_t value, const Place& at = Place::current()) {
    word(Update::store, to, index, value, 0, Order::release, at);
  }
  void store_relaxed(std::uint32_t* to, std::int64_t index, std::uint32_t value, const Place& at = Place::current()) {
    word(Update::store, to, index, value, 0, Order::relaxed, at);
  }
  std::uint32_t atomic_add(std::uint32_t* to, std::int64_t index, std::uint32_t value, Order order = Order::relaxed,
                           const Place& at = Place::current()) {
    return word(Update::add, to, index, value, 0, order, at);
  }
  float atomic_add(float* to, std::int64_t index, float value, const Place& at = Place::current()) {
    return std::bit_cast<float>(word(Update::add_float, to, index, std::bit_cast<std::uint32_t>(value), 0, Order::relaxed, at));
  }
  std::uint64_t atomic_max(std::uint64_t* to, std::int64_t index, std::uint64_t value, const Place& at = Place::current()) {
    return lane_->update(Update::max, to, index, 8, value, 0, Order::relaxed, at);
  }
  std::uint32_t atomic_exchange(std::uint32_t* to, std::int64_t index, std::uint32_t value, Order order = Order::relaxed,
                                const Place& at = Place::current()) {
    return word(Update::exchange, to, index, value, 0, order, at);
  }
  std::uint32_t atomic_compare_exchange(std::uint32_t* to, std::int64_t index, std::uint32_t expected, std::uint32_t wanted,
                                        Order order = Order::relaxed, const Place& at = Place::current()) {
    return word(Update::compare_exchange, to, index, wanted, expected, order, at);
  }
  void wait_at_least(const std::uint32_t* flag, std::int64_t index, std::uint32_t target, const Place& at = Place::current()) {
    lane_->wait_at_least(flag, index, target, at);
  }

  template <class T>
  T shuffle(T value, int from, std::uint32_t lanes = kernels::all_lanes, const Place& at = Place::current()) {
    return shuffled("shuffle", value, from & 31, lanes, at);
  }
  template <class T>
  T shuffle_xor(T value, int with, std::uint32_t lanes = kernels::all_lanes, const Place& at = Place::current()) {
    return shuffled("shuffle_xor", value, (lane() ^ with) & 31, lanes, at);
  }
  template <class T>
  T shuffle_down(T value, int by, std::uint32_t lanes = kernels::all_lanes, const Place& at = Place::current()) {
    return shuffled("shuffle_down", value, lane() + by < kernels::warp_lanes ? lane() + by : lane(), lanes, at);
  }
  template <class T>
  T shuffle_up(T value, int by, std::uint32_t lanes = kernels::all_lanes, const Place& at = Place::current()) {
    return shuffled("shuffle_up", value, lane() - by >= 0 ? lane() - by : lane(), lanes, at);
  }
  std::uint32_t ballot(bool yes, std::uint32_t lanes = kernels::all_lanes, const Place& at = Place::current()) {
    return votes("ballot", yes, lanes, at);
  }
  bool any(bool yes, std::uint32_t lanes = kernels::all_lanes, const Place& at = Place::current()) {
    return votes("any", yes, lanes, at) != 0;
  }
  bool all(bool yes, std::uint32_t lanes = kernels::all_lanes, const Place& at = Place::current()) {
    return votes("all", yes, lanes, at) == lanes;
  }
  float warp_sum(float value, const Place& at = Place::current()) {
    static constexpr Meeting meeting{"warp_sum", &butterfly<float, Plus>};
    lane_->meet(meeting, kernels::all_lanes, &value, at);
    return value;
  }
  float warp_max(float value, const Place& at = Place::current()) {
    static constexpr Meeting meeting{"warp_max", &butterfly<float, Greater>};
    lane_->meet(meeting, kernels::all_lanes, &value, at);
    return value;
  }
  int warp_sum(int value, const Place& at = Place::current()) {
    static constexpr Meeting meeting{"warp_sum", &butterfly<int, Plus>};
    lane_->meet(meeting, kernels::all_lanes, &value, at);
    return value;
  }

  template <int block_threads>
  kernels::BlockScan block_scan(std::uint64_t value, kernels::BlockScratch<block_threads>& scratch, const Place& at = Place::current()) {
    constexpr int warps = block_threads / kernels::warp_lanes;
    std::uint64_t up_to = value, before = 0, all = 0;
    for (int by = 1; by < kernels::warp_lanes; by *= 2) {
      const std::uint64_t below = shuffle_up(up_to, by, kernels::all_lanes, at);
      if (lane() >= by) up_to += below;
    }
    if (lane() == kernels::warp_lanes - 1) store(scratch.words, warp(), up_to, at);
    barrier(at);
    for (int other = 0; other < warps; ++other) {
      const std::uint64_t of_warp = load(scratch.words, other, at);
      if (other < warp()) before += of_warp;
      all += of_warp;
    }
    barrier(at);
    return {before + up_to - value, all};
  }

  template <class T>
  kernels::FourMatrices load_matrices(const T* row, std::int64_t index, const Place& at = Place::current()) {
    return matrices<false>("load_matrices", row, index, at);
  }
  template <class T>
  kernels::FourMatrices load_matrices_transposed(const T* row, std::int64_t index, const Place& at = Place::current()) {
    static_assert(sizeof(T) == 2, "only matrices of 16-bit elements can be transposed");
    return matrices<true>("load_matrices_transposed", row, index, at);
  }
  template <class Element, class Sum>
  kernels::FragmentC<Sum> multiply_add(const kernels::FragmentA<Element>& a, const kernels::FragmentB<Element>& b,
                                       kernels::FragmentC<Sum> c, const Place& at = Place::current()) {
    static constexpr Meeting meeting{"multiply_add", &matrix_product<Element, Sum>, Meeting::Kind::matrix_product};
    MatrixProduct<Element, Sum> product{a, b, c};
    lane_->meet(meeting, kernels::all_lanes, &product, at);
    return product.c;
  }

  float fma(float a, float b, float c) const { return std::fma(a, b, c); }
  float sqrt(float x) const { return std::sqrt(x); }
  float divide(float a, float b) const { return a / b; }
  float exp2(float x) const { return flushed(static_cast<float>(std::exp2(static_cast<double>(x)))); }
  float rsqrt(float x) const { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(flushed(x)))); }
  float tanh(float x) const { return static_cast<float>(std::tanh(static_cast<double>(x))); }
  float widen(float x) const { return x; }
  float widen(Half x) const { return kernels::to_float(x); }
  float widen(Bfloat16 x) const { return kernels::to_float(x); }
  template <class T>
  T narrow(float x, T) const {
    return kernels::Stored<T>::from(x);
  }
  std::int32_t round(float x) const { return static_cast<std::int32_t>(std::nearbyint(x)); }
  std::int32_t dot4(std::int32_t a, std::int32_t b, std::int32_t c) {
    lane_->count_dot();
    return dot<std::int8_t>(static_cast<std::uint32_t>(a), b, c);
  }
  std::int32_t dot4(std::uint32_t a, std::int32_t b, std::int32_t c) {
    lane_->count_dot();
    return dot<std::uint8_t>(a, b, c);
  }
  int popcount(std::uint32_t x) const { return std::popcount(x); }
  int lowest_bit(std::uint32_t x) const { return std::countr_zero(x); }
  std::uint32_t permute_bytes(std::uint32_t low, std::uint32_t high, std::uint32_t selector) const {
    const std::uint64_t bytes = low | static_cast<std::uint64_t>(high) << 32;
    std::uint32_t out = 0;
    for (unsigned i = 0; i < 4; ++i) out |= static_cast<std::uint32_t>(bytes >> (8 * (selector >> (4 * i) & 7u)) & 255u) << (8 * i);
    return out;
  }

 private:
  template <class T>
  static constexpr void check_type() {
    static_assert(
        std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16),
        "a lane moves trivial values of 1, 2, 4, 8 or 16 bytes");
  }
  template <class T>
  static T* address(T* pointer) {
    return pointer;
  }
  template <class P>
  void check_extent(std::int64_t index, const Place& at) {
    if constexpr (std::is_array_v<std::remove_reference_t<P>>)
      lane_->check_extent(index, static_cast<std::int64_t>(std::extent_v<std::remove_reference_t<P>>), at);
  }
  template <class P>
  Of<P> read(const P& from, std::int64_t index, Access access, const Place& at) {
    check_type<Of<P>>();
    check_extent<P>(index, at);
    Of<P> value;
    std::memcpy(&value, lane_->access(address(from), index, sizeof value, sizeof value, access, at), sizeof value);
    return value;
  }
  std::uint32_t word(Update what, const void* base, std::int64_t index, std::uint32_t value, std::uint32_t expected, Order order,
                     const Place& at) {
    return static_cast<std::uint32_t>(lane_->update(what, base, index, 4, value, expected, order, at));
  }
  template <class T>
  T shuffled(const char* name, T value, int from, std::uint32_t lanes, const Place& at) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 4 or 8 bytes");
    lane_->check_source(from, lanes, name, at);
    Shuffle<T> shuffle{value, from};
    lane_->meet({name, &exchange<T>}, lanes, &shuffle, at);
    return shuffle.value;
  }
  std::uint32_t votes(const char* name, bool yes, std::uint32_t lanes, const Place& at) {
    std::uint32_t vote = yes ? 1 : 0;
    lane_->meet({name, &count_votes}, lanes, &vote, at);
    return vote;
  }
  template <bool transposed, class T>
  kernels::FourMatrices matrices(const char* name, const T* row, std::int64_t index, const Place& at) {
    static_assert(sizeof(T) <= 2, "a row of a matrix is 16 bytes: eight elements of 16 bits, or sixteen of 8");
    MatrixRows rows;
    std::memcpy(rows.own, lane_->access(row, index, sizeof(T), 16, Access::load, at), 16);
    lane_->meet({name, &distribute<transposed>, Meeting::Kind::matrix_load}, kernels::all_lanes, &rows, at);
    return rows.out;
  }
  template <class First>
  static std::int32_t dot(std::uint32_t a, std::int32_t b, std::int32_t c) {
    std::int64_t sum = c;
    for (int i = 0; i < 4; ++i)
      sum += static_cast<First>(a >> (8 * i)) * static_cast<std::int8_t>(static_cast<std::uint32_t>(b) >> (8 * i));
    return static_cast<std::int32_t>(sum);  // modulo 2^32, as the device does
  }
  static float flushed(float x) { return std::abs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

  Lane* lane_;
};
static_assert(kernels::ExecutionContext<Context>);

}  // namespace diecast::simt
