// SPDX-License-Identifier: Apache-2.0
// One operand's way into shared memory: each thread's part in copying stage after stage. Pieces of 16 bytes
// where the operand lies so that they can be copied whole, else element by element: doubles still
// asynchronously, so that odd sizes cost little; 16-bit elements by way of registers.
#pragma once
#include <cstring>
#include "mma_kinds.cuh"
#include "mma_run.hpp"
#include "tessera/cuda/ptx/cp_async.cuh"

namespace tessera::matmul {

// An operand by its lines: rows of A, columns of B.
template <class Element>
struct MmaOperand {
  const Element* data;
  std::int64_t lines, line_step, k_step;
  bool whole;  // in pieces of 16 bytes, along what its panel lies along
};

// Along what is contiguous, or nearer to it.
inline Along along_of(const MmaFactor& x) {
  return x.k_step == 1 || x.k_step <= x.line_step ? Along::k : Along::lines;
}

template <class Kind>
MmaOperand<typename Kind::Element> operand_of(const MmaFactor& x, std::int64_t k) {
  using Element = typename Kind::Element;
  const bool along_k = along_of(x) == Along::k;
  const std::int64_t step = along_k ? x.k_step : x.line_step, other = along_k ? x.line_step : x.k_step;
  const bool whole = step == 1 && ((along_k ? x.lines : k) == 1 || other * Kind::bytes % 16 == 0) &&
                     reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
  return {static_cast<const Element*>(x.data), x.lines, x.line_step, x.k_step, whole};
}

template <class Kind, class Panel, int threads>
class MmaCopier {
  using Element = typename Kind::Element;
  using Share = MmaShare<Panel, threads>;
  static constexpr bool along_k = Panel::along == Along::k;
  static constexpr int bytes = Kind::bytes;

 public:
  // `thread` of those that copy this panel.
  __device__ MmaCopier(const MmaOperand<Element>& x, int thread, std::int64_t first_line,
                       std::int64_t first_k)
      : x_(x) {
    // Of 16-bit elements, too, a piece is one thread's, whole or not.
    const auto own = Share::first(thread, x.whole || bytes == 2 ? Panel::piece : 1);
    row_ = own.row;
    at_ = own.at;
    place_ = Panel::place_in_row(row_, at_);
    const std::int64_t line = first_line + (along_k ? row_ : at_), k = first_k + (along_k ? at_ : row_);
    const std::int64_t left = x.lines - line;
    lines_left_ = left > 1 << 20 ? 1 << 20 : static_cast<int>(left);
    next_ = x.data + line * x.line_step + k * x.k_step;
  }

  // `k_left` steps of k exist from this stage on. `inside`: all lines, and all of the stage's k.
  __device__ __forceinline__ void copy(unsigned char* panel, bool inside, int k_left) {
    if (!x_.whole) copy_single(panel, k_left);
    else if (inside) copy_whole<true>(panel, k_left);
    else copy_whole<false>(panel, k_left);
    next_ += Panel::depth * x_.k_step;
  }

 private:
  // How many of a piece's elements exist.
  __device__ __forceinline__ int there(int pass, int step, int k_left, int unit) const {
    const int rows = (along_k ? lines_left_ : k_left - row_) - pass * step;
    const int width = along_k ? k_left - at_ : lines_left_;
    return rows <= 0 || width <= 0 ? 0 : width < unit ? width : unit;
  }
  __device__ __forceinline__ std::int64_t row_step(int step) const {
    return step * (along_k ? x_.line_step : x_.k_step);
  }

  template <bool inside>
  __device__ __forceinline__ void copy_whole(unsigned char* panel, int k_left) const {
    constexpr int step = Share::step(Panel::piece);
    const Element* from = next_;
#pragma unroll
    for (int i = 0; i < Share::passes(Panel::piece); ++i, from += row_step(step)) {
      unsigned char* const to = panel + Panel::below(place_, i * step);
      if constexpr (inside) {
        ptx::copy_async<16>(to, from);
      } else {
        const int count = there(i, step, k_left, Panel::piece);
        ptx::copy_async<16>(to, count > 0 ? from : x_.data, count * bytes);
      }
    }
  }

  __device__ __forceinline__ void copy_single(unsigned char* panel, int k_left) const {
    constexpr int unit = bytes == 2 ? Panel::piece : 1, step = Share::step(unit);
    const Element* from = next_;
#pragma unroll
    for (int i = 0; i < Share::passes(unit); ++i, from += row_step(step)) {
      unsigned char* const to = panel + Panel::below(place_, i * step);
      const int count = there(i, step, k_left, unit);
      if constexpr (unit == 1) ptx::copy_async<bytes>(to, count > 0 ? from : x_.data, count * bytes);
      else gather(to, from, count);
    }
  }

  __device__ __forceinline__ void gather(unsigned char* to, const Element* from, int count) const {
    const std::int64_t step = along_k ? x_.k_step : x_.line_step;
    Element piece[Panel::piece];
#pragma unroll
    for (int e = 0; e < Panel::piece; ++e) piece[e] = e < count ? from[e * step] : Element(0.0f);
    uint4 words;
    std::memcpy(&words, piece, sizeof words);
    *reinterpret_cast<uint4*>(to) = words;
  }

  const MmaOperand<Element>& x_;  // of the kernel's arguments
  const Element* next_;
  int row_, at_, place_;  // of the thread's first unit
  int lines_left_;        // from there on
};

}  // namespace tessera::matmul
