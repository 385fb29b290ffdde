// SPDX-License-Identifier: Apache-2.0
// The calls that a CUDA file is rewritten into (tessera_cuda.h lists them).
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include "cuda_runtime_api.h"

namespace tessera_cuda {

// Returns a thread's indices. They are constant while it runs, so the compiler may reuse the result.
[[gnu::const]] uint3 thread_index() noexcept;
[[gnu::const]] uint3 block_index() noexcept;
[[gnu::const]] uint3 block_extent() noexcept;
[[gnu::const]] uint3 grid_extent() noexcept;
[[gnu::const]] unsigned thread_rank() noexcept;  // in its block, x fastest
// True in a kernel: for functions of both sides whose text depends on __CUDA_ARCH__.
bool on_device() noexcept;
inline dim3 block_dim() noexcept { return block_extent(); }
inline dim3 grid_dim() noexcept { return grid_extent(); }
constexpr int warp_size() noexcept { return 32; }

// The types of CUDA's built-in variables where the program does not hide their names.
struct ThreadIdx {};
struct BlockIdx {};
struct BlockDim {};
struct GridDim {};
[[gnu::always_inline]] inline uint3 built_in(const ThreadIdx&) noexcept { return thread_index(); }
[[gnu::always_inline]] inline uint3 built_in(const BlockIdx&) noexcept { return block_index(); }
[[gnu::always_inline]] inline dim3 built_in(const BlockDim&) noexcept { return block_dim(); }
[[gnu::always_inline]] inline dim3 built_in(const GridDim&) noexcept { return grid_dim(); }
// Returns the program's own variable, if it declares this name itself.
template <class T>
[[gnu::always_inline]] constexpr T&& built_in(T&& own) noexcept {
  return static_cast<T&&>(own);
}

// Configures the next launch of this host thread.
void configure(dim3 grid, dim3 block, std::size_t shared_bytes = 0, cudaStream_t stream = nullptr,
               CallSite at = CallSite::current());

template <class T>
constexpr const char* type_text() {
  return __PRETTY_FUNCTION__;
}

// One kernel, or one instance of a kernel template.
struct KernelCode {
  const char* name;
  const char* type;  // the closure's, spelled: it holds the template arguments
  CallSite at;
  void (*body)();  // one GPU thread; asks for its closure
  std::size_t closure_bytes;
  int max_threads;  // per block, by __launch_bounds__; 0: any
};
void launch(KernelCode& code, const void* closure);
void get_closure(void* to) noexcept;

template <class F>
void run_thread() {
  alignas(F) unsigned char bytes[sizeof(F)];
  get_closure(bytes);
  if constexpr (std::is_trivially_copyable_v<F>) {
    // A copy by a function that is not traced, then one that the compiler keeps in registers: on a GPU,
    // parameters are no memory traffic.
    F own = *reinterpret_cast<F*>(bytes);
    own();
  } else {
    (*reinterpret_cast<F*>(bytes))();  // constructors and destructors are the host's
  }
}

// A closure whose parameters are not destroyed with it: as on a GPU, the launch takes their bytes, and the
// host destroys its own.
template <class F>
union Closure {
  F code;
  ~Closure() {}
};
template <class F>
Closure(F) -> Closure<F>;

template <class F>
void kernel(const char* name, const Closure<F>& closure, int max_threads = 0,
            CallSite at = CallSite::current()) {
  static KernelCode code{name, type_text<F>(), at, &run_thread<F>, sizeof(F), max_threads};
  launch(code, &closure.code);
}
// The form that tests use.
template <class F>
void kernel(const char* name, const F& closure, CallSite at = CallSite::current()) {
  static_assert(std::is_trivially_destructible_v<F>);
  static KernelCode code{name, type_text<F>(), at, &run_thread<F>, sizeof(F), 0};
  launch(code, &closure);
}

// A kernel that is no template, known by its address even if the type was lost, as in (void*)k.
struct Entry {
  template <class... P>
  Entry(const char* name, void (*kernel)(P...)) {
    make_known(name, reinterpret_cast<const void*>(kernel), reinterpret_cast<Code>(kernel), &call_with<P...>);
  }
};

// The extents of a declared array, so that a finding can say a[2][5].
struct ElementsOf {
  std::size_t bytes, element_bytes;
  int rank;
  std::size_t extents[4];
};
template <class T>
inline constexpr ElementsOf elements_of = {
    sizeof(T),
    sizeof(std::remove_all_extents_t<T>),
    static_cast<int>(std::rank_v<T>),
    {std::extent_v<T, 0>, std::extent_v<T, 1>, std::extent_v<T, 2>, std::extent_v<T, 3>}};

// The static shared variables of one declaration, registered before main.
struct SharedStruct {
  SharedStruct(const char* spelled, std::size_t size, std::size_t align);
  const char* type;
  std::size_t bytes, alignment;
  void* known_to_runtime;
};
template <class S>
struct SharedOf {
  static SharedStruct about;
};
template <class S>
SharedStruct SharedOf<S>::about{type_text<S>(), sizeof(S), alignof(S)};

[[gnu::const]] void* shared_member(SharedStruct* of, const char* name, std::size_t offset,
                                   const ElementsOf* type) noexcept;
template <class S, class M>
[[gnu::always_inline]] inline M& shared(const char* name, M S::*member) {
  return *static_cast<M*>(shared_member(&SharedOf<S>::about, name,
                                        static_cast<std::size_t>(__builtin_bit_cast(std::ptrdiff_t, member)),
                                        &elements_of<M>));
}

[[gnu::const]] void* dynamic_shared_address(const char* name, std::size_t element_bytes) noexcept;
struct DynamicShared {
  const char* name;
  template <class T>
  [[gnu::always_inline]] operator T*() const {
    if constexpr (std::is_void_v<T>) return dynamic_shared_address(name, 1);
    else
      return static_cast<T*>(
          const_cast<void*>(static_cast<const volatile void*>(dynamic_shared_address(name, sizeof(T)))));
  }
};
inline DynamicShared dynamic_shared(const char* name) { return {name}; }

// A __device__, __constant__ or __managed__ variable.
class Variable {
 public:
  enum Kind { device, constant, managed };
  template <class T>
  Variable(const char* name, T& variable, Kind kind, CallSite at = CallSite::current(),
           bool has_value = true) {
    add(name, const_cast<void*>(static_cast<const volatile void*>(&variable)), kind, &elements_of<T>, at,
        has_value);
  }

 private:
  static void add(const char* name, void* at, Kind kind, const ElementsOf* type, CallSite declared,
                  bool has_value);
};

}  // namespace tessera_cuda
