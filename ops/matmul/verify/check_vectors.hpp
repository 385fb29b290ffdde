// SPDX-License-Identifier: Apache-2.0
// The inner loops of the product's checks, for the best instruction set of this CPU: so that a check
// keeps up with the fastest rung. Everything is summed in double or better, whatever it is stored in.
#pragma once
#include <cstdint>

namespace tessera::matmul {

// Rows of sums that grow by a block of B, whose `width` columns lie next to each other. `error` holds
// what rounding took from `high`, or is null: then nothing is kept.
struct RowSums {
  double *high, *error, *magnitude;  // of |A|·|B|
  std::int64_t stride;               // from a row to the next
};
constexpr std::int64_t tile_side = 64;  // the width of a block, and the most that it may be deep

// sums[r][j] += Σ a[r][l]·b[l][j]; a's rows are tile_side apart, and so are b's.
void add_tile(const double* a, std::int64_t rows, const double* b, std::int64_t depth, const RowSums& sums);

// Of `length` adjacent elements: the sum with these signs, rounded once or hardly more, and the sum of
// squares.
struct Fold {
  double sum = 0, squares = 0;
};
Fold fold(const float* values, const double* signs, std::int64_t length);
Fold fold(const double* values, const double* signs, std::int64_t length);

// Of each of four rows: Σ a·x and Σ |a|·y.
constexpr int rows_at_once = 4;
struct Dots {
  double sum[rows_at_once] = {}, magnitude[rows_at_once] = {};
};
template <class T>
using FourRows = const T* const (&)[rows_at_once];
Dots dots(FourRows<float> rows, const double* x, const double* y, std::int64_t length);
Dots dots(FourRows<double> rows, const double* x, const double* y, std::int64_t length);

// Modulo 2^32: out[r][v] = Σ rows[r][l]·x[l][v], for the first `count` of the adjacent v, or some more.
constexpr std::int64_t vectors = 32;
void products(FourRows<std::uint32_t> rows, const std::uint32_t* x, std::int64_t length, std::int64_t count,
              std::uint32_t (&out)[rows_at_once][vectors]);

}  // namespace tessera::matmul
