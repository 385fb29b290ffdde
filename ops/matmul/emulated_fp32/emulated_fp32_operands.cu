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

// Programmatic dependent launch: each kernel of a call but the first may become resident while the previous
// one finishes.
constexpr bool first = false, follows = true;

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

template <Compute compute>
void decompose(std::initializer_list<DecompositionTask> all, cudaStream_t stream) {
  using S = DecompositionShape;
  DecomposedPair pair{};
  int count = 0;
  for (const DecompositionTask& x : all) {
    if (x.ready) continue;
    pair.of[count] = operand_of(compute, x);
    pair.blocks[count++] = ceil_div(x.from.rows, S::lines) * ceil_div(x.from.k, S::k);
  }
  if (count == 0) return;
  launch_grid(decompose_operands<compute>, {.grid = {pair.blocks[0] + pair.blocks[1]}, .block = {S::threads}},
              0, stream, first, pair);
}

void decompose_any(Compute compute, std::initializer_list<DecompositionTask> all, cudaStream_t stream) {
  if (compute == Compute::f16x3) decompose<Compute::f16x3>(all, stream);
  else if (compute == Compute::tf32x3) decompose<Compute::tf32x3>(all, stream);
  else decompose<Compute::bf16x6>(all, stream);
}

// Sets one operand's arguments of the range check and returns its number of blocks: 0 if its range is known.
std::int64_t put(RangeCheckArgs& args, int i, Compute compute, const DecompositionTask& x) {
  const EmulatedLayout layout(compute, x.from.rows, x.from.k);
  args.k = x.from.k;
  args.compute = compute;
  if (x.ready) {
    args.known[i] = reinterpret_cast<const OperandRange*>(layout.range_in(x.parts));
    return 0;
  }
  args.ranges[i] = reinterpret_cast<const uint4*>(layout.ranges_in(x.parts));
  args.lines[i] = x.from.rows;
  args.lines_step[i] = layout.lines_step;
  return ceil_div(x.from.rows, RangeCheckShape::lines);
}

// Rung 11's kernel, with the epilogue applied element by element.
struct StrictArgs {
  WarpArgs<float> warp;
  MixedProblem p;
  const std::uint32_t* in_range;
};

template <Access access_a, Access access_b>
struct StrictTiles : WarpTiles<float, warp_small, access_a, access_b> {
  using Base = WarpTiles<float, warp_small, access_a, access_b>;
  __device__ void operator()(Thread thread, typename Base::Shared& shared, const StrictArgs& args) const {
    cuda::ptx::griddepcontrol_wait();
    if (__ldcg(args.in_range) != 0) return;
    const Problem<float>& p = args.warp.p;
    const TileOrder::Tile tile = args.warp.order.at(thread.block().x);
    const std::int64_t row = std::int64_t{tile.row} * warp_small.m,
                       col = std::int64_t{tile.col} * warp_small.n;
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

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, Kernel::min_blocks_per_sm)
    multiply_tiles_strictly(const __grid_constant__ StrictArgs args) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Kernel{}(Thread{}, *reinterpret_cast<typename Kernel::Shared*>(memory), args);
}

// Launches strict f32. Its blocks become resident while the product's last ones run; most return at once.
template <class Kernel>
void launch_strictly(const StrictArgs& args, const Run& run) {
  constexpr std::size_t bytes = sizeof(typename Kernel::Shared);
  static_assert(bytes <= 48 * 1024);
  launch_grid(multiply_tiles_strictly<Kernel>,
              {.grid = {args.warp.order.count()}, .block = {Kernel::threads}}, bytes,
              static_cast<cudaStream_t>(run.stream), follows, args);
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
                    void* range_check, std::uint32_t* in_range, cudaStream_t stream) {
  decompose_any(compute, {a, b}, stream);
  RangeCheckArgs args{};
  const std::int64_t of_a = put(args, 0, compute, a), blocks = of_a + put(args, 1, compute, b);
  args.blocks_of_a = static_cast<std::uint32_t>(of_a);
  args.workspace = static_cast<RangeCheckWorkspace*>(range_check);
  args.in_range = in_range;
  launch_grid(check_range, {.grid = {blocks > 0 ? blocks : 1}, .block = {RangeCheckShape::threads}}, 0,
              stream, blocks == 0 ? first : follows, args);
}

void decompose_one(Compute compute, const DecompositionTask& x, void* range_check, cudaStream_t stream) {
  decompose_any(compute, {x}, stream);
  RangeCheckArgs args{};
  const std::int64_t blocks = put(args, 0, compute, x);
  args.blocks_of_a = static_cast<std::uint32_t>(blocks);
  args.workspace = static_cast<RangeCheckWorkspace*>(range_check);
  args.result =
      reinterpret_cast<OperandRange*>(EmulatedLayout(compute, x.from.rows, x.from.k).range_in(x.parts));
  launch_grid(check_range, {.grid = {blocks}, .block = {RangeCheckShape::threads}}, 0, stream, follows, args);
}

void multiply_strictly(const MixedProblem& p, const std::uint32_t* in_range, Run& run) {
  StrictArgs args{.warp = {}, .p = p, .in_range = in_range};
  Problem<float>& q = args.warp.p;
  q.a = {static_cast<const float*>(p.a.data), {p.m, p.k}, {p.a.row_stride, p.a.col_stride}};
  q.b = {static_cast<const float*>(p.b.data), {p.k, p.n}, {p.b.row_stride, p.b.col_stride}};
  q.c = {static_cast<float*>(p.c), {p.m, p.n}, {p.c_row_stride, p.c_col_stride}};
  args.warp.order = warp_small.order(p.m, p.n);
  // Two access patterns suffice, because this is rare.
  if (access_to_a(q) == Access::along_k && access_to_b(q) == Access::vector)
    launch_strictly<StrictTiles<Access::along_k, Access::vector>>(args, run);
  else launch_strictly<StrictTiles<Access::along_mn, Access::along_mn>>(args, run);
}

}  // namespace tessera::matmul
