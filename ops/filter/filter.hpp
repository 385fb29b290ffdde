// SPDX-License-Identifier: Apache-2.0
// Pictures filtered: each sample of the result is a weighted sum of the samples around it. docs/filter.md has
// the formula, which every rung computes to the last bit.
#pragma once
#include <optional>
#include <string>
#include "sample.hpp"
#include "tessera/core/view.hpp"

namespace tessera::filter {
inline namespace TESSERA_UNIT {

template <class T>
struct Problem {
  using Elements = Types<std::uint8_t, std::uint16_t, std::int16_t, f16, float>;

  View<const T, 4> image;           // [images,height,width,channels]
  View<unsigned char, 4> filtered;  // [images,height,width,channels] of the element `to`; strides in elements
  Element to = Element::u8;
  int roi_x = 0, roi_y = 0;  // where in the picture the result begins
  Border border = Border::reflect_101;
  T outside = {};  // what a constant border holds
  Taps taps;
  Finish finish;

  SIMT int height() const { return static_cast<int>(image.extent[1]); }
  SIMT int width() const { return static_cast<int>(image.extent[2]); }
  SIMT int channels() const { return static_cast<int>(image.extent[3]); }
  SIMT std::int64_t images() const { return filtered.extent[0]; }
  SIMT int rows() const { return static_cast<int>(filtered.extent[1]); }
  SIMT int cols() const { return static_cast<int>(filtered.extent[2]); }
  SIMT int row_samples() const { return cols() * channels(); }

  // A sample of the picture, or of what lies around it.
  SIMT T sample(std::int64_t n, int y, int x, int c) const {
    const int row = border_index(y, height(), border), col = border_index(x, width(), border);
    return row == from_constant || col == from_constant ? outside : image(n, row, col, c);
  }

  template <class A>
  SIMT A sum_at(std::int64_t n, int y, int x, int c) const {
    const int top = y + roi_y - taps.above, first = x + roi_x - taps.left;
    return sum_of<A>(taps, [&](int i, int j) { return sample(n, top + i, first + j, c); });
  }

  template <class A>
  SIMT void store(std::int64_t n, int y, int x, int c, A sum) const {
    const std::int64_t at =
        n * filtered.stride[0] + y * filtered.stride[1] + x * filtered.stride[2] + c * filtered.stride[3];
    store_finished(filtered.data, at, to, finish, sum);
  }

  // A result from end to end.
  SIMT void compute(std::int64_t n, int y, int x, int c) const {
    if constexpr (std::is_integral_v<T>) {
      if (taps.whole) return store(n, y, x, c, sum_at<std::int32_t>(n, y, x, c));
    }
    store(n, y, x, c, sum_at<float>(n, y, x, c));
  }

  // Whether the samples of a row lie one after another, here and in the result.
  bool packed() const {
    const auto side_by_side = [this](const std::int64_t* stride) {
      return (stride[3] == 1 || channels() == 1) && stride[2] == channels();
    };
    return side_by_side(image.stride) && side_by_side(filtered.stride);
  }

  static T sample_of(double value) {
    if constexpr (std::is_same_v<T, f16>) return f16::from(static_cast<float>(value));
    else return static_cast<T>(value);
  }

  static Problem of(const Arguments& arguments) {
    const auto setting = setting_of(arguments);
    Problem p;
    p.image = arguments.view<const T, 4>("image");
    const ArrayView& out = arguments.array("filtered");
    p.filtered.data = static_cast<unsigned char*>(out.data);
    for (std::size_t d = 0; d < 4; ++d) {
      p.filtered.extent[d] = out.extents[d];
      p.filtered.stride[d] = out.strides[d];
    }
    p.to = setting->to;
    p.roi_x = static_cast<int>(setting->roi_x);
    p.roi_y = static_cast<int>(setting->roi_y);
    p.border = setting->border;
    p.outside = sample_of(setting->outside);
    p.taps = setting->taps;
    p.finish = setting->finish;
    return p;
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::filter
