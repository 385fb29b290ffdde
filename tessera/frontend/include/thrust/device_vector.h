// SPDX-License-Identifier: Apache-2.0
// A part of Thrust: vectors, and algorithms that run on the host over either memory. Only counting and
// constant iterators are lazy; execution policies are accepted and ignored.
#pragma once
#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <numeric>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>
#include "../cuda_runtime_api.h"
#include "../host_use.h"

#define THRUST_VERSION 200400
#define THRUST_MAJOR_VERSION 2
#define THRUST_MINOR_VERSION 4

namespace thrust {

// An element of device memory, whose reads and writes are copies.
template <class T>
class device_reference {
 public:
  explicit device_reference(T* at) : at_(at) {}
  device_reference(const device_reference&) = default;
  operator T() const {
    const tessera_cuda::HostUse use;
    tessera_cuda::note_host_use(at_, sizeof(T), false);
    return *at_;
  }
  const device_reference& operator=(const T& value) const {
    const tessera_cuda::HostUse use;
    tessera_cuda::note_host_use(at_, sizeof(T), true);
    *at_ = value;
    return *this;
  }
  const device_reference& operator=(const device_reference& other) const {
    return *this = static_cast<T>(other);
  }
  const device_reference& operator+=(const T& value) const { return *this = static_cast<T>(*this) + value; }
  const device_reference& operator-=(const T& value) const { return *this = static_cast<T>(*this) - value; }
  const device_reference& operator*=(const T& value) const { return *this = static_cast<T>(*this) * value; }
  const device_reference& operator++() const { return *this += T(1); }

 private:
  T* at_;
};
template <class T>
std::ostream& operator<<(std::ostream& out, const device_reference<T>& of) {
  return out << static_cast<T>(of);
}

template <class T>
class device_ptr {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_const_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = device_ptr;
  using reference = device_reference<T>;

  device_ptr() = default;
  device_ptr(std::nullptr_t) {}
  explicit device_ptr(T* at) : at_(at) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  device_ptr(const device_ptr<U>& other) : at_(other.get()) {}

  T* get() const { return at_; }
  reference operator*() const { return reference(at_); }
  reference operator[](difference_type i) const { return reference(at_ + i); }
  device_ptr& operator++() { return ++at_, *this; }
  device_ptr& operator--() { return --at_, *this; }
  device_ptr operator++(int) { return device_ptr(at_++); }
  device_ptr operator--(int) { return device_ptr(at_--); }
  device_ptr& operator+=(difference_type by) { return at_ += by, *this; }
  device_ptr& operator-=(difference_type by) { return at_ -= by, *this; }
  friend device_ptr operator+(device_ptr a, difference_type by) { return a += by; }
  friend device_ptr operator+(difference_type by, device_ptr a) { return a += by; }
  friend device_ptr operator-(device_ptr a, difference_type by) { return a -= by; }
  friend difference_type operator-(device_ptr a, device_ptr b) { return a.at_ - b.at_; }
  friend bool operator==(device_ptr a, device_ptr b) { return a.at_ == b.at_; }
  friend bool operator!=(device_ptr a, device_ptr b) { return a.at_ != b.at_; }
  friend bool operator<(device_ptr a, device_ptr b) { return a.at_ < b.at_; }

 private:
  T* at_ = nullptr;
};
template <class T>
device_ptr<T> device_pointer_cast(T* at) {
  return device_ptr<T>(at);
}
template <class T>
device_ptr<T> device_pointer_cast(device_ptr<T> at) {
  return at;
}
template <class T>
T* raw_pointer_cast(device_ptr<T> at) {
  return at.get();
}
template <class T>
T* raw_pointer_cast(T* at) {
  return at;
}
template <class T>
device_ptr<T> device_malloc(size_t count) {
  void* at = nullptr;
  tessera_cuda::allocate("thrust::device_malloc", &at, count * sizeof(T), sizeof(T),
                         tessera_cuda::Memory::device, {"", 0});
  return device_ptr<T>(static_cast<T*>(at));
}
template <class T>
void device_free(device_ptr<T> at) {
  cudaFree(at.get());
}

template <class T>
class counting_iterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = T;

