// SPDX-License-Identifier: Apache-2.0
#include "reference.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include "setting.hpp"
#include "simd.hpp"
#include "tessera/core/differing_rows.hpp"

namespace tessera::resize {
namespace {

class Definition {
 public:
  Definition(const Arguments& arguments, const Setting& setting)
      : image_(arguments.array("image")), plan_(setting.plan), table_(setting.table) {}

  double result(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    if (plan_.recipe == Recipe::pick) return stored(n, start(plan_.across, y), start(plan_.along, x), c);
    if (!plan_.premultiply) return finished(n, y, x, c);
    const std::int64_t last = image_.extents[3] - 1;
    return c == last ? finished(n, y, x, c) : divided(n, y, x, c, last);
  }

 private:
  std::int64_t start(const AxisAt& axis, std::int64_t i) const { return entry(axis.start + i); }
  std::int64_t count(const AxisAt& axis, std::int64_t i) const { return entry(axis.count + i); }
  std::int64_t weight(const AxisAt& axis, std::int64_t i, std::int64_t k) const {
    return entry(axis.weight + i * axis.most + k);
  }
  std::int32_t entry(std::int64_t i) const { return table_[static_cast<std::size_t>(i)]; }
  float real_entry(std::int64_t i) const { return std::bit_cast<float>(entry(i)); }
  bool real() const { return plan_.recipe == Recipe::real; }

  double stored(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const Extents& stride = image_.strides;
    const std::int64_t at = n * stride[0] + y * stride[1] + x * stride[2] + c * stride[3];
    return load_as_double(image_.element, static_cast<const char*>(image_.data) +
                                              at * static_cast<std::int64_t>(size_of(image_.element)));
  }

  // A whole number where sums are whole, else one that an f32 holds.
  double number(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t last = image_.extents[3] - 1;
    double out = stored(n, y, x, c);
    const bool alpha = plan_.premultiply && c == last;
    if (plan_.linear_light && !alpha) out = real_entry(plan_.decode + static_cast<std::int64_t>(out));
    if (!plan_.premultiply || alpha) return out;
    if (real()) return static_cast<float>(out) * static_cast<float>(stored(n, y, x, last));
    return std::floor(out * stored(n, y, x, last) / 255 + 0.5);
  }

  double along(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t taps = count(plan_.along, x), first = start(plan_.along, x);
    if (real()) {
      float sum = 0;
      for (std::int64_t k = 0; k < taps; ++k) {
        const float product = real_entry(plan_.along.weight + x * plan_.along.most + k) *
                              static_cast<float>(number(n, y, first + k, c));
        sum = k == 0 ? product : sum + product;
      }
      return sum;
    }
    double sum = 0;
    for (std::int64_t k = 0; k < taps; ++k)
      sum += number(n, y, first + k, c) *
             (plan_.recipe == Recipe::mean ? 1 : static_cast<double>(weight(plan_.along, x, k)));
    return plan_.along_shift == 0 ? sum : byte(std::floor(std::ldexp(sum, -plan_.along_shift) + 0.5));
  }

  static double byte(double value) { return std::clamp(value, 0.0, 255.0); }

  double across(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t taps = count(plan_.across, y), first = start(plan_.across, y);
    if (plan_.recipe == Recipe::linear) {
      const auto cut = [&](std::int64_t k) {  // row k of the pair
        const double sum = std::floor(along(n, first + std::min(k, taps - 1), x, c) / 16);
        return std::floor(static_cast<double>(weight(plan_.across, y, k)) * sum / 65536);
      };
      return std::floor((cut(0) + cut(1) + 2) / 4);
    }
    if (real()) {
      float sum = 0;
      for (std::int64_t k = 0; k < taps; ++k) {
        const float product = real_entry(plan_.across.weight + y * plan_.across.most + k) *
                              static_cast<float>(along(n, first + k, x, c));
        sum = k == 0 ? product : sum + product;
      }
      return sum;
    }
    double sum = 0;
    for (std::int64_t k = 0; k < taps; ++k)
      sum += along(n, first + k, x, c) *
             (plan_.recipe == Recipe::mean ? 1 : static_cast<double>(weight(plan_.across, y, k)));
    return sum;
  }

  double finished(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const double sum = across(n, y, x, c);
    const bool alpha = plan_.premultiply && c == image_.extents[3] - 1;
    switch (plan_.recipe) {
      case Recipe::linear:
        return byte(sum);
      case Recipe::whole:
        return byte(std::floor(std::ldexp(sum, -plan_.across_shift) + 0.5));
      case Recipe::mean:
        return plan_.halves_up ? std::floor((sum + 2) / 4) : typed(static_cast<float>(sum) * plan_.share);
      default:
        return plan_.linear_light && !alpha ? code(static_cast<float>(sum)) : typed(static_cast<float>(sum));
    }
  }

  double divided(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c, std::int64_t last) const {
    if (!real()) {
      const double alpha = finished(n, y, x, last), colour = finished(n, y, x, c);
      return alpha == 0 || alpha == 255 ? colour : std::min(255.0, std::floor(255 * colour / alpha));
    }
    const auto sum = static_cast<float>(across(n, y, x, c)),
               alpha = static_cast<float>(across(n, y, x, last));
    const float colour = alpha == 0 ? sum : sum / alpha;
    return plan_.linear_light ? code(colour) : typed(colour);
  }

  double code(float light) const {
    const std::int64_t most = image_.element == Element::u8 ? 255 : 65535;
    std::int64_t out = 0;
    const std::int64_t begin = plan_.encode;
    while (out < most && light >= real_entry(begin + out)) ++out;
    return static_cast<double>(out);
  }

  double typed(float value) const {
    switch (image_.element) {
      case Element::u8:
        return whole(value, 0, 255);
      case Element::u16:
        return whole(value, 0, 65535);
      case Element::i16:
        return whole(value, -32768, 32767);
      case Element::f16:
        return static_cast<float>(f16::from(value));
      default:
        return value;
    }
  }

  static double whole(double value, double least, double most) {
    return std::isnan(value) ? least : std::clamp(std::nearbyint(value), least, most);
  }

  const ArrayView& image_;
  const Plan& plan_;
  const std::vector<std::int32_t>& table_;
};

}  // namespace

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& expected) {
  const auto setting = setting_of(arguments);
  const Definition definition(arguments, *setting);
  const Extents& extents = arguments.array("resized").extents;
  for (const std::int64_t row : rows)
    for (std::int64_t x = 0; x < extents[2]; ++x)
      for (std::int64_t c = 0; c < extents[3]; ++c) {
        expected.value.push_back(definition.result(row / extents[1], row % extents[1], x, c));
        expected.bound.push_back(0);
      }
}

std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data, std::uint64_t) {
  return differing_rows(arguments, "resized",
                        [](const Arguments& again) { resize_simd(again, host_threads()); });
}

}  // namespace tessera::resize
