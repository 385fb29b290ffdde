// SPDX-License-Identifier: Apache-2.0
// The strips of the circle as a simple program adds them; compiled with -O3 -march=native -ffast-math.
#include <cmath>
#include <cstdint>

double circle_strips(double a, double step, std::int64_t first, std::int64_t last) {
  double sum = 0;
  for (std::int64_t i = first; i < last; ++i) {
    const double x = a + static_cast<double>(i) * step;
    sum += std::sqrt(1 - x * x);
  }
  return sum;
}
