// SPDX-License-Identifier: Apache-2.0
#include "reference.hpp"
#include <algorithm>
#include <cmath>
#include "tessera/core/random.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::lightfield {
namespace {

struct Weighted {
  std::int64_t at;      // from the sample of the result, in pixels
  std::int64_t weight;  // in 2^-bits
};

// Place i of an axis of n, one step at a time; −1: nowhere.
std::int64_t folded(std::int64_t i, std::int64_t n, Border border) {
  while (i < 0 || i >= n) {
    if (border == Border::constant) return -1;
    if (border == Border::replicate) return i < 0 ? 0 : n - 1;
    if (border == Border::wrap) i += i < 0 ? n : -n;
    else if (border == Border::reflect) i = i < 0 ? -1 - i : 2 * n - 1 - i;
    else i = n == 1 ? 0 : i < 0 ? -i : 2 * (n - 1) - i;
  }
  return i;
}

double nearest_whole(double value) { return std::floor(value + 0.5); }

// The weights of an axis for a view at `place`: all numbers here are multiples of powers of 2 that a double
// has.
std::vector<Weighted> weights_of(double place, double slope, double bits, Between between) {
  const double one = std::ldexp(1.0, static_cast<int>(bits)),
               shift = nearest_whole(slope * place * one) / one;
  if (between == Between::nearest)
    return {{static_cast<std::int64_t>(nearest_whole(shift)), static_cast<std::int64_t>(one)}};
  const auto first = static_cast<std::int64_t>(std::floor(shift));
  const double f = shift - std::floor(shift);
  const auto whole = [one](double weight) { return static_cast<std::int64_t>(nearest_whole(weight * one)); };
  if (between == Between::linear) return {{first, whole(1 - f)}, {first + 1, whole(f)}};
  const std::int64_t before = whole((-f * f * f + 2 * f * f - f) / 2),
                     behind = whole((-3 * f * f * f + 4 * f * f + f) / 2),
                     last = whole((f * f * f - f * f) / 2);
  return {{first - 1, before},
          {first, static_cast<std::int64_t>(one) - before - behind - last},
          {first + 1, behind},
          {first + 2, last}};
}

class Definition {
 public:
  Definition(const Arguments& arguments, const Plan& plan)
      : views_(arguments.array("views")), plan_(plan), bits_(views_.element == Element::u8 ? 7 : 12) {}

  double result(std::int64_t plane, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return views_.element == Element::f32 ? float_result(plane, y, x, c) : whole_result(plane, y, x, c);
  }

 private:
  std::vector<Weighted> rows_of(const WeightedView& view, std::int64_t plane) const {
    return weights_of(
        std::ldexp(static_cast<double>(view.row * (1 << place_bits) - plan_.centre_row), -place_bits),
        slope(plane), bits_, plan_.between);
  }
  std::vector<Weighted> cols_of(const WeightedView& view, std::int64_t plane) const {
    return weights_of(
        std::ldexp(static_cast<double>(view.col * (1 << place_bits) - plan_.centre_col), -place_bits),
        slope(plane), bits_, plan_.between);
  }
  double slope(std::int64_t plane) const { return std::ldexp(plan_.slope[plane], -place_bits); }

  double sample(const WeightedView& view, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t row = folded(y, views_.extents[2], plan_.border),
                       col = folded(x, views_.extents[3], plan_.border);
    if (row < 0 || col < 0) return 0;
    const std::int64_t place[] = {view.row, view.col, row, col, c};
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < 5; ++d) offset += place[d] * views_.strides[d];
    return load_as_double(views_.element, static_cast<const char*>(views_.data) +
                                              offset * static_cast<std::int64_t>(size_of(views_.element)));
  }

  double whole_result(std::int64_t plane, std::int64_t y, std::int64_t x, std::int64_t c) const {
    std::int64_t sum = 0, weights = 0;
    for (int v = 0; v < plan_.count; ++v) {
      weights += plan_.view[v].weight;
      for (const auto& [up, row_weight] : rows_of(plan_.view[v], plane))
        for (const auto& [right, col_weight] : cols_of(plan_.view[v], plane))
          sum += plan_.view[v].weight * row_weight * col_weight *
                 static_cast<std::int64_t>(sample(plan_.view[v], y + up, x + right, c));
    }
    const std::int64_t whole = weights << (2 * bits_);
    const std::int64_t most = views_.element == Element::u8 ? 255 : 65535;
    return static_cast<double>(sum < 0 ? 0 : std::min(most, (2 * sum + whole) / (2 * whole)));
  }

  // One view after another of a row of the grid, for each line that it is read from.
  double float_result(std::int64_t plane, std::int64_t y, std::int64_t x, std::int64_t c) const {
    float sum = 0, weights = 0;
    const float unit = std::ldexp(1.0f, -bits_);
    for (int first = 0, end = 0; first < plan_.count; first = end) {
      while (end < plan_.count && plan_.view[end].row == plan_.view[first].row) ++end;
      for (const auto& [up, row_weight] : rows_of(plan_.view[first], plane)) {
        if (row_weight == 0) continue;
        float along = 0;
        for (int v = first; v < end; ++v)
          for (const auto& [right, col_weight] : cols_of(plan_.view[v], plane))
            if (col_weight != 0)
              along =
                  std::fma(static_cast<float>(col_weight) * unit * static_cast<float>(plan_.view[v].weight),
                           static_cast<float>(sample(plan_.view[v], y + up, x + right, c)), along);
        sum = std::fma(static_cast<float>(row_weight) * unit, along, sum);
      }
      for (int v = first; v < end; ++v) weights += static_cast<float>(plan_.view[v].weight);
    }
    return sum / weights;
  }

  const ArrayView& views_;
  const Plan& plan_;
  int bits_;
};

}  // namespace

void reference(const Arguments& arguments, const Plan& plan, std::span<const std::int64_t> rows,
               Expected& expected) {
  const Definition definition(arguments, plan);
  const std::int64_t height = arguments.dim("height"), width = arguments.dim("width"),
                     channels = arguments.dim("channels");
  for (const std::int64_t row : rows)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < channels; ++c) {
        expected.value.push_back(definition.result(row / height, row % height, x, c));
        expected.bound.push_back(0);
      }
}

double flops(const Arguments& arguments, const Plan& plan, const std::string& output) {
  const double taps = plan.between == Between::nearest ? 1 : plan.between == Between::linear ? 4 : 16;
  return 2 * taps * plan.count * static_cast<double>(arguments.array(output).count());
}

void fill(const Arguments&, const std::string&, Distribution distribution, std::uint64_t seed, ArrayView to) {
  constexpr std::uint64_t between = 40;
  fill_normal(seed, to);
  if (distribution != Distribution::special) return;
  Random random(seed + 1);
  const double strewn[] = {INFINITY, -INFINITY, NAN};
  const Extents& e = to.extents;
  for (std::int64_t i = 0; i < to.count(); ++i) {
    if (random.below(between) != 0) continue;
    std::int64_t rest = i, at = 0;
    for (std::size_t d = e.size(); d-- > 0; rest /= e[d]) at += rest % e[d] * to.strides[d];
    store_from_double(to.element,
                      static_cast<char*>(to.data) + at * static_cast<std::int64_t>(size_of(to.element)),
                      strewn[random.below(3)]);
  }
}

}  // namespace tessera::lightfield
