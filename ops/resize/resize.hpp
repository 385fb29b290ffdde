// SPDX-License-Identifier: Apache-2.0
// Resizes pictures: each sample of the result is a weighted sum along its row, then across the rows.
// docs/resize.md has the formulas; the results of all rungs are bitwise identical.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include "ops/imaging/samples.hpp"
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/device/view.hpp"

namespace tessera::resizing {
using namespace imaging;

// Sums of samples that stay packed in words: the kind of sum and, in Packing, the weights across rows in
// packed form, a few words per row of the result.
enum class Packed : int {
  none,    // no packed sum fits
  bytes,   // integer weights, row sums rounded to bytes: Pillow's
  whole,   // integer weights, row sums kept in full: OpenCV's, and means
  linear,  // OpenCV's linear
  real,    // floats
};

struct Packing {
  Packed kind = Packed::none;
  std::int32_t words = 0;  // words of four weights
  bool turned = false;    // true: samples are shifted so that the first one starts a word; false: weights are
  std::int32_t rows = 0;  // offset of the weights across rows in the table, a multiple of four
  std::int32_t entry =
      0;  // words per row of the result, a multiple of four; the last: the last source row of the next row
};

// The forms that packed kernels are compiled for. The first one that fits is used.
struct PackedForm {
  Packed kind;
  int words;
  bool turned;
};
inline constexpr PackedForm packed_forms[] = {
    {Packed::bytes, 1, true},  {Packed::bytes, 2, true},  {Packed::bytes, 3, false}, {Packed::bytes, 3, true},
    {Packed::bytes, 4, false}, {Packed::bytes, 6, false}, {Packed::whole, 1, true},  {Packed::whole, 2, true},
    {Packed::linear, 1, true}, {Packed::real, 1, true},   {Packed::real, 2, true}};

// Resizing as matrix products of bytes: sixteen samples along a row of the result first, then eight rows. A
// weight is three signed bytes.
struct Tiling {
  static constexpr int samples = 16, rows = 8;  // size of a tile of the result
  static constexpr int piece = 16;              // bytes of a row, or rows of the picture, in one product
  static constexpr int groups = 3;              // groups of sixteen rows that the rows of a tile depend on
  static constexpr int lanes = 32, entry = 3 * groups * lanes;

  std::int32_t pieces =
      0;  // 16-byte pieces of a row that the samples of a tile depend on; 0: no tiling serves
  std::int32_t weights = 0;  // offset in the table: by eight rows, digit and group, a word per lane
  std::int32_t last = 0;     // offset in the table: the last group that each eight rows need

