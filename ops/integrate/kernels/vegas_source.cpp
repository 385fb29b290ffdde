// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/kernels/vegas_source.hpp"
#include "tessera/formula/emit.hpp"

namespace tessera::integration {
namespace {

constexpr std::string_view names = R"(
#define VEGAS_FN static __device__ __forceinline__
#define VEGAS_UNROLL _Pragma("unroll")
#define VEGAS_FROM_BITS formula::from_bits
)";

constexpr std::string_view types =
#include "ops/integrate/quadrature/vegas_types-inl.h.text"
    ;

constexpr std::string_view points =
#include "ops/integrate/quadrature/vegas_point-inl.h.text"
    ;

// A block's points teach bins of its own first: neighbours would wait for each other at the grid's.
constexpr std::string_view kernel = R"(
extern "C" __global__ void __launch_bounds__(threads) vegas_sample(
    const __grid_constant__ VegasPlan plan, const __grid_constant__ VegasTasks tasks, const double* __restrict__ edges,
    const VegasAxis* __restrict__ limits, VegasSums* __restrict__ sums, u32* __restrict__ cube_of_task,
    u64* __restrict__ weights, u64* __restrict__ holes) {
  __shared__ u64 own[axes * vegas_bins];
  const bool learns = plan.weight != 0.0;
  if (learns) {
    for (int i = threadIdx.x; i < axes * vegas_bins; i += threads) own[i] = 0;
    __syncthreads();
  }
  const u32 all = tasks.super_first[tasks.supers];
  for (u32 me = blockIdx.x * threads + threadIdx.x; me < all; me += gridDim.x * threads) {
    const VegasTask task = vegas_find(tasks, me);
    cube_of_task[me] = task.cube;
    sums[me] = vegas_task<axes>(
        plan, edges, limits, task.cube, tasks.points[task.cube], task.place * vegas_task_points, axes,
        [](const double* x) { return of_point(x); }, [&](u32 bin, u64 share) { atomicAdd(&own[bin], share); },
        [&] { atomicAdd(holes, 1ull); });
  }
  if (!learns) return;
  __syncthreads();
  for (int i = threadIdx.x; i < axes * vegas_bins; i += threads)
    if (own[i] != 0) atomicAdd(&weights[i], own[i]);
}
)";

}  // namespace

std::string vegas_source_of(const formula::Program<double>& program, int threads) {
  std::string out(formula::elementary_source());
  out += names;
  out += "constexpr int axes = " + std::to_string(program.input_count) +
         ", threads = " + std::to_string(threads) + ";\n";
  out += types;
  out += points;
  out += formula::source_of(program, "integrand");
  out += "static __device__ __forceinline__ double of_point(const double* x) {\n  return integrand(";
  for (int k = 0; k < program.input_count; ++k) out += (k == 0 ? "x[" : ", x[") + std::to_string(k) + "]";
  out += ");\n}\n";
  out += kernel;
  return out;
}

}  // namespace tessera::integration
