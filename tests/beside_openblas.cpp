// SPDX-License-Identifier: Apache-2.0
// multiply() on one core beside OpenBLAS, which is told its core, in turn, by public calls.
//   beside_openblas [--seconds S]
// Small products in time; products of one to sixteen rows or columns, whose large operand lies beyond the
// last cache, as their share of what reading it alone reaches. Exit code 1: the two do not agree.
#include <dlfcn.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>
#include "tessera/matmul.hpp"

namespace {

using tessera::matmul::Options;

template <class T>
using Gemm = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

struct OpenBlas {
  Gemm<float> f32 = nullptr;
  Gemm<double> f64 = nullptr;
  std::string core = "not installed";

  OpenBlas() {
#if defined(__x86_64__)
    setenv("OPENBLAS_CORETYPE", __builtin_cpu_supports("avx512f") ? "SkylakeX" : "Haswell", 0);
#endif
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void* const library = dlopen("libopenblas.so.0", RTLD_NOW);
    if (library == nullptr) return;
    f32 = reinterpret_cast<Gemm<float>>(dlsym(library, "cblas_sgemm"));
    f64 = reinterpret_cast<Gemm<double>>(dlsym(library, "cblas_dgemm"));
    if (auto* const name = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename")))
      core = name();
  }
  template <class T>
  Gemm<T> gemm() const {
    if constexpr (sizeof(T) == 4) return f32;
    else return f64;
  }
};

// Row-major, B also transposed.
template <class T>
struct Product {
  std::int64_t m, n, k;
  bool transpose_b;
  const T *a, *b;
  T *ours, *theirs;
  Options options = {.transpose_b = transpose_b, .request = {.device = "cpu:threads=1"}};

  void multiply() const {
    const std::int64_t rows = transpose_b ? n : k, cols = transpose_b ? k : n;
    tessera::matmul::multiply<T>({a, m, k}, {b, rows, cols}, {ours, m, n}, options);
  }
  void openblas(Gemm<T> gemm) const {
    const auto whole = [](std::int64_t x) { return static_cast<int>(x); };
    gemm(101, 111, transpose_b ? 112 : 111, whole(m), whole(n), whole(k), 1, a, whole(k), b,
         whole(transpose_b ? k : n), 0, theirs, whole(n));
  }
  bool agrees() const {
    const double most = 4 * std::sqrt(static_cast<double>(k)) * (sizeof(T) == 4 ? 6e-8 : 1.2e-16);
    for (std::int64_t i = 0; i < m * n; ++i)
      if (!(std::fabs(static_cast<double>(ours[i] - theirs[i])) <= most * static_cast<double>(k)))
        return false;
    return true;
  }
};

double seconds_of(const std::function<void()>& work, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

// The least time of each, in turn.
std::vector<double> least(const std::vector<std::function<void()>>& all, int calls, double seconds) {
  std::vector<double> out(all.size(), 1e9);
  const auto start = std::chrono::steady_clock::now();
  do
    for (std::size_t i = 0; i < all.size(); ++i) out[i] = std::min(out[i], seconds_of(all[i], calls));
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds);
  return out;
}

template <class T>
std::vector<T> drawn(std::int64_t count) {
  std::mt19937 random(1);
  std::vector<T> out(static_cast<std::size_t>(count));
  for (T& x : out) x = static_cast<T>(static_cast<double>(random()) / 4294967296.0 - 0.5);
  return out;
}

template <class T>
bool small_products(const OpenBlas& blas, double seconds) {
  bool right = true;
  for (const std::int64_t size : {8, 16, 32, 48, 64, 96, 128, 192, 256}) {
    const std::vector<T> a = drawn<T>(size * size), b = drawn<T>(size * size);
    std::vector<T> ours(a.size()), theirs(a.size());
    Product<T> p{size, size, size, false, a.data(), b.data(), ours.data(), theirs.data()};
    std::vector<std::function<void()>> all{[&] { p.multiply(); }};
    if (blas.gemm<T>() != nullptr) all.push_back([&] { p.openblas(blas.gemm<T>()); });
    const double work = static_cast<double>(size * size * size);
    const auto times = least(all, static_cast<int>(std::max(1.0, 1e6 / work)), seconds);
    std::printf("%s %4lld³  %10.3f µs", sizeof(T) == 4 ? "f32" : "f64", static_cast<long long>(size),
                times[0] * 1e6);
    if (times.size() > 1) {
      std::printf("  OpenBLAS %10.3f µs  × %.2f", times[1] * 1e6, times[1] / times[0]);
      right = right && p.agrees();
    }
    std::printf("\n");
  }
  return right;
}

// What a loop that only reads reaches. Its sums are kept in as many registers as it takes to wait for memory
// alone.
template <class T>
T sum_of(const std::vector<T>& x) {
  constexpr std::size_t chains = 128 / sizeof(T) * 4;
  T sums[chains] = {};
  for (std::size_t i = 0; i + chains <= x.size(); i += chains)
    for (std::size_t j = 0; j < chains; ++j) sums[j] += x[i + j];
  for (std::size_t j = 1; j < chains; ++j) sums[0] += sums[j];
  return sums[0];
}

template <class T>
bool few_rows(const OpenBlas& blas, double seconds) {
  constexpr std::int64_t k = 4096, n = (std::int64_t{128} << 20) / k / static_cast<std::int64_t>(sizeof(T));
  const std::vector<T> b = drawn<T>(k * n), a = drawn<T>(16 * k);
  std::vector<T> ours(static_cast<std::size_t>(16 * n)), theirs(ours.size());
  volatile T sink = 0;
  bool right = true;
  for (const bool transpose_b : {false, true})
    for (const std::int64_t m : {1, 2, 4, 8, 16}) {
      Product<T> p{m, n, k, transpose_b, a.data(), b.data(), ours.data(), theirs.data()};
      std::vector<std::function<void()>> all{[&] { p.multiply(); }, [&] { sink = sum_of(b); }};
      if (blas.gemm<T>() != nullptr) all.push_back([&] { p.openblas(blas.gemm<T>()); });
      const auto times = least(all, 1, seconds);
      const double bytes = static_cast<double>(k * n) * sizeof(T);
      std::printf("%s %2lld × %lld × %lld, %s of B contiguous  %5.1f GB/s, reading alone %5.1f: %.2f",
                  sizeof(T) == 4 ? "f32" : "f64", static_cast<long long>(m), static_cast<long long>(n),
                  static_cast<long long>(k), transpose_b ? "columns" : "rows", bytes / times[0] / 1e9,
                  bytes / times[1] / 1e9, times[1] / times[0]);
      if (times.size() > 2) {
        std::printf("  OpenBLAS %5.1f GB/s", bytes / times[2] / 1e9);
        right = right && p.agrees();
      }
      std::printf("\n");
    }
  return right;
}

}  // namespace

int main(int count, char** words) {
  const double seconds = count == 3 && std::string(words[1]) == "--seconds" ? std::atof(words[2]) : 0.2;
  const OpenBlas blas;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("OpenBLAS: %s\n", blas.core.c_str());
  bool right = small_products<float>(blas, seconds);
  right = small_products<double>(blas, seconds) && right;
  right = few_rows<float>(blas, seconds) && right;
  right = few_rows<double>(blas, seconds) && right;
  if (!right) std::fprintf(stderr, "wrong: the results do not agree\n");
  return right ? 0 : 1;
}
