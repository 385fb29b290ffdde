// SPDX-License-Identifier: Apache-2.0
// The randomised check's random signs and bounds, and the kernels that sum where the arrays lie. Processors
// and kernels share the residual of a row and group.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>
#include "ops/matmul/operation/matmul_operation.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/device/thread.hpp"

namespace tessera::matmul {

// Random signs x. Neighbouring columns form a group, and each group has its own vector, so that fewer
// rounding errors add up to hide a wrong element.
struct Signs {
  // `ends`: the columns at which a group ends and, but for the last, the next one begins.
  Signs(std::vector<std::int64_t> ends_of_groups, std::uint64_t seed)
      : groups(std::ssize(ends_of_groups)),
        ends(std::move(ends_of_groups)),
        values(static_cast<std::size_t>(ends.back())) {
    Random random(seed);
    for (std::size_t at = 0, bits = 0; at < values.size(); ++at, bits >>= 1) {
      if (at % 64 == 0) bits = random.next();
      values[at] = 1 - 2 * static_cast<double>(bits & 1);
    }
  }
  // A group costs as much as a column, so narrow matrices have few.
  static Signs in_even_groups(std::int64_t columns, std::int64_t max_groups, std::uint64_t seed) {
    std::vector<std::int64_t> ends(
        static_cast<std::size_t>(std::clamp<std::int64_t>(columns / 64, 1, max_groups)));
    for (std::int64_t g = 0; g < std::ssize(ends); ++g)
      ends[static_cast<std::size_t>(g)] = columns * (g + 1) / std::ssize(ends);
    return {std::move(ends), seed};
  }
  std::int64_t first(std::int64_t group) const {
    return group == 0 ? 0 : ends[static_cast<std::size_t>(group - 1)];
  }
  std::int64_t length(std::int64_t group) const { return first(group + 1) - first(group); }

  std::int64_t groups;
  std::vector<std::int64_t> ends;
  std::vector<double> values;
};

// A sum, and the sum of its terms' magnitudes or their L2 norm.
struct alignas(16) SumPair {
  double sum, size;
};

// A group of columns: the sum of its signs, the signed sum and the norm of its bias, and the root of its
// width.
struct GroupTerms {
  double signs, bias, bias_norm, root;
};

// The residual |C·x - factor·A·(B·x) - β·C0·x - bias·x| of a row and group has the rounding error bound
//   of_sums·|factor|·Σ|a·b| + of_terms·(norms of all terms) + of_c·‖C‖ + of_each·√width + always.
struct Judge {
  double alpha = 1, beta = 0;
  double of_sums = 0, of_terms = 0, of_c = 0, of_each = 0, always = 0;
  double limit = std::numeric_limits<double>::infinity();  // larger terms might overflow
  const double *factors = nullptr, *biases = nullptr;      // one for each row; null: 1, 0
};

// The judge of a product, and the vectors of its epilogue, in host memory.
struct JudgedProduct {
  JudgedProduct(const Arguments& arguments, Data data, const Slack& slack);
  JudgedProduct(const JudgedProduct&) = delete;
  JudgedProduct(JudgedProduct&&) = default;

  GroupTerms group(const Signs& signs, std::int64_t g) const;
  std::vector<double> scaled(const Signs& signs) const;  // by B's scales

  Judge judge;
  double largest_scale = 1;                                              // B's
  std::vector<double> row_scales, column_scales, row_bias, column_bias;  // empty: 1, 0
};

// Rows beyond the bound and, because correct ones are far below it, those with the largest ratios. `seen`:
// bounds of rows become the errors above which a row's ratio is among these, twice their least ratio: the row
// has rounding errors, too.
std::vector<std::int64_t> rows_that_stand_out(const std::vector<double>& ratios, std::vector<double>* seen);

inline namespace TESSERA_UNIT {

struct Residual {
  double value = 0, bound = 0, right = 0;

  // NaN exceeds every bound.
  SIMT double ratio() const {
    const double out = value == 0 ? 0 : value / bound;
    return out >= 0 ? out : std::numeric_limits<double>::infinity();
  }
};

SIMT Residual residual(const Judge& judge, std::int64_t row, const GroupTerms& group, const SumPair& got,
                       const SumPair& product, const SumPair& added) {
  const double factor = judge.factors == nullptr ? judge.alpha : judge.alpha * judge.factors[row];
  const double bias = judge.biases == nullptr ? 0 : judge.biases[row];
  const double sums = std::fabs(factor) * product.size;
  const double terms =
      sums + std::fabs(judge.beta) * added.size + group.bias_norm + std::fabs(bias) * group.root;
  const double right = factor * product.sum + judge.beta * added.sum + group.bias + bias * group.signs;
  // If a sum might overflow, only the full check of the row knows its allowed values.
  if (!(product.size < judge.limit && terms < judge.limit))
    return {std::numeric_limits<double>::infinity(), 0, right};
  const double bound = judge.of_sums * sums + judge.of_terms * terms + judge.of_c * got.size;
  return {std::fabs(got.sum - right), bound + judge.of_each * group.root + judge.always, right};
}

}  // namespace TESSERA_UNIT

constexpr int sum_vectors = 4;  // groups of columns, and rows in full, of one launch

// Lines of a matrix in the device's memory, and what they are multiplied with. Strides are in elements.
struct SumsArgs {
  const void* data;
  Element element;
  std::int64_t lines, length, line_stride, stride;
  SumPair* out;                           // [sum_vectors][lines]; gather: [sum_vectors][length]
  std::int64_t parts = 1;                 // parts of the columns; fold: groups
  const SumPair* x = nullptr;             // multiply: [sum_vectors][length], see `factors`
  const float* signs = nullptr;           // fold: [length]
  double scale = 1;                       // fold: of norms
  std::int64_t picked[sum_vectors] = {};  // gather: these lines, scaled
  double scales[sum_vectors] = {1, 1, 1, 1};
  int dropped_bits = 0;  // gather: of the magnitude
  bool factors = false;  // fold and gather: `out` becomes the x of a multiply, with sizes in f32 below f64
  bool wide = false;     // set by a launch whose threads load four elements at once
};

struct JudgeArgs {
  Judge judge;
  std::int64_t rows, groups;
  GroupTerms group[sum_vectors] = {};
  const SumPair *c = nullptr, *products = nullptr, *c0 = nullptr;  // [sum_vectors][rows]; c0 may be null
  double *ratios = nullptr, *bounds = nullptr;                     // the largest of each row
  // Bounds, right values' magnitudes, squares of errors and of right values; how many right values are
  // integers below 2^24, and how many elements err by more than their own rounding.
  double* totals = nullptr;
};
constexpr int totals_of_judge = 6;

struct DeviceSums {
  void (*fold)(const SumsArgs&, Run&);      // signed sums and norms of each group of a line
  void (*multiply)(const SumsArgs&, Run&);  // adds Σ m·x.sum and Σ |m|·x.size
  void (*gather)(const SumsArgs&, Run&);
  void (*judge)(const JudgeArgs&, Run&);
};
const DeviceSums*& device_sums(Where where);  // null: this build has none

}  // namespace tessera::matmul
