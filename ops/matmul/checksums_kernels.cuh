// SPDX-License-Identifier: Apache-2.0
// Checksums at the speed of memory. All passes over elements of one type are one launch: each block takes a
// piece of one of the matrices, read in words of 16 bytes where that can be, and leaves partial sums that
// a second launch adds up, always in the same order.
#pragma once
#include <bit>
#include <type_traits>
#include "ops/matmul/checksums.hpp"
#include "tessera/cuda/ptx/scalar.cuh"

namespace tessera::matmul::checksum {

constexpr int threads = 256;
constexpr int rows_of_a_block = 8, segment_words = 2048;  // where sums run along memory
constexpr int depth_of_a_block = 128;                     // where they run across it
constexpr int most_passes = 16;

// A pass with its pieces: `parts` partial sums and squares for each row, part after part.
struct Job {
  Pass pass;
  std::int64_t stride;     // from line to line, where a line's elements are adjacent, else as pass.matrix
  bool across;             // a line's elements belong to different sums
  bool wide;               // words of 16 bytes
  bool folded;             // by the kernel that serves several sets of weights
  int parts, pieces;       // pieces · parts blocks
  double *sums, *squares;  // parts × pass.rows
};

struct Jobs {
  Job job[most_passes];
  int first_block[most_passes + 1];
  int count;
};

__device__ inline double number(double x) { return x; }
__device__ inline double number(float x) { return x; }
__device__ inline double number(bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }
__device__ inline double number(f16 x) { return cuda::ptx::float_of_half(x.bits); }
__device__ inline double number(e5m2 x) {
  return cuda::ptx::float_of_half(static_cast<std::uint16_t>(x.bits << 8));
}
// As a half its exponent is 8 too small. Its one NaN would be 480.
__device__ inline double number(e4m3 x) {
  const unsigned sign = (x.bits & 0x80u) << 8, rest = x.bits & 0x7fu;
  return rest == 0x7f ? nan("")
                      : 256.0 * cuda::ptx::float_of_half(static_cast<std::uint16_t>(sign | rest << 7));
}

template <class T, int count>
struct Words {
  T values[count];
};

template <class T, int count>
__device__ inline Words<T, count> load(const T* from) {
  if constexpr (count == 1) {
    return {{*from}};
  } else {
    static_assert(sizeof(Words<T, count>) == sizeof(uint4));
    return std::bit_cast<Words<T, count>>(__ldg(reinterpret_cast<const uint4*>(from)));
  }
}

// Weights for `count` elements one after another, from an even one on where they are several.
template <int count>
__device__ inline void load_weights(const double* from, double (&to)[count]) {
  if constexpr (count == 1) {
    to[0] = __ldg(from);
  } else {
#pragma unroll
    for (int e = 0; e < count; e += 2) {
      const double2 two = __ldg(reinterpret_cast<const double2*>(from + e));
      to[e] = two.x;
      to[e + 1] = two.y;
    }
  }
}

struct Partial {
  double sum = 0, squares = 0;

