// SPDX-License-Identifier: Apache-2.0
// Panels of rung 11 in shared memory: how threads copy them there, and where each finds its part.
#pragma once
#include "matmul.hpp"
#include "tessera/core/variant.hpp"
#include "tessera/cuda/ptx/cp_async.cuh"
#include "warp_layout.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

// How a block reads a panel, which lies in shared memory with k as its slow dimension, but for a LinesPanel.
enum class Access {
  along_k,   // along k, whose stride is 1: element by element, transposed on the way; or as it lies
  along_mn,  // element by element, neighbouring lanes along m or n, whatever the strides
  vector,    // 16 bytes at a time along m or n, whose stride is 1, all rows aligned
};

// One operand's panel, `width` by config.depth, and this thread's share in copying it.
template <class T, WarpTilesConfig config, int width, Access access>
class Panel {
  static constexpr int vector = 16 / sizeof(T);
  static constexpr int unit = access == Access::vector ? vector : 1;  // elements a copy moves
  // The threads' arrangement over the panel, in units. Eight lanes along k fill a sector.
  static constexpr int threads = config.slice_threads();
  static constexpr int wide = access == Access::along_k ? threads / 8
                              : width / unit < threads  ? width / unit
                                                        : threads;
  static constexpr int deep = threads / wide;
  static_assert(wide * deep == threads && width % (wide * unit) == 0 && config.depth % deep == 0);

 public:
  // A row 16 bytes longer than the panel is wide spreads a column of eight over all the banks.
  using Stage = T[config.depth][width + vector];
  struct Place {
    int first;  // of a thread's rows or columns
  };

  // From row or column `first` of `extent` on, and from step first_k on.
  __device__ Panel(int thread, const T* data, std::int64_t first, std::int64_t extent, std::int64_t stride,
                   std::int64_t first_k, std::int64_t stride_k)
      : k_(access == Access::along_k ? thread % deep : thread / wide),
        mn_((access == Access::along_k ? thread / deep : thread % wide) * unit),
        left_(extent - first - mn_),
        stride_(access == Access::vector ? 1 : stride),
        stride_k_(access == Access::along_k ? 1 : stride_k),
        data_(data),
        next_(data + (first + mn_) * stride_ + (first_k + k_) * stride_k_) {}

  // Copies the next stage, of which the first `depth_left` steps exist. An `inner` one is all there.
  template <bool inner>
  __device__ void copy(Stage& stage, std::int64_t depth_left) {
    SIMT_UNROLL
    for (int i = 0; i < width / (wide * unit); ++i) {
      SIMT_UNROLL
      for (int j = 0; j < config.depth / deep; ++j) {
        T* const to = &stage[k_ + j * deep][mn_ + i * wide * unit];
        const T* const from = next_ + i * (wide * unit) * stride_ + j * deep * stride_k_;
        if constexpr (inner) cuda::ptx::copy_async<unit * sizeof(T)>(to, from);
        else copy_at_edge(to, from, left_ - i * wide * unit, depth_left - k_ - j * deep);
      }
    }
    next_ += config.depth * stride_k_;
  }

 private:
  __device__ void copy_at_edge(T* to, const T* from, std::int64_t left, std::int64_t depth_left) const {
    int there = depth_left <= 0 || left <= 0 ? 0 : left < unit ? static_cast<int>(left) : unit;
    cuda::ptx::copy_async<unit * sizeof(T)>(to, there > 0 ? from : data_,
                                            there * static_cast<int>(sizeof(T)));
  }

  int k_, mn_;         // of this thread's first unit in the panel
  std::int64_t left_;  // elements of the operand from there on, along m or n
  std::int64_t stride_, stride_k_;
  const T *data_, *next_;
};

