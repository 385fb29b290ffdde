// SPDX-License-Identifier: Apache-2.0
// Pictures of another size: each sample of the result is a weighted sum along its row, then across the rows.
// docs/resize.md has the formulas, which every rung computes to the last bit.
#pragma once
#include "sample.hpp"
#include "tables.hpp"
#include "tessera/core/view.hpp"

namespace tessera::resize {
inline namespace TESSERA_UNIT {

template <class T>
struct Problem {
  using Elements = Types<std::uint8_t, std::uint16_t, std::int16_t, f16, float>;

  View<const T, 4> image;  // [images,from_height,from_width,channels]
  View<T, 4> resized;      // [images,height,width,channels]
  Plan plan;
  const std::int32_t* table = nullptr;  // where the run is
  std::int64_t table_entries = 0;
  std::uint64_t table_id = 0;
  void* workspace = nullptr;

  SIMT int channels() const { return static_cast<int>(image.extent[3]); }
  SIMT int from_rows() const { return static_cast<int>(image.extent[1]); }
  SIMT int from_cols() const { return static_cast<int>(image.extent[2]); }
  SIMT std::int64_t images() const { return resized.extent[0]; }
  SIMT int rows() const { return static_cast<int>(resized.extent[1]); }
  SIMT int cols() const { return static_cast<int>(resized.extent[2]); }

  SIMT int start(const AxisAt& axis, int i) const { return table[axis.start + i]; }
  SIMT int count(const AxisAt& axis, int i) const { return table[axis.count + i]; }
  SIMT const std::int32_t* weights(const AxisAt& axis, int i) const {
    return table + axis.weight + static_cast<std::int64_t>(i) * axis.most;
  }

  // A sample as it is summed: decoded, and counted by its alpha.
  template <class A>
  SIMT A number(std::int64_t n, int y, int x, int c) const {
    const T sample = image(n, y, x, c);
    if constexpr (std::is_same_v<A, std::int32_t>) {
      const auto plain = static_cast<std::int32_t>(sample);
      if (!plan.premultiply || c == channels() - 1) return plain;
      return times_alpha(plain, static_cast<std::int32_t>(image(n, y, x, channels() - 1)));
    } else {
      if (plan.premultiply && c == channels() - 1) return plain_number(sample);
      const float colour = light(sample);
      return plan.premultiply ? colour * plain_number(image(n, y, x, channels() - 1)) : colour;
    }
  }

  SIMT float light(T sample) const {
    if constexpr (std::is_unsigned_v<T>) {
      if (plan.linear_light) return weight_as<float>(table[plan.decode + sample]);
    }
    return plain_number(sample);
  }

  // The sum along row y of the picture for column x of the result; value(i): sample i of the row.
  template <class A, class Value>
  SIMT A sum_along(int x, const Value& value) const {
    const int first = start(plan.along, x), taps = count(plan.along, x);
    if constexpr (std::is_same_v<A, std::int32_t>) {
      if (plan.recipe == Recipe::mean) {
        A sum = 0;
        SIMT_NO_UNROLL
        for (int k = 0; k < taps; ++k) sum += value(first + k);
        return sum;
      }
    }
    const std::int32_t* const weight = weights(plan.along, x);
    A sum = weight_as<A>(weight[0]) * value(first);
    SIMT_NO_UNROLL
    for (int k = 1; k < taps; ++k) sum = sum + weight_as<A>(weight[k]) * value(first + k);
    return settled(sum);
  }

  // As a row's sum waits for those of the other rows.
  template <class A>
  SIMT A settled(A sum) const {
    if constexpr (std::is_same_v<A, std::int32_t>)
      return plan.along_shift == 0 ? sum : as_byte(rounded_off(sum, plan.along_shift));
    else return sum;
  }

  // The sum across rows of what row(i) gives for row i of the picture.
  template <class A, class Row>
  SIMT A sum_across(int y, const Row& row) const {
    const int first = start(plan.across, y), taps = count(plan.across, y);
    if constexpr (std::is_same_v<A, std::int32_t>) {
      if (plan.recipe == Recipe::mean) {
        A sum = 0;
        SIMT_NO_UNROLL
        for (int k = 0; k < taps; ++k) sum += row(first + k);
        return sum;
      }
    }
    const std::int32_t* const weight = weights(plan.across, y);
    if constexpr (std::is_same_v<A, std::int32_t>) {
      if (plan.recipe == Recipe::linear) {
        const A upper = row(first);
        return linear_pair(weight[0], upper, weight[1], taps > 1 ? row(first + 1) : upper);
      }
    }
    A sum = weight_as<A>(weight[0]) * row(first);
    SIMT_NO_UNROLL
    for (int k = 1; k < taps; ++k) sum = sum + weight_as<A>(weight[k]) * row(first + k);
    return sum;
  }

  // The sums of a pixel's channels, each by sum(c), stored.
  template <class A, class Sum>
  SIMT void store_pixel(std::int64_t n, int y, int x, const Sum& sum) const {
    store_pixel_to<A>(&resized(n, y, x, 0), channels(), sum, resized.stride[3]);
  }

  // `count` channels, all of them where they are premultiplied.
  template <class A, class Sum>
  SIMT void store_pixel_to(T* to, int count, const Sum& sum, std::int64_t step = 1) const {
    if (!plan.premultiply) {
      for (int c = 0; c < count; ++c) to[c * step] = sample(sum(c));
      return;
    }
    const int last = count - 1;
    const A alpha = sum(last);
    if constexpr (std::is_same_v<A, std::int32_t>) {
      const std::int32_t byte = as_byte(rounded_off(alpha, plan.across_shift));
      to[last * step] = static_cast<T>(byte);
      for (int c = 0; c < last; ++c)
        to[c * step] = static_cast<T>(without_alpha(as_byte(rounded_off(sum(c), plan.across_shift)), byte));
    } else {
      to[last * step] = sample_of<T>(alpha);
      for (int c = 0; c < last; ++c) to[c * step] = sample(without_alpha(sum(c), alpha));
    }
  }

  SIMT T sample(std::int32_t sum) const {
    if constexpr (std::is_integral_v<T>) return finished<T>(plan, sum);
    else return {};
  }
  SIMT T sample(float sum) const {
    if constexpr (std::is_unsigned_v<T>) {
      constexpr std::int32_t most = filter::most_of<T>;
      if (plan.linear_light) return static_cast<T>(code_of(table + plan.encode, most, sum));
    }
    return sample_of<T>(sum);
  }

  // A pixel of the result from end to end.
  SIMT void compute(std::int64_t n, int y, int x) const {
    if (plan.recipe == Recipe::pick) {
      const int row = start(plan.across, y), col = start(plan.along, x);
      for (int c = 0; c < channels(); ++c) resized(n, y, x, c) = image(n, row, col, c);
      return;
    }
    if constexpr (std::is_integral_v<T>) {
      if (plan.recipe != Recipe::real) return compute_as<std::int32_t>(n, y, x);
    }
    compute_as<float>(n, y, x);
  }

  template <class A>
  SIMT void compute_as(std::int64_t n, int y, int x) const {
    store_pixel<A>(n, y, x, [&](int c) {
      return sum_across<A>(
          y, [&](int row) { return sum_along<A>(x, [&](int col) { return number<A>(n, row, col, c); }); });
    });
  }

  // Whether the samples of a row lie one after another, here and in the result.
  bool packed() const {
    const auto side_by_side = [this](const std::int64_t* stride) {
      return (stride[3] == 1 || channels() == 1) && stride[2] == channels();
    };
    return side_by_side(image.stride) && side_by_side(resized.stride);
  }

  static Problem of(const Arguments& arguments) {
    const auto setting = setting_of(arguments);
    Problem p;
    p.image = arguments.view<const T, 4>("image");
    p.resized = arguments.view<T, 4>("resized");
    p.plan = setting->plan;
    p.table = setting->table.data();
    p.table_entries = static_cast<std::int64_t>(setting->table.size());
    p.table_id = setting->id;
    return p;
  }

  // The tables go where the run is.
  void prepare(Run& run) { table = table_there(run, table_id, table, table_entries); }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::resize
