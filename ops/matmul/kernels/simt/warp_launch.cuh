// SPDX-License-Identifier: Apache-2.0
// From a product of rung 11 to the launch of a kernel: which way round, which tile, how each operand is read.
#pragma once
#include <utility>
#include "ops/matmul/kernels/simt/warp_kernel.cuh"
#include "ops/matmul/kernels/simt/warp_plan.hpp"

namespace tessera::matmul {

inline namespace TESSERA_UNIT {

template <class T>
Access access_to(const Matrix<const T>& matrix, std::int64_t stride_mn, std::int64_t stride_k) {
  constexpr std::int64_t vector = 16 / sizeof(T);
  const bool aligned = reinterpret_cast<std::uintptr_t>(matrix.data) % 16 == 0;
  if (stride_mn == 1 && stride_k % vector == 0 && aligned) return Access::vector;
  return stride_k == 1 ? Access::along_k : Access::along_mn;
}
template <class T>
Access access_to_a(const Problem<T>& p) {
  return access_to(p.a, p.a.stride[0], p.a.stride[1]);
}
template <class T>
Access access_to_b(const Problem<T>& p) {
  return access_to(p.b, p.b.stride[1], p.b.stride[0]);
}

// Cᵀ = Bᵀ·Aᵀ
template <class T>
Problem<T> transposed(const Problem<T>& p) {
  const auto exchanged = [](auto matrix) {
    std::swap(matrix.extent[0], matrix.extent[1]);
    std::swap(matrix.stride[0], matrix.stride[1]);
    return matrix;
  };
  Problem<T> out = p;
  out.a = exchanged(p.b);
  out.b = exchanged(p.a);
  out.c = exchanged(p.c);
  out.c0 = exchanged(p.c0);
  return out;
}

// Tiles are at least as wide as high, so what is narrow shall be their rows. Else lanes write neighbours in
// what is contiguous.
template <class T>
bool by_columns(const Problem<T>& p) {
  constexpr std::int64_t narrow = 32;
  if (p.n() <= narrow || p.m() <= narrow) return p.n() < p.m();
  return p.c.stride[1] != 1 && p.c.stride[0] == 1;
}

// Kernels for every way to read both operands would be many: each tile has those that are worth it.
constexpr Access access_of_a(int tile, Access a) {
  if (tile == 3 || (tile != 0 && tile != 1 && a == Access::vector)) return Access::along_mn;
  return a;
}
constexpr bool has_kernel(int tile, Access a, Access b) {
  if (tile == 0) return a != Access::along_mn && b != Access::along_mn;
  return access_of_a(tile, a) == a;
}

struct WarpLaunch {
  WarpArgs<float> args;
  int tile;
  Access a, b;
};

inline WarpLaunch warp_launch(const Problem<float>& problem, const WarpMachine& machine,
                              const WarpOptions& options, void* workspace) {
  const Problem<float> p = by_columns(problem) ? transposed(problem) : problem;
  const Access a = access_to_a(p), b = access_to_b(p);
  unsigned tiles = 0;
  for (int tile = 0; tile < warp_tile_count; ++tile)
    if (has_kernel(tile, access_of_a(tile, a), b)) tiles |= 1u << tile;
  const WarpPlan plan = plan_warp_tiles(p.m(), p.n(), p.k(), machine, tiles, options);
  auto* const counters = static_cast<std::uint32_t*>(workspace);
  return {{.p = p,
           .order = plan.order,
           .shares = plan.shares,
           .partial = counters == nullptr ? nullptr : counters + most_warp_counters,
           .arrived = counters},
          plan.tile,
          access_of_a(plan.tile, a),
          b};
}

}  // namespace TESSERA_UNIT

}  // namespace tessera::matmul