  __device__ void add(double x, double weight, double size) {
    const double sized = x * size;
    sum = fma(x, weight, sum);
    squares = fma(sized, sized, squares);
  }
};

using Shared = double[2 * rows_of_a_block][threads];

// Sums run along memory: a block takes a segment of eight rows, so that each weight serves eight elements.
template <class T, int width>
__device__ void along(const Job& job, int piece, int part, Shared& shared) {
  const Pass& p = job.pass;
  const std::int64_t first_row = static_cast<std::int64_t>(piece) * rows_of_a_block;
  constexpr std::int64_t segment = std::int64_t{segment_words} * (16 / sizeof(T));
  const std::int64_t first = part * segment, last = min(p.cols, first + segment);
  const T* row[rows_of_a_block];
  Partial found[rows_of_a_block];
#pragma unroll
  for (int r = 0; r < rows_of_a_block; ++r)  // beyond the last row it repeats
    row[r] = static_cast<const T*>(p.matrix.data) + min(first_row + r, p.rows - 1) * job.stride;
  const std::int64_t step = width == 1 ? p.matrix.col : 1;
  for (std::int64_t j = first + threadIdx.x * width; j < last; j += threads * width) {
    Words<T, width> words[rows_of_a_block];
#pragma unroll
    for (int r = 0; r < rows_of_a_block; ++r) words[r] = load<T, width>(row[r] + j * step);
    double weights[width], sizes[width];
    load_weights(p.weights + j, weights);
    load_weights(p.sizes + j, sizes);
#pragma unroll
    for (int e = 0; e < width; ++e)
#pragma unroll
      for (int r = 0; r < rows_of_a_block; ++r)
        found[r].add(number(words[r].values[e]), weights[e], sizes[e]);
  }
  // Sixteen threads add up what all have found of one number.
#pragma unroll
  for (int r = 0; r < rows_of_a_block; ++r) {
    shared[2 * r][threadIdx.x] = found[r].sum;
    shared[2 * r + 1][threadIdx.x] = found[r].squares;
  }
  __syncthreads();
  constexpr int lanes = threads / (2 * rows_of_a_block);
  const int number_of = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  double sum = 0;
#pragma unroll
  for (int i = 0; i < threads / lanes; ++i) sum += shared[number_of][lane + i * lanes];
#pragma unroll
  for (int offset = lanes / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset, lanes);
  const std::int64_t i = first_row + number_of / 2;
  if (lane == 0 && i < p.rows) (number_of % 2 == 0 ? job.sums : job.squares)[part * p.rows + i] = sum;
}

// Sums run across memory: each thread keeps those of a word's elements, over some of the lines.
template <class T, int width>
__device__ void across(const Job& job, int piece, int part) {
  const Pass& p = job.pass;
  const std::int64_t i = (static_cast<std::int64_t>(piece) * threads + threadIdx.x) * width;
  if (i >= p.rows) return;
  const std::int64_t first = static_cast<std::int64_t>(part) * depth_of_a_block,
                     last = min(p.cols, first + depth_of_a_block);
  const T* const from = static_cast<const T*>(p.matrix.data) + i;
  Partial found[width];
#pragma unroll 8
  for (std::int64_t l = first; l < last; ++l) {
    const Words<T, width> words = load<T, width>(from + l * job.stride);
    const double weight = __ldg(p.weights + l), size = __ldg(p.sizes + l);
#pragma unroll
    for (int e = 0; e < width; ++e) found[e].add(number(words.values[e]), weight, size);
  }
#pragma unroll
  for (int e = 0; e < width; ++e) {
    job.sums[part * p.rows + i + e] = found[e].sum;
    job.squares[part * p.rows + i + e] = found[e].squares;
  }
}

template <class T>
__global__ void __launch_bounds__(threads) sum(const __grid_constant__ Jobs jobs) {
  __shared__ Shared shared;
  int at = 0;
  while (at + 1 < jobs.count && static_cast<int>(blockIdx.x) >= jobs.first_block[at + 1]) ++at;
  const Job& job = jobs.job[at];
  const int block = static_cast<int>(blockIdx.x) - jobs.first_block[at];
  const int piece = block / job.parts, part = block % job.parts;
  constexpr int width = 16 / sizeof(T);
  if (job.across && job.wide) across<T, width>(job, piece, part);
  else if (job.across) across<T, 1>(job, piece, part);
  else if (job.wide) along<T, width>(job, piece, part, shared);
  else along<T, 1>(job, piece, part, shared);
}

constexpr int tally_threads = 1024;

__global__ void __launch_bounds__(tally_threads)
    tally(const __grid_constant__ Lines lines, const __grid_constant__ Tolerance tolerance, Tally* to) {
  Tally found;
#pragma unroll 1
  for (std::int64_t i = threadIdx.x; i < lines.count; i += tally_threads)
    found.add(residual_ratio(tolerance, lines.at(i)));
  // Threads that found some: whether there are any is what counts.
  const int beyond = __syncthreads_count(found.beyond != 0), untold = __syncthreads_count(found.untold != 0);
  if (threadIdx.x == 0) *to = {beyond, untold};
}

}  // namespace tessera::matmul::checksum
