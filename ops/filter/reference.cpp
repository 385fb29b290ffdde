// SPDX-License-Identifier: Apache-2.0
#include "reference.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include "setting.hpp"
#include "simd.hpp"
#include "tessera/core/differing_rows.hpp"

namespace tessera::filter {
namespace {

// Place i of an axis of n, one step at a time: the definition of the borders, not its arithmetic.
std::int64_t folded(std::int64_t i, std::int64_t n, Border border) {
  while (i < 0 || i >= n) {
    switch (border) {
      case Border::constant:
        return -1;
      case Border::replicate:
        return i < 0 ? 0 : n - 1;
      case Border::reflect:
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
        break;
      case Border::reflect_101:
        i = n == 1 ? 0 : i < 0 ? -i : 2 * (n - 1) - i;
        break;
      case Border::wrap:
        i += i < 0 ? n : -n;
        break;
    }
  }
  return i;
}

class Definition {
 public:
  Definition(const Arguments& arguments, const Setting& setting)
      : image_(arguments.array("image")), s_(setting) {}

  double result(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const Taps& t = s_.taps;
    const auto at = [&](int i, int j) {
      return sample(n, y + s_.roi_y - t.above + i, x + s_.roi_x - t.left + j, c);
    };
    return t.whole ? finish_whole(whole_sum(at))
                   : finish_float(t.separable ? separable_sum(at) : plain_sum(at));
  }

 private:
  double sample(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t row = folded(y, image_.extents[1], s_.border),
                       col = folded(x, image_.extents[2], s_.border);
    if (row < 0 || col < 0)
      return image_.element == Element::f16 ? static_cast<float>(f16::from(static_cast<float>(s_.outside)))
                                            : static_cast<float>(s_.outside);
    const Extents& stride = image_.strides;
    const std::int64_t offset = n * stride[0] + row * stride[1] + col * stride[2] + c * stride[3];
    return load_as_double(image_.element, static_cast<const char*>(image_.data) +
                                              offset * static_cast<std::int64_t>(size_of(image_.element)));
  }

  static float weight(std::int32_t stored) { return std::bit_cast<float>(stored); }

  template <class At>
  std::int64_t whole_sum(const At& at) const {
    std::int64_t sum = 0;
    for (int i = 0; i < s_.taps.rows; ++i)
      for (int j = 0; j < s_.taps.cols; ++j)
        sum += std::int64_t{s_.taps.weight[i * s_.taps.cols + j]} * static_cast<std::int64_t>(at(i, j));
    return sum;
  }

  template <class At>
  float plain_sum(const At& at) const {
    float sum = 0;
    for (int i = 0; i < s_.taps.rows; ++i)
      for (int j = 0; j < s_.taps.cols; ++j)
        if (const float w = weight(s_.taps.weight[i * s_.taps.cols + j]); w != 0)
          sum = std::fma(w, static_cast<float>(at(i, j)), sum);
    return sum;
  }

  template <class At>
  float separable_sum(const At& at) const {
    float sum = 0;
    for (int i = 0; i < s_.taps.rows; ++i) {
      if (weight(s_.taps.column[i]) == 0) continue;
      float along = 0;
      for (int j = 0; j < s_.taps.cols; ++j)
        if (const float w = weight(s_.taps.row[j]); w != 0)
          along = std::fma(w, static_cast<float>(at(i, j)), along);
      sum = std::fma(weight(s_.taps.column[i]), along, sum);
    }
    return sum;
  }

  double finish_whole(std::int64_t sum) const {
    const Finish& f = s_.finish;
    if (!f.whole) return finish_float(static_cast<float>(sum));
    const std::int64_t magnitude = f.absolute ? std::llabs(sum) : sum;
    const double rounded =
        std::floor(static_cast<double>(magnitude) / std::ldexp(1.0, f.shift) + (f.shift > 0 ? 0.5 : 0.0));
    return stored(rounded + f.whole_offset);
  }

  double finish_float(float sum) const {
    const Finish& f = s_.finish;
    const float magnitude = f.absolute ? std::fabs(sum) : sum;
    return stored(f.scaled ? std::fma(magnitude, f.scale, f.offset) : magnitude);
  }

  double stored(double value) const {
    switch (s_.to) {
      case Element::u8:
        return whole(value, 0, 255);
      case Element::u16:
        return whole(value, 0, 65535);
      case Element::i16:
        return whole(value, -32768, 32767);
      case Element::f16:
        return static_cast<float>(f16::from(static_cast<float>(value)));
      default:
        return static_cast<float>(value);
    }
  }

  static double whole(double value, double least, double most) {
    return std::isnan(value) ? least : std::clamp(std::nearbyint(value), least, most);
  }

  const ArrayView& image_;
  const Setting& s_;
};

}  // namespace

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& expected) {
  const auto setting = setting_of(arguments);
  const Definition definition(arguments, *setting);
  const Extents& extents = arguments.array("filtered").extents;
  for (const std::int64_t row : rows)
    for (std::int64_t x = 0; x < extents[2]; ++x)
      for (std::int64_t c = 0; c < extents[3]; ++c) {
        expected.value.push_back(definition.result(row / extents[1], row % extents[1], x, c));
        expected.bound.push_back(0);
      }
}

std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data, std::uint64_t) {
  return differing_rows(arguments, "filtered",
                        [](const Arguments& again) { filter_simd(again, host_threads()); });
}

}  // namespace tessera::filter
