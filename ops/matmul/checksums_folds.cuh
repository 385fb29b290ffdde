// SPDX-License-Identifier: Apache-2.0
// Row sums of one matrix with several sets of weights at a time: it is read from memory once for all of them.
// What limits this is arithmetic, three operations on doubles for each element and set; alone each set would
// wait for memory.
//
// A block takes 64 rows and a segment of their elements, which pass through shared memory as doubles, so that
// they are widened once. Each warp takes some of a chunk's elements, each thread four rows and four sets.
#pragma once
#include "ops/matmul/checksums_kernels.cuh"

namespace tessera::matmul::checksum {

constexpr int most_folds = 8;
constexpr int fold_rows = 64, fold_segment = 2048, warps = threads / 32;

// Jobs of one matrix, whose elements lie along the sums in words of 16 bytes.
struct FoldJobs {
  Job job[most_folds];
  int count;
};

template <class T>
struct FoldShape {
  static constexpr int words = 16 / sizeof(T);            // elements of a word
  static constexpr int chunk = sizeof(T) >= 4 ? 32 : 64;  // elements of a row at a time
  static constexpr int words_of_a_row = chunk / words;
  static constexpr int words_of_a_thread = fold_rows * words_of_a_row / threads;
  static constexpr int weights_of_a_thread = most_folds * chunk / threads;
  static constexpr int pitch = fold_rows + 2;  // lanes that store a column meet in fewer banks
};

// What the block reads next, on its way through registers.
template <class T>
struct FoldChunk {
  using Shape = FoldShape<T>;
  Words<T, Shape::words> words[Shape::words_of_a_thread];
  double2 weights[Shape::weights_of_a_thread];  // and the size

  // Beyond the segment there is nothing, of sets that are none, too.
  // `from`: the block's first row, at the segment's beginning; `rows` of it there are, and `length` elements
  // of a row.
  __device__ void load(const FoldJobs& jobs, const T* from, int rows, std::int64_t first, int at,
                       int length) {
#pragma unroll
    for (int i = 0; i < Shape::words_of_a_thread; ++i) {
      const int word = static_cast<int>(threadIdx.x) + i * threads;
      const int row = min(word / Shape::words_of_a_row, rows - 1),
                col = at + word % Shape::words_of_a_row * Shape::words;
      words[i] = col < length ? checksum::load<T, Shape::words>(from + row * jobs.job[0].stride + col)
                              : Words<T, Shape::words>{};
    }
#pragma unroll
    for (int i = 0; i < Shape::weights_of_a_thread; ++i) {
      const int pair = static_cast<int>(threadIdx.x) + i * threads, fold = pair / Shape::chunk;
      const int col = at + pair % Shape::chunk;
      weights[i] = {0, 0};
      if (fold < jobs.count && col < length)
        weights[i] = {__ldg(jobs.job[fold].pass.weights + first + col),
                      __ldg(jobs.job[fold].pass.sizes + first + col)};
    }
  }

