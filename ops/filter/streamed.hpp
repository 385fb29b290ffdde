// SPDX-License-Identifier: Apache-2.0
// Strips of rows that a block has arrive in a ring, and what a thread takes from there: 16 bytes and the
// words beside them, which are neighbours in shared memory too. A strip's rows bring 16 bytes of what lies
// beside the strip along; where the picture ends there is nothing to bring, and the border shows.
#pragma once
#include "tessera/ring.hpp"
#include "runs.hpp"

namespace tessera::filtering {
inline namespace TESSERA_UNIT {

inline constexpr int streamed_rows = 3;  // of a step: sums of as many rows take turns in registers

// Whether rows begin and end where 16 bytes do, in the picture and in the result.
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

// A block's part of the result, and where its samples come from.
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
    there = at < used_;
    at_left_ = first && !wraps && at == 0;
    at_right_ = last && !wraps && at + run == used_;
    to = reinterpret_cast<T*>(p.filtered.data) + thread.block().z * p.filtered.stride[0] +
         begin * p.filtered.stride[1] + start + at;
  }

  int begin, end;  // rows
  bool there;      // whether this thread has a run
  T* to;           // the run in row `begin`

  SIMT int steps() const { return begin < end ? (end - begin + 2 + streamed_rows - 1) / streamed_rows : 0; }
  SIMT int line(int step, int i) const { return begin - 1 + step * streamed_rows + i; }

  // A step's lines into the ring.
  template <int stages>
  SIMT void ask(const Ring<stages>& ring, int step, Row (&rows)[streamed_rows]) const {
    ring.ask(step, step < steps(), 3 * streamed_rows, [&](int piece, const auto& copy) {
      const int i = piece % streamed_rows, y = line(step, i), what = piece / streamed_rows;
      if (y > end || outside(y)) return;
      const T* const from = image_ + border_index(y + p_.roi_y, p_.height(), border_) * p_.image.stride[1];
      if (what == 0) copy(rows[i] + to_, from + from_, bytes_);
      else if (what == 1 && left_wraps_) copy(rows[i], from + p_.width() * channels - run, beside);
      else if (what == 2 && right_wraps_)
        copy(rows[i] + beside + used_ * static_cast<int>(sizeof(T)), from, beside);
    });
  }

  // This thread's run of a line that has arrived, if it is one of the picture's.
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

  // What lies beside the picture: of each channel a sample of the first or last pixel, or of the one within.
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
  int used_, from_, to_, bytes_;  // samples of the strip's rows; what is copied of the picture's
  bool left_wraps_, right_wraps_, at_left_, at_right_;
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::filtering

namespace tessera::filtering {
inline namespace TESSERA_UNIT {

// Rows of bytes that a block has arrive in a ring, eight a step, whatever the kernel needs beside and around
// them included: copied as far as they are the picture's, and the columns around it then set by its border.

// The part of the result that a block makes: rows `begin` to `end`, `used` samples of each. A line of the
// ring begins with sample `left` of a picture's row, a multiple of 16, of which the first sum needs the
// sample `shift` places on.
template <int row_bytes>
class ByteRows {
 public:
  using T = std::uint8_t;
  static constexpr int rows = 8;  // of a step
  using Rows = unsigned char[rows][row_bytes];

  // `wide` samples of the result a block, which need lines of `wide` + `beside` bytes behind `shift` rounded
  // down to a word. All are multiples of 16.
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
  SIMT void ask(Thread thread, const Ring<stages>& ring, int step, Rows& to) const {
    if (step < steps && !is_copied(step)) {
      set(thread, step, 0, 0, to);
      return ring.ask_nothing(step);
    }
    ring.ask(step, step < steps, rows, [&](int i, const auto& copy) {
      if (copied_from_ < copied_to_)
        copy(to[i] + copied_from_, line(step, i) + left_ + copied_from_, copied_to_ - copied_from_);
    });
  }

  // Whether a step that has arrived lacks columns, which `set_border` sets.
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
    // Of rows that no sum needs any is as good as another.
    const int row = step * rows + i, y = top_ + (row < high_ ? row : high_ - 1);
    return image_ + border_index(y, p_.height(), p_.border) * p_.image.stride[1];
  }

  // A step's bytes but those from `from` to `to`.
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
