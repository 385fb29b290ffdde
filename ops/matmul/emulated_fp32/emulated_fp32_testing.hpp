// SPDX-License-Identifier: Apache-2.0
// Operands to multiply by parts, and the error of a product, for tests.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>
#include "ops/matmul/emulated_fp32/emulated_fp32_loops.hpp"
#include "tessera/matmul.hpp"
#include "tessera/core/array/random.hpp"

namespace tessera::matmul {

inline constexpr Compute emulations[] = {Compute::tf32x3, Compute::bf16x6, Compute::f16x3};
inline constexpr double rounding = 0x1p-24;

// Lines along k: rows of A and columns of B.
struct Operands {
  std::int64_t m, n, k;
  std::vector<float> a, b;

  Operands(std::int64_t rows, std::int64_t cols, std::int64_t depth)
      : m(rows), n(cols), k(depth), a(index(m * k)), b(index(n * k)) {}
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  float& at_a(std::int64_t i, std::int64_t l) { return a[index(i * k + l)]; }
  float& at_b(std::int64_t j, std::int64_t l) { return b[index(j * k + l)]; }

  Problem<float> problem(std::vector<float>& c) const {
    Problem<float> out;
    out.a = {a.data(), {m, k}, {k, 1}};
    out.b = {b.data(), {k, n}, {1, k}};
    out.c = {c.data(), {m, n}, {n, 1}};
    return out;
  }
  std::vector<float> product(Compute compute) const {
    std::vector<float> c(index(m * n));
    const auto p = problem(c);
    if (compute != Compute::strict) return multiply_emulated(compute, p, 1), c;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum = std::fma(p.a(i, l), p.b(l, j), sum);
        c[index(i * n + j)] = sum;
      }
    return c;
  }
  // Computes the product from the decomposed operands even if the range check fails.
  std::vector<float> by_parts(Compute compute) const {
    std::vector<float> c(index(m * n));
    const auto p = problem(c);
    const DecomposedLines rows(compute, p.a), columns(compute, transposed(p.b));
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) c[index(i * n + j)] = sum_of_parts(compute, rows, i, columns, j);
    return c;
  }
  // Returns the result of the public call, with B stored along k.
  std::vector<float> called(Compute compute, const char* device, const char* variant) const {
    std::vector<float> c(index(m * n));
    Options options{.transpose_b = true, .compute = compute};
    options.request.device = device;
    options.request.variant = variant;
    multiply<float>({a.data(), m, k}, {b.data(), n, k}, {c.data(), m, n}, options);
    return c;
  }
  bool is_emulated_fp32(Compute compute) const {
    std::vector<float> c(index(m * n));
    const auto p = problem(c);
    return passes_range_check(compute, DecomposedLines(compute, p.a).range(),
                              DecomposedLines(compute, transposed(p.b)).range(), k);
  }
  // The largest error relative to |A||B|; infinite if a sum of zeros is not zero or a result is NaN.
  double error(const std::vector<float>& c) const {
    double out = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        long double sum = 0;
        double size = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double term =
              static_cast<double>(a[index(i * k + l)]) * static_cast<double>(b[index(j * k + l)]);
          sum += static_cast<long double>(term);
          size += std::fabs(term);
        }
        const auto off = static_cast<double>(static_cast<long double>(c[index(i * n + j)]) - sum);
        if (off != 0) out = std::isnan(off) ? INFINITY : std::max(out, std::fabs(off) / size);
      }
    return out;
  }
};

inline void fill_each(Operands& f, const std::function<double()>& draw) {
  for (float& x : f.a) x = static_cast<float>(draw());
  for (float& x : f.b) x = static_cast<float>(draw());
}

// True if docs/learn/20_f16x3.md has this row in a table.
inline bool page_has(const std::string& row) {
  static const std::string page = [] {
    std::ifstream file(TESSERA_SOURCE_DIR "/docs/learn/20_f16x3.md");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }();
  return page.find(row + "\n") != std::string::npos;
}

}  // namespace tessera::matmul
