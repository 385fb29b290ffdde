// SPDX-License-Identifier: Apache-2.0
// Filters pictures: each sample of the result is a weighted sum of the samples around it. docs/filter.md has
// the formula; the results of all rungs are bitwise identical.
#pragma once
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include "ops/imaging/samples.hpp"
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/device/view.hpp"

namespace tessera::filtering {
using namespace imaging;

inline constexpr int max_taps = 31;  // along an axis

// Integer weights are stored as integers, others as the bits of a float.
struct Taps {
  int rows = 1, cols = 1;
  int above = 0, left = 0;  // taps above and to the left of the sample itself
  bool whole = false;       // integers are summed
  bool separable = false;   // weight = column × row: sums along rows come first
  bool narrow = false;      // every sum, partial sums and the offset included, fits in 16 bits
  bool bytes = false;       // separable: weights fit in bytes, sums of bytes along a row in 16 bits
  std::int32_t weight[max_taps * max_taps] = {};  // row-major, `cols` per row
  std::int32_t column[max_taps] = {}, row[max_taps] = {};
};

// The conversion of a sum before it is stored.
struct OutputConversion {
  bool absolute = false;
  bool whole = false;                // integers throughout: no factor, and an integer offset
  std::int32_t shift = 0, half = 0;  // integer sums: bits that are rounded off, halves up
  std::int32_t whole_offset = 0;
  bool scaled = false;  // float sums: times `scale`, plus `offset`, rounded once
  float scale = 1, offset = 0;
};

struct Options {
  Taps taps;
  OutputConversion conversion;
  Border border = Border::reflect_101;
  double outside = 0;  // value of a constant border, exact in the samples' type
  std::int64_t roi_x = 0, roi_y = 0;
  Element to = Element::u8;
};

// Throws Error for options that cannot be computed.
const Options& options_of(const Arguments& arguments);

Element element_of_result(Element element, const Arguments::Words& words);

// Filters by the fastest rung of the CPU ladder; also used to check large results. Pictures may have any
// strides; the pixels of the result are adjacent.
void filter_simd(const Arguments& arguments, int threads);

inline namespace TESSERA_UNIT {

SIMT std::int32_t add_product(std::int32_t weight, std::int32_t x, std::int32_t sum) {
  return sum + weight * x;
}
SIMT float add_product(float weight, float x, float sum) { return std::fma(weight, x, sum); }

// fetch(i, j) returns the sample under tap i, j.
template <class A, class Fetch>
SIMT A sum_along_row(const Taps& taps, const std::int32_t* weights, int i, const Fetch& fetch, A sum) {
  SIMT_NO_UNROLL
  for (int j = 0; j < taps.cols; ++j)
    if (weights[j] != 0) sum = add_product(weight_as<A>(weights[j]), number<A>(fetch(i, j)), sum);
  return sum;
}

template <class A, class Fetch>
SIMT A sum_of(const Taps& taps, const Fetch& fetch) {
  A sum = 0;
  if (taps.separable) {
    SIMT_NO_UNROLL
    for (int i = 0; i < taps.rows; ++i)
      if (taps.column[i] != 0)
        sum =
            add_product(weight_as<A>(taps.column[i]), sum_along_row<A>(taps, taps.row, i, fetch, A{0}), sum);
  } else {
    SIMT_NO_UNROLL
    for (int i = 0; i < taps.rows; ++i)
      sum = sum_along_row<A>(taps, taps.weight + i * taps.cols, i, fetch, sum);
  }
  return sum;
}

SIMT std::int32_t whole_result(const OutputConversion& f, std::int32_t sum) {
  const std::int32_t magnitude = f.absolute && sum < 0 ? -sum : sum;
  return ((magnitude + f.half) >> f.shift) + f.whole_offset;
}

template <class To>
SIMT To finished(const OutputConversion& f, float sum) {
  const float magnitude = f.absolute ? std::fabs(sum) : sum;
  const float value = f.scaled ? std::fma(magnitude, f.scale, f.offset) : magnitude;
  return sample_of<To>(value);
}

template <class To>
SIMT To finished(const OutputConversion& f, std::int32_t sum) {
  if (!f.whole) return finished<To>(f, static_cast<float>(sum));
  const std::int32_t value = whole_result(f, sum);
  if constexpr (std::is_integral_v<To>) return saturated<To>(value);
  else return sample_of<To>(static_cast<float>(value));
}

// Stores the sum as sample `at` of an array of the element `to`.
template <class A>
SIMT void store_finished(void* data, std::int64_t at, Element to, const OutputConversion& f, A sum) {
  switch (to) {
    case Element::u8:
      static_cast<std::uint8_t*>(data)[at] = finished<std::uint8_t>(f, sum);
      break;
    case Element::u16:
      static_cast<std::uint16_t*>(data)[at] = finished<std::uint16_t>(f, sum);
      break;
    case Element::i16:
      static_cast<std::int16_t*>(data)[at] = finished<std::int16_t>(f, sum);
      break;
    case Element::f16:
      static_cast<f16*>(data)[at] = finished<f16>(f, sum);
      break;
    default:
      static_cast<float*>(data)[at] = finished<float>(f, sum);
      break;
  }
}

template <class T>
struct Problem {
  using Elements = PictureElements;

  View<const T, 4> image;           // [images,height,width,channels]
  View<unsigned char, 4> filtered;  // [images,height,width,channels] of the element `to`; strides in elements
  Element to = Element::u8;
  int roi_x = 0, roi_y = 0;  // origin of the result in the picture
  Border border = Border::reflect_101;
  T outside = {};  // value of a constant border
  Taps taps;
  OutputConversion conversion;

  SIMT int height() const { return static_cast<int>(image.extent[1]); }
  SIMT int width() const { return static_cast<int>(image.extent[2]); }
  SIMT int channels() const { return static_cast<int>(image.extent[3]); }
  SIMT std::int64_t images() const { return filtered.extent[0]; }
  SIMT int rows() const { return static_cast<int>(filtered.extent[1]); }
  SIMT int cols() const { return static_cast<int>(filtered.extent[2]); }
  SIMT int row_samples() const { return cols() * channels(); }

  // Returns a sample of the picture or of its border.
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
    store_finished(filtered.data, at, to, conversion, sum);
  }

  // Computes one sample of the result.
  SIMT void compute(std::int64_t n, int y, int x, int c) const {
    if constexpr (std::is_integral_v<T>) {
      if (taps.whole) return store(n, y, x, c, sum_at<std::int32_t>(n, y, x, c));
    }
    store(n, y, x, c, sum_at<float>(n, y, x, c));
  }

  // True if the samples of a row are contiguous, in the picture and in the result.
  bool packed() const {
    const auto side_by_side = [this](const std::int64_t* stride) {
      return (stride[3] == 1 || channels() == 1) && stride[2] == channels();
    };
    return side_by_side(image.stride) && side_by_side(filtered.stride);
  }

  static T outside_of(double value) {
    if constexpr (std::is_same_v<T, f16>) return f16::from(static_cast<float>(value));
    else return static_cast<T>(value);
  }

  static Problem of(const Arguments& arguments) {
    const Options& options = options_of(arguments);
    Problem p;
    p.image = arguments.view<const T, 4>("image");
    const ArrayView& out = arguments.array("filtered");
    p.filtered.data = static_cast<unsigned char*>(out.data);
    for (std::size_t d = 0; d < 4; ++d) {
      p.filtered.extent[d] = out.extents[d];
      p.filtered.stride[d] = out.strides[d];
    }
    p.to = options.to;
    p.roi_x = static_cast<int>(options.roi_x);
    p.roi_y = static_cast<int>(options.roi_y);
    p.border = options.border;
    p.outside = outside_of(options.outside);
    p.taps = options.taps;
    p.conversion = options.conversion;
    return p;
  }
};

}  // namespace TESSERA_UNIT

// Computes columns [first, last), rows [begin, end) of picture n's result by CPU rung 1.
template <class T>
void filter_naive(const Problem<T>& p, std::int64_t n, int first, int last, int begin, int end);

}  // namespace tessera::filtering