  // Elements as [chunk][row], weights and sizes as [chunk][set].
  __device__ void store(double* elements, double2* sets) const {
#pragma unroll
    for (int i = 0; i < Shape::words_of_a_thread; ++i) {
      const int word = static_cast<int>(threadIdx.x) + i * threads;
      const int row = word / Shape::words_of_a_row, col = word % Shape::words_of_a_row * Shape::words;
#pragma unroll
      for (int e = 0; e < Shape::words; ++e)
        elements[(col + e) * Shape::pitch + row] = number(words[i].values[e]);
    }
#pragma unroll
    for (int i = 0; i < Shape::weights_of_a_thread; ++i) {
      const int pair = static_cast<int>(threadIdx.x) + i * threads;
      sets[pair % Shape::chunk * most_folds + pair / Shape::chunk] = weights[i];
    }
  }
};

constexpr int rows_of_a_thread = 4, folds_of_a_thread = 4;
using FoldSums = Partial[rows_of_a_thread][folds_of_a_thread];

// The thread's rows are two neighbours in each half of the block's: neighbouring lanes read neighbouring
// words.
__device__ inline int row_of_lane(int lane, int r) { return lane % 16 * 2 + r % 2 + r / 2 * (fold_rows / 2); }

template <class T>
__device__ void add_chunk(const double* elements, const double2* sets, FoldSums& found) {
  using Shape = FoldShape<T>;
  constexpr int of_a_warp = Shape::chunk / warps;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
  for (int l = warp * of_a_warp; l < (warp + 1) * of_a_warp; ++l) {
    const double* const line = elements + l * Shape::pitch + lane % 16 * 2;
    const double2 upper = *reinterpret_cast<const double2*>(line),
                  lower = *reinterpret_cast<const double2*>(line + fold_rows / 2);
    const double x[rows_of_a_thread] = {upper.x, upper.y, lower.x, lower.y};
#pragma unroll
    for (int f = 0; f < folds_of_a_thread; ++f) {
      const double2 set = sets[l * most_folds + lane / 16 * folds_of_a_thread + f];
#pragma unroll
      for (int r = 0; r < rows_of_a_thread; ++r) found[r][f].add(x[r], set.x, set.y);
    }
  }
}

// Adds up what the warps have found of each row and set, in their order: the sums, or the squares.
template <bool squares>
__device__ void leave_folds(const FoldJobs& jobs, std::int64_t first_row, int part, const FoldSums& found,
                            double* shared) {
  constexpr int numbers = fold_rows * most_folds;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  __syncthreads();
#pragma unroll
  for (int r = 0; r < rows_of_a_thread; ++r)
#pragma unroll
    for (int f = 0; f < folds_of_a_thread; ++f)
      shared[warp * numbers + (lane / 16 * folds_of_a_thread + f) * fold_rows + row_of_lane(lane, r)] =
          squares ? found[r][f].squares : found[r][f].sum;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < numbers; i += threads) {
    const int fold = i / fold_rows;
    const std::int64_t row = first_row + i % fold_rows, rows = jobs.job[0].pass.rows;
    if (fold >= jobs.count || row >= rows) continue;
    double sum = 0;
    for (int w = 0; w < warps; ++w) sum += shared[w * numbers + i];
    (squares ? jobs.job[fold].squares : jobs.job[fold].sums)[part * rows + row] = sum;
  }
}

// Blocks: pieces of rows times parts of the sums, as the jobs say.
template <class T>
__global__ void __launch_bounds__(threads, 2) sum_folds(const __grid_constant__ FoldJobs jobs) {
  using Shape = FoldShape<T>;
  constexpr int elements_room = Shape::chunk * Shape::pitch, reduce_room = warps * fold_rows * most_folds;
  __shared__ __align__(16) double room[elements_room > reduce_room ? elements_room : reduce_room];
  __shared__ double2 sets[Shape::chunk * most_folds];
  const int piece = static_cast<int>(blockIdx.x) / jobs.job[0].parts,
            part = static_cast<int>(blockIdx.x) % jobs.job[0].parts;
  const Pass& p = jobs.job[0].pass;
  const std::int64_t first_row = static_cast<std::int64_t>(piece) * fold_rows,
                     first = static_cast<std::int64_t>(part) * fold_segment;
  const int rows = static_cast<int>(min(static_cast<std::int64_t>(fold_rows), p.rows - first_row)),
            length = static_cast<int>(min(static_cast<std::int64_t>(fold_segment), p.cols - first));
  const T* const from = static_cast<const T*>(p.matrix.data) + first_row * jobs.job[0].stride + first;
  FoldSums found;
  FoldChunk<T> next;
  next.load(jobs, from, rows, first, 0, length);
#pragma unroll 1
  for (int at = 0; at < length; at += Shape::chunk) {
    __syncthreads();
    next.store(room, sets);
    __syncthreads();
    if (at + Shape::chunk < length) next.load(jobs, from, rows, first, at + Shape::chunk, length);
    add_chunk<T>(room, sets, found);
  }
  leave_folds<false>(jobs, first_row, part, found, room);
  leave_folds<true>(jobs, first_row, part, found, room);
}

}  // namespace tessera::matmul::checksum
