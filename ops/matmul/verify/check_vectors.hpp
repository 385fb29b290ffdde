// SPDX-License-Identifier: Apache-2.0
// The inner loops of the product's checks, for the best instruction set of this CPU, so that a check keeps up
// with the fastest rung. All elements are summed in double or better.
#pragma once
#include <cstdint>

namespace tessera::matmul {

// Rows of sums to which products with a block of B, of tile_side contiguous columns, are added. `error` holds
// the rounding errors of `high`; null: they are dropped.
struct RowSums {
  double *high, *error, *magnitude;  // magnitude: sums of |A|·|B|
  std::int64_t stride;               // from a row to the next
};
constexpr std::int64_t tile_side = 64;  // the width and the maximal depth of a block

// Adds Σ a[r][l]·b[l][j] to sums[r][j]; a's rows are tile_side apart, and so are b's.
void add_tile(const double* a, std::int64_t rows, const double* b, std::int64_t depth, const RowSums& sums);

// The sum of `length` contiguous elements with these signs, nearly correctly rounded, and the sum of squares.
struct Fold {
  double sum = 0, squares = 0;
};
Fold fold(const float* values, const double* signs, std::int64_t length);
Fold fold(const double* values, const double* signs, std::int64_t length);

// Σ a·x and Σ |a|·y for each of four rows.
constexpr int rows_at_once = 4;
struct Dots {
  double sum[rows_at_once] = {}, magnitude[rows_at_once] = {};
};
template <class T>
using FourRows = const T* const (&)[rows_at_once];
Dots dots(FourRows<float> rows, const double* x, const double* y, std::int64_t length);
Dots dots(FourRows<double> rows, const double* x, const double* y, std::int64_t length);

// Modulo 2^32: out[r][v] = Σ rows[r][l]·x[l][v] for v < `count`; may compute more.
constexpr std::int64_t vectors = 32;
void products(FourRows<std::uint32_t> rows, const std::uint32_t* x, std::int64_t length, std::int64_t count,
              std::uint32_t (&out)[rows_at_once][vectors]);

}  // namespace tessera::matmul
