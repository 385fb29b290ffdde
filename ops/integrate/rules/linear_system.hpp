// SPDX-License-Identifier: Apache-2.0
// Small systems of linear equations.
#pragma once
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace tessera::quadrature {

// Gauss's elimination with partial pivoting: `right` becomes the solution. False where the matrix has no
// inverse.
inline bool solve(std::vector<std::vector<double>>& matrix, std::vector<double>& right) {
  const std::size_t d = right.size();
  for (std::size_t k = 0; k < d; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < d; ++i)
      if (std::fabs(matrix[i][k]) > std::fabs(matrix[pivot][k])) pivot = i;
    if (!(std::fabs(matrix[pivot][k]) > 0)) return false;
    std::swap(matrix[k], matrix[pivot]);
    std::swap(right[k], right[pivot]);
    for (std::size_t i = k + 1; i < d; ++i) {
      const double factor = matrix[i][k] / matrix[k][k];
      for (std::size_t j = k; j < d; ++j) matrix[i][j] -= factor * matrix[k][j];
      right[i] -= factor * right[k];
    }
  }
  for (std::size_t k = d; k-- > 0;) {
    for (std::size_t j = k + 1; j < d; ++j) right[k] -= matrix[k][j] * right[j];
    right[k] /= matrix[k][k];
  }
  return true;
}

}  // namespace tessera::quadrature
