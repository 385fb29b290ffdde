// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/kernels/regions_source.hpp"
#include "tessera/formula/emit.hpp"

namespace tessera::integration {
namespace {

constexpr std::string_view names = R"(
#define REGION_FN __device__ __forceinline__
#define REGION_UNROLL _Pragma("unroll")
#define REGION_NO_UNROLL _Pragma("unroll 1")
)";

constexpr std::string_view estimate =
#include "ops/integrate/quadrature/region_estimate-inl.h.text"
    ;

constexpr std::string_view regions =
#include "ops/integrate/kernels/regions-inl.h.text"
    ;

constexpr std::string_view kernel = R"(
struct Integrand {
  static constexpr int most = axes;
  const RegionFrame& frame;

  __device__ static constexpr int d() { return most; }
  __device__ Spot spot(int axis, double u) const {
    if (plain) return {u, 1};
    return region_spot(frame.map[axis], u);
  }
  __device__ double per_length(int axis) const { return frame.map[axis].per_length; }
  __device__ __forceinline__ double operator()(const Spot (&at)[most]) const {
    if (plain) return of_spots(at);
    double slope = 1;
#pragma unroll
    for (int k = 0; k < most; ++k) slope *= at[k].slope;
    return of_spots(at) * slope;
  }
};

struct Lanes {
  __device__ double other(double mine) const { return __shfl_xor_sync(0xffffffffu, mine, 1); }
  __device__ void add(long long* to, long long by) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), (unsigned long long)(by));
  }
};

extern "C" __global__ void __launch_bounds__(threads, residents) estimate_regions(const __grid_constant__ RegionFrame frame) {
  split_regions(Integrand{frame}, frame, (long long)(blockIdx.x) * threads + threadIdx.x,
                (long long)(gridDim.x) * threads, Lanes{});
}
)";

// CUDA's take half the operations of those that have the same bits everywhere.
std::string with_native_functions(std::string text) {
  for (const char* name :
       {"exp",  "exp2", "expm1", "log",  "log2", "log10", "log1p", "sin",   "cos",  "tan", "asin",
        "acos", "atan", "sinh",  "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "pow"}) {
    const std::string own = std::string("formula::") + name + "(", other = std::string("::") + name + "(";
    for (std::size_t at = text.find(own); at != std::string::npos; at = text.find(own, at + 1))
      text.replace(at, own.size(), other);
  }
  return text;
}

// `of_spots`: the formula of an array.
std::string arguments_of(int axes) {
  std::string out =
      "static __device__ __forceinline__ double of_spots(const Spot (&at)[axes]) {\n  return integrand(";
  for (int k = 0; k < axes; ++k) out += (k == 0 ? "at[" : ", at[") + std::to_string(k) + "].x";
  return out + ");\n}\n";
}

}  // namespace

std::string region_source_of(const formula::Program<double>& program, const CompiledRegions& how) {
  const int axes = program.input_count;
  std::string out(formula::elementary_source());
  out += names;
  const auto constant = [&out](const char* name, int value) {
    out += std::string("constexpr int ") + name + " = " + std::to_string(value) + ";\n";
  };
  constant("axes", axes);
  constant("threads", compiled_region_threads);
  constant("residents", how.residents);
  constant("region_unrolled", how.unroll);
  out += std::string("constexpr bool plain = ") + (how.plain ? "true" : "false") + ";\n";
  out += estimate;
  out += regions;
  const std::string integrand = formula::source_of(program, "integrand");
  out += how.native ? with_native_functions(integrand) : integrand;
  out += arguments_of(axes);
  out += kernel;
  return out;
}

}  // namespace tessera::integration
