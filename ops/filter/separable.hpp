// SPDX-License-Identifier: Apache-2.0
// Strips of a picture that a block slides down: the position of their samples, and loads of 16 bytes at once
// if they are aligned inside the picture.
#pragma once
#include "runs.hpp"
#include "ops/imaging/samples.hpp"

namespace tessera::filtering {
inline namespace TESSERA_UNIT {

// Shifts the words down by one and appends `word`. All indices are constant, so `bytes` stays in registers
// even in a loop that is not unrolled.
SIMT void append_word(Bytes16& bytes, std::uint32_t word) {
  SIMT_UNROLL
  for (int k = 0; k < 3; ++k) bytes.word[k] = bytes.word[k + 1];
  bytes.word[3] = word;
}

// Columns of one channel of the result, and the samples that their sums need. A strip's first sample lies at
// a 16-byte-aligned address. Its first sum starts `shift` (0 to 3) samples further on, so that its first
// column in the result is a multiple of four.
template <class T>
struct Strip {
  const Problem<T>& p;
  const T* plane;
  std::int64_t origin;  // offset of the channel in the result
  int n, c;
  int first, begin, end;  // columns of the result from `first`, its rows
  int left, top;          // position of its first sample in the picture
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

  // True if the first `length` samples of rows i to i + rows - 1 are aligned runs inside the picture.
  SIMT bool plain(int i, int rows, int length) const {
    return whole && left >= 0 && left + length <= p.width() && i + rows <= high && top + i >= 0 &&
           top + i + rows <= p.height();
  }

  // Returns 16 bytes of row i, from sample j.
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

// Strips of `cols` columns, and about `rows` rows per block, in steps of 16.
template <class T>
Launch launch_of_strips(const Problem<T>& p, int cols, int rows, int threads) {
  constexpr int step = 16, max_misplaced = run_samples<T> - 4;
  const int before = 8 * lag_of(p.taps), whole = (rows + before + step - 1) / step * step - before;
  return {.grid = {p.cols() == 0 ? 0 : (p.cols() + max_misplaced + cols - 1) / cols,
                   (p.rows() + whole - 1) / whole, p.images() * p.channels()},
          .block = {threads}};
}

// A separable kernel's two passes over 32-bit numbers: a thread computes two lines of eight adjacent results
// at once, along a row or down a column. Seven of the eight samples of a tap are used by the next tap, too.

// The executor's build compiles these sums once, not in each kernel.
#if defined(__CUDACC__) || defined(TESSERA_TRACED)
#define FILTER_ONCE
#else
#define FILTER_ONCE __attribute__((noinline))
#endif

// Returns the swizzled slot of 16 bytes, so that lanes `2^apart` slots apart have no bank conflicts.
template <int apart>
SIMT int swizzled(int slot) {
  return slot ^ (slot >> 3 & ((1 << apart) - 1));
}

constexpr int two = 2;  // lines of a thread, eight results in each

// Adds weight·sample of tap j for results that begin at `from`; `more` are the samples after `from`.
template <class A>
SIMT void add_tap(A weight, int j, const A (&from)[two][8], const A (&more)[two][8], A (&sum)[two][8]) {
  SIMT_UNROLL
  for (int v = 0; v < two * 8; ++v) {
    const int line = v / 8, at = v % 8 + j;
    sum[line][v % 8] =
        add_product(weight, at < 8 ? from[line][at & 7] : more[line][at & 7], sum[line][v % 8]);
  }
}

// Adds eight taps, or the last `taps`. Weights of 0 may be skipped for integers and must be skipped for
// floats. If there are none, as usual, no weight is tested.
template <class A>
FILTER_ONCE SIMT void add_taps(const Bytes16 (&weights)[2], int taps, const A (&from)[two][8],
                               const A (&more)[two][8], A (&sum)[two][8]) {
  A weight[8];
  bool all = true;
  SIMT_UNROLL
  for (int j = 0; j < 8; ++j) {
    weight[j] = weight_as<A>(static_cast<std::int32_t>(weights[j / 4].word[j % 4]));
    all = all & (weight[j] != A{0});
  }
  if (all) {
    SIMT_UNROLL
    for (int j = 0; j < 8; ++j) add_tap(weight[j], j, from, more, sum);
    return;
  }
  SIMT_UNROLL
  for (int j = 0; j < 8; ++j) {
    if (j >= taps) break;
    if (weight[j] != A{0}) add_tap(weight[j], j, from, more, sum);
  }
}

// Computes Σ weight·sample, in the order of the taps, for results that begin one sample apart. load(k, to)
// loads the eight samples of each line from k·8 on, with k in ascending order.
template <class A, class Load>
SIMT void sum_taps(Thread thread, const std::uint32_t* weights, int taps, const Load& load,
                   A (&sum)[two][8]) {
  A one[two][8], other[two][8];
  load(0, one);
  if (taps > 1) {
    load(1, other);
  } else {
    SIMT_UNROLL
    for (int v = 0; v < two * 8; ++v) other[v / 8][v % 8] = 0;
  }
  SIMT_NO_UNROLL
  for (int k = 0; k < taps; k += 16) {
    const Bytes16 first[2] = {thread.load16(weights + k), thread.load16(weights + k + 4)};
    add_taps(first, taps - k, one, other, sum);
    if (k + 8 >= taps) break;
    if (k + 9 < taps) load(k / 8 + 2, one);
    const Bytes16 second[2] = {thread.load16(weights + k + 8), thread.load16(weights + k + 12)};
    add_taps(second, taps - k - 8, other, one, sum);
    if (k + 17 < taps) load(k / 8 + 3, other);
  }
}

template <class T>
struct NumberPasses {
  static constexpr int cols = 128, rows = 16, threads = 128;  // columns per strip; rows per step
  static constexpr int slots = 48, ring_chunks = 6, ring_slots = ring_chunks * 8 * (cols / 4);
  static constexpr int in_run = run_samples<T> / 4;  // slots that 16 bytes of samples fill
  static constexpr int fetches = (42 + in_run - 1) / in_run * rows / threads + 1;

  using A = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;

  SIMT static int runs(const Taps& taps, int shift) {
    const int needed = cols / 4 + (taps.cols + shift + 6) / 8 * 2;
    return (needed + in_run - 1) / in_run;
  }

  template <class Shared>
  SIMT static void put_weights(Thread thread, Shared& shared, const Taps& taps, int shift) {
    for (int k = thread.rank(); k < 40; k += threads) {
      const int j = k - shift;
      shared.row[k] = static_cast<std::uint32_t>(j >= 0 && j < taps.cols ? taps.row[j] : 0);
      if (k < 32) shared.column[k] = static_cast<std::uint32_t>(k < taps.rows ? taps.column[k] : 0);
    }
  }

  template <class Shared>
  SIMT static void keep(Thread thread, Shared& shared, int row, int run, const Bytes16& bytes) {
    SIMT_UNROLL
    for (int s = 0; s < in_run; ++s) {
      Bytes16 numbers;
      SIMT_UNROLL
      for (int k = 0; k < 4; ++k)
        numbers.word[k] = __builtin_bit_cast(std::uint32_t, number<A>(sample_in<T>(bytes, 4 * s + k)));
      thread.store16(&shared.source[(row * slots + swizzled<1>(run * in_run + s)) * 4], numbers);
    }
  }

  template <class Shared>
  SIMT static void along(Thread thread, Shared& shared, const Strip<T>& strip, int step) {
    const int i = thread.rank() / (cols / 8), first = thread.rank() % (cols / 8) * 2;  // and the row i + 8
    A sum[two][8] = {};
    const auto load = [&](int k, A(&to)[two][8]) {
      SIMT_UNROLL
      for (int s = 0; s < 2 * two; ++s) {
        const int at = first + 2 * k + s % 2, slot = Shared::swizzled_source ? swizzled<1>(at) : at;
        const Bytes16 four = thread.load16(&shared.source[((i + s / 2 * 8) * slots + slot) * 4]);
        SIMT_UNROLL
        for (int v = 0; v < 4; ++v) to[s / 2][s % 2 * 4 + v] = __builtin_bit_cast(A, four.word[v]);
      }
    };
    sum_taps(thread, shared.row, strip.p.taps.cols + strip.shift, load, sum);
    SIMT_UNROLL
    for (int s = 0; s < 2 * two; ++s) {
      Bytes16 four;
      SIMT_UNROLL
      for (int v = 0; v < 4; ++v) four.word[v] = __builtin_bit_cast(std::uint32_t, sum[s / 2][s % 2 * 4 + v]);
      const int line = two * step % ring_chunks * 8 + i + s / 2 * 8;
      thread.store16(&shared.ring[(line * (cols / 4) + swizzled<1>(first + s % 2)) * 4], four);
    }
  }

  // Sums down two columns, half a strip apart.
  template <class Shared>
  SIMT static void down(Thread thread, const Shared& shared, const Strip<T>& strip, int step, int lag) {
    const int chunk = two * step + thread.rank() / (cols / two) - lag, x = thread.rank() % (cols / two);
    if (chunk < 0) return;
    const std::uint32_t* const column = shared.ring + swizzled<1>(x / 4) * 4 + x % 4;
    int at = chunk % ring_chunks;
    A sum[two][8] = {};
    const auto load = [&](int, A(&to)[two][8]) {
      SIMT_UNROLL
      for (int v = 0; v < two * 8; ++v)
        to[v / 8][v % 8] = __builtin_bit_cast(A, column[(at * 8 + v % 8) * cols + v / 8 * (cols / two)]);
      at = at + 1 == ring_chunks ? 0 : at + 1;
    };
    sum_taps(thread, shared.column, strip.p.taps.rows, load, sum);
    SIMT_UNROLL
    for (int l = 0; l < two; ++l)
      store(strip, strip.begin + chunk * 8, strip.first + x + l * (cols / two), sum[l]);
  }

  SIMT static void store(const Strip<T>& strip, int y, int x, const A (&sum)[8]) {
    const Problem<T>& p = strip.p;
    if (x < 0 || x >= p.cols()) return;
    if (p.to != element_of<T>) {
      SIMT_UNROLL
      for (int v = 0; v < 8; ++v)
        if (y + v < strip.end) p.store(strip.n, y + v, x, strip.c, sum[v]);
      return;
    }
    const std::int64_t* const stride = p.filtered.stride;
    T* to = reinterpret_cast<T*>(p.filtered.data) + strip.origin + y * stride[1] + x * stride[2];
    if (y + 8 <= strip.end) {
      SIMT_UNROLL
      for (int v = 0; v < 8; ++v, to += stride[1]) *to = finished<T>(p.conversion, sum[v]);
      return;
    }
    SIMT_UNROLL
    for (int v = 0; v < 8; ++v, to += stride[1])
      if (y + v < strip.end) *to = finished<T>(p.conversion, sum[v]);
  }
};

// A separable kernel's two passes over bytes with weights of a byte: four products per instruction along
// rows, two down columns. Samples stay in the words that they were loaded in; for results that do not begin
// at a word, the weights are shifted instead. Sums along two rows, 16 bits each, share a word for the pass
// down columns.

struct BytePasses {
  using T = std::uint8_t;
  static constexpr int cols = 256, rows = 16, threads = 128;  // columns per strip; rows per step
  static constexpr int slots = 24, ring_chunks = 6, ring_slots = ring_chunks * 4 * (cols / 4);
  static constexpr int fetches = 19 * rows / threads + 1;

  // Words that the weights of a row touch at any offset in a word.
  SIMT static int words_along(const Taps& taps, int shift) { return (taps.cols + shift + 6) / 4; }

  SIMT static int runs(const Taps& taps, int shift) { return cols / 16 + (words_along(taps, shift) + 2) / 4; }

  // Stores the weights to shared memory. Row weights: by word, and for results that begin at bytes 0 to 3.
  // Column weights: by four pairs of rows, the first pair in fourth place; two words for results that begin
  // with a pair, two for those that begin in its middle.
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

  // Computes 16 row sums in each of two rows.
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

  // Computes eight results in each of four columns.
  template <class Shared>
  SIMT static void down(Thread thread, const Shared& shared, const Strip<T>& strip, int step, int lag) {
    const int chunk = 2 * step + thread.rank() / (cols / 4) - lag, four = thread.rank() % (cols / 4);
    if (chunk < 0) return;
    const OutputConversion& f = strip.p.conversion;
    const bool quick = f.whole && f.shift == 16 && f.whole_offset == 0;  // weights add up to 2^16: a Gaussian
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
}  // namespace tessera::filtering