  // Returns the row of a group in byte `b` of a lane's word: the layout that the first product leaves.
  static constexpr int row_of(int lane, int b) { return b / 2 * 8 + lane % 4 * 2 + b % 2; }
};

inline constexpr int tiling_forms[] = {4, 5};  // values of `pieces` that kernels are compiled for

// The arithmetic of a sample of the result: along its row first, then across the rows. docs/resize.md, "The
// formula".
enum class Recipe : int {
  pick,    // a sample is copied
  linear,  // OpenCV's bytes: weights of 11 bits, truncating shifts in the sum across rows
  whole,   // integer weights
  mean,    // equal weights, an integer number of samples per result
  real,    // floats, every product and every sum rounded
};

// The position of an axis in the table.
struct AxisAt {
  std::int32_t start = 0, count = 0, weight = 0;  // offsets of the first entries
  std::int32_t most = 1;                          // weights per sample of the result
};

struct ResizePlan {
  Recipe recipe = Recipe::pick;
  AxisAt along, across;
  std::int32_t along_shift = 0;   // whole: row sums are rounded, shifted and saturated; 0: kept in full
  std::int32_t across_shift = 0;  // whole: bits of the last rounding shift
  bool halves_up = false;         // mean of four samples: (sum + 2) >> 2
  float share = 1;                // mean: 1 / samples
  bool premultiply = false;       // colours are multiplied by the last channel
  bool linear_light = false;
  std::int32_t decode = 0, encode = 0;  // offsets of the tables of linear light
  Packing packing;                      // bytes
  Tiling tiling;                        // bytes, if matrix products serve
};

// A plan and the one table of integers that it refers to.
struct PlanTable {
  ResizePlan plan;
  std::vector<std::int32_t> table;  // floats as their bits
  std::uint64_t id = 0;             // equal for equal tables
};

// Throws Error for options that cannot be computed. The result lives as long as the arguments.
const PlanTable& plan_of(const Arguments& arguments);

// For a picture of bytes and a result of width × height; appends the weights across rows to the table.
Packing packing_of(const ResizePlan& plan, int width, int height, std::vector<std::int32_t>& table);
// For a result of width × height pixels of `channels` channels; appends the weights across rows to the table.
Tiling tiling_of(const ResizePlan& plan, int channels, int width, int height,
                 std::vector<std::int32_t>& table);

// Returns the entries of table `id` in memory that the run can read. On a device with memory of its own, the
// copy stays until many other tables have been requested.
const std::int32_t* device_table(const Run& run, std::uint64_t id, const std::int32_t* table,
                                 std::int64_t entries);

// Returns the linear light of an sRGB code, both in 0 … 1 (IEC 61966-2-1).
double light_of(double code);
// Appends two tables. decode: the light of each code 0 … most. encode: for each code 1 … most, the least
// light that is stored as it.
void put_light(int most, std::int32_t& decode, std::int32_t& encode, std::vector<std::int32_t>& table);

// Resizes by the fastest rung of the CPU ladder; also used to check large results. Pictures may have any
// strides; the channels of the result are contiguous.
void resize_simd(const Arguments& arguments, int threads);

inline namespace TESSERA_UNIT {

// Returns x·a/255, rounded to nearest, as in Pillow.
SIMT std::int32_t times_alpha(std::int32_t x, std::int32_t a) {
  const std::int32_t product = x * a + 128;
  return ((product >> 8) + product) >> 8;
}

SIMT std::int32_t without_alpha(std::int32_t x, std::int32_t a) {
  if (a == 0 || a == 255) return x;
  const std::int32_t colour = 255 * x / a;
  return colour < 255 ? colour : 255;
}
SIMT float without_alpha(float x, float a) { return a == 0 ? x : x / a; }

SIMT std::int32_t rounded_off(std::int32_t sum, std::int32_t shift) {
  return (sum + (1 << (shift - 1))) >> shift;
}

// Returns OpenCV's sum of a pair of rows: each product drops its lower 16 bits.
SIMT std::int32_t linear_pair(std::int32_t w0, std::int32_t sum0, std::int32_t w1, std::int32_t sum1) {
  return (((w0 * (sum0 >> 4)) >> 16) + ((w1 * (sum1 >> 4)) >> 16) + 2) >> 2;
}

// Returns the code of a light: the number of thresholds that it reaches.
SIMT std::int32_t code_of(const std::int32_t* thresholds, std::int32_t most, float light) {
  std::int32_t low = 0, high = most;  // the code is in low … high
  while (low < high) {
    const std::int32_t middle = (low + high + 1) / 2;
    if (light >= weight_as<float>(thresholds[middle - 1])) low = middle;
    else high = middle - 1;
  }
  return low;
}

// Returns the sample that an integer sum is stored as. Only bytes have integer weights; means exist for all
// integer types.
template <class T>
SIMT T finished(const ResizePlan& plan, std::int32_t sum) {
  if (plan.recipe == Recipe::mean)
    return plan.halves_up ? saturated<T>((sum + 2) >> 2) : rounded<T>(static_cast<float>(sum) * plan.share);
  return saturated<T>(plan.recipe == Recipe::whole ? rounded_off(sum, plan.across_shift) : sum);
}

template <class T>
struct Problem {
  using Elements = PictureElements;

  View<const T, 4> image;  // [images,from_height,from_width,channels]
  View<T, 4> resized;      // [images,height,width,channels]
  ResizePlan plan;
  const std::int32_t* table = nullptr;  // in memory that the run can read
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

  // Returns a sample ready to be summed: decoded, and multiplied by its alpha.
  template <class A>
  SIMT A number(std::int64_t n, int y, int x, int c) const {
    const T sample = image(n, y, x, c);
    if constexpr (std::is_same_v<A, std::int32_t>) {
      const auto plain = static_cast<std::int32_t>(sample);
      if (!plan.premultiply || c == channels() - 1) return plain;
      return times_alpha(plain, static_cast<std::int32_t>(image(n, y, x, channels() - 1)));
    } else {
      if (plan.premultiply && c == channels() - 1) return imaging::number<float>(sample);
      const float colour = light(sample);
      return plan.premultiply ? colour * imaging::number<float>(image(n, y, x, channels() - 1)) : colour;
    }
  }

  SIMT float light(T sample) const {
    if constexpr (std::is_unsigned_v<T>) {
      if (plan.linear_light) return weight_as<float>(table[plan.decode + sample]);
    }
    return imaging::number<float>(sample);
  }

  // Returns the sum along row y of the picture for column x of the result; value(i): sample i of the row.
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

  // Returns a row sum as it is kept for the sum across rows.
  template <class A>
  SIMT A settled(A sum) const {
    if constexpr (std::is_same_v<A, std::int32_t>)
      return plan.along_shift == 0 ? sum : as_byte(rounded_off(sum, plan.along_shift));
    else return sum;
  }

  // Returns the sum across rows; row(i): the sum along row i of the picture.
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

  // Stores a pixel; sum(c): the sum of channel c.
  template <class A, class Sum>
  SIMT void store_pixel(std::int64_t n, int y, int x, const Sum& sum) const {
    store_pixel_to<A>(&resized(n, y, x, 0), channels(), sum, resized.stride[3]);
  }

  // Stores `count` channels: all of the pixel's if colours are premultiplied.
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
      constexpr std::int32_t most = max_value<T>;
      if (plan.linear_light) return static_cast<T>(code_of(table + plan.encode, most, sum));
    }
    return sample_of<T>(sum);
  }

  // Computes a pixel of the result from the picture.
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

  // True if the samples of a row are contiguous, in the picture and in the result.
  bool packed() const {
    const auto side_by_side = [this](const std::int64_t* stride) {
      return (stride[3] == 1 || channels() == 1) && stride[2] == channels();
    };
    return side_by_side(image.stride) && side_by_side(resized.stride);
  }

  static Problem of(const Arguments& arguments) {
    const PlanTable& planned = plan_of(arguments);
    Problem p;
    p.image = arguments.view<const T, 4>("image");
    p.resized = arguments.view<T, 4>("resized");
    p.plan = planned.plan;
    p.table = planned.table.data();
    p.table_entries = static_cast<std::int64_t>(planned.table.size());
    p.table_id = planned.id;
    return p;
  }

  // Copies the table to where the run can read it.
  void prepare(Run& run) { table = device_table(run, table_id, table, table_entries); }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::resizing
