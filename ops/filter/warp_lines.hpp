// SPDX-License-Identifier: Apache-2.0
// Lines of a picture as a warp has them: each lane a run of 16 bytes, and what lies beside it from the lanes
// beside. The first and the last lane alone load that, and there alone the border shows. Three lines are on
// their way while three are summed, and the three rows of results that a line touches take turns in the same
// registers: nothing is moved.
#pragma once
#include "lines.hpp"

// Three lines in turn, each its own code where registers have no numbers; elsewhere one loop compiles sooner.
#if defined(__CUDACC__)
#define FILTER_TURNS SIMT_UNROLL
#else
#define FILTER_TURNS
#endif

namespace tessera::filter {
inline namespace TESSERA_UNIT {

// The words that hold the pixel beside a run.
template <class T, int channels>
inline constexpr int beside_words = (channels * static_cast<int>(sizeof(T)) + 3) / 4;

// A run, the last words of the one to the left and the first words of the one to the right.
template <class T, int channels>
struct WideRun {
  Bytes16 bytes;
  std::uint32_t left[beside_words<T, channels>], right[beside_words<T, channels>];
};

template <class T>
SIMT std::uint32_t bits_of(T sample) {
  if constexpr (std::is_same_v<T, float>) return __builtin_bit_cast(std::uint32_t, sample);
  else if constexpr (std::is_same_v<T, f16>) return sample.bits;
  else return static_cast<std::make_unsigned_t<T>>(sample);
}

template <class T, int channels>
class WarpLines {
 public:
  static constexpr int count = run_samples<T>, words = beside_words<T, channels>,
                       in_word = 4 / static_cast<int>(sizeof(T));
  using Run = WideRun<T, channels>;

  // Runs begin at sample `first` of the result's rows, of which the last lanes may have nothing.
  SIMT WarpLines(Thread thread, const Problem<T>& p, std::int64_t n, int first)
      : lines_(p, n, first), first_(first), there_(p.row_samples() - first) {
    is_first_ = thread.lane() == 0;
    is_last_ = thread.lane() == 31 || there_ <= count;
  }

  SIMT int there() const { return there_; }  // samples of the row from here on

  // Beside the run only what no other lane has.
  SIMT Run load(Thread thread, int y) const {
    Run out{};
    if (there_ <= 0) return out;
    const T* const line = lines_.line(y);
    if (line == nullptr) out.bytes = lines_.outside();
    else if (there_ >= count) out.bytes = lines_.run(thread, line);
    else out.bytes = lines_.edge_of_row(line, first_, there_ + channels);
    SIMT_UNROLL
    for (int c = 0; c < channels; ++c) {
      const int at = words * in_word - channels + c;
      if (is_first_) out.left[at / in_word] |= in_place(lines_.beside(line, c, true), at);
      if (is_last_) out.right[c / in_word] |= in_place(lines_.beside(line, c, false), c);
    }
    return out;
  }

  // The rest of it. All lanes of the warp at once.
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
  int first_, there_;
  bool is_first_, is_last_;
};

// A run and what lies beside it as numbers.
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

// A run of results, of which so many are `there`.
template <class T>
SIMT void store_some(Thread thread, T* to, const Bytes16& bytes, int there) {
  if (there >= run_samples<T>) return store_bytes(thread, to, bytes);
  SIMT_UNROLL
  for (int v = 0; v < run_samples<T>; ++v)
    if (v < there) to[v] = sample_in<T>(bytes, v);
}

// Sums of numbers of type A, one for each sample of a run.
template <class A, class T, int channels>
class NumberSums {
 public:
  static constexpr int count = run_samples<T>;
  struct Line {
    A of[count + 2 * channels];
    A along[count];  // of a kernel that is a column times a row
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
  SIMT Bytes16 finish(const Sum& sum) const {
    Bytes16 out;
    SIMT_UNROLL
    for (int v = 0; v < count; ++v) put_sample(out, v, finished<T>(p_.finish, sum[v]));
    return out;
  }

 private:
  const Problem<T>& p_;
  Weights3<A> w_;
};

// A warp's runs of rows `begin` to `end`. Sums: how lines are summed, as NumberSums.
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
      // Of the row above this line is the last one, of the row below the first.
      auto &above = sum[(i + 1) % 3], &beside = sum[(i + 2) % 3], &below = sum[i];
      sums.add(2, here, above);
      sums.add(1, here, beside);
      sums.clear(below);
      sums.add(0, here, below);
      if (line + i > begin)
        store_some(thread, to + (line + i - 1) * p.filtered.stride[1], sums.finish(above), lines.there());
    }
  }
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::filter
