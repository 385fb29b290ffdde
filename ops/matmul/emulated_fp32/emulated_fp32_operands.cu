// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/emulated_fp32/emulated_fp32_operands.cuh"
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/kernels/simt/warp_kernel.cuh"
#include "ops/matmul/emulated_fp32/emulated_fp32_kernels.cuh"
#include "tessera/cuda/resources.hpp"
#include "tessera/kernel.hpp"
#include "tessera/core/array/rounding.hpp"

namespace tessera::matmul {
namespace {

std::size_t rounded_up(std::int64_t bytes) { return static_cast<std::size_t>(round_up(bytes, 256)); }

DecomposedOperand operand_of(Compute compute, const DecompositionTask& x) {
  const EmulatedLayout layout(compute, x.from.rows, x.from.k);
  return {static_cast<const float*>(x.from.data),
          x.from.rows,
          x.from.k,
          x.from.row_stride,
          x.from.k == 1 ? 1 : x.from.k_stride,
          layout.parts_in(x.parts),
          layout.line_bytes,
          layout.scales_in(x.parts),
          reinterpret_cast<uint4*>(layout.ranges_in(x.parts)),
          layout.lines_step};
}

// Returns the arguments of a pass, without workspace and results.
DecomposedPair pair_of(Compute compute, std::initializer_list<DecompositionTask> all) {
  DecomposedPair out{};
  int i = 0;
  for (const DecompositionTask& x : all) {
    out.k = x.from.k;
    out.of[i] = operand_of(compute, x);
    if (x.ready)
      out.known[i] = reinterpret_cast<const OperandRange*>(
          EmulatedLayout(compute, x.from.rows, x.from.k).range_in(x.parts));
    else out.groups[i] = ceil_div(x.from.rows, DecompositionShape::lines);
    ++i;
  }
  return out;
}

template <Compute compute>
void launch_pass(const DecomposedPair& pair, cudaStream_t stream) {
  launch_grid(decompose_operands<compute>,
              {.grid = {std::max<std::int64_t>(1, pair.blocks())}, .block = {DecompositionShape::threads}}, 0,
              stream, false, pair);
}
void launch_pass(Compute compute, const DecomposedPair& pair, cudaStream_t stream) {
  if (compute == Compute::f16x3) launch_pass<Compute::f16x3>(pair, stream);
  else if (compute == Compute::tf32x3) launch_pass<Compute::tf32x3>(pair, stream);
  else launch_pass<Compute::bf16x6>(pair, stream);
}

// Strict f32 is rung 11's kernel, with the epilogue applied element by element.
struct FallbackArgs {
  Compute requested;
  const Compute* used;
  DecomposedPair bf16;
  WarpArgs<float> warp;
  MixedProblem p;
};

template <Access access_a, Access access_b>
struct StrictTiles : WarpTiles<float, warp_half, access_a, access_b> {
  using Base = WarpTiles<float, warp_half, access_a, access_b>;
  __device__ static void multiply_tile(Thread thread, std::int64_t index, typename Base::Shared& shared,
                                       const FallbackArgs& args) {
    const Problem<float>& p = args.warp.p;
    const TileOrder::Tile tile = args.warp.order.at(static_cast<std::int32_t>(index));
    const std::int64_t row = std::int64_t{tile.row} * warp_half.m, col = std::int64_t{tile.col} * warp_half.n;
    const int rank = thread.index().x;
    const typename Base::ThreadOffset offset(rank);
    typename Base::Sums sums = {};
    typename Base::PanelA a(rank, p.a.data, row, p.m(), p.a.stride[0], 0, p.a.stride[1]);
    typename Base::PanelB b(rank, p.b.data, col, p.n(), p.b.stride[1], 0, p.b.stride[0]);
    Base::sum_over_k(thread, shared.slice[0], a, b, offset, p.k(), sums);
#pragma unroll
    for (int i = 0; i < Base::thread_m; ++i)
#pragma unroll
      for (int j = 0; j < Base::thread_n; ++j)
        store(args.p, row + offset.m + Base::Layout::row_of(i), col + offset.n + Base::Layout::col_of(j),
              sums[i][j]);
    cuda::ptx::cp_async_wait_group<0>();
    thread.sync();  // the next tile is copied to the same memory
  }

