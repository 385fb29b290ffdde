// SPDX-License-Identifier: Apache-2.0
// Kernels that prepare f32 operands for the tensor cores. decompose_operands: splits each line along k into
// parts of fewer bits, in lines of 128 bytes (emulated_fp32_kinds.cuh), with a power of two for each 64 k of
// f16 parts. Its last block decides on the device which arithmetic is as accurate as f32. If the requested
// one is not, fall_back() (emulated_fp32_operands.cuh) decomposes to bf16 parts or computes strict f32.
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

// An OperandRange as words, whose maxima blocks compute by atomicMax.
struct RaisedRange {
  static constexpr int words = sizeof(OperandRange) / 4;
  std::uint32_t word[words];
};
// Zeros before and after the pass. Groups of lines share the counters: the last block of a counter reduces
// all its groups.
struct RangeCheckWorkspace {
  static constexpr std::int64_t counters = (range_check_bytes - 2 * sizeof(RaisedRange)) / 4 - 1;
  RaisedRange of[2];
  std::uint32_t reduced;  // counters whose groups are reduced
  std::uint32_t arrived[counters];
};
static_assert(sizeof(RangeCheckWorkspace) <= range_check_bytes);

struct DecomposedPair {
  DecomposedOperand of[2];
  std::int64_t groups[2];        // groups of DecompositionShape::lines lines; 0: decomposed already
  const OperandRange* known[2];  // the ranges of operands that are decomposed already
  std::int64_t k;
  RangeCheckWorkspace* workspace;
  OperandRange* result;  // the range of the first operand, if it is the only one
  Compute* used;         // the result of used_arithmetic() for `requested`, if there are two operands
  Compute requested;

  __host__ __device__ std::int64_t spans() const {
    return (k + DecompositionShape::k - 1) / DecompositionShape::k;
  }
  __host__ __device__ std::int64_t blocks() const { return (groups[0] + groups[1]) * spans(); }
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

struct alignas(16) DecompositionTiles {
  float of[2][DecompositionShape::lines * DecompositionShape::padded];
};

// Decomposes a block's 32 lines of 256 k, 64 at a time by way of shared memory: reads are along the
// contiguous dimension, and the next 64 are loaded while these are split.
template <Compute compute, bool along_k>
__device__ __forceinline__ void decompose_lines(const DecomposedOperand& x, std::int64_t group,
                                                std::int64_t span, DecompositionTiles& tiles) {
  using S = DecompositionShape;
  const std::int64_t first_line = group * S::lines, first_k = span * S::k;
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
    float* const here = tiles.of[chunk % 2];
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
  if (x.ranges == nullptr) return;
#pragma unroll
  for (int pass = 0; pass < S::passes; ++pass) {
    const int line = first + pass * lines_apart;
    const uint4 seen = sight[pass].packed(__float_as_uint(scale[pass]) >> 23);
    if (at == 0 && line < lines) x.ranges[span * x.lines_step + first_line + line] = seen;
  }
}

template <Compute compute>
__device__ __forceinline__ void decompose_block(const DecomposedPair& pair, std::int64_t block,
                                                DecompositionTiles& tiles) {
  const std::int64_t group = block / pair.spans(), span = block - group * pair.spans();
  const bool second = group >= pair.groups[0];
  const DecomposedOperand& x = pair.of[second ? 1 : 0];
  const std::int64_t group_of_operand = group - (second ? pair.groups[0] : 0);
  if (x.k_stride == 1) decompose_lines<compute, true>(x, group_of_operand, span, tiles);
  else decompose_lines<compute, false>(x, group_of_operand, span, tiles);
}

// Each warp's statistics of the lines of its lanes.
struct WarpLineRanges {
  static constexpr int warps = DecompositionShape::threads / 32;
  LineRange of[warps][DecompositionShape::lines];
};

// True in the last of `count` blocks to arrive, which may then read what the others wrote.
__device__ __forceinline__ bool is_last_block(std::uint32_t& counter, std::int64_t count) {
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // also orders the block's writes before the barrier
    is_last = atomicAdd(&counter, 1u) == static_cast<std::uint32_t>(count - 1);
    if (is_last) counter = 0;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

// Reduces the statistics of a group of lines. Each lane has a line, and the warps take its pieces in turn.
__device__ __forceinline__ void raise_range(const DecomposedPair& pair, std::int64_t group,
                                            WarpLineRanges& seen) {
  const int which = group < pair.groups[0] ? 0 : 1, lane = static_cast<int>(threadIdx.x) % 32,
            warp = static_cast<int>(threadIdx.x) / 32;
  const DecomposedOperand& x = pair.of[which];
  const std::int64_t line = (group - (which == 0 ? 0 : pair.groups[0])) * DecompositionShape::lines + lane;
  OperandRange range;
  LineRange mine;
  if (line < x.lines) {
#pragma unroll 4
    for (std::int64_t piece = warp; piece < pair.spans(); piece += WarpLineRanges::warps) {
      const uint4 some = __ldcg(x.ranges + piece * x.lines_step + line);
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
  if (warp == 0 && line < x.lines) {
    for (int other = 1; other < WarpLineRanges::warps; ++other) mine.add(seen.of[other][lane]);
    range.add(mine, pair.k);
  }
  __syncthreads();
  const auto* const words = reinterpret_cast<const std::uint32_t*>(&range);
#pragma unroll
  for (int i = 0; i < RaisedRange::words; ++i) {
    const std::uint32_t most = __reduce_max_sync(0xffffffffu, words[i]);
    if (lane == 0 && most != 0) atomicMax(&pair.workspace->of[which].word[i], most);
  }
}

// Writes `result` or `used`, and zeros the ranges in the workspace.
__device__ __forceinline__ void decide(const DecomposedPair& pair) {
  OperandRange both[2];
  for (int i = 0; i < 2; ++i) {
    if (pair.known[i] != nullptr) {
      both[i] = *pair.known[i];
      continue;
    }
    auto* const to = reinterpret_cast<std::uint32_t*>(&both[i]);
    for (int j = 0; j < RaisedRange::words; ++j) to[j] = atomicExch(&pair.workspace->of[i].word[j], 0u);
  }
  if (pair.result != nullptr) *pair.result = both[0];
  if (pair.used != nullptr) *pair.used = used_arithmetic(pair.requested, both[0], both[1], pair.k);
}

template <Compute compute>
__global__ void __launch_bounds__(DecompositionShape::threads, 4)
    decompose_operands(const __grid_constant__ DecomposedPair pair) {
  __shared__ DecompositionTiles tiles;
  static_assert(sizeof(WarpLineRanges) <= sizeof tiles);
  cuda::ptx::griddepcontrol_launch_dependents();
  const std::int64_t groups = pair.groups[0] + pair.groups[1];
  if (groups > 0) {
    constexpr std::int64_t counters = RangeCheckWorkspace::counters;
    decompose_block<compute>(pair, blockIdx.x, tiles);
    const std::int64_t counter = blockIdx.x / pair.spans() % counters,
                       groups_of_counter = (groups - counter + counters - 1) / counters;
    if (!is_last_block(pair.workspace->arrived[counter], groups_of_counter * pair.spans())) return;
    for (std::int64_t group = counter; group < groups; group += counters)
      raise_range(pair, group, *reinterpret_cast<WarpLineRanges*>(&tiles));
    if (!is_last_block(pair.workspace->reduced, min(groups, counters))) return;
  }
  if (threadIdx.x == 0) decide(pair);
}

}  // namespace tessera::matmul
