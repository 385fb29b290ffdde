// SPDX-License-Identifier: Apache-2.0
// A BLAS-like library as a baseline, in a child process with its own environment; the library's threads spin
// after a call; the child answers when they sleep, so that they do not slow the candidate measured next.
// OpenBLAS's child is here, for both operations.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstdint>
#include <dlfcn.h>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include "ops/matmul/matmul.hpp"
#include "tessera/core/device/child.hpp"
#include "tessera/baseline.hpp"

namespace tessera::matmul {

// Row-major operands, contiguous in memory shared with the child: A, B, C.
struct GemmRequest {
  std::int64_t m, n, k;
  bool transposed_a, transposed_b;  // memory holds the transpose
  double alpha, beta;
  bool f64;
  int threads;
  std::int64_t batch = 1;  // products: all A first, then all B, then all C
};

template <class T>
struct BlasProduct {
  const GemmRequest& request;
  const T* a;
  const T* b;
  T* c;
  // BLAS requires leading dimensions of at least 1.
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

// Returns why the library cannot be loaded; tries it in a child, without loading it here.
inline Reason library_missing(const std::string& library) {
  static std::mutex mutex;
  static std::map<std::string, Reason> known;
  const std::lock_guard lock(mutex);
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

// Times the second of two rounds: threads are awake then and operands in the caches. The first round writes
// an unused C and is skipped if it would take too long. Short products are timed in many rounds with that C,
// because reading the clock twice takes longer than one product.
template <class T, class Call>
double serve_gemm(const GemmRequest& r, void* bytes, const Call& call) {
  constexpr double long_work = 5e10;  // flops
  constexpr double short_seconds = 20e-6;
  T* const a = static_cast<T*>(bytes);
  T *const b = a + r.batch * r.m * r.k, *const c = b + r.batch * r.k * r.n;
  T* const unread = c + r.batch * r.m * r.n;
  const auto timed = [&](T* out, int rounds = 1) {
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < rounds; ++round)
      for (std::int64_t e = 0; e < r.batch; ++e)
        call(BlasProduct<T>{r, a + e * r.m * r.k, b + e * r.k * r.n, out + e * r.m * r.n});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / rounds;
  };
  const double flops = 2.0 * static_cast<double>(r.m) * static_cast<double>(r.n) * static_cast<double>(r.k) *
                       static_cast<double>(r.batch);
  if (flops < long_work) timed(unread);
  double seconds = timed(c);
  if (seconds < short_seconds)
    seconds = timed(unread, static_cast<int>(short_seconds / std::max(seconds, 1e-7)) + 1);
  if (r.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  return seconds;
}

// Copies a view, or its transpose if columns are contiguous, to row-major memory; returns true for the
// transpose.
template <class T>
bool copy_operand(const Matrix<const T>& from, T* to) {
  const bool transposed = from.stride[1] != 1 && from.stride[0] == 1;
  const int slow = transposed ? 1 : 0, fast = 1 - slow;
  for (std::int64_t i = 0; i < from.extent[slow]; ++i)
    for (std::int64_t j = 0; j < from.extent[fast]; ++j)
      *to++ = from.data[i * from.stride[slow] + j * from.stride[fast]];
  return transposed;
}

// Passes `batch` problems of one size to the child and copies C back; only the product in the child is timed.
// problem_at(e): the e-th problem.
template <class T, class ProblemAt>
void run_gemm(Child& child, std::int64_t batch, const ProblemAt& problem_at, Run& run) {
  if (batch == 0) return;
  const Problem<T> first = problem_at(0);
  const std::int64_t m = first.m(), n = first.n(), k = first.k();
  if (m == 0 || n == 0) return;
  const std::unique_lock turn = child.turn();
  T* const a = static_cast<T*>(
      child.memory(sizeof(T) * static_cast<std::size_t>(batch * (m * k + k * n + 2 * m * n) + 1)));
  T *const b = a + batch * m * k, *const c = b + batch * k * n;
  GemmRequest request{m,
                      n,
                      k,
                      false,
                      false,
                      static_cast<double>(first.alpha),
                      static_cast<double>(first.beta),
                      std::is_same_v<T, double>,
                      run.device->threads,
                      batch};
  for (std::int64_t e = 0; e < batch; ++e) {
    const Problem<T> p = problem_at(e);
    request.transposed_a = copy_operand(p.a, a + e * m * k);
    request.transposed_b = copy_operand(p.b, b + e * k * n);
    if (p.beta == T{0}) continue;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) c[(e * m + i) * n + j] = p.c0(i, j);
  }
  run.reported_seconds = child.call(request);
  for (std::int64_t e = 0; e < batch; ++e) {
    const Problem<T> p = problem_at(e);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) p.c(i, j) = c[(e * m + i) * n + j];
  }
}

// Refuses sizes that exceed the 32-bit integers of the libraries' interfaces.
inline Reason gemm_refuses(const Arguments& arguments) {
  for (const auto& [name, extent] : arguments.dims())
    if (extent > std::numeric_limits<int>::max())
      return name + " exceeds the 32 bits of the library's interface";
  return std::nullopt;
}

// One call of OpenBLAS, in the child processes.

inline constexpr const char* openblas_library = "libopenblas.so.0";

template <class T>
using CblasGemm = void (*)(int order, int op_a, int op_b, int m, int n, int k, T alpha, const T* a, int lda,
                           const T* b, int ldb, T beta, T* c, int ldc);

template <class T>
void call_cblas(const BlasProduct<T>& g) {
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

// OpenBLAS selects its kernels by detecting the CPU once, when it is loaded, and takes a CPU newer than
// itself for a much older one. It therefore runs both as installed (core=0) and with its kernels for AVX-512
// (core=1), each in its own child process.
template <bool avx512>
Child& openblas() {
  static Child child(
      sizeof(GemmRequest),
      [] { avx512 ? setenv("OPENBLAS_CORETYPE", "SkylakeX", 1) : unsetenv("OPENBLAS_CORETYPE"); },
      [](const void* request, void* bytes) {
        const auto& r = *static_cast<const GemmRequest*>(request);
        return r.f64 ? serve_gemm<double>(r, bytes, call_cblas<double>)
                     : serve_gemm<float>(r, bytes, call_cblas<float>);
      });
  return child;
}

// run(child, problem, run): takes either operation's Problem.
template <template <class> class AnyProblem, class RunIn>
Variant openblas_variant(const char* idea, const RunIn& run) {
  std::vector<Choice> choices;
  for (const bool avx512 : {false, true}) {
    Choice choice = choice_of<AnyProblem, Types<float, double>>(
        [avx512, run](const auto& p, const Tuning&, Run& at) {
          run(avx512 ? openblas<true>() : openblas<false>(), p, at);
        },
        {{"core", avx512 ? 1 : 0}});
    choice.refuses = [avx512](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
      if (avx512 && !__builtin_cpu_supports("avx512vl")) return "this CPU lacks AVX-512";
      return gemm_refuses(arguments);
    };
    choices.push_back(std::move(choice));
  }
  return baseline(idea, Where::cpu, std::move(choices),
                  [](const Device&) { return library_missing(openblas_library); });
}

}  // namespace tessera::matmul