  static __device__ __forceinline__ void store(const MixedProblem& p, std::int64_t i, std::int64_t j,
                                               float sum) {
    if (i >= p.m || j >= p.n) return;
    const float scale_a = p.scale_a != nullptr ? p.scale_a[i * p.scale_a_stride] : 1.0f,
                scale_b = p.scale_b != nullptr ? p.scale_b[j * p.scale_b_stride] : 1.0f;
    float value = scaled_sum(p.alpha, scale_a, scale_b, sum);
    if (p.beta != 0)
      value += p.beta * static_cast<const float*>(p.c0.data)[i * p.c0.row_stride + j * p.c0.col_stride];
    if (p.bias != nullptr)
      value += static_cast<const float*>(p.bias)[i * p.bias_row_stride + j * p.bias_col_stride];
    static_cast<float*>(p.c)[i * p.c_row_stride + j * p.c_col_stride] = apply(p.post_op, value);
  }
};

template <Access access_a, Access access_b>
__global__ void __launch_bounds__(warp_half.threads(), warp_half.blocks)
    fall_back_kernel(const __grid_constant__ FallbackArgs args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  using Strict = StrictTiles<access_a, access_b>;
  cuda::ptx::griddepcontrol_wait();
  cuda::ptx::griddepcontrol_launch_dependents();
  const auto used = static_cast<Compute>(__ldcg(reinterpret_cast<const unsigned char*>(args.used)));
  if (used == args.requested) return;
  const std::int64_t count = used == Compute::strict ? args.warp.order.count() : args.bf16.blocks();
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    if (used == Compute::strict) {
      Strict::multiply_tile(Thread{}, i, *reinterpret_cast<typename Strict::Shared*>(memory), args);
      continue;
    }
    decompose_block<Compute::bf16x6>(args.bf16, i, *reinterpret_cast<DecompositionTiles*>(memory));
    __syncthreads();
  }
}

template <Access access_a, Access access_b>
void launch_fallback(const FallbackArgs& args, const Run& run) {
  constexpr std::size_t bytes =
      std::max(sizeof(typename StrictTiles<access_a, access_b>::Shared), sizeof(DecompositionTiles));
  static_assert(bytes <= 48 * 1024 && warp_half.threads() == DecompositionShape::threads);
  const std::int64_t resident = std::int64_t{warp_half.blocks} * run.device->multiprocessors;
  launch_grid(fall_back_kernel<access_a, access_b>,
              {.grid = {std::min(resident, std::max(args.warp.order.count(), args.bf16.blocks()))},
               .block = {warp_half.threads()}},
              bytes, static_cast<cudaStream_t>(run.stream), true, args);
}

}  // namespace

EmulatedLayout::EmulatedLayout(Compute compute, std::int64_t lines, std::int64_t k)
    : line_bytes(ceil_div(k, 2 * k_of_line(compute)) * 256),
      lines_step(round_up(lines, 256)),
      parts(rounded_up(lines * line_bytes)),
      scales(compute == Compute::f16x3 ? rounded_up(lines_step * ceil_div(k, DecompositionShape::chunk) * 4)
                                       : 0),
      ranges(rounded_up(lines_step * ceil_div(k, DecompositionShape::k) * 16)) {}

void decompose_both(Compute compute, const DecompositionTask& a, const DecompositionTask& b,
                    void* range_check, Compute* used, cudaStream_t stream) {
  DecomposedPair pair = pair_of(compute, {a, b});
  pair.workspace = static_cast<RangeCheckWorkspace*>(range_check);
  pair.requested = compute;
  pair.used = used;
  launch_pass(compute, pair, stream);
}

void decompose_one(Compute compute, const DecompositionTask& x, void* range_check, cudaStream_t stream) {
  DecomposedPair pair = pair_of(compute, {x});
  pair.workspace = static_cast<RangeCheckWorkspace*>(range_check);
  pair.result =
      reinterpret_cast<OperandRange*>(EmulatedLayout(compute, x.from.rows, x.from.k).range_in(x.parts));
  launch_pass(compute, pair, stream);
}

void fall_back(const MixedProblem& p, Compute requested, const Compute* used, const DecompositionTask& a,
               const DecompositionTask& b, Run& run) {
  FallbackArgs args{.requested = requested, .used = used, .bf16 = {}, .warp = {}, .p = p};
  if (requested == Compute::f16x3) args.bf16 = pair_of(Compute::bf16x6, {a, b});
  for (DecomposedOperand& x : args.bf16.of) x.ranges = nullptr;  // the check is done
  Problem<float>& q = args.warp.p;
  q.a = {static_cast<const float*>(p.a.data), {p.m, p.k}, {p.a.row_stride, p.a.col_stride}};
  q.b = {static_cast<const float*>(p.b.data), {p.k, p.n}, {p.b.row_stride, p.b.col_stride}};
  q.c = {static_cast<float*>(p.c), {p.m, p.n}, {p.c_row_stride, p.c_col_stride}};
  args.warp.order = warp_half.order(p.m, p.n);
  // Two access patterns suffice, because this is rare.
  if (access_to_a(q) == Access::along_k && access_to_b(q) == Access::vector)
    launch_fallback<Access::along_k, Access::vector>(args, run);
  else launch_fallback<Access::along_mn, Access::along_mn>(args, run);
}

}  // namespace tessera::matmul