  counting_iterator() = default;
  explicit counting_iterator(T first) : value_(first) {}
  T operator*() const { return value_; }
  T operator[](difference_type i) const { return static_cast<T>(value_ + static_cast<T>(i)); }
  counting_iterator& operator++() { return ++value_, *this; }
  counting_iterator operator++(int) { return counting_iterator(value_++); }
  counting_iterator& operator--() { return --value_, *this; }
  counting_iterator& operator+=(difference_type by) {
    value_ = static_cast<T>(value_ + static_cast<T>(by));
    return *this;
  }
  friend counting_iterator operator+(counting_iterator a, difference_type by) { return a += by; }
  friend counting_iterator operator-(counting_iterator a, difference_type by) { return a += -by; }
  friend difference_type operator-(counting_iterator a, counting_iterator b) {
    return static_cast<difference_type>(a.value_) - static_cast<difference_type>(b.value_);
  }
  friend bool operator==(counting_iterator a, counting_iterator b) { return a.value_ == b.value_; }
  friend bool operator!=(counting_iterator a, counting_iterator b) { return !(a == b); }
  friend bool operator<(counting_iterator a, counting_iterator b) { return a.value_ < b.value_; }

 private:
  T value_{};
};
template <class T>
counting_iterator<T> make_counting_iterator(T first) {
  return counting_iterator<T>(first);
}
template <class T>
class constant_iterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = T;

  explicit constant_iterator(T value, difference_type at = 0) : value_(value), at_(at) {}
  T operator*() const { return value_; }
  T operator[](difference_type) const { return value_; }
  constant_iterator& operator++() { return ++at_, *this; }
  constant_iterator& operator--() { return --at_, *this; }
  constant_iterator& operator+=(difference_type by) { return at_ += by, *this; }
  friend constant_iterator operator+(constant_iterator a, difference_type by) { return a += by; }
  friend difference_type operator-(constant_iterator a, constant_iterator b) { return a.at_ - b.at_; }
  friend bool operator==(constant_iterator a, constant_iterator b) { return a.at_ == b.at_; }
  friend bool operator!=(constant_iterator a, constant_iterator b) { return a.at_ != b.at_; }

 private:
  T value_;
  difference_type at_;
};
template <class T>
constant_iterator<T> make_constant_iterator(T value) {
  return constant_iterator<T>(value);
}

// Policies
struct execution_policy {
  template <class S>
  execution_policy on(S) const {
    return {};
  }
};
inline constexpr execution_policy host{}, device{}, seq{};
namespace cuda {
inline constexpr execution_policy par{}, par_nosync{};
}  // namespace cuda

// Functors
template <class T = void>
struct plus : std::plus<T> {};
template <class T = void>
struct minus : std::minus<T> {};
template <class T = void>
struct multiplies : std::multiplies<T> {};
template <class T = void>
struct divides : std::divides<T> {};
template <class T = void>
struct modulus : std::modulus<T> {};
template <class T = void>
struct negate : std::negate<T> {};
template <class T = void>
struct less : std::less<T> {};
template <class T = void>
struct less_equal : std::less_equal<T> {};
template <class T = void>
struct greater : std::greater<T> {};
template <class T = void>
struct greater_equal : std::greater_equal<T> {};
template <class T = void>
struct equal_to : std::equal_to<T> {};
template <class T = void>
struct not_equal_to : std::not_equal_to<T> {};
template <class T = void>
struct logical_and : std::logical_and<T> {};
template <class T = void>
struct logical_or : std::logical_or<T> {};
template <class T>
struct identity {
  T operator()(const T& x) const { return x; }
};
template <class T>
struct square {
  T operator()(const T& x) const { return x * x; }
};
template <class T>
struct maximum {
  T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <class T>
struct minimum {
  T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
using std::make_pair;
using std::pair;

namespace detail {

// Returns the iterator that an algorithm uses: a raw pointer to device memory, others unchanged.
template <class I>
I raw(I at) {
  return at;
}
template <class T>
T* raw(device_ptr<T> at) {
  return at.get();
}
template <class I>
I like(const I&, I at) {
  return at;
}
template <class T>
device_ptr<T> like(const device_ptr<T>&, T* at) {
  return device_ptr<T>(at);
}
template <class I>
void note(I, I, bool) {}
template <class T>
void note(T* first, T* last, bool writes) {
  if (first < last) tessera_cuda::note_host_use(first, static_cast<size_t>(last - first) * sizeof(T), writes);
}
template <class I>
using value = typename std::iterator_traits<decltype(raw(std::declval<I>()))>::value_type;

// Keeps device memory accessible while the algorithm runs.
template <class I>
class Input {
 public:
  Input(I begin, I end) : first(raw(begin)), last(raw(end)) { note(first, last, false); }

