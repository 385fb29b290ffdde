// SPDX-License-Identifier: Apache-2.0
// Kernels that prepare f32 operands for the tensor cores. decompose_operands: splits each line along k into
// parts of fewer bits, in lines of 128 bytes (emulated_fp32_kinds.cuh), with a power of two for each 64 k of
// f16 parts. check_range: decides on the device whether the product by parts will be as accurate as f32's; if
// not, another kernel multiplies.
#pragma once
#include <cstdint>
#include "ops/matmul/emulated_fp32/emulated_fp32.hpp"
#include "ops/matmul/emulated_fp32/emulated_fp32_operands.cuh"
#include "tessera/cuda/ptx/control.cuh"

namespace tessera::matmul {

struct DecomposedOperand {
  const float* from;
  std::int64_t lines, k, row_stride, k_stride;  // the operand's size and strides, in elements
  unsigned char* to;
  std::int64_t to_step;  // bytes from one line to the next, a multiple of 256
  float* scales;         // reciprocal scales of the first 64 k, of all lines; then of the next 64
  uint4* ranges;         // LineRangeWords of the first `DecompositionShape::k` of all lines; then of the next
  std::int64_t lines_step;  // `lines`, rounded up
};

struct DecompositionShape {
  static constexpr int threads = 256, lines = 32, chunk = 64, chunks = 4, k = chunk * chunks,
                       loads = lines * chunk / threads, padded = chunk + 4, lanes = 16,
                       passes = lines * lanes / threads;
};

struct DecomposedPair {
  DecomposedOperand of[2];
  std::int64_t blocks[2];  // the grid's blocks for each operand
};

// Reduces over the 16 lanes that share a line.
template <class T, class Join>
__device__ __forceinline__ T over_line(T x, const Join& join) {
#pragma unroll
  for (int i = 1; i < DecompositionShape::lanes; i *= 2) x = join(x, __shfl_xor_sync(0xffffffffu, x, i));
  return x;
}
__device__ __forceinline__ std::uint32_t both_halves(std::uint16_t a, std::uint16_t b) {
  return a | static_cast<std::uint32_t>(b) << 16;
}

// Stores the parts of four neighbours along k, from step 4·`at` of a chunk of 64 on, in `to`'s lines.
__device__ __forceinline__ void store_f16(const float (&x)[4], float scale, int at, unsigned char* to) {
  F16Parts part[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) part[i] = decompose_f16(x[i], scale);
  unsigned char* const line = to + at / 8 * 128 + at % 8 * 8;
  *reinterpret_cast<uint2*>(line) = {both_halves(part[0].hi, part[1].hi),
                                     both_halves(part[2].hi, part[3].hi)};
  *reinterpret_cast<uint2*>(line + 64) = {both_halves(part[0].lo, part[1].lo),
                                          both_halves(part[2].lo, part[3].lo)};
}
__device__ __forceinline__ void store_tf32(const float (&x)[4], int at, unsigned char* to) {
  Tf32Parts part[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) part[i] = decompose_tf32(x[i]);
  unsigned char* const line = to + at / 4 * 128 + at % 4 * 16;
  *reinterpret_cast<float4*>(line) = {part[0].hi, part[1].hi, part[2].hi, part[3].hi};
  *reinterpret_cast<float4*>(line + 64) = {part[0].lo, part[1].lo, part[2].lo, part[3].lo};
}
__device__ __forceinline__ void store_bf16(const float (&x)[4], int at, unsigned char* to) {
  Bf16Parts part[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) part[i] = decompose_bf16(x[i]);
  unsigned char* const line = to + at / 4 * 128 + at % 4 * 8;
  *reinterpret_cast<uint2*>(line) = {both_halves(part[0].b0, part[1].b0),
                                     both_halves(part[2].b0, part[3].b0)};
  *reinterpret_cast<uint2*>(line + 32) = {both_halves(part[0].b1, part[1].b1),
                                          both_halves(part[2].b1, part[3].b1)};
  *reinterpret_cast<uint2*>(line + 64) = {both_halves(part[0].b2, part[1].b2),
                                          both_halves(part[2].b2, part[3].b2)};
  *reinterpret_cast<uint2*>(line + 96) = {0, 0};
}

// A thread's statistics of a line's 256 k: a ChunkRange with its last two members in one word.
struct LineRangeWords {
  float largest = 0, sum = 0;
  std::uint32_t logarithms = 0, counts = 0;

