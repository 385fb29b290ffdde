// SPDX-License-Identifier: Apache-2.0
#include "whole.hpp"
#include <algorithm>
#include "tessera/core/device/device.hpp"
#include "tessera/core/device/parallel.hpp"

namespace tessera::products {

Whole draw(std::int64_t rows, std::int64_t cols, int most, Random& random) {
  Whole out{rows, cols, std::vector<std::int8_t>(static_cast<std::size_t>(rows * cols))};
  const auto span = static_cast<std::uint64_t>(2 * most + 1);
  for (std::int8_t& x : out.numbers)
    x = static_cast<std::int8_t>(static_cast<int>((random() >> 8) % span) - most);
  return out;
}

std::vector<double> product_of(const Whole& a, const Whole& b) {
  std::vector<double> out(static_cast<std::size_t>(a.rows * b.cols)),
      right(b.numbers.begin(), b.numbers.end());
  const int threads = static_cast<int>(std::clamp<std::int64_t>(a.rows, 1, host_threads()));
  parallel(threads, [&](int thread) {
    for (std::int64_t i = thread; i < a.rows; i += threads) {
      double* const sums = out.data() + i * b.cols;
      for (std::int64_t l = 0; l < a.cols; ++l) {
        const double left = a.at(i, l);
        const double* const row = right.data() + l * b.cols;
        for (std::int64_t j = 0; j < b.cols; ++j) sums[j] += left * row[j];
      }
    }
  });
  return out;
}

}  // namespace tessera::products
