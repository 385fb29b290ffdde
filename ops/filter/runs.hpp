// SPDX-License-Identifier: Apache-2.0
// Lines of a picture in runs of 16 bytes, for kernels of up to 3 × 3 taps. A row is a sequence of samples:
// the pixel to the right is `channels` samples further. The samples beside a run are loaded one by one, from
// offsets computed once for all lines; only they depend on the border.
#pragma once
#include <algorithm>
#include <cstdint>
#include "filter.hpp"
#include "ops/imaging/samples.hpp"
#include "tessera/kernel.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/scalar.cuh"
#endif

namespace tessera::filtering {
inline namespace TESSERA_UNIT {

template <class T>
inline constexpr int run_samples = 16 / static_cast<int>(sizeof(T));

// A kernel of at most 3 × 3 taps, padded to 3 × 3 around its anchor.
template <class A>
struct Weights3 {
  A weight[3][3], column[3], row[3];
  bool separable;

  SIMT explicit Weights3(const Taps& taps) : separable(taps.separable) {
    const int up = 1 - taps.above, left = 1 - taps.left;
    SIMT_UNROLL
    for (int i = 0; i < 3; ++i) {
      const bool has_row = i >= up && i - up < taps.rows, has_col = i >= left && i - left < taps.cols;
      column[i] = weight_as<A>(has_row ? taps.column[i - up] : 0);
      row[i] = weight_as<A>(has_col ? taps.row[i - left] : 0);
      SIMT_UNROLL
      for (int j = 0; j < 3; ++j) {
        const bool inside = has_row && j >= left && j - left < taps.cols;
        weight[i][j] = weight_as<A>(inside ? taps.weight[(i - up) * taps.cols + j - left] : 0);
      }
    }
  }
};

inline Reason refuses_more_than_3x3(const Taps& taps) {
  const auto fits = [](int size, int before) { return before <= 1 && size - 1 - before <= 1; };
  if (fits(taps.rows, taps.above) && fits(taps.cols, taps.left)) return std::nullopt;
  return "is for kernels of up to 3 × 3 taps";
}

// Samples in 16 bytes, which are four words in registers.
template <class T>
SIMT T sample_in(const Bytes16& bytes, int v) {
  constexpr int in_word = 4 / static_cast<int>(sizeof(T));
  const std::uint32_t word = bytes.word[v / in_word] >> (v % in_word * 8 * static_cast<int>(sizeof(T)));
  if constexpr (std::is_same_v<T, float>) return __builtin_bit_cast(float, word);
  else if constexpr (std::is_same_v<T, f16>) return f16{static_cast<std::uint16_t>(word)};
  else return static_cast<T>(word);
}

template <class T>
SIMT std::uint32_t bits_of(T sample) {
  if constexpr (std::is_same_v<T, float>) return __builtin_bit_cast(std::uint32_t, sample);
  else if constexpr (std::is_same_v<T, f16>) return sample.bits;
  else return static_cast<std::make_unsigned_t<T>>(sample);
}

template <class T>
SIMT void put_sample(Bytes16& bytes, int v, T sample) {
  constexpr int in_word = 4 / static_cast<int>(sizeof(T));
  const std::uint32_t moved = bits_of(sample) << (v % in_word * 8 * static_cast<int>(sizeof(T)));
  bytes.word[v / in_word] = v % in_word == 0 ? moved : bytes.word[v / in_word] | moved;
}

template <class T>
SIMT void store_bytes(Thread thread, T* to, const Bytes16& bytes) {
  if ((reinterpret_cast<std::uintptr_t>(to) & 15) == 0) return thread.store16(to, bytes);
  SIMT_UNROLL
  for (int v = 0; v < run_samples<T>; ++v) to[v] = sample_in<T>(bytes, v);
}

// One line's run and the samples beside it, as loaded from memory.
template <class T, int channels>
struct RawRun {
  Bytes16 bytes;
  T left[channels], right[channels];
};

template <class T, int channels>
class Lines {
 public:
  static constexpr int count = run_samples<T>;

  // The run begins at sample `first` of the result's rows.
  SIMT Lines(const Problem<T>& p, std::int64_t n, int first)
      : p_(p), base_(p.image.data + n * p.image.stride[0] + p.roi_x * channels + first) {
    const int pixel = p.roi_x + first / channels, from = first % channels;  // a run may begin within a pixel
    SIMT_UNROLL
    for (int c = 0; c < channels; ++c) {
      left_[c] = place(pixel, from + c - channels, first);
      right_[c] = place(pixel, from + count + c, first);
    }
    // The low bits of every line's address.
    const auto bits =
        reinterpret_cast<std::uintptr_t>(base_) | static_cast<std::uintptr_t>(p.image.stride[1]) * sizeof(T);
    whole_ = (bits & 15) == 0;
  }

  // Returns the start of this run in the line of a row of the result; nullptr: it is in a constant border.
  SIMT const T* line(int y) const {
    const int row = border_index(y + p_.roi_y, p_.height(), p_.border);
    return row == from_constant ? nullptr : base_ + row * p_.image.stride[1];
  }

  SIMT Bytes16 run(Thread thread, const T* line) const {
    if (whole_) return thread.load16(line);
    Bytes16 out;
    SIMT_UNROLL
    for (int v = 0; v < count; ++v) put_sample(out, v, line[v]);
    return out;
  }

  SIMT Bytes16 outside() const {
    Bytes16 out;
    SIMT_UNROLL
    for (int v = 0; v < count; ++v) put_sample(out, v, p_.outside);
    return out;
  }

  // Returns the first `samples` samples of a run at the end of a row, then zeros. `first`: the run's start.
  SIMT Bytes16 edge_of_row(const T* line, int first, int samples) const {
    const int pixel = p_.roi_x + first / channels, from = first % channels;
    Bytes16 out;
    SIMT_UNROLL
    for (int v = 0; v < count; ++v) {
      const int at = place(pixel, from + v, first);
      put_sample(out, v, v >= samples ? T{} : at == nowhere ? p_.outside : line[at]);
    }
    return out;
  }

  // Returns sample c of the pixel to the left, or to the right.
  SIMT T beside(const T* line, int c, bool left) const {
    const int at = left ? left_[c] : right_[c];
    return line == nullptr || at == nowhere ? p_.outside : line[at];
  }

  SIMT RawRun<T, channels> load(Thread thread, int y) const {
    RawRun<T, channels> out;
    const T* const here = line(y);
    if (here == nullptr) {
      out.bytes = outside();
      SIMT_UNROLL
      for (int c = 0; c < channels; ++c) out.left[c] = out.right[c] = p_.outside;
      return out;
    }
    out.bytes = run(thread, here);
    SIMT_UNROLL
    for (int c = 0; c < channels; ++c) {
      out.left[c] = left_[c] == nowhere ? p_.outside : here[left_[c]];
      out.right[c] = right_[c] == nowhere ? p_.outside : here[right_[c]];
    }
    return out;
  }

 private:
  static constexpr int nowhere = -0x7fffffff;

  // Returns the offset, from the run's first sample, of sample `by` from the start of a pixel.
  SIMT int place(int pixel, int by, int first) const {
    const int steps = by < 0 ? -((channels - 1 - by) / channels) : by / channels;
    const int col = border_index(pixel + steps, p_.width(), p_.border);
    if (col == from_constant) return nowhere;
    return (col - p_.roi_x) * channels + by - steps * channels - first;
  }

  const Problem<T>& p_;
  const T* base_;
  int left_[channels], right_[channels];
  bool whole_;
};

// Converts a run and the samples beside it to numbers.
template <class A, class T, int channels>
SIMT void numbers_of(const RawRun<T, channels>& raw, A (&to)[run_samples<T> + 2 * channels]) {
  SIMT_UNROLL
  for (int c = 0; c < channels; ++c) {
    to[c] = number<A>(raw.left[c]);
    to[run_samples<T> + channels + c] = number<A>(raw.right[c]);
  }
  SIMT_UNROLL
  for (int v = 0; v < run_samples<T>; ++v) to[channels + v] = number<A>(sample_in<T>(raw.bytes, v));
}

// Adds the taps of one row of the kernel to the sums, from the left.
template <class A, int channels, int count>
SIMT void add_row(const A (&weight)[3], const A (&from)[count + 2 * channels], A (&sum)[count]) {
  SIMT_UNROLL
  for (int j = 0; j < 3; ++j) {
    if (weight[j] == A{0}) continue;
    SIMT_UNROLL
    for (int v = 0; v < count; ++v) sum[v] = add_product(weight[j], from[v + j * channels], sum[v]);
  }
}

// Stores the results of a run, 16 bytes at once if they are aligned.
template <class A, class T>
SIMT void store_run(Thread thread, const Problem<T>& p, std::int64_t n, int y, int first,
                    const A (&sum)[run_samples<T>]) {
  T* const to =
      reinterpret_cast<T*>(p.filtered.data) + n * p.filtered.stride[0] + y * p.filtered.stride[1] + first;
  Bytes16 out;
  SIMT_UNROLL
  for (int v = 0; v < run_samples<T>; ++v) put_sample(out, v, finished<T>(p.conversion, sum[v]));
  store_bytes(thread, to, out);
}

// Filters a run of columns from row `begin` to `end`. Each line is added to the three rows of results that it
// touches: as the last line of the row above, the middle line of its own and the first line of the row below.
// Two more lines are in flight meanwhile.
template <class A, class T, int channels>
SIMT void slide(Thread thread, const Problem<T>& p, std::int64_t n, int first, int begin, int end) {
  constexpr int count = run_samples<T>;
  const Lines<T, channels> lines(p, n, first);
  const Weights3<A> w(p.taps);
  A one[count] = {}, two[count] = {};  // results that have one and two lines
  RawRun<T, channels> next = lines.load(thread, begin - 1), after = lines.load(thread, begin);
  SIMT_NO_UNROLL
  for (int line = begin - 1; line <= end; ++line) {
    A here[count + 2 * channels];
    numbers_of<A>(next, here);
    next = after;
    if (line + 2 <= end) after = lines.load(thread, line + 2);
    A done[count];
    if (w.separable) {
      A along[count] = {};
      add_row<A, channels, count>(w.row, here, along);
      SIMT_UNROLL
      for (int v = 0; v < count; ++v) {
        done[v] = w.column[2] == A{0} ? two[v] : add_product(w.column[2], along[v], two[v]);
        two[v] = w.column[1] == A{0} ? one[v] : add_product(w.column[1], along[v], one[v]);
        one[v] = w.column[0] == A{0} ? A{0} : add_product(w.column[0], along[v], A{0});
      }
    } else {
      SIMT_UNROLL
      for (int v = 0; v < count; ++v) done[v] = two[v], two[v] = one[v], one[v] = A{0};
      add_row<A, channels, count>(w.weight[2], here, done);
      add_row<A, channels, count>(w.weight[1], here, two);
      add_row<A, channels, count>(w.weight[0], here, one);
    }
    if (line > begin) store_run<A>(thread, p, n, line - 1, first, done);
  }
}

// Computes the last samples of a row, which do not fill a run.
template <class T>
SIMT void rest_of_row(const Problem<T>& p, std::int64_t n, int first, int begin, int end) {
  for (int y = begin; y < end; ++y)
    for (int e = first; e < p.row_samples(); ++e) p.compute(n, y, e / p.channels(), e % p.channels());
}

// Computes a thread's part of the result: rows [begin, end) of a run of columns.
template <class T>
SIMT void filter_run(Thread thread, const Problem<T>& p, std::int64_t n, int first, int begin, int end) {
  using A = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;
  if (first >= p.row_samples() || begin >= end) return;
  if (first + run_samples < T >> p.row_samples()) rest_of_row(p, n, first, begin, end);
  else if (p.channels() == 1) slide<A, T, 1>(thread, p, n, first, begin, end);
  else slide<A, T, 3>(thread, p, n, first, begin, end);
}

// Returns a launch in which a thread has a run of 16 bytes of at most `rows` rows.
template <class T>
Launch launch_of_runs(const Problem<T>& p, std::int64_t rows, int threads) {
  const std::int64_t runs = (p.row_samples() + run_samples<T> - 1) / run_samples<T>;
  // In a small picture every thread has few rows, so that more of the device is busy.
  constexpr std::int64_t enough_threads = 65536;
  rows = std::clamp<std::int64_t>(runs * p.rows() * p.images() / enough_threads,
                                  std::min<std::int64_t>(2, rows), rows);
  return {.grid = {(runs + threads - 1) / threads, (p.rows() + rows - 1) / rows, p.images()},
          .block = {threads}};
}

// "rows": the largest number of rows of the result per thread.
inline std::vector<Range> ranges_of_runs() { return {{"rows", 1, 4096, 32}}; }

template <class T>
Reason refuses_runs(const Problem<T>& p) {
  if (!p.packed()) return "is for pixels side by side";
  if (p.to != element_of<T>) return "is for results of the picture's type";
  if (p.channels() != 1 && p.channels() != 3) return "is for 1 or 3 channels";
  if (std::is_integral_v<T> && !p.taps.whole) return "is for whole weights, where samples are integers";
  return refuses_more_than_3x3(p.taps);
}

// Lines of a picture in a warp: each lane loads a run of 16 bytes and gets the samples beside it from
// neighbouring lanes. Only the first and the last lane load them, and only there the border matters. Three
// lines are in flight while three are summed, and the three rows of results that a line touches rotate in the
// same registers without moves.

// Three lines in turn, unrolled on GPUs, whose registers cannot be indexed; elsewhere a loop compiles faster.
#if defined(__CUDACC__)
#define FILTER_TURNS SIMT_UNROLL
#else
#define FILTER_TURNS
#endif

// The words that hold the pixel beside a run.
template <class T, int channels>
inline constexpr int beside_words = (channels * static_cast<int>(sizeof(T)) + 3) / 4;

// A run, the last words of the run to its left and the first words of the run to its right.
template <class T, int channels>
struct WideRun {
  Bytes16 bytes;
  std::uint32_t left[beside_words<T, channels>], right[beside_words<T, channels>];
};

template <class T, int channels>
class WarpLines {
 public:
  static constexpr int count = run_samples<T>, words = beside_words<T, channels>,
                       in_word = 4 / static_cast<int>(sizeof(T));
  using Run = WideRun<T, channels>;

  // The lane's run begins at sample `first` of the result's rows; the last lanes may have none.
  SIMT WarpLines(Thread thread, const Problem<T>& p, std::int64_t n, int first)
      : lines_(p, n, first), first_(first), valid_(p.row_samples() - first) {
    is_first_ = thread.lane() == 0;
    is_last_ = thread.lane() == 31 || valid_ <= count;
  }

  SIMT int valid() const { return valid_; }  // samples of the row from here on

  // Loads a run, and beside it only the samples that no other lane has.
  SIMT Run load(Thread thread, int y) const {
    Run out{};
    if (valid_ <= 0) return out;
    const T* const line = lines_.line(y);
    if (line == nullptr) out.bytes = lines_.outside();
    else if (valid_ >= count) out.bytes = lines_.run(thread, line);
    else out.bytes = lines_.edge_of_row(line, first_, valid_ + channels);
    SIMT_UNROLL
    for (int c = 0; c < channels; ++c) {
      const int at = words * in_word - channels + c;
      if (is_first_) out.left[at / in_word] |= in_place(lines_.beside(line, c, true), at);
      if (is_last_) out.right[c / in_word] |= in_place(lines_.beside(line, c, false), c);
    }
    return out;
  }

  // Gets the other samples beside a run; all lanes of the warp must call it.
  SIMT void widen(Thread thread, Run& run) const {
    SIMT_UNROLL
    for (int i = 0; i < words; ++i) {
      const std::uint32_t left = thread.shuffle_up(run.bytes.word[4 - words + i], 1);
      const std::uint32_t right = thread.shuffle_down(run.bytes.word[i], 1);
      if (!is_first_) run.left[i] = left;
      if (!is_last_) run.right[i] = right;
    }
  }

 private:
  SIMT static std::uint32_t in_place(T sample, int at) {
    return bits_of(sample) << (at % in_word * 8 * static_cast<int>(sizeof(T)));
  }

  Lines<T, channels> lines_;
  int first_, valid_;
  bool is_first_, is_last_;
};

// Converts a run and the samples beside it to numbers.
template <class A, class T, int channels>
SIMT void numbers_of(const WideRun<T, channels>& raw, A (&to)[run_samples<T> + 2 * channels]) {
  constexpr int words = beside_words<T, channels>, in_word = 4 / static_cast<int>(sizeof(T));
  Bytes16 left{}, right{};
  SIMT_UNROLL
  for (int i = 0; i < words; ++i) left.word[i] = raw.left[i], right.word[i] = raw.right[i];
  SIMT_UNROLL
  for (int c = 0; c < channels; ++c) {
    to[c] = number<A>(sample_in<T>(left, words * in_word - channels + c));
    to[run_samples<T> + channels + c] = number<A>(sample_in<T>(right, c));
  }
  SIMT_UNROLL
  for (int v = 0; v < run_samples<T>; ++v) to[channels + v] = number<A>(sample_in<T>(raw.bytes, v));
}

// Stores a run of results, of which `valid` are in the row.
template <class T>
SIMT void store_some(Thread thread, T* to, const Bytes16& bytes, int valid) {
  if (valid >= run_samples<T>) return store_bytes(thread, to, bytes);
  SIMT_UNROLL
  for (int v = 0; v < run_samples<T>; ++v)
    if (v < valid) to[v] = sample_in<T>(bytes, v);
}

// Sums of numbers of type A, one for each sample of a run.
template <class A, class T, int channels>
class NumberSums {
 public:
  static constexpr int count = run_samples<T>;
  struct Line {
    A of[count + 2 * channels];
    A along[count];  // for a kernel that is a column times a row
  };
  using Sum = A[count];

  SIMT explicit NumberSums(const Problem<T>& p) : p_(p), w_(p.taps) {}

  SIMT void take(const WideRun<T, channels>& raw, Line& to) const {
    numbers_of<A>(raw, to.of);
    if (!w_.separable) return;
    SIMT_UNROLL
    for (int v = 0; v < count; ++v) to.along[v] = A{0};
    add_row<A, channels, count>(w_.row, to.of, to.along);
  }
  SIMT void add(int row, const Line& line, Sum& sum) const {
    if (!w_.separable) return add_row<A, channels, count>(w_.weight[row], line.of, sum);
    if (w_.column[row] == A{0}) return;
    SIMT_UNROLL
    for (int v = 0; v < count; ++v) sum[v] = add_product(w_.column[row], line.along[v], sum[v]);
  }
  SIMT static void clear(Sum& sum) {
    SIMT_UNROLL
    for (int v = 0; v < count; ++v) sum[v] = A{0};
  }
  SIMT Bytes16 converted(const Sum& sum) const {
    Bytes16 out;
    SIMT_UNROLL
    for (int v = 0; v < count; ++v) put_sample(out, v, finished<T>(p_.conversion, sum[v]));
    return out;
  }

 private:
  const Problem<T>& p_;
  Weights3<A> w_;
};

// Filters a warp's runs of rows `begin` to `end`. Sums: the type that sums lines, such as NumberSums.
template <class Sums, class T, int channels>
SIMT void slide_warp(Thread thread, const Problem<T>& p, std::int64_t n, int first, int begin, int end) {
  const WarpLines<T, channels> lines(thread, p, n, first);
  const Sums sums(p);
  T* const to = reinterpret_cast<T*>(p.filtered.data) + n * p.filtered.stride[0] + first;
  typename Sums::Sum sum[3];
  WideRun<T, channels> next[3] = {};
  SIMT_UNROLL
  for (int i = 0; i < 3; ++i) {
    sums.clear(sum[i]);
    if (begin - 1 + i <= end) next[i] = lines.load(thread, begin - 1 + i);
  }
  SIMT_NO_UNROLL
  for (int line = begin - 1; line <= end; line += 3) {
    FILTER_TURNS
    for (int i = 0; i < 3; ++i) {
      if (line + i > end) break;
      typename Sums::Line here;
      lines.widen(thread, next[i]);
      sums.take(next[i], here);
      if (line + 3 + i <= end) next[i] = lines.load(thread, line + 3 + i);
      // This line is the last one of the row above and the first one of the row below.
      auto &above = sum[(i + 1) % 3], &beside = sum[(i + 2) % 3], &below = sum[i];
      sums.add(2, here, above);
      sums.add(1, here, beside);
      sums.clear(below);
      sums.add(0, here, below);
      if (line + i > begin)
        store_some(thread, to + (line + i - 1) * p.filtered.stride[1], sums.converted(above), lines.valid());
    }
  }
}

// Bytes summed two at a time as halves. A byte b in the low bits of a half is the number b·2^-24, because the
// spacing of halves is 2^-24 up to 2^-13. A byte therefore needs no conversion, sums of up to 2048 are exact,
// and the bits of a nonnegative sum are the sum itself. CPUs compute the same sums as integers.

inline constexpr int max_pair_sum = 2048;

// Bytes 0 and 2 of a word, or 1 and 3, in the halves of a word.
SIMT std::uint32_t even_bytes(std::uint32_t word) { return word & 0x00ff00ffu; }
SIMT std::uint32_t odd_bytes(std::uint32_t word) { return permuted(word, 0, 0x4341); }
// A word of bytes from the lowest bytes of both arguments' halves.
SIMT std::uint32_t joined_bytes(std::uint32_t even, std::uint32_t odd) { return permuted(even, odd, 0x6240); }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

// Returns a weight of at most 8, in both halves.
SIMT std::uint32_t pair_weight(std::int32_t weight) {
  return cuda::ptx::float_to_half(static_cast<float>(weight)) * 0x00010001u;
}
SIMT std::uint32_t pair_add(std::uint32_t weight, std::uint32_t bytes, std::uint32_t sum) {
  return cuda::ptx::hfma2(weight, bytes, sum);
}
// Sums, or their magnitudes, clamped to 0 … 255.
SIMT std::uint32_t pair_bytes(std::uint32_t sum, bool absolute) {
  const std::uint32_t positive = absolute ? sum & 0x7fff7fffu : cuda::ptx::hmax2(sum, 0u);
  return cuda::ptx::hmin2(positive, 0x00ff00ffu);
}

#else

SIMT std::uint32_t pair_of(std::int32_t low, std::int32_t high) {
  return (static_cast<std::uint32_t>(low) & 0xffffu) | static_cast<std::uint32_t>(high) << 16;
}
SIMT std::int32_t low_of(std::uint32_t pair) { return static_cast<std::int16_t>(pair & 0xffffu); }
SIMT std::int32_t high_of(std::uint32_t pair) { return static_cast<std::int16_t>(pair >> 16); }

SIMT std::uint32_t pair_weight(std::int32_t weight) { return pair_of(weight, weight); }
SIMT std::uint32_t pair_add(std::uint32_t weight, std::uint32_t bytes, std::uint32_t sum) {
  return pair_of(low_of(sum) + low_of(weight) * low_of(bytes),
                 high_of(sum) + high_of(weight) * high_of(bytes));
}
SIMT std::uint32_t pair_bytes(std::uint32_t sum, bool absolute) {
  const auto clamped = [absolute](std::int32_t value) {
    const std::int32_t positive = value < 0 ? (absolute ? -value : 0) : value;
    return positive < 255 ? positive : 255;
  };
  return pair_of(clamped(low_of(sum)), clamped(high_of(sum)));
}

#endif

// Lines of bytes summed two samples per instruction: the pairs of a line for each tap of a row.

constexpr int pairs = run_samples<std::uint8_t> / 2;

// Returns the high half of `word` and the low half of `next`, as one word.
SIMT std::uint32_t across(std::uint32_t word, std::uint32_t next) { return permuted(word, next, 0x5432); }

// Packs a run's samples into pairs as the left, centre and right taps need them, given the adjacent words.
template <int channels>
SIMT void pairs_of(std::uint32_t before, const Bytes16& bytes, std::uint32_t behind,
                   std::uint32_t (&to)[3][pairs]) {
  static_assert(channels == 1 || channels == 3);
  std::uint32_t even[6], odd[6];
  SIMT_UNROLL
  for (int k = 0; k < 6; ++k) {
    const std::uint32_t word = k == 0 ? before : k == 5 ? behind : bytes.word[(k + 3) % 4];
    even[k] = even_bytes(word);
    odd[k] = odd_bytes(word);
  }
  SIMT_UNROLL
  for (int k = 1; k < 5; ++k) {
    const int at = 2 * (k - 1);
    to[1][at] = even[k];
    to[1][at + 1] = odd[k];
    to[0][at] = channels == 1 ? across(odd[k - 1], odd[k]) : odd[k - 1];
    to[0][at + 1] = channels == 1 ? even[k] : across(even[k - 1], even[k]);
    to[2][at] = channels == 1 ? odd[k] : across(odd[k], odd[k + 1]);
    to[2][at + 1] = channels == 1 ? across(even[k], even[k + 1]) : even[k + 1];
  }
}

// True if halves hold every partial sum of the taps.
inline bool sums_fit(const Taps& taps) {
  int above = 0, below = 0;
  for (int i = 0; i < taps.rows * taps.cols; ++i) (taps.weight[i] > 0 ? above : below) += taps.weight[i];
  return above * 255 <= max_pair_sum && -below * 255 <= max_pair_sum;
}

inline Reason refuses_pairs(const Taps& taps, const OutputConversion& conversion) {
  if (!conversion.whole || conversion.shift != 0 || conversion.whole_offset != 0)
    return "is for sums of bytes without a factor or an offset";
  if (!sums_fit(taps)) return "is for weights of bytes whose positive and negative sums are at most 8";
  return std::nullopt;
}

// NumberSums for pairs. `cross`: the kernel's corners are 0 and skipped; other weights of 0 are multiplied,
// since a product costs less than a test.
template <int channels, bool cross>
class PairSums {
 public:
  using Line = std::uint32_t[3][pairs];
  using Sum = std::uint32_t[pairs];

  SIMT explicit PairSums(const Problem<std::uint8_t>& p) : absolute_(p.conversion.absolute) {
    const Weights3<std::int32_t> whole(p.taps);
    SIMT_UNROLL
    for (int i = 0; i < 9; ++i) weight_[i / 3][i % 3] = pair_weight(whole.weight[i / 3][i % 3]);
  }

  SIMT void take(const WideRun<std::uint8_t, channels>& raw, Line& to) const {
    pairs_of<channels>(raw.left[0], raw.bytes, raw.right[0], to);
  }
  SIMT void add(int row, const Line& line, Sum& sum) const {
    SIMT_UNROLL
    for (int j = 0; j < 3; ++j) {
      if (cross && row != 1 && j != 1) continue;
      SIMT_UNROLL
      for (int v = 0; v < pairs; ++v) sum[v] = pair_add(weight_[row][j], line[j][v], sum[v]);
    }
  }
  SIMT static void clear(Sum& sum) {
    SIMT_UNROLL
    for (int v = 0; v < pairs; ++v) sum[v] = 0;
  }
  SIMT Bytes16 converted(const Sum& sum) const {
    Bytes16 out;
    SIMT_UNROLL
    for (int k = 0; k < 4; ++k)
      out.word[k] = joined_bytes(pair_bytes(sum[2 * k], absolute_), pair_bytes(sum[2 * k + 1], absolute_));
    return out;
  }

 private:
  std::uint32_t weight_[3][3];
  bool absolute_;
};

SIMT bool is_cross(const Taps& taps) {
  const Weights3<std::int32_t> w(taps);
  return (w.weight[0][0] | w.weight[0][2] | w.weight[2][0] | w.weight[2][2]) == 0;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::filtering