 private:
  tessera_cuda::HostUse use_;

 public:
  decltype(raw(std::declval<I>())) first, last;
};
template <class I>
class Output {
 public:
  explicit Output(I begin) : first(raw(begin)), begin_(begin) {}
  template <class At>
  I wrote(At last) const {
    note(first, last, true);
    return like(begin_, last);
  }

 private:
  tessera_cuda::HostUse use_;

 public:
  decltype(raw(std::declval<I>())) first;

 private:
  I begin_;
};

}  // namespace detail

// Overloads of each algorithm with a policy before its arguments.
#define TESSERA_WITH_POLICY(name)                               \
  template <class... A>                                         \
  auto name(const execution_policy&, A&&... arguments)          \
      ->decltype(thrust::name(std::forward<A>(arguments)...)) { \
    return thrust::name(std::forward<A>(arguments)...);         \
  }

template <class I, class O>
O copy(I first, I last, O out) {
  const detail::Input<I> in(first, last);
  const detail::Output<O> to(out);
  return to.wrote(std::copy(in.first, in.last, to.first));
}
template <class I, class N, class O>
O copy_n(I first, N count, O out) {
  return thrust::copy(first, first + count, out);
}
template <class I, class O, class F>
O copy_if(I first, I last, O out, F holds) {
  const detail::Input<I> in(first, last);
  const detail::Output<O> to(out);
  return to.wrote(std::copy_if(in.first, in.last, to.first, holds));
}
template <class I, class T>
void fill(I first, I last, const T& value) {
  const detail::Output<I> to(first);
  std::fill(to.first, detail::raw(last), value);
  to.wrote(detail::raw(last));
}
template <class I, class N, class T>
I fill_n(I first, N count, const T& value) {
  thrust::fill(first, first + count, value);
  return first + count;
}
template <class I, class T, class S>
void sequence(I first, I last, T begin, S step) {
  const detail::Output<I> to(first);
  const auto end = detail::raw(last);
  for (auto at = to.first; at != end; ++at)
    *at = static_cast<detail::value<I>>(begin + static_cast<detail::value<I>>(at - to.first) * step);
  to.wrote(end);
}
template <class I, class T>
void sequence(I first, I last, T begin) {
  thrust::sequence(first, last, begin, detail::value<I>(1));
}
template <class I>
void sequence(I first, I last) {
  thrust::sequence(first, last, detail::value<I>(0), detail::value<I>(1));
}
template <class I, class F>
void generate(I first, I last, F f) {
  const detail::Output<I> to(first);
  std::generate(to.first, detail::raw(last), f);
  to.wrote(detail::raw(last));
}
template <class I, class F>
I for_each(I first, I last, F f) {
  const detail::Input<I> in(first, last);
  std::for_each(in.first, in.last, f);
  detail::note(in.first, in.last, true);
  return last;
}
template <class I, class O, class F>
O transform(I first, I last, O out, F f) {
  const detail::Input<I> in(first, last);
  const detail::Output<O> to(out);
  return to.wrote(std::transform(in.first, in.last, to.first, f));
}
template <class I, class J, class O, class F>
auto transform(I first, I last, J second, O out, F f) -> decltype(*second, *out, O(out)) {
  const detail::Input<I> in(first, last);
  const detail::Input<J> beside(second, second + (last - first));
  const detail::Output<O> to(out);
  return to.wrote(std::transform(in.first, in.last, beside.first, to.first, f));
}
template <class I, class T, class F>
T reduce(I first, I last, T begin, F f) {
  const detail::Input<I> in(first, last);
  return std::accumulate(in.first, in.last, begin, f);
}
template <class I, class T>
T reduce(I first, I last, T begin) {
  return thrust::reduce(first, last, begin, std::plus<T>());
}
template <class I>
detail::value<I> reduce(I first, I last) {
  return thrust::reduce(first, last, detail::value<I>());
}
template <class I, class U, class T, class F>
T transform_reduce(I first, I last, U f, T begin, F join) {
  const detail::Input<I> in(first, last);
  for (auto at = in.first; at != in.last; ++at) begin = join(begin, f(*at));
  return begin;
}
template <class I, class J, class T>
T inner_product(I first, I last, J second, T begin) {
  const detail::Input<I> in(first, last);
  const detail::Input<J> beside(second, second + (last - first));
  return std::inner_product(in.first, in.last, beside.first, begin);
}
template <class I, class T>
std::ptrdiff_t count(I first, I last, const T& value) {
  const detail::Input<I> in(first, last);
  return std::count(in.first, in.last, value);
}
template <class I, class F>
std::ptrdiff_t count_if(I first, I last, F holds) {
  const detail::Input<I> in(first, last);
  return std::count_if(in.first, in.last, holds);
}
template <class I, class F>
bool all_of(I first, I last, F holds) {
  const detail::Input<I> in(first, last);
  return std::all_of(in.first, in.last, holds);
}
template <class I, class F>
bool any_of(I first, I last, F holds) {
  const detail::Input<I> in(first, last);
  return std::any_of(in.first, in.last, holds);
}
template <class I, class J>
bool equal(I first, I last, J second) {
  const detail::Input<I> in(first, last);
  const detail::Input<J> beside(second, second + (last - first));
  return std::equal(in.first, in.last, beside.first);
}
template <class I, class T>
I find(I first, I last, const T& value) {
  const detail::Input<I> in(first, last);
  return first + (std::find(in.first, in.last, value) - in.first);
}
template <class I, class... F>
I max_element(I first, I last, F... less) {
  const detail::Input<I> in(first, last);
  return first + (std::max_element(in.first, in.last, less...) - in.first);
}
template <class I, class... F>
I min_element(I first, I last, F... less) {
  const detail::Input<I> in(first, last);
  return first + (std::min_element(in.first, in.last, less...) - in.first);
}
template <class I, class... F>
bool is_sorted(I first, I last, F... less) {
  const detail::Input<I> in(first, last);
  return std::is_sorted(in.first, in.last, less...);
}
template <class I, class... F>
void stable_sort(I first, I last, F... less) {
  const detail::Input<I> in(first, last);
  std::stable_sort(in.first, in.last, less...);
  detail::note(in.first, in.last, true);
}
template <class I, class... F>
void sort(I first, I last, F... less) {
  thrust::stable_sort(first, last, less...);
}
template <class K, class V, class F>
void stable_sort_by_key(K first, K last, V values, F less) {
  const detail::Input<K> keys(first, last);
  const detail::Input<V> beside(values, values + (last - first));
  const auto count = static_cast<size_t>(last - first);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return less(keys.first[a], keys.first[b]); });
  const std::vector<detail::value<K>> old_keys(keys.first, keys.last);
  const std::vector<detail::value<V>> old_values(beside.first, beside.last);
  for (size_t i = 0; i < count; ++i) {
    keys.first[i] = old_keys[order[i]];
    beside.first[i] = old_values[order[i]];
  }
  detail::note(keys.first, keys.last, true);
  detail::note(beside.first, beside.last, true);
}
template <class K, class V, class... F>
void sort_by_key(K first, K last, V values, F... less) {
  if constexpr (sizeof...(F) == 0)
    thrust::stable_sort_by_key(first, last, values, std::less<detail::value<K>>());
  else thrust::stable_sort_by_key(first, last, values, less...);
}
template <class I, class O, class F>
O inclusive_scan(I first, I last, O out, F f) {
  const detail::Input<I> in(first, last);
  const detail::Output<O> to(out);
  return to.wrote(std::partial_sum(in.first, in.last, to.first, f));
}
template <class I, class O>
O inclusive_scan(I first, I last, O out) {
  return thrust::inclusive_scan(first, last, out, std::plus<detail::value<I>>());
}
template <class I, class O, class T, class F>
O exclusive_scan(I first, I last, O out, T begin, F f) {
  const detail::Input<I> in(first, last);
  const detail::Output<O> to(out);
  auto at = to.first;
  for (auto from = in.first; from != in.last; ++from, ++at) {
    const auto here = *from;
    *at = begin;
    begin = f(begin, here);
  }
  return to.wrote(at);
}
template <class I, class O, class T>
O exclusive_scan(I first, I last, O out, T begin) {
  return thrust::exclusive_scan(first, last, out, begin, std::plus<T>());
}
template <class I, class O>
O exclusive_scan(I first, I last, O out) {
  return thrust::exclusive_scan(first, last, out, detail::value<I>(0));
}
template <class I, class O, class... F>
O adjacent_difference(I first, I last, O out, F... f) {
  const detail::Input<I> in(first, last);
  const detail::Output<O> to(out);
  return to.wrote(std::adjacent_difference(in.first, in.last, to.first, f...));
}
template <class I, class T>
I remove(I first, I last, const T& value) {
  const detail::Input<I> in(first, last);
  const auto end = std::remove(in.first, in.last, value);
  detail::note(in.first, in.last, true);
  return first + (end - in.first);
}
template <class I, class F>
I remove_if(I first, I last, F holds) {
  const detail::Input<I> in(first, last);
  const auto end = std::remove_if(in.first, in.last, holds);
  detail::note(in.first, in.last, true);
  return first + (end - in.first);
}
template <class I, class... F>
I unique(I first, I last, F... same) {
  const detail::Input<I> in(first, last);
  const auto end = std::unique(in.first, in.last, same...);
  detail::note(in.first, in.last, true);
  return first + (end - in.first);
}
template <class I, class T, class U>
void replace(I first, I last, const T& old, const U& by) {
  const detail::Input<I> in(first, last);
  std::replace(in.first, in.last, static_cast<detail::value<I>>(old), static_cast<detail::value<I>>(by));
  detail::note(in.first, in.last, true);
}
template <class I>
void reverse(I first, I last) {
  const detail::Input<I> in(first, last);
  std::reverse(in.first, in.last);
  detail::note(in.first, in.last, true);
}
template <class I, class J, class O>
O gather(I map_first, I map_last, J from, O out) {
  const detail::Input<I> map(map_first, map_last);
  const tessera_cuda::HostUse use;
  const detail::Output<O> to(out);
  auto at = to.first;
  for (auto index = map.first; index != map.last; ++index, ++at) *at = detail::raw(from)[*index];
  return to.wrote(at);
}
// For each value, the number of elements that are at most that (upper_bound), or less (lower_bound).
template <class I, class J, class O>
O upper_bound(I first, I last, J values, J values_last, O out) {
  const detail::Input<I> in(first, last);
  const detail::Input<J> of(values, values_last);
  const detail::Output<O> to(out);
  auto at = to.first;
  for (auto value = of.first; value != of.last; ++value, ++at)
    *at = static_cast<detail::value<O>>(std::upper_bound(in.first, in.last, *value) - in.first);
  return to.wrote(at);
}
template <class I, class J, class O>
O lower_bound(I first, I last, J values, J values_last, O out) {
  const detail::Input<I> in(first, last);
  const detail::Input<J> of(values, values_last);
  const detail::Output<O> to(out);
  auto at = to.first;
  for (auto value = of.first; value != of.last; ++value, ++at)
    *at = static_cast<detail::value<O>>(std::lower_bound(in.first, in.last, *value) - in.first);
  return to.wrote(at);
}
template <class K, class V, class KO, class VO>
std::pair<KO, VO> reduce_by_key(K first, K last, V values, KO keys_out, VO values_out) {
  const detail::Input<K> keys(first, last);
  const detail::Input<V> beside(values, values + (last - first));
  const detail::Output<KO> to_keys(keys_out);
  const detail::Output<VO> to_values(values_out);
  auto key_at = to_keys.first;
  auto value_at = to_values.first;
  for (auto key = keys.first; key != keys.last; ++key_at, ++value_at) {
    const auto of = *key;
    detail::value<V> sum = beside.first[key - keys.first];
    for (++key; key != keys.last && *key == of; ++key) sum = sum + beside.first[key - keys.first];
    *key_at = of;
    *value_at = sum;
  }
  return {to_keys.wrote(key_at), to_values.wrote(value_at)};
}

