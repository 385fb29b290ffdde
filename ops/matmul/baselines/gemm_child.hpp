// SPDX-License-Identifier: Apache-2.0
// A BLAS-like library as a baseline, run in a child process: it is loaded there with an environment
// of its own, and its threads, which keep spinning after a call, have gone to sleep before the child
// answers, so that they do not slow the candidate measured next.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <dlfcn.h>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include "ops/matmul/matmul.hpp"
#include "tessera/core/child.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {

// Row-major operands that lie one after another in shared memory: A, B, C.
struct GemmRequest {
  std::int64_t m, n, k;
  bool transposed_a, transposed_b;  // as they lie in memory
  double alpha, beta;
  bool f64;
  int threads;
};

template <class T>
struct Gemm {
  const GemmRequest& request;
  const T* a;
  const T* b;
  T* c;
  // As BLAS wants them; a leading dimension is never 0.
  std::int64_t lda() const { return std::max<std::int64_t>(1, request.transposed_a ? request.m : request.k); }
  std::int64_t ldb() const { return std::max<std::int64_t>(1, request.transposed_b ? request.k : request.n); }
  std::int64_t ldc() const { return std::max<std::int64_t>(1, request.n); }
};

inline void* symbol(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* address = handle != nullptr ? dlsym(handle, name) : nullptr;
  if (address == nullptr) throw Error(Error::Kind::internal, dlerror());
  return address;
}

// Whether the program could load it, without loading it here.
inline Reason library_missing(const std::string& library) {
  static std::map<std::string, Reason> known;
  const auto [at, is_new] = known.try_emplace(library);
  if (!is_new) return at->second;
  Child child(
      1, [] {},
      [&](const void*, void*) {
        if (dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) throw Error(dlerror());
        return 0.0;
      });
  try {
    child.call('?');
  } catch (const Error&) {
    at->second = library + " is not installed: make baselines";
  }
  return at->second;
}

// The second of two calls counts: threads are then awake and operands where the first left them. The
// first is made with a C that nobody reads; it is left out where it would cost too long.
template <class T, class Call>
double serve_gemm(const GemmRequest& request, void* bytes, const Call& call) {
  constexpr double long_work = 5e10;  // flops
  T* a = static_cast<T*>(bytes);
  T* b = a + request.m * request.k;
  T* c = b + request.k * request.n;
  const auto timed = [&](T* out) {
    const auto start = std::chrono::steady_clock::now();
    call(Gemm<T>{request, a, b, out});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double flops =
      2.0 * static_cast<double>(request.m) * static_cast<double>(request.n) * static_cast<double>(request.k);
  if (flops < long_work) timed(c + request.m * request.n);
  const double seconds = timed(c);
  if (request.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  return seconds;
}

// Copies a view to row-major memory, or its transpose where that is how it lies; true: the latter.
template <class T>
bool copy_operand(const Matrix<const T>& from, T* to) {
  const bool transposed = from.stride[1] != 1 && from.stride[0] == 1;
  const int slow = transposed ? 1 : 0, fast = 1 - slow;
  for (std::int64_t i = 0; i < from.extent[slow]; ++i)
    for (std::int64_t j = 0; j < from.extent[fast]; ++j)
      *to++ = from.data[i * from.stride[slow] + j * from.stride[fast]];
  return transposed;
}

// Hands the problem to the child and copies C back; only the child's own work is timed.
template <class T>
void run_gemm(Child& child, const Problem<T>& p, Run& run) {
  const std::int64_t m = p.m(), n = p.n(), k = p.k();
  T* a = static_cast<T*>(child.memory(sizeof(T) * static_cast<std::size_t>(m * k + k * n + 2 * m * n + 1)));
  T* b = a + m * k;
  T* c = b + k * n;
  GemmRequest request{m,
                      n,
                      k,
                      copy_operand(p.a, a),
                      copy_operand(p.b, b),
                      static_cast<double>(p.alpha),
                      static_cast<double>(p.beta),
                      std::is_same_v<T, double>,
                      run.device->threads};
  if (p.beta != T{0}) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) c[i * n + j] = p.c0(i, j);
  }
  run.own_seconds = child.call(request);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) p.c(i, j) = c[i * n + j];
}

// Libraries count in 32 bits and leave an empty product to themselves.
inline Reason gemm_refuses(const Arguments& arguments) {
  for (const auto& [name, extent] : arguments.dims())
    if (extent > std::numeric_limits<int>::max())
      return name + " exceeds the 32 bits of the library's interface";
  return std::nullopt;
}

// One call of OpenBLAS, for the child processes that hold it against the rungs.

inline constexpr const char* openblas_library = "libopenblas.so.0";

template <class T>
using CblasGemm = void (*)(int order, int op_a, int op_b, int m, int n, int k, T alpha, const T* a, int lda,
                           const T* b, int ldb, T beta, T* c, int ldc);

template <class T>
void call_cblas(const Gemm<T>& g) {
  constexpr int row_major = 101, as_it_is = 111, transpose = 112;
  static const auto gemm = reinterpret_cast<CblasGemm<T>>(
      symbol(openblas_library, std::is_same_v<T, float> ? "cblas_sgemm" : "cblas_dgemm"));
  static const auto set_threads =
      reinterpret_cast<void (*)(int)>(symbol(openblas_library, "openblas_set_num_threads"));
  const GemmRequest& r = g.request;
  set_threads(r.threads);
  gemm(row_major, r.transposed_a ? transpose : as_it_is, r.transposed_b ? transpose : as_it_is,
       static_cast<int>(r.m), static_cast<int>(r.n), static_cast<int>(r.k), static_cast<T>(r.alpha), g.a,
       static_cast<int>(g.lda()), g.b, static_cast<int>(g.ldb()), static_cast<T>(r.beta), g.c,
       static_cast<int>(g.ldc()));
}

}  // namespace tessera::matmul
