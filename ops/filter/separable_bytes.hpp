// SPDX-License-Identifier: Apache-2.0
// A separable kernel's two passes over bytes whose weights are bytes: four products an instruction along
// rows, two along columns. Samples stay in the words that they came in; for results that do not begin where a
// word does the weights are moved instead. Sums along two rows, 16 bits each, share a word for the columns'
// sake.
#pragma once
#include "dots.hpp"
#include "separable_numbers.hpp"

namespace tessera::filter {
inline namespace TESSERA_UNIT {

struct BytePasses {
  using T = std::uint8_t;
  static constexpr int cols = 256, rows = 16, threads = 128;  // of a strip; of a step
  static constexpr int slots = 24, ring_chunks = 6, ring_slots = ring_chunks * 4 * (cols / 4);
  static constexpr int fetches = 19 * rows / threads + 1;

  // Words that the weights of a row touch, wherever in a word they begin.
  SIMT static int words_along(const Taps& taps, int shift) { return (taps.cols + shift + 6) / 4; }

  SIMT static int runs(const Taps& taps, int shift) { return cols / 16 + (words_along(taps, shift) + 2) / 4; }

  // A row's: by words, and there for results that begin at byte 0 to 3. A column's: by four pairs of rows,
  // the first of them in fourth place; two words for results that begin with a pair, two for those in its
  // middle.
  template <class Shared>
  SIMT static void put_weights(Thread thread, Shared& shared, const Taps& taps, int shift) {
    const int k = thread.rank(), column = k / 4 * 8 + k % 2 * 4 - k / 2 % 2 - 6;
    std::uint32_t row_word = 0, column_word = 0;
    SIMT_UNROLL
    for (int b = 0; b < 4; ++b) {
      const int j = k / 4 * 4 + b - k % 4 - shift, i = column + b;
      if (j >= 0 && j < taps.cols) row_word |= static_cast<std::uint32_t>(taps.row[j]) << (8 * b);
      if (i >= 0 && i < taps.rows) column_word |= static_cast<std::uint32_t>(taps.column[i]) << (8 * b);
    }
    if (k < 48) shared.row[k] = row_word;
    if (k < 20) shared.column[k] = column_word;
  }

  template <class Shared>
  SIMT static void keep(Thread thread, Shared& shared, int row, int run, const Bytes16& bytes) {
    thread.store16(&shared.source[(row * slots + run) * 4], bytes);
  }

  SIMT static void load_words(Thread thread, const std::uint32_t* from, std::uint32_t* to) {
    const Bytes16 four = thread.load16(from);
    SIMT_UNROLL
    for (int g = 0; g < 4; ++g) to[g] = four.word[g];
  }

  // 16 results of two rows.
  template <class Shared>
  SIMT static void along(Thread thread, Shared& shared, const Strip<T>& strip, int step) {
    const int pair = thread.rank() / (cols / 16), first = thread.rank() % (cols / 16);
    const int words = words_along(strip.p.taps, strip.shift);
    const std::uint32_t* const source = shared.source + (2 * pair * slots + first) * 4;
    std::uint32_t sum[2][16], here[2][8];
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) load_words(thread, source + r * slots * 4, &here[r][0]);
    const Bytes16 weights = thread.load16(shared.row);
    SIMT_UNROLL
    for (int v = 0; v < 32; ++v) sum[v / 16][v % 16] = dot4(here[v / 16][v % 16 / 4], weights.word[v % 4], 0);
    SIMT_NO_UNROLL
    for (int t = 1; t < words; t += 4) {
      SIMT_UNROLL
      for (int r = 0; r < 2; ++r) load_words(thread, source + r * slots * 4 + t + 3, &here[r][4]);
      SIMT_UNROLL
      for (int u = 0; u < 4; ++u) {
        if (t + u >= words) break;
        const Bytes16 more = thread.load16(&shared.row[(t + u) * 4]);
        SIMT_UNROLL
        for (int v = 0; v < 32; ++v)
          sum[v / 16][v % 16] = dot4(here[v / 16][1 + u + v % 16 / 4], more.word[v % 4], sum[v / 16][v % 16]);
      }
      SIMT_UNROLL
      for (int g = 0; g < 4; ++g) here[0][g] = here[0][4 + g], here[1][g] = here[1][4 + g];
    }
    const int line = 2 * step % ring_chunks * 4 + pair;
    SIMT_UNROLL
    for (int g = 0; g < 4; ++g) {
      Bytes16 four;
      SIMT_UNROLL
      for (int v = 0; v < 4; ++v) four.word[v] = lower_halves(sum[0][4 * g + v], sum[1][4 * g + v]);
      thread.store16(&shared.ring[(line * (cols / 4) + swizzled<2>(4 * first + g)) * 4], four);
    }
  }

  // Eight results of four columns.
  template <class Shared>
  SIMT static void down(Thread thread, const Shared& shared, const Strip<T>& strip, int step, int lag) {
    const int chunk = 2 * step + thread.rank() / (cols / 4) - lag, four = thread.rank() % (cols / 4);
    if (chunk < 0) return;
    const Finish& f = strip.p.finish;
    const bool quick = f.whole && f.shift == 16 && f.whole_offset == 0;  // weights of 2^16 in all: a Gaussian
    const int words = (strip.p.taps.rows + 2) / 2, start = quick ? f.half : 0;
    const std::uint32_t* const ring = shared.ring + swizzled<2>(four) * 4;
    std::uint32_t sum[8][4];
    Bytes16 pair[4];  // the one of step t + v in place v mod 4
    int at = chunk % ring_chunks;
    SIMT_UNROLL
    for (int v = 0; v < 4; ++v) pair[v] = thread.load16(ring + (at * 4 + v) * cols);
    const Bytes16 weights = thread.load16(shared.column);
    SIMT_UNROLL
    for (int v = 0; v < 32; ++v)
      sum[v / 4][v % 4] = dot2(pair[v / 8].word[v % 4], weights.word[v / 4 % 2 * 2 + 1], true,
                               static_cast<std::uint32_t>(start));
    SIMT_NO_UNROLL
    for (int t = 1; t < words; t += 4) {
      const Bytes16 more = thread.load16(&shared.column[t + 3]);
      at = at + 1 == ring_chunks ? 0 : at + 1;
      SIMT_UNROLL
      for (int u = 0; u < 4; ++u) {
        if (t + u >= words) break;
        pair[u] = thread.load16(ring + (at * 4 + u) * cols);
        SIMT_UNROLL
        for (int v = 0; v < 32; ++v)
          sum[v / 4][v % 4] = dot2(pair[(1 + u + v / 8) & 3].word[v % 4], more.word[v / 4 % 2 * 2 + u / 2],
                                   u % 2 == 1, sum[v / 4][v % 4]);
      }
    }
    if (!quick) {
      SIMT_UNROLL
      for (int v = 0; v < 32; ++v) {
        std::uint32_t& one = sum[v / 4][v % 4];
        one = std::uint32_t{finished<T>(f, static_cast<std::int32_t>(one))} << 16;
      }
    }
    std::uint32_t out[8];
    SIMT_UNROLL
    for (int v = 0; v < 8; ++v) out[v] = third_bytes(sum[v]);
    store(strip, strip.begin + chunk * 8, strip.first + 4 * four, out);
  }

  SIMT static void store(const Strip<T>& strip, int y, int x, std::uint32_t (&bytes)[8]) {
    const Problem<T>& p = strip.p;
    const std::int64_t* const stride = p.filtered.stride;
    T* to = p.filtered.data + strip.origin + y * stride[1] + x * stride[2];
    const auto address = reinterpret_cast<std::uintptr_t>(to) | static_cast<std::uintptr_t>(stride[1]);
    const bool words = x >= 0 && x + 4 <= p.cols() && stride[2] == 1 && (address & 3) == 0;
    if (words && y + 8 <= strip.end) {
      SIMT_UNROLL
      for (int v = 0; v < 8; ++v, to += stride[1]) *reinterpret_cast<std::uint32_t*>(to) = bytes[v];
      return;
    }
    SIMT_UNROLL
    for (int v = 0; v < 8; ++v) {
      if (y + v >= strip.end) return;
      SIMT_NO_UNROLL
      for (int c = 0; c < 4; ++c, bytes[v] >>= 8)
        if (x + c >= 0 && x + c < p.cols()) to[c * stride[2]] = static_cast<T>(bytes[v]);
      to += stride[1];
    }
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::filter