TESSERA_WITH_POLICY(copy)
TESSERA_WITH_POLICY(copy_if)
TESSERA_WITH_POLICY(fill)
TESSERA_WITH_POLICY(sequence)
TESSERA_WITH_POLICY(for_each)
TESSERA_WITH_POLICY(transform)
TESSERA_WITH_POLICY(reduce)
TESSERA_WITH_POLICY(transform_reduce)
TESSERA_WITH_POLICY(count)
TESSERA_WITH_POLICY(count_if)
TESSERA_WITH_POLICY(max_element)
TESSERA_WITH_POLICY(min_element)
TESSERA_WITH_POLICY(sort)
TESSERA_WITH_POLICY(stable_sort)
TESSERA_WITH_POLICY(sort_by_key)
TESSERA_WITH_POLICY(inclusive_scan)
TESSERA_WITH_POLICY(exclusive_scan)
TESSERA_WITH_POLICY(remove)
TESSERA_WITH_POLICY(unique)
#undef TESSERA_WITH_POLICY

template <class T>
class host_vector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  host_vector() = default;
  template <class V, class = decltype(std::declval<const V&>().data().get())>
  host_vector(const V& device) : std::vector<T>(device.size()) {
    thrust::copy(device.begin(), device.end(), this->begin());
  }
  host_vector(const std::vector<T>& other) : std::vector<T>(other) {}
  template <class V, class = decltype(std::declval<const V&>().data().get())>
  host_vector& operator=(const V& device) {
    this->resize(device.size());
    thrust::copy(device.begin(), device.end(), this->begin());
    return *this;
  }
};

