// SPDX-License-Identifier: Apache-2.0
// CPU baseline: OpenBLAS, the distribution's free BLAS.
//
// It picks its kernels by recognising the CPU, once, when it is loaded, and takes a CPU newer than
// itself for a much older one. So it is run both as installed (core=0) and avx512 to use its kernels for
// AVX-512 (core=1), each in a child process of its own.
#include <cstdlib>
#include "ops/matmul/baselines/gemm_child.hpp"

namespace tessera::matmul {
namespace {

Child& openblas(bool avx512) {
  static std::unique_ptr<Child> children[2];
  auto& child = children[avx512 ? 1 : 0];
  if (child == nullptr)
    child = std::make_unique<Child>(
        sizeof(GemmRequest),
        [avx512] { avx512 ? setenv("OPENBLAS_CORETYPE", "SkylakeX", 1) : unsetenv("OPENBLAS_CORETYPE"); },
        [](const void* request, void* bytes) {
          const auto& r = *static_cast<const GemmRequest*>(request);
          return r.f64 ? serve_gemm<double>(r, bytes, call_cblas<double>)
                       : serve_gemm<float>(r, bytes, call_cblas<float>);
        });
  return *child;
}

Choice choice(bool avx512) {
  const auto run = [avx512](const auto& p, const Tuning&, Run& at) { run_gemm(openblas(avx512), p, at); };
  Choice out = choice_of<Problem, Types<float, double>>(run, {{"core", avx512 ? 1 : 0}});
  out.refuses = [avx512](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    if (avx512 && !__builtin_cpu_supports("avx512vl")) return "this CPU lacks AVX-512";
    return gemm_refuses(arguments);
  };
  return out;
}

Variant variant() {
  Variant v;
  v.idea = "OpenBLAS: as installed (core=0), and avx512 to use AVX-512 (core=1)";
  v.where = Where::cpu;
  v.choices = {choice(false), choice(true)};
  v.baseline = true;
  v.needs = [](const Device&) { return library_missing(openblas_library); };
  return v;
}

const Rung rung{variant()};

}  // namespace
}  // namespace tessera::matmul
