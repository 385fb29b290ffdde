// SPDX-License-Identifier: Apache-2.0
// CPU baseline: OpenBLAS, entry after entry. (Debian's 0.3.21 has no product of a batch.)
//
// As installed (core=0) and avx512 to use its kernels for AVX-512 (core=1), as the single product's baseline
// is, each in a child process of its own. OpenBLAS itself decides how many threads an entry deserves.
#include <cstdlib>
#include <thread>
#include "matmul_batch.hpp"
#include "ops/matmul/baselines/gemm_child.hpp"

namespace tessera::matmul_batch {
namespace {

using matmul::GemmRequest;

struct BatchRequest {
  GemmRequest one;
  std::int64_t batch;
};

// A of all entries lies before B of all, then C, then room for a C that nobody reads: the first of two calls
// wakes the library's threads.
template <class T>
double serve(const BatchRequest& request, void* bytes) {
  constexpr double long_work = 5e10;  // flops
  const GemmRequest& r = request.one;
  const T* const a = static_cast<T*>(bytes);
  const T* const b = a + request.batch * r.m * r.k;
  T* const c = const_cast<T*>(b) + request.batch * r.k * r.n;
  const auto timed = [&](T* out) {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t e = 0; e < request.batch; ++e)
      matmul::call_cblas(matmul::Gemm<T>{r, a + e * r.m * r.k, b + e * r.k * r.n, out + e * r.m * r.n});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double flops = 2.0 * static_cast<double>(r.m) * static_cast<double>(r.n) * static_cast<double>(r.k) *
                       static_cast<double>(request.batch);
  if (flops < long_work) timed(c + request.batch * r.m * r.n);
  const double seconds = timed(c);
  if (r.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  return seconds;
}

Child& openblas(bool avx512) {
  static std::unique_ptr<Child> children[2];
  auto& child = children[avx512 ? 1 : 0];
  if (child == nullptr)
    child = std::make_unique<Child>(
        sizeof(BatchRequest),
        [avx512] { avx512 ? setenv("OPENBLAS_CORETYPE", "SkylakeX", 1) : unsetenv("OPENBLAS_CORETYPE"); },
        [](const void* request, void* bytes) {
          const auto& r = *static_cast<const BatchRequest*>(request);
          return r.one.f64 ? serve<double>(r, bytes) : serve<float>(r, bytes);
        });
  return *child;
}

template <class T>
void run_batch(Child& child, const Problem<T>& p, Run& run) {
  const std::int64_t m = p.first.m(), n = p.first.n(), k = p.first.k(), batch = p.batch;
  if (batch == 0 || m == 0 || n == 0) return;
  T* const a = static_cast<T*>(
      child.memory(sizeof(T) * static_cast<std::size_t>(batch * (m * k + k * n + 2 * m * n) + 1)));
  T *const b = a + batch * m * k, *const c = b + batch * k * n;
  BatchRequest request{{m, n, k, false, false, static_cast<double>(p.first.alpha),
                        static_cast<double>(p.first.beta), std::is_same_v<T, double>, run.device->threads},
                       batch};
  for (std::int64_t e = 0; e < batch; ++e) {
    const auto one = p.entry(e);
    request.one.transposed_a = matmul::copy_operand(one.a, a + e * m * k);
    request.one.transposed_b = matmul::copy_operand(one.b, b + e * k * n);
    if (one.beta == T{0}) continue;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) c[(e * m + i) * n + j] = one.c0(i, j);
  }
  run.own_seconds = child.call(request);
  for (std::int64_t e = 0; e < batch; ++e) {
    const auto one = p.entry(e);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) one.c(i, j) = c[(e * m + i) * n + j];
  }
}

Choice choice(bool avx512) {
  const auto run = [avx512](const auto& p, const Tuning&, Run& at) { run_batch(openblas(avx512), p, at); };
  Choice out = choice_of<Problem, Types<float, double>>(run, {{"core", avx512 ? 1 : 0}});
  out.refuses = [avx512](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    if (avx512 && !__builtin_cpu_supports("avx512vl")) return "this CPU lacks AVX-512";
    return matmul::gemm_refuses(arguments);
  };
  return out;
}

Variant variant() {
  Variant v;
  v.idea = "OpenBLAS, entry after entry: as installed (core=0), and avx512 to use AVX-512 (core=1)";
  v.where = Where::cpu;
  v.choices = {choice(false), choice(true)};
  v.baseline = true;
  v.needs = [](const Device&) { return matmul::library_missing(matmul::openblas_library); };
  return v;
}

const Rung rung{variant()};

}  // namespace
}  // namespace tessera::matmul_batch
