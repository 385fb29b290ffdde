// SPDX-License-Identifier: Apache-2.0
// The inner loops of checksums on the CPU, for the best instruction set of this CPU. Everything is
// summed in double, whatever it is stored in.
#pragma once
#include <cstdint>

namespace tessera::matmul {

// Of adjacent elements, with weights.
struct Summed {
  double sum = 0, squares = 0;  // Σ x·weight, Σ (x·size)²
};
Summed weighted_sums(const float* x, const double* weights, const double* sizes, std::int64_t length);
Summed weighted_sums(const double* x, const double* weights, const double* sizes, std::int64_t length);

// Across lines of adjacent elements: sums[i] += x[i]·weight, squares[i] += (x[i]·size)², for each of four
// lines in turn.
constexpr int lines_at_once = 4;
void add_weighted(const float* const (&lines)[lines_at_once], const double (&weights)[lines_at_once],
                  const double (&sizes)[lines_at_once], std::int64_t length, double* sums, double* squares);
void add_weighted(const double* const (&lines)[lines_at_once], const double (&weights)[lines_at_once],
                  const double (&sizes)[lines_at_once], std::int64_t length, double* sums, double* squares);

}  // namespace tessera::matmul
