// SPDX-License-Identifier: Apache-2.0
// The weighted mean of shifted views of a light field, used by refocusing and by new viewpoints. Integers are
// summed exactly and rounded once, floats are summed in a stated order: all rungs give bitwise identical
// results. docs/lightfield.md has the formulas.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>
#include "ops/imaging/samples.hpp"
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/array/element.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/core/device/view.hpp"

namespace tessera::lightfield {
using namespace imaging;

inline constexpr int max_views = 1024, max_slopes = 256;
inline constexpr int place_bits = 16;  // positions in the grid and slopes are multiples of 2^-16

enum class Interpolation : int { nearest, linear, cubic };

struct WeightedView {
  std::int16_t row = 0, col = 0;
  std::int32_t weight = 0;
};

struct LightFieldPlan {
  int count = 0;  // number of views, ordered by rows, then columns
  WeightedView view[max_views];
  std::int32_t all_weights = 0;
  bool equal = false;                           // every weight is 1
  std::int64_t centre_row = 0, centre_col = 0;  // the position that is not shifted, in 2^-16 of a view
  int min_col = 0, max_col = 0;                 // range of the views' columns
  std::int32_t min_slope = 0, max_slope = 0;
  std::int32_t slope[max_slopes] = {};  // slope of each plane, in 2^-16 pixels per view
  Interpolation between = Interpolation::linear;
  Border border = Border::replicate;
};

std::int64_t in_places(double value);  // rounded to 2^-16, halves up

void set_slopes(LightFieldPlan& plan, const std::vector<double>& slopes);
// Reads the options that both operations have: interpolation, border, and the centre, given as "0.3,0.7" in
// `at` and `units`, from 0, the first view, to 1, the last, or in views. Throws Error for views beyond the
// limits.
LightFieldPlan begin_plan(const Arguments& arguments);
void add_view(LightFieldPlan& plan, std::int64_t row, std::int64_t col,
              std::int64_t weight);  // ignores weight 0
void end_plan(LightFieldPlan& plan);

inline namespace TESSERA_UNIT {

// Shifts are multiples of 2^-bits of a pixel and weights are multiples of 2^-bits, so products of two weights
// are exact.
template <class T>
inline constexpr int fraction_bits = std::is_same_v<T, std::uint8_t> ? 7 : 12;

template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, float>;

// The samples along an axis that one sample of the result reads, from offset `first` on.
struct Taps {
  int first = 0, count = 1;
  std::int32_t weight[4] = {};
};

// Returns the shift of the view at `place`, in 2^-bits of a pixel, halves rounded up.
template <int bits>
SIMT std::int64_t shift_of(int place, std::int64_t centre, std::int32_t slope) {
  constexpr int spare = 2 * place_bits - bits;
  const std::int64_t exact = slope * (std::int64_t{place} * (1 << place_bits) - centre);
  return (exact + (std::int64_t{1} << (spare - 1))) >> spare;
}

// Computes Keys' cubic (a = −1/2) at f·2^-bits. Weights are rounded to nearest, except weight[1], which makes
// their sum exactly 1.
template <int bits>
SIMT void cubic_weights(std::int64_t f, std::int32_t (&weight)[4]) {
  const std::int64_t one = std::int64_t{1} << bits, square = f * f, cube = square * f, half = one * one;
  const auto rounded = [&](std::int64_t value) {
    return static_cast<std::int32_t>((value + half) >> (2 * bits + 1));
  };
  weight[0] = rounded(-cube + 2 * square * one - f * one * one);
  weight[2] = rounded(-3 * cube + 4 * square * one + f * one * one);
  weight[3] = rounded(cube - square * one);
  weight[1] = static_cast<std::int32_t>(one) - weight[0] - weight[2] - weight[3];
}

template <int bits>
SIMT Taps taps_of(std::int64_t shift, Interpolation between) {
  constexpr std::int32_t one = 1 << bits;
  Taps out;
  out.weight[0] = one;
  const auto fraction = static_cast<std::int32_t>(shift & (one - 1));
  out.first = static_cast<int>(shift >> bits);
  if (between == Interpolation::nearest) {
    out.first = static_cast<int>((shift + one / 2) >> bits);
  } else if (fraction != 0 && between == Interpolation::linear) {
    out.count = 2;
    out.weight[0] = one - fraction;
    out.weight[1] = fraction;
  } else if (fraction != 0) {
    out.count = 4;
    --out.first;
    cubic_weights<bits>(fraction, out.weight);
  }
  return out;
}

SIMT std::int64_t add_product(std::int64_t weight, std::int64_t x, std::int64_t sum) {
  return sum + weight * x;
}
SIMT float add_product(float weight, float x, float sum) { return std::fma(weight, x, sum); }

// Converts a weight to the type and unit of the sums.
template <class T>
SIMT Sum<T> weight_as(std::int32_t weight) {
  if constexpr (std::is_integral_v<T>) return weight;
  else return static_cast<float>(weight) * (1.0f / (1 << fraction_bits<T>));
}

template <class T>
SIMT T finished(Sum<T> sum, std::int32_t all_weights) {
  if constexpr (std::is_integral_v<T>) {
    constexpr std::int64_t most = (1 << 8 * sizeof(T)) - 1;
    const std::int64_t whole = std::int64_t{all_weights} << (2 * fraction_bits<T>);
    if (sum <= 0) return 0;
    const std::int64_t value = (sum + whole / 2) / whole;
    return static_cast<T>(value < most ? value : most);
  } else {
    return sum / static_cast<float>(all_weights);
  }
}

template <class T>
struct Gather {
  View<const T, 5> views;  // [rows,cols,height,width,channels]
  View<T, 4> result;       // [planes,height,width,channels]
  LightFieldPlan plan;

  static constexpr int bits = fraction_bits<T>;

  SIMT int height() const { return static_cast<int>(result.extent[1]); }
  SIMT int width() const { return static_cast<int>(result.extent[2]); }
  SIMT int channels() const { return static_cast<int>(result.extent[3]); }
  SIMT int planes() const { return static_cast<int>(result.extent[0]); }
  SIMT int row_samples() const { return width() * channels(); }

  SIMT Taps row_taps(int row, int plane) const {
    return taps_of<bits>(shift_of<bits>(row, plan.centre_row, plan.slope[plane]), plan.between);
  }
  SIMT Taps col_taps(int col, int plane) const {
    return taps_of<bits>(shift_of<bits>(col, plan.centre_col, plan.slope[plane]), plan.between);
  }

  // Returns one past the last of the views that are in the grid row of view `first`.
  SIMT int row_end(int first) const {
    int end = first + 1;
    while (end < plan.count && plan.view[end].row == plan.view[first].row) ++end;
    return end;
  }

  // Returns the sum over the views [first, end) of a grid row and their horizontal taps around x, in line y.
  SIMT Sum<T> along(int first, int end, int plane, int y, int x, int c) const {
    Sum<T> sum = 0;
    SIMT_NO_UNROLL
    for (int v = first; v < end; ++v) {
      const Taps taps = col_taps(plan.view[v].col, plane);
      SIMT_NO_UNROLL
      for (int j = 0; j < taps.count; ++j) {
        const int col = border_index(x + taps.first + j, width(), plan.border);
        if (col == from_constant || taps.weight[j] == 0) continue;
        const Sum<T> weight = weight_as<T>(taps.weight[j]) * static_cast<Sum<T>>(plan.view[v].weight);
        sum = add_product(weight, static_cast<Sum<T>>(views(plan.view[v].row, plan.view[v].col, y, col, c)),
                          sum);
      }
    }
    return sum;
  }

  SIMT Sum<T> sum_at(int plane, int y, int x, int c) const {
    Sum<T> sum = 0;
    for (int first = 0; first < plan.count;) {
      const int end = row_end(first);
      const Taps taps = row_taps(plan.view[first].row, plane);
      SIMT_NO_UNROLL
      for (int i = 0; i < taps.count; ++i) {
        const int row = border_index(y + taps.first + i, height(), plan.border);
        if (row == from_constant || taps.weight[i] == 0) continue;
        sum = add_product(weight_as<T>(taps.weight[i]), along(first, end, plane, row, x, c), sum);
      }
      first = end;
    }
    return sum;
  }

  SIMT void compute(int plane, int y, int x, int c) const {
    result(plane, y, x, c) = finished<T>(sum_at(plane, y, x, c), plan.all_weights);
  }

  // True if the samples of a row are contiguous, in the views and in the result.
  bool packed() const {
    const auto side_by_side = [this](std::int64_t pixel, std::int64_t sample) {
      return (sample == 1 || channels() == 1) && pixel == channels();
    };
    return side_by_side(views.stride[3], views.stride[4]) && side_by_side(result.stride[2], result.stride[3]);
  }

  template <class P>
  static P made(const Arguments& arguments, const char* output, const LightFieldPlan& plan) {
    P p;
    p.views = arguments.view<const T, 5>("views");
    p.result = arguments.view<T, 4>(output);
    p.plan = plan;
    return p;
  }
};

}  // namespace TESSERA_UNIT

// Computes by the fastest CPU rung, for both operations and to check large results. Views may have any
// strides; the result's pixels must be contiguous.
void sum_views(const Gather<std::uint8_t>& p, int threads);
void sum_views(const Gather<std::uint16_t>& p, int threads);
void sum_views(const Gather<float>& p, int threads);

}  // namespace tessera::lightfield