// A panel of columns of B that lie along k, as they lie: each in a row of its own, in pieces of 16 bytes. So
// it is copied 16 bytes at a time, and a thread loads several steps of each of its columns at once.
template <class T, WarpTilesConfig config>
class LinesPanel {
  static constexpr int vector = 16 / sizeof(T), pieces = config.depth / vector, row_bytes = pieces * 16;
  static constexpr int threads = config.slice_threads(), lanes = 32 / config.lanes_m;
  // Rows that all threads copy at once, in units of so many elements.
  static constexpr int beside(int unit) { return threads * unit / config.depth; }
  // Lanes that load together, whose columns are `vector` apart, find theirs in neighbouring rows. From as
  // many rows as have 128 bytes to the next as many, pieces are exchanged, so that eight lanes meet all
  // banks.
  static constexpr int row_of(int col) {
    return col / (vector * lanes) * (vector * lanes) + col % vector * lanes + col / vector % lanes;
  }
  static constexpr int col_of(int row) {
    return row / (vector * lanes) * (vector * lanes) + row % lanes * vector + row / lanes % vector;
  }
  static constexpr int exchanged(int row) { return row / (128 / row_bytes) % pieces; }
  static_assert(row_bytes <= 128 && config.n % beside(vector) == 0);

 public:
  using Stage = T[config.n][config.depth];

  // From column `first` of `extent` on, and from step first_k on.
  __device__ LinesPanel(int thread, const T* data, std::int64_t first, std::int64_t extent,
                        std::int64_t stride, std::int64_t first_k, std::int64_t /*stride_k: 1*/)
      : whole_(stride % vector == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0),
        stride_(stride),
        data_(data) {
    const int units = whole_ ? pieces : config.depth, row = thread / units,
              k = thread % units * (whole_ ? vector : 1);
    k_ = k;
    place_ = row * row_bytes + (k / vector ^ exchanged(row)) * 16 + k % vector * static_cast<int>(sizeof(T));
    left_ = extent - first - col_of(row);
    next_ = data + (first + col_of(row)) * stride + first_k + k;
  }

  template <bool inner>
  __device__ void copy(Stage& stage, std::int64_t depth_left) {
    if (whole_) copy_units<vector, inner>(stage, depth_left);
    else copy_units<1, inner>(stage, depth_left);
    next_ += config.depth;
  }

  // Where a thread finds its columns, of which `col` is the first.
  struct Place {
    int of[pieces];
    __device__ explicit Place(int col) {
      SIMT_UNROLL
      for (int i = 0; i < pieces; ++i) of[i] = row_of(col) * row_bytes + (i ^ exchanged(row_of(col))) * 16;
    }
    // Of the column `more` further on, the piece that begins with step k.
    __device__ const void* at(const Stage& stage, int more, int k) const {
      return reinterpret_cast<const char*>(&stage) + of[k / vector ^ exchanged(row_of(more))] +
             row_of(more) * row_bytes;
    }
  };

 private:
  template <int unit, bool inner>
  __device__ void copy_units(Stage& stage, std::int64_t depth_left) const {
    constexpr int passes = config.n / beside(unit);
    if constexpr (unit > 1) {
      SIMT_UNROLL
      for (int i = 0; i < passes; ++i) copy_unit<unit, inner>(stage, depth_left, i * beside(unit));
    } else {  // seldom, and many: there are no registers for all their addresses
      SIMT_NO_UNROLL
      for (int i = 0; i < passes; ++i) copy_unit<unit, inner>(stage, depth_left, i * beside(unit));
    }
  }

  // `more`: a number of rows, of whose bits those that this thread begins with have none.
  template <int unit, bool inner>
  __device__ void copy_unit(Stage& stage, std::int64_t depth_left, int more) const {
    char* const to = reinterpret_cast<char*>(&stage) + (place_ ^ exchanged(more) * 16) + more * row_bytes;
    const T* const from = next_ + col_of(more) * stride_;
    if constexpr (inner) {
      cuda::ptx::copy_async<unit * sizeof(T)>(to, from);
    } else {
      const std::int64_t steps = left_ > col_of(more) ? depth_left - k_ : 0;
      const int there = steps <= 0 ? 0 : steps < unit ? static_cast<int>(steps) : unit;
      cuda::ptx::copy_async<unit * sizeof(T)>(to, there > 0 ? from : data_,
                                              there * static_cast<int>(sizeof(T)));
    }
  }

  bool whole_;         // aligned to 16 bytes; else element by element
  int k_, place_;      // of this thread's first unit in the panel
  std::int64_t left_;  // columns of the operand from there on
  std::int64_t stride_;
  const T *data_, *next_;
};

// Whether B is taken as it lies along k: where a tile is little more than a stream of B. In others, sums of
// several steps from registers beside each other wait for each other.
constexpr bool takes_lines(const WarpTilesConfig& config, Access b) {
  return b == Access::along_k && config.m <= 16;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
