// SPDX-License-Identifier: Apache-2.0
// Strips of a picture that a block slides down: where their samples lie, and how they are fetched, 16 bytes
// at once wherever they lie so inside the picture.
#pragma once
#include "lines.hpp"

namespace tessera::filter {
inline namespace TESSERA_UNIT {

// The last of four words, behind which the others move up: a loop without a copy for each word.
SIMT void append_word(Bytes16& bytes, std::uint32_t word) {
  SIMT_UNROLL
  for (int k = 0; k < 3; ++k) bytes.word[k] = bytes.word[k + 1];
  bytes.word[3] = word;
}

// Columns of one channel of the result, and the samples that their sums need. Strips begin where 16 bytes of
// the picture do, but for up to three samples (`shift`), and at a multiple of four samples of the result.
template <class T>
struct Strip {
  const Problem<T>& p;
  const T* plane;
  std::int64_t origin;  // of the channel in the result
  int n, c;
  int first, begin, end;  // columns of the result from `first`, its rows
  int left, top;          // where in the picture the first of its samples lies
  int shift;              // samples before those that the first sum needs
  int wide, high;         // samples of a row, and rows, that any sum needs
  bool whole;             // runs of 16 bytes begin at a multiple of 16

  SIMT Strip(Thread thread, const Problem<T>& problem, int cols)
      : p(problem), n(thread.block().z / p.channels()), c(thread.block().z % p.channels()) {
    constexpr int run = run_samples<T>;
    plane = p.image.data + n * p.image.stride[0] + c * p.image.stride[3];
    origin = n * p.filtered.stride[0] + c * p.filtered.stride[3];
    const int before = p.roi_x - p.taps.left;
    const int address = static_cast<int>(reinterpret_cast<std::uintptr_t>(plane) / sizeof(T) % run);
    const int misplaced = (address + before) & (run - 1);
    shift = misplaced % 4;
    first = thread.block().x * cols - (misplaced - shift);
    left = first + before - shift;
    const int bands = thread.grid().y, rows = (p.rows() + bands - 1) / bands;
    begin = thread.block().y * rows;
    end = begin + rows < p.rows() ? begin + rows : p.rows();
    top = begin + p.roi_y - p.taps.above;
    high = end - begin + p.taps.rows - 1;
    const int used = p.cols() - first < cols ? p.cols() - first : cols;
    wide = used + shift + p.taps.cols - 1;
    whole = p.image.stride[2] == 1 && p.image.stride[1] % run == 0;
  }

  SIMT bool empty() const { return first >= p.cols() || begin >= end; }

  // Whether the first `length` samples of rows i to i + rows - 1 lie in the picture, 16 bytes by 16 bytes.
  SIMT bool plain(int i, int rows, int length) const {
    return whole && left >= 0 && left + length <= p.width() && i + rows <= high && top + i >= 0 &&
           top + i + rows <= p.height();
  }

  // 16 bytes of row i, from sample j.
  SIMT Bytes16 fetch(Thread thread, int i, int j) const {
    constexpr int run = run_samples<T>;
    const int row = i < high ? border_index(top + i, p.height(), p.border) : from_constant, x = left + j;
    const T* const line = plane + (row == from_constant ? 0 : row) * p.image.stride[1];
    Bytes16 out = {};
    if (row != from_constant && x >= 0 && x + run <= p.width()) {
      if (whole) return thread.load16(line + x);
      const T* at = line + x * p.image.stride[2];
      SIMT_NO_UNROLL
      for (int k = 0; k < 4; ++k) {
        Bytes16 word;
        SIMT_UNROLL
        for (int v = 0; v < run / 4; ++v, at += p.image.stride[2]) put_sample(word, v, *at);
        append_word(out, word.word[0]);
      }
      return out;
    }
    std::uint32_t word = 0;
    SIMT_NO_UNROLL
    for (int v = 0; v < run; ++v) {
      const bool needed = row != from_constant && j + v < wide;
      const int col = needed ? border_index(x + v, p.width(), p.border) : from_constant;
      Bytes16 one;
      put_sample(one, 0, col == from_constant ? p.outside : line[col * p.image.stride[2]]);
      if constexpr (run == 4) word = one.word[0];
      else word = word >> (128 / run) | one.word[0] << (32 - 128 / run);
      if (v % (run / 4) == run / 4 - 1) append_word(out, word);
    }
    return out;
  }
};

// Chunks of eight rows that are summed along before the first results are complete.
SIMT int lag_of(const Taps& taps) { return (taps.rows + 6) / 8; }

// Strips of `cols` columns, and about `rows` rows for a block, which takes steps of 16.
template <class T>
Launch launch_of_strips(const Problem<T>& p, int cols, int rows, int threads) {
  constexpr int step = 16, most_misplaced = run_samples<T> - 4;
  const int before = 8 * lag_of(p.taps), whole = (rows + before + step - 1) / step * step - before;
  return {.grid = {p.cols() == 0 ? 0 : (p.cols() + most_misplaced + cols - 1) / cols,
                   (p.rows() + whole - 1) / whole, p.images() * p.channels()},
          .block = {threads}};
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::filter
