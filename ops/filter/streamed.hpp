// SPDX-License-Identifier: Apache-2.0
// A block's strip of rows arrives in a ring in shared memory, from which a thread loads 16 bytes and the
// adjacent words. A strip's rows include 16 bytes on either side of the strip, except at an edge of the
// picture, where the border applies.
#pragma once
#include "tessera/ring.hpp"
#include "runs.hpp"

namespace tessera::filtering {
inline namespace TESSERA_UNIT {

inline constexpr int streamed_rows = 3;  // rows per step: sums of as many rows rotate in registers

// True if rows begin and end at multiples of 16 bytes, in the picture and in the result.
template <class T>
bool streams(const Problem<T>& p) {
  constexpr int run = run_samples<T>;
  const auto whole = [](std::int64_t samples) { return samples % run == 0; };
  const auto lies = [&](const auto& view) {
    return whole(view.stride[0]) && whole(view.stride[1]) &&
           reinterpret_cast<std::uintptr_t>(view.data) % sizeof(Bytes16) == 0;
  };
  return lies(p.image) && lies(p.filtered) && whole(std::int64_t{p.width()} * p.channels()) &&
         whole(std::int64_t{p.roi_x} * p.channels()) && whole(p.row_samples());
}

// A block's part of the result and the source of its samples.
template <class T, int channels, int row_bytes>
class StreamedStrip {
 public:
  static constexpr int run = run_samples<T>, beside = sizeof(Bytes16);
  using Row = unsigned char[row_bytes + 2 * sizeof(Bytes16)];

  SIMT StreamedStrip(Thread thread, const Problem<T>& p) : p_(p), border_(p.border) {
    const int bands = thread.grid().y, rows = (p.rows() + bands - 1) / bands;
    begin = thread.block().y * rows;
    end = begin + rows < p.rows() ? begin + rows : p.rows();
    const int wide = thread.size().x * run, start = thread.block().x * wide;
    used_ = p.row_samples() - start < wide ? p.row_samples() - start : wide;
    const int picture_row = p.width() * channels, from = p.roi_x * channels + start;
    const bool first = from == 0, last = from + used_ == picture_row;
    image_ = p.image.data + thread.block().z * p.image.stride[0];
    from_ = from - (first ? 0 : run);
    to_ = first ? beside : 0;
    bytes_ = (used_ + (first ? 0 : run) + (last ? 0 : run)) * static_cast<int>(sizeof(T));
    const bool wraps = border_ == Border::wrap;
    left_wraps_ = first && wraps;
    right_wraps_ = last && wraps;
    const int at = thread.rank() * run;
    has_run = at < used_;
    at_left_ = first && !wraps && at == 0;
    at_right_ = last && !wraps && at + run == used_;
    to = reinterpret_cast<T*>(p.filtered.data) + thread.block().z * p.filtered.stride[0] +
         begin * p.filtered.stride[1] + start + at;
  }

  int begin, end;  // rows
  bool has_run;    // true: this thread has a run
  T* to;           // the run in row `begin`

  SIMT int steps() const { return begin < end ? (end - begin + 2 + streamed_rows - 1) / streamed_rows : 0; }
  SIMT int line(int step, int i) const { return begin - 1 + step * streamed_rows + i; }

  // Requests copies of a step's lines into the ring.
  template <int stages>
  SIMT void issue(const Ring<stages>& ring, int step, Row (&rows)[streamed_rows]) const {
    ring.issue(step, step < steps(), 3 * streamed_rows, [&](int piece, const auto& copy) {
      const int i = piece % streamed_rows, y = line(step, i), what = piece / streamed_rows;
      if (y > end || outside(y)) return;
      const T* const from = image_ + border_index(y + p_.roi_y, p_.height(), border_) * p_.image.stride[1];
      if (what == 0) copy(rows[i] + to_, from + from_, bytes_);
      else if (what == 1 && left_wraps_) copy(rows[i], from + p_.width() * channels - run, beside);
      else if (what == 2 && right_wraps_)
        copy(rows[i] + beside + used_ * static_cast<int>(sizeof(T)), from, beside);
    });
  }

  // Loads this thread's run of a line that has arrived, or of the constant border.
  SIMT WideRun<T, channels> load(Thread thread, const Row& row, int y) const {
    WideRun<T, channels> out;
    if (outside(y)) {
      Bytes16 all;
      SIMT_UNROLL
      for (int v = 0; v < run; ++v) put_sample(all, v, p_.outside);
      out.bytes = all;
      SIMT_UNROLL
      for (int i = 0; i < words; ++i) out.left[i] = out.right[i] = all.word[0];
      return out;
    }
    const unsigned char* const at = row + beside + thread.rank() * beside;
    out.bytes = thread.load16(at);
    if constexpr (words == 1) {
      const auto* const word = reinterpret_cast<const std::uint32_t*>(at);
      out.left[0] = at_left_ ? 0 : word[-1];
      out.right[0] = at_right_ ? 0 : word[4];
    } else {
      const Bytes16 left = thread.load16(at_left_ ? at : at - beside),
                    right = thread.load16(at_right_ ? at : at + beside);
      SIMT_UNROLL
      for (int i = 0; i < words; ++i) out.left[i] = left.word[4 - words + i], out.right[i] = right.word[i];
    }
    if (at_left_ || at_right_) set_border(out);
    return out;
  }

 private:
  static constexpr int words = beside_words<T, channels>;

  SIMT bool outside(int y) const {
    return border_ == Border::constant && (y + p_.roi_y < 0 || y + p_.roi_y >= p_.height());
  }

  // Sets the samples beside the picture: of each channel, a sample of the first or last pixel, or of the next
  // one inside.
  SIMT void set_border(WideRun<T, channels>& out) const {
    constexpr int in_word = 4 / static_cast<int>(sizeof(T)), first = words * in_word - channels;
    T all[run + 2 * channels];
    SIMT_UNROLL
    for (int v = 0; v < run; ++v) all[channels + v] = sample_in<T>(out.bytes, v);
    Bytes16 left{}, right{};
    SIMT_UNROLL
    for (int i = 0; i < words; ++i) left.word[i] = out.left[i], right.word[i] = out.right[i];
    SIMT_UNROLL
    for (int c = 0; c < channels; ++c) {
      all[c] = sample_in<T>(left, first + c);
      all[channels + run + c] = sample_in<T>(right, c);
    }
    const int within = border_ == Border::reflect_101 ? channels : 0;
    SIMT_UNROLL
    for (int c = 0; c < channels; ++c) {
      const T near_left = within != 0 ? all[2 * channels + c] : all[channels + c],
              near_right = within != 0 ? all[run - channels + c] : all[run + c];
      if (at_left_) put(out.left, first + c, border_ == Border::constant ? p_.outside : near_left);
      if (at_right_) put(out.right, c, border_ == Border::constant ? p_.outside : near_right);
    }
  }

  SIMT static void put(std::uint32_t (&to)[words], int v, T sample) {
    constexpr int in_word = 4 / static_cast<int>(sizeof(T)), bits = 8 * static_cast<int>(sizeof(T));
    const std::uint32_t mask = (0xffffffffu >> (32 - bits)) << (v % in_word * bits);
    to[v / in_word] = (to[v / in_word] & ~mask) | bits_of(sample) << (v % in_word * bits);
  }

  const Problem<T>& p_;
  const T* image_;
  Border border_;
  int used_, from_, to_, bytes_;  // samples of the strip's rows; source, target and size of a row's copy
  bool left_wraps_, right_wraps_, at_left_, at_right_;
};

// A block's rows of bytes arrive in a ring, eight per step, with all samples that the kernel needs around
// them: samples of the picture are copied, and columns outside the picture are then set by the border rule.

// The part of the result that a block computes: rows `begin` to `end`, `used` samples of each. A line of the
// ring begins with sample `left` of a row of the picture, a multiple of 16; the first sum begins `shift`
// samples further.
template <int row_bytes>
class ByteRows {
 public:
  using T = std::uint8_t;
  static constexpr int rows = 8;  // rows per step
  using Rows = unsigned char[rows][row_bytes];

  // A block has `wide` samples of the result, which need lines of `wide` + `beside` bytes after `shift`
  // rounded down to a word. All are multiples of 16.
  SIMT ByteRows(Thread thread, const Problem<T>& p, int wide, int beside, int octets) : p_(p) {
    const int bands = thread.grid().y, channels = p.channels(),
              each = ((p.rows() + bands - 1) / bands + rows - 1) / rows * rows;
    begin = thread.block().y * each;
    end = begin + each < p.rows() ? begin + each : p.rows();
    start = thread.block().x * wide;
    used = p.row_samples() - start < wide ? p.row_samples() - start : wide;
    const int first = (p.roi_x - p.taps.left) * channels + start;
    left_ = first & ~15;
    shift = first - left_;
    all_ = ((shift & ~3) + used + beside + 15) & ~15;
    copied_from_ = inside(-left_);
    copied_to_ = inside(p.width() * channels - left_);
    top_ = begin + p.roi_y - p.taps.above;
    high_ = end - begin + p.taps.rows - 1;
    steps = begin < end ? (end - begin + rows - 1) / rows + octets - 1 : 0;
    image_ = p.image.data + thread.block().z * p.image.stride[0];
  }

  int begin, end, start, used, shift, steps;

  template <int stages>
  SIMT void issue(Thread thread, const Ring<stages>& ring, int step, Rows& to) const {
    if (step < steps && !is_copied(step)) {
      set(thread, step, 0, 0, to);
      return ring.issue_nothing(step);
    }
    ring.issue(step, step < steps, rows, [&](int i, const auto& copy) {
      if (copied_from_ < copied_to_)
        copy(to[i] + copied_from_, line(step, i) + left_ + copied_from_, copied_to_ - copied_from_);
    });
  }

  // True if a step that has arrived lacks columns, which `set_border` sets.
  SIMT bool has_border(int step) const { return (copied_from_ > 0 || copied_to_ < all_) && is_copied(step); }
  SIMT void set_border(Thread thread, int step, Rows& to) const {
    set(thread, step, copied_from_, copied_to_, to);
  }

 private:
  SIMT int inside(int at) const { return at < 0 ? 0 : at < all_ ? at : all_; }

  SIMT bool is_copied(int step) const {
    const int top = top_ + step * rows;
    return p_.border != Border::constant || (top >= 0 && top + rows <= p_.height());
  }

  SIMT const T* line(int step, int i) const {
    // Any row serves in place of rows that no sum needs.
    const int row = step * rows + i, y = top_ + (row < high_ ? row : high_ - 1);
    return image_ + border_index(y, p_.height(), p_.border) * p_.image.stride[1];
  }

  // Sets a step's bytes except those from `from` to `to`.
  SIMT void set(Thread thread, int step, int from, int to, Rows& lines) const {
    const int count = all_ - to + from, channels = p_.channels();
    SIMT_NO_UNROLL
    for (int at = thread.rank(); at < rows * count; at += thread.size().x) {
      const int i = at / count, j = at % count < from ? at % count : at % count - from + to;
      const int sample = left_ + j, pixel = (sample < 0 ? sample - channels + 1 : sample) / channels,
                col = border_index(pixel, p_.width(), p_.border);
      const int row = border_index(top_ + step * rows + i, p_.height(), p_.border);
      lines[i][j] = row == from_constant || col == from_constant
                        ? p_.outside
                        : image_[row * p_.image.stride[1] + col * channels + sample - pixel * channels];
    }
  }

  const Problem<T>& p_;
  const T* image_;
  int left_, all_, copied_from_, copied_to_, top_, high_;
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::filtering