  __device__ __forceinline__ void add(const ChunkRange& range) {
    largest = max(largest, range.largest);
    sum += range.sum;
    logarithms += range.logarithms;
    counts += range.zeros | static_cast<std::uint32_t>(range.unfit) << 16;
  }
  __device__ __forceinline__ uint4 packed(std::uint32_t scale) const {
    const auto both = [](auto x, auto y) { return x + y; };
    const std::uint32_t all = over_line(counts, both);
    return {__float_as_uint(over_line(largest, [](float x, float y) { return max(x, y); })),
            __float_as_uint(over_line(sum, both)), over_line(logarithms, both),
            (all & 0xffff) | (all >> 16 != 0 ? 1u << 16 : 0) | scale << 24};
  }
};

// Decomposes a block's 32 lines of 256 k, 64 at a time by way of shared memory: reads are along the
// contiguous dimension, and the next 64 are loaded while these are split.
template <Compute compute, bool along_k>
__device__ __forceinline__ void decompose_block(
    const DecomposedOperand& x, std::int64_t block,
    float (&tile)[2][DecompositionShape::lines * DecompositionShape::padded]) {
  using S = DecompositionShape;
  const std::int64_t spans = (x.k + S::k - 1) / S::k, group = block / spans, span = block - group * spans,
                     first_line = group * S::lines, first_k = span * S::k;
  const int me = static_cast<int>(threadIdx.x),
            lines = static_cast<int>(min(x.lines - first_line, std::int64_t{S::lines})),
            k = static_cast<int>(min(x.k - first_k, std::int64_t{S::k}));
  // A thread's loads are apart by lines if along_k, else by steps of k.
  constexpr int apart = S::threads / (along_k ? S::chunk : S::lines);
  const int line_of_load = along_k ? me / S::chunk : me % S::lines,
            step_of_load = along_k ? me % S::chunk : me / S::lines;
  const std::int64_t to_next = apart * (along_k ? x.row_stride : x.k_stride);
  const float* from =
      x.from + (first_line + line_of_load) * x.row_stride + (first_k + step_of_load) * x.k_stride;
  float value[S::loads];
  const auto load = [&](int chunk) {
    const float* here = from;
#pragma unroll
    for (int i = 0; i < S::loads; ++i, here += to_next) {
      const int line = line_of_load + (along_k ? i * apart : 0),
                step = chunk * S::chunk + step_of_load + (along_k ? 0 : i * apart);
      value[i] = line < lines && step < k ? __ldg(here) : 0.0f;
    }
    from += S::chunk * x.k_stride;
  };
  const int at = me % S::lanes, first = me / S::lanes;
  constexpr int lines_apart = S::threads / S::lanes;
  LineRangeWords sight[S::passes];
  float scale[S::passes] = {};
  load(0);
#pragma unroll 1
  for (int chunk = 0; chunk * S::chunk < k; ++chunk) {
    float* const here = tile[chunk % 2];
#pragma unroll
    for (int i = 0; i < S::loads; ++i)
      here[line_of_load * S::padded + step_of_load + i * apart * (along_k ? S::padded : 1)] = value[i];
    __syncthreads();
    load(chunk + 1);
    const std::int64_t chunk_k = first_k + chunk * S::chunk, line_at = chunk_k / k_of_line(compute) * 128;
    // Lines of the last chunk may end before 64 k.
    const bool is_available = line_at + 4 * at / k_of_line(compute) * 128 < x.to_step;
    const int left = k - chunk * S::chunk - 4 * at;
#pragma unroll
    for (int pass = 0; pass < S::passes; ++pass) {
      const int line = first + pass * lines_apart;
      const float4 all = *reinterpret_cast<const float4*>(here + line * S::padded + 4 * at);
      const float four[4] = {all.x, all.y, all.z, all.w};
      ChunkRange range;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (i < left) range.add(four[i]);
      sight[pass].add(range);
      unsigned char* const to = x.to + (first_line + line) * x.to_step + line_at;
      const bool stores = is_available && line < lines;
      if constexpr (compute == Compute::f16x3) {
        const float largest = over_line(range.largest, [](float y, float z) { return max(y, z); }),
                    by = chunk_scale(largest);
        if (stores) store_f16(four, by, at, to);
        if (largest != 0) scale[pass] = max(scale[pass], by);
        if (at == 0 && line < lines)
          x.scales[chunk_k / S::chunk * x.lines_step + first_line + line] = reciprocal_of_power(by);
      } else if (stores) {
        if constexpr (compute == Compute::tf32x3) store_tf32(four, at, to);
        else store_bf16(four, at, to);
      }
    }
  }
#pragma unroll
  for (int pass = 0; pass < S::passes; ++pass) {
    const int line = first + pass * lines_apart;
    const uint4 seen = sight[pass].packed(__float_as_uint(scale[pass]) >> 23);
    if (at == 0 && line < lines) x.ranges[span * x.lines_step + first_line + line] = seen;
  }
}

template <Compute compute>
__global__ void __launch_bounds__(DecompositionShape::threads, 4)
    decompose_operands(const __grid_constant__ DecomposedPair pair) {
  __shared__ float tile[2][DecompositionShape::lines * DecompositionShape::padded];
  cuda::ptx::griddepcontrol_wait();
  cuda::ptx::griddepcontrol_launch_dependents();
  const std::int64_t block = blockIdx.x;
  const bool second = block >= pair.blocks[0];
  const DecomposedOperand& x = pair.of[second ? 1 : 0];
  const std::int64_t local_block = block - (second ? pair.blocks[0] : 0);
  if (x.k_stride == 1) decompose_block<compute, true>(x, local_block, tile);
  else decompose_block<compute, false>(x, local_block, tile);
}

// The words of an OperandRange, which blocks raise by atomicMax, and the number of blocks that have.
struct RaisedRange {
  static constexpr int words = sizeof(OperandRange) / 4;
  std::uint32_t word[words];
};
struct RangeCheckWorkspace {  // zeros before and after
  RaisedRange of[2];
  std::uint32_t arrived;
};

struct RangeCheckArgs {
  const uint4* ranges[2];  // null: see `known`
  const OperandRange* known[2];
  std::int64_t lines[2], lines_step[2];
  std::uint32_t blocks_of_a;
  std::int64_t k;
  Compute compute;
  RangeCheckWorkspace* workspace;
  OperandRange* result;     // the range of the first operand, if it is the only one
  std::uint32_t* in_range;  // otherwise: 1, or 0 if strict f32 is to be computed
};

struct RangeCheckShape {
  static constexpr int lines = 32, warps = 8, threads = 32 * warps;
};

// Each warp's statistics of the lines of its lanes.
struct WarpLineRanges {
  LineRange of[RangeCheckShape::warps][RangeCheckShape::lines];
};

// Each lane has a line, and the warps take its pieces in turn; the last block to arrive decides.
__global__ void __launch_bounds__(RangeCheckShape::threads)
    check_range(const __grid_constant__ RangeCheckArgs args) {
  using S = RangeCheckShape;
  __shared__ __align__(16) unsigned char memory[sizeof(WarpLineRanges)];
  WarpLineRanges& seen = *reinterpret_cast<WarpLineRanges*>(memory);
  cuda::ptx::griddepcontrol_wait();
  cuda::ptx::griddepcontrol_launch_dependents();
  const int which = blockIdx.x < args.blocks_of_a ? 0 : 1, lane = static_cast<int>(threadIdx.x) % 32,
            warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t line = std::int64_t{blockIdx.x - (which == 0 ? 0 : args.blocks_of_a)} * S::lines + lane,
                     step = args.lines_step[which],
                     pieces = (args.k + DecompositionShape::k - 1) / DecompositionShape::k;
  OperandRange range;
  LineRange mine;
  if (line < args.lines[which]) {
    const uint4* const from = args.ranges[which] + line;
#pragma unroll 4
    for (std::int64_t piece = warp; piece < pieces; piece += S::warps) {
      const uint4 some = __ldg(from + piece * step);
      ChunkRange chunk;
      chunk.largest = __uint_as_float(some.x);
      chunk.sum = __uint_as_float(some.y);
      chunk.logarithms = some.z;
      chunk.zeros = static_cast<std::uint16_t>(some.w & 0xffff);
      chunk.unfit = static_cast<std::uint16_t>(some.w >> 16 & 1);
      mine.add(chunk);
      range.add_scale(__uint_as_float(some.w >> 24 << 23));
    }
  }
  seen.of[warp][lane] = mine;
  __syncthreads();
  if (warp == 0 && line < args.lines[which]) {
    for (int other = 1; other < S::warps; ++other) mine.add(seen.of[other][lane]);
    range.add(mine, args.k);
  }
  const auto* const words = reinterpret_cast<const std::uint32_t*>(&range);
#pragma unroll
  for (int i = 0; i < RaisedRange::words; ++i) {
    const std::uint32_t most = __reduce_max_sync(0xffffffffu, words[i]);
    if (threadIdx.x % 32 == 0 && most != 0) atomicMax(&args.workspace->of[which].word[i], most);
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(&args.workspace->arrived, 1u) != gridDim.x - 1) return;
  __threadfence();
  OperandRange both[2];
  for (int i = 0; i < 2; ++i) {
    if (args.known[i] != nullptr) {
      both[i] = *args.known[i];
      continue;
    }
    auto* const to = reinterpret_cast<std::uint32_t*>(&both[i]);
    for (int j = 0; j < RaisedRange::words; ++j) to[j] = atomicExch(&args.workspace->of[i].word[j], 0u);
  }
  args.workspace->arrived = 0;
  if (args.result != nullptr) *args.result = both[0];
  if (args.in_range != nullptr)
    *args.in_range = passes_range_check(args.compute, both[0], both[1], args.k) ? 1 : 0;
}

}  // namespace tessera::matmul
