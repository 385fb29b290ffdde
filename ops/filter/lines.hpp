// SPDX-License-Identifier: Apache-2.0
// Lines of a picture in runs of 16 bytes, for kernels of up to 3 × 3 taps. A row is taken for its samples:
// the pixel to the right lies `channels` samples further, whatever their number. The samples beside a run are
// loaded one by one, from places found once for all lines; there alone the border shows.
#pragma once
#include <algorithm>
#include "filter.hpp"
#include "tessera/kernel.hpp"

namespace tessera::filter {
inline namespace TESSERA_UNIT {

template <class T>
inline constexpr int run_samples = 16 / static_cast<int>(sizeof(T));

// A kernel of at most 3 × 3 taps, as 3 × 3 about its middle.
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

// The samples of 16 bytes, of which registers hold four words.
template <class T>
SIMT T sample_in(const Bytes16& bytes, int v) {
  constexpr int in_word = 4 / static_cast<int>(sizeof(T));
  const std::uint32_t word = bytes.word[v / in_word] >> (v % in_word * 8 * static_cast<int>(sizeof(T)));
  if constexpr (std::is_same_v<T, float>) return __builtin_bit_cast(float, word);
  else if constexpr (std::is_same_v<T, f16>) return f16{static_cast<std::uint16_t>(word)};
  else return static_cast<T>(word);
}

template <class T>
SIMT void put_sample(Bytes16& bytes, int v, T sample) {
  constexpr int in_word = 4 / static_cast<int>(sizeof(T));
  std::uint32_t bits = 0;
  if constexpr (std::is_same_v<T, float>) bits = __builtin_bit_cast(std::uint32_t, sample);
  else if constexpr (std::is_same_v<T, f16>) bits = sample.bits;
  else bits = static_cast<std::make_unsigned_t<T>>(sample);
  const std::uint32_t moved = bits << (v % in_word * 8 * static_cast<int>(sizeof(T)));
  bytes.word[v / in_word] = v % in_word == 0 ? moved : bytes.word[v / in_word] | moved;
}

template <class T>
SIMT void store_bytes(Thread thread, T* to, const Bytes16& bytes) {
  if ((reinterpret_cast<std::uintptr_t>(to) & 15) == 0) return thread.store16(to, bytes);
  SIMT_UNROLL
  for (int v = 0; v < run_samples<T>; ++v) to[v] = sample_in<T>(bytes, v);
}

// One line's run and the samples beside it, as they come from memory.
template <class T, int channels>
struct RawRun {
  Bytes16 bytes;
  T left[channels], right[channels];
};

template <class T, int channels>
class Lines {
 public:
  static constexpr int count = run_samples<T>;

  // From sample `first` of the result's rows.
  SIMT Lines(const Problem<T>& p, std::int64_t n, int first)
      : p_(p), base_(p.image.data + n * p.image.stride[0] + p.roi_x * channels + first), n_(n) {
    const int pixel = p.roi_x + first / channels, from = first % channels;  // a run may begin within a pixel
    SIMT_UNROLL
    for (int c = 0; c < channels; ++c) {
      left_[c] = place(pixel, from + c - channels, first);
      right_[c] = place(pixel, from + count + c, first);
    }
    // The address of every line, as far as the low bits go.
    const auto bits =
        reinterpret_cast<std::uintptr_t>(base_) | static_cast<std::uintptr_t>(p.image.stride[1]) * sizeof(T);
    whole_ = (bits & 15) == 0;
  }

  // Where this run begins in the line of a row of the result; nullptr: the line is of what lies outside.
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

  // So many samples where a row, of which sample `first` is this run's, ends within it or behind; then zeros.
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

  // Sample c of the pixel to the left, or to the right.
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

  // Sample `by` from the start of a pixel, counted from the run's first.
  SIMT int place(int pixel, int by, int first) const {
    const int steps = by < 0 ? -((channels - 1 - by) / channels) : by / channels;
    const int col = border_index(pixel + steps, p_.width(), p_.border);
    if (col == from_constant) return nowhere;
    return (col - p_.roi_x) * channels + by - steps * channels - first;
  }

  const Problem<T>& p_;
  const T* base_;
  std::int64_t n_;
  int left_[channels], right_[channels];
  bool whole_;
};

// A run and what lies beside it as numbers.
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

// sum ← the taps of one row of the kernel, from the left.
template <class A, int channels, int count>
SIMT void add_row(const A (&weight)[3], const A (&from)[count + 2 * channels], A (&sum)[count]) {
  SIMT_UNROLL
  for (int j = 0; j < 3; ++j) {
    if (weight[j] == A{0}) continue;
    SIMT_UNROLL
    for (int v = 0; v < count; ++v) sum[v] = add_product(weight[j], from[v + j * channels], sum[v]);
  }
}

// Results of a run, 16 bytes at once where they lie so.
template <class A, class T>
SIMT void store_run(Thread thread, const Problem<T>& p, std::int64_t n, int y, int first,
                    const A (&sum)[run_samples<T>]) {
  T* const to =
      reinterpret_cast<T*>(p.filtered.data) + n * p.filtered.stride[0] + y * p.filtered.stride[1] + first;
  Bytes16 out;
  SIMT_UNROLL
  for (int v = 0; v < run_samples<T>; ++v) put_sample(out, v, finished<T>(p.finish, sum[v]));
  store_bytes(thread, to, out);
}

// A run of columns from row `begin` to `end`. Each line adds to the three rows of results that it touches: it
// is the last of the one above, the middle of its own, the first of the one below. Two more lines are on
// their way meanwhile.
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

// The last samples of a row where they make no whole run.
template <class T>
SIMT void rest_of_row(const Problem<T>& p, std::int64_t n, int first, int begin, int end) {
  for (int y = begin; y < end; ++y)
    for (int e = first; e < p.row_samples(); ++e) p.compute(n, y, e / p.channels(), e % p.channels());
}

// What a thread does: a run of columns, some rows of it.
template <class T>
SIMT void filter_run(Thread thread, const Problem<T>& p, std::int64_t n, int first, int begin, int end) {
  using A = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;
  if (first >= p.row_samples() || begin >= end) return;
  if (first + run_samples < T >> p.row_samples()) rest_of_row(p, n, first, begin, end);
  else if (p.channels() == 1) slide<A, T, 1>(thread, p, n, first, begin, end);
  else slide<A, T, 3>(thread, p, n, first, begin, end);
}

// Threads that have a run of 16 bytes of `rows` rows each.
template <class T>
Launch launch_of_runs(const Problem<T>& p, std::int64_t rows, int threads) {
  const std::int64_t runs = (p.row_samples() + run_samples<T> - 1) / run_samples<T>;
  // Of a small picture every thread has few rows, lest most of the device be idle.
  constexpr std::int64_t enough_threads = 65536;
  rows = std::clamp<std::int64_t>(runs * p.rows() * p.images() / enough_threads, 2, rows);
  return {.grid = {(runs + threads - 1) / threads, (p.rows() + rows - 1) / rows, p.images()},
          .block = {threads}};
}

// "rows": at most so many of the result, for a thread.
inline std::vector<Range> ranges_of_runs() { return {{"rows", 1, 4096, 32}}; }

template <class T>
Reason refuses_runs(const Problem<T>& p) {
  if (!p.packed()) return "is for pixels side by side";
  if (p.to != element_of<T>) return "is for results of the picture's type";
  if (p.channels() != 1 && p.channels() != 3) return "is for 1 or 3 channels";
  if (std::is_integral_v<T> && !p.taps.whole) return "is for whole weights, where samples are integers";
  return refuses_more_than_3x3(p.taps);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::filter
