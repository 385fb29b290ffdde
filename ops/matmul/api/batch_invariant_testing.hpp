// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of Options::batch_invariant on CPUs and GPUs: products of some of the rows of a large
// A, at other places and with other neighbours, are compared bit by bit with the product of all rows.
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>
#include "ops/matmul/gemm/drawn_testing.hpp"
#include "tessera/matmul.hpp"

namespace tessera::matmul::batch_invariant {

struct RowsCase {
  std::int64_t n, k;
  bool b_along_k = true;      // memory holds Bᵀ
  bool a_along_k = true;      // else Aᵀ
  Order order = Order::rows;  // of C
};

inline std::string text(const RowsCase& shape) {
  return "n=" + std::to_string(shape.n) + " k=" + std::to_string(shape.k) +
         (shape.a_along_k ? "" : ", A transposed") + (shape.b_along_k ? ", B transposed" : "") +
         (shape.order == Order::rows ? "" : ", C by columns");
}

// Returns numbers out of a table of normally distributed ones: drawing hundreds of millions takes minutes.
template <class T>
std::vector<T> quickly_drawn(std::int64_t count, std::uint32_t seed) {
  const std::vector<T> table = drawn<T>(1 << 16, seed);
  std::vector<T> out(static_cast<std::size_t>(count));
  std::minstd_rand random(seed);
  for (T& x : out) x = table[random() % table.size()];
  return out;
}

template <class T>
class HostCopy {
 public:
  explicit HostCopy(std::vector<T> values) : values_(std::move(values)) {}
  T* get() const { return const_cast<T*>(values_.data()); }
  const std::vector<T>& fetched() const { return values_; }

 private:
  std::vector<T> values_;
};

// Copy<T>: an array in memory of the device, with get() and fetched(). `sizes`: numbers of rows, the largest
// last; `step`: subsets of rows begin at multiples of it, so that alignments are equal.
template <class T, class Out, template <class> class Copy>
void expect_same_rows(const RowsCase& shape, Options options, std::span<const std::int64_t> sizes,
                      std::int64_t step, void* stream = nullptr) {
  const std::int64_t all = sizes.back(), n = shape.n, k = shape.k;
  options.batch_invariant = true;
  options.transpose_a = !shape.a_along_k;
  options.transpose_b = shape.b_along_k;
  // Rows of A in order, and shuffled.
  std::vector<std::int64_t> places[2];
  for (auto& place : places) {
    place.resize(static_cast<std::size_t>(all));
    std::iota(place.begin(), place.end(), 0);
  }
  std::ranges::shuffle(places[1], std::mt19937(7));
  const std::vector<T> rows = quickly_drawn<T>(all * k, 1);
  const auto arranged = [&](const std::vector<std::int64_t>& place) {
    std::vector<T> out(rows.size());
    for (std::int64_t i = 0; i < all; ++i) {
      const T* const from = rows.data() + place[static_cast<std::size_t>(i)] * k;
      for (std::int64_t l = 0; l < k; ++l)
        out[static_cast<std::size_t>(shape.a_along_k ? i * k + l : l * all + i)] = from[l];
    }
    return out;
  };
  const Copy<T> a[] = {Copy<T>(arranged(places[0])), Copy<T>(arranged(places[1]))},
                b(quickly_drawn<T>(k * n, 2));
  const bool by_rows = shape.order == Order::rows;
  std::string plan;
  const auto product = [&](const Copy<T>& of, std::int64_t first, std::int64_t m) {
    const Copy<Out> c(std::vector<Out>(static_cast<std::size_t>(n * (by_rows ? m : all))));
    const ConstMatrixView<T> some = shape.a_along_k ? ConstMatrixView<T>{of.get() + first * k, m, k, k}
                                                    : ConstMatrixView<T>{of.get() + first, k, m, all};
    const Plan& taken =
        enqueue<T, Out>(stream, some, {b.get(), shape.b_along_k ? n : k, shape.b_along_k ? k : n},
                        {c.get(), m, n, by_rows ? n : all, shape.order}, options);
    plan = taken.variant->name;
    return c.fetched();
  };
  const auto at = [&](std::int64_t row, std::int64_t col) {
    return static_cast<std::size_t>(by_rows ? row * n + col : col * all + row);
  };
  const std::vector<Out> wanted = product(a[0], 0, all);
  std::minstd_rand random(3);
  for (const std::int64_t m : sizes)
    for (const int which : {0, 1}) {
      const std::int64_t first = static_cast<std::int64_t>(random()) % ((all - m) / step + 1) * step;
      const std::vector<Out> got = product(a[which], first, m);
      std::int64_t different = 0, row = 0, col = 0;
      for (std::int64_t i = m - 1; i >= 0; --i) {
        const std::int64_t of_all = places[which][static_cast<std::size_t>(first + i)];
        for (std::int64_t j = n - 1; j >= 0; --j)
          if (std::memcmp(&got[at(i, j)], &wanted[at(of_all, j)], sizeof(Out)) != 0)
            ++different, row = i, col = j;
      }
      EXPECT_EQ(different, 0) << text(shape) << ", m=" << m << ", rows from " << first
                              << (which == 0 ? "" : " shuffled") << ", " << plan << ": the first is C[" << row
                              << ", " << col << "]";
    }
}

}  // namespace tessera::matmul::batch_invariant
