// SPDX-License-Identifier: Apache-2.0
// Factors of small whole numbers, whose products every arithmetic sums without rounding: results have one
// right value.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

namespace tessera::products {

using Random = std::mt19937_64;

// One of those listed, each as likely.
template <class T>
T pick(Random& random, std::initializer_list<T> all) {
  return all.begin()[random() % all.size()];
}
inline bool once_in(Random& random, unsigned n) { return random() % n == 0; }

struct Whole {
  std::int64_t rows = 0, cols = 0;
  std::vector<std::int8_t> numbers;  // row after row

  std::int8_t at(std::int64_t i, std::int64_t j) const {
    return numbers[static_cast<std::size_t>(i * cols + j)];
  }
};

// Each from -most to most.
Whole draw(std::int64_t rows, std::int64_t cols, int most, Random& random);

// A·B, row after row, on all processors.
std::vector<double> product_of(const Whole& a, const Whole& b);

}  // namespace tessera::products