template <class T>
class device_vector {
 public:
  using value_type = T;
  using iterator = device_ptr<T>;
  using const_iterator = device_ptr<const T>;
  using reference = device_reference<T>;
  using pointer = device_ptr<T>;
  using size_type = size_t;

  device_vector() = default;
  explicit device_vector(size_t count, const T& value = T(),
                         tessera_cuda::CallSite at = tessera_cuda::CallSite::current())
      : at_(at) {
    resize(count, value);
  }
  template <class I, class = typename std::iterator_traits<I>::iterator_category>
  device_vector(I first, I last, tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) : at_(at) {
    assign(first, last);
  }
  device_vector(const std::vector<T>& from, tessera_cuda::CallSite at = tessera_cuda::CallSite::current())
      : device_vector(from.begin(), from.end(), at) {}
  device_vector(const device_vector& other, tessera_cuda::CallSite at = tessera_cuda::CallSite::current())
      : at_(at) {
    assign(other.begin(), other.end());
  }
  device_vector(device_vector&& other) noexcept { swap(other); }
  ~device_vector() { cudaFree(data_, at_); }
  device_vector& operator=(const device_vector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  device_vector& operator=(device_vector&& other) noexcept {
    swap(other);
    return *this;
  }
  device_vector& operator=(const std::vector<T>& from) {
    assign(from.begin(), from.end());
    return *this;
  }

  template <class I>
  void assign(I first, I last) {
    const auto count = static_cast<size_t>(std::distance(first, last));
    reserve(count);
    size_ = count;
    thrust::copy(first, last, begin());
  }
  void reserve(size_t count) {
    if (count <= capacity_) return;
    void* more = nullptr;
    if (name_ == nullptr) name_ = tessera_cuda::declared_name("device_vector", at_);
    if (tessera_cuda::allocate(name_, &more, count * sizeof(T), sizeof(T), tessera_cuda::Memory::device,
                               at_) != cudaSuccess)
      throw std::bad_alloc();
    const device_ptr<T> moved(static_cast<T*>(more));
    thrust::copy(begin(), end(), moved);
    cudaFree(data_, at_);
    data_ = moved.get();
    capacity_ = count;
  }
  void resize(size_t count, const T& value = T()) {
    reserve(count);
    if (count > size_)
      thrust::fill(begin() + static_cast<std::ptrdiff_t>(size_), begin() + static_cast<std::ptrdiff_t>(count),
                   value);
    size_ = count;
  }
  void push_back(const T& value) {
    if (size_ == capacity_) reserve(2 * size_ + 1);
    begin()[static_cast<std::ptrdiff_t>(size_++)] = value;
  }
  void clear() { size_ = 0; }
  void swap(device_vector& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(at_, other.at_);
    std::swap(name_, other.name_);
  }
  iterator erase(iterator first, iterator last) {
    thrust::copy(last, end(), first);
    size_ -= static_cast<size_t>(last - first);
    return first;
  }

  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  pointer data() { return pointer(data_); }
  device_ptr<const T> data() const { return device_ptr<const T>(data_); }
  iterator begin() { return iterator(data_); }
  iterator end() { return iterator(data_ + size_); }
  const_iterator begin() const { return const_iterator(data_); }
  const_iterator end() const { return const_iterator(data_ + size_); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  reference operator[](size_t i) { return reference(data_ + i); }
  T operator[](size_t i) const { return device_reference<const T>(data_ + i); }
  reference front() { return (*this)[0]; }
  reference back() { return (*this)[size_ - 1]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
  tessera_cuda::CallSite at_{"", 0};
  const char* name_ = nullptr;
};

}  // namespace thrust
