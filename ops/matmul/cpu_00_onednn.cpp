// SPDX-License-Identifier: Apache-2.0
// CPU baseline: oneDNN, which compiles kernels for the host CPU on their first call. It supports float
// products, not double.
#include "ops/matmul/baselines/gemm_child.hpp"

namespace tessera::matmul {
namespace {

constexpr const char* library = "libdnnl.so.2";

using DnnlSgemm = int (*)(char op_a, char op_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta,
                          float* c, std::int64_t ldc);

void call_dnnl(const BlasProduct<float>& g) {
  static const auto gemm = reinterpret_cast<DnnlSgemm>(symbol(library, "dnnl_sgemm"));
  static const auto set_threads =
      reinterpret_cast<void (*)(int)>(symbol("libgomp.so.1", "omp_set_num_threads"));
  const GemmRequest& r = g.request;
  set_threads(r.threads);
  const int status =
      gemm(r.transposed_a ? 'T' : 'N', r.transposed_b ? 'T' : 'N', r.m, r.n, r.k, static_cast<float>(r.alpha),
           g.a, g.lda(), g.b, g.ldb(), static_cast<float>(r.beta), g.c, g.ldc());
  if (status != 0) throw Error(Error::Kind::internal, "dnnl_sgemm returns status " + std::to_string(status));
}

Child& onednn() {
  static Child child(
      sizeof(GemmRequest), [] {},
      [](const void* request, void* bytes) {
        return serve_gemm<float>(*static_cast<const GemmRequest*>(request), bytes, call_dnnl);
      });
  return child;
}

Choice by_onednn() {
  Choice choice = choice_of<Problem, Types<float>>([](const auto& p, const Tuning&, Run& at) {
    run_gemm<float>(
        onednn(), 1, [&](std::int64_t) { return p; }, at);
  });
  choice.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    if (Problem<float>::of(arguments).k() == 0) return "dnnl_sgemm does not write C if k = 0";
    return gemm_refuses(arguments);
  };
  return choice;
}

const Rung rung{baseline("oneDNN: kernels compiled for this CPU when first called", Where::cpu, {by_onednn()},
                         [](const Device&) { return library_missing(library); })};

}  // namespace
}  // namespace tessera::matmul
