// SPDX-License-Identifier: Apache-2.0
// The randomised check's numbers, which processors and kernels share, and the kernels that sum them where the
// arrays lie. A build for GPUs registers its own, the executor has the same.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>
#include "tessera/core/array/element.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/device/thread.hpp"

namespace tessera::matmul {

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
  const GroupTerms* groups = nullptr;
};

inline namespace TESSERA_UNIT {

struct Residual {
  double value = 0, bound = 0;

  // NaN exceeds every bound.
  SIMT double ratio() const {
    const double out = value == 0 ? 0 : value / bound;
    return out >= 0 ? out : std::numeric_limits<double>::infinity();
  }
};

SIMT Residual residual(const Judge& judge, std::int64_t row, std::int64_t group, const SumPair& got,
                       const SumPair& product, const SumPair& added) {
  const GroupTerms& own = judge.groups[group];
  const double factor = judge.factors == nullptr ? judge.alpha : judge.alpha * judge.factors[row];
  const double bias = judge.biases == nullptr ? 0 : judge.biases[row];
  const double sums = std::fabs(factor) * product.size;
  const double terms = sums + std::fabs(judge.beta) * added.size + own.bias_norm + std::fabs(bias) * own.root;
  // If a sum might overflow, only the full check of the row knows its allowed values.
  if (!(product.size < judge.limit && terms < judge.limit))
    return {std::numeric_limits<double>::infinity(), 0};
  const double right = factor * product.sum + judge.beta * added.sum + own.bias + bias * own.signs;
  return {std::fabs(got.sum - right), judge.of_sums * sums + judge.of_terms * terms + judge.of_c * got.size +
                                          judge.of_each * own.root + judge.always};
}

}  // namespace TESSERA_UNIT

constexpr int sum_vectors = 4;  // groups of columns, and rows in full, of one launch

// Lines of a matrix in the device's memory, and what they are multiplied with.
struct SumsArgs {
  const void* data = nullptr;
  Element element = Element::f32;
  std::int64_t lines = 0, length = 0, line_stride = 0, stride = 0;  // strides in elements
  SumPair* out = nullptr;                                           // [lines][sum_vectors]
  const SumPair* x = nullptr;                                       // multiply: [length][sum_vectors]
  bool fractions = false;         // multiply: counts the elements that are no integers
  const double* signs = nullptr;  // fold: [length]
  double scale = 1;               // fold: of norms
  std::int64_t parts = 1;         // fold: groups of columns
};

// Copies lines: `pairs` gets each element and its magnitude, `plain` the element.
struct GatherArgs {
  SumsArgs from;
  std::int64_t lines[sum_vectors] = {};
  SumPair* pairs = nullptr;            // [length][sum_vectors]
  double* plain = nullptr;             // likewise
  std::int32_t* fractional = nullptr;  // set to 1 for a line with an element that is no integer
};

struct JudgeArgs {
  Judge judge;
  std::int64_t rows = 0, groups = 0;
  const SumPair *c = nullptr, *products = nullptr, *c0 = nullptr;  // [rows][sum_vectors]; c0 may be null
  double *ratios = nullptr, *bounds = nullptr;                     // the largest of each row
};

struct DeviceSums {
  void (*fold)(const SumsArgs&, Run&);      // signed sums and norms of each group of a line
  void (*multiply)(const SumsArgs&, Run&);  // adds Σ m·x.sum and Σ |m|·x.size
  void (*gather)(const GatherArgs&, Run&);
  void (*judge)(const JudgeArgs&, Run&);
};
void register_device_sums(Where where, const DeviceSums& sums);
const DeviceSums* find_device_sums(Where where);  // null: this build has none

}  // namespace tessera::matmul
