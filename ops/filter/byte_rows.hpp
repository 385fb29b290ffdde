// SPDX-License-Identifier: Apache-2.0
// Rows of bytes that a block has arrive in a ring, eight a step, whatever the kernel needs beside and around
// them included: copied as far as they are the picture's, and the columns around it then set by its border.
#pragma once
#include "streamed_rows.hpp"

namespace tessera::filter {
inline namespace TESSERA_UNIT {

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
}  // namespace tessera::filter
