// SPDX-License-Identifier: Apache-2.0
// For tests: operands to multiply by parts, kinds of data, and the error of a product.
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
  Compute used(Compute requested) const {
    std::vector<float> c(index(m * n));
    const auto p = problem(c);
    return used_arithmetic(requested, DecomposedLines(requested, p.a).range(),
                           DecomposedLines(requested, transposed(p.b)).range(), k);
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

struct Kind {
  const char* name;
  std::function<void(Operands&, Random&)> fill;
  bool always_f16;  // f16x3 multiplies f16 parts
};

inline Kind wide(const char* name, double phi, bool always_f16) {
  return {name,
          [phi](Operands& f, Random& r) {
            fill_each(f, [&] { return (r.uniform() - 0.5) * std::exp(phi * r.normal()); });
          },
          always_f16};
}

inline std::vector<Kind> kinds() {
  return {
      {"normal", [](Operands& f, Random& r) { fill_each(f, [&] { return r.normal(); }); }, true},
      {"uniform in (0, 1)", [](Operands& f, Random& r) { fill_each(f, [&] { return r.uniform(); }); }, true},
      wide("φ = 0.5", 0.5, true),
      wide("φ = 1", 1, true),
      wide("φ = 2", 2, true),
      wide("φ = 4", 4, false),
      {"positive", [](Operands& f, Random& r) { fill_each(f, [&] { return std::fabs(r.normal()); }); }, true},
      {"cancelling",
       [](Operands& f, Random& r) {
         fill_each(f, [&] { return r.normal(); });
         for (std::int64_t l = 0; l < f.k / 2; ++l) {
           for (std::int64_t i = 0; i < f.m; ++i)
             f.at_a(i, f.k / 2 + l) = static_cast<float>(-f.at_a(i, l) * (1 + 1e-5 * r.normal()));
           for (std::int64_t j = 0; j < f.n; ++j) f.at_b(j, f.k / 2 + l) = f.at_b(j, l);
         }
       },
       true},
      {"rows scaled by 2^±100",
       [](Operands& f, Random& r) {
         fill_each(f, [&] { return r.normal(); });
         for (std::int64_t i = 0; i < f.m; ++i) {
           const int power = static_cast<int>(r.below(201)) - 100;
           for (std::int64_t l = 0; l < f.k; ++l) f.at_a(i, l) = std::ldexp(f.at_a(i, l), power);
         }
       },
       true},
      {"columns of B scaled by 2^-60 to 1",
       [](Operands& f, Random& r) {
         fill_each(f, [&] { return r.normal(); });
         for (std::int64_t j = 0; j < f.n; ++j) {
           const int power = static_cast<int>(r.below(61)) - 60;
           for (std::int64_t l = 0; l < f.k; ++l) f.at_b(j, l) = std::ldexp(f.at_b(j, l), power);
         }
       },
       true},
      {"scales 2^±20 along k that cancel",
       [](Operands& f, Random& r) {
         fill_each(f, [&] { return r.normal(); });
         for (std::int64_t l = 0; l < f.k; ++l) {
           const int power = static_cast<int>(r.below(41)) - 20;
           for (std::int64_t i = 0; i < f.m; ++i) f.at_a(i, l) = std::ldexp(f.at_a(i, l), power);
           for (std::int64_t j = 0; j < f.n; ++j) f.at_b(j, l) = std::ldexp(f.at_b(j, l), -power);
         }
       },
       false},
      {"one huge element a row",
       [](Operands& f, Random& r) {
         fill_each(f, [&] { return r.normal(); });
         for (std::int64_t i = 0; i < f.m; ++i)
           f.at_a(i, static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(f.k)))) *= 1e6f;
         for (std::int64_t j = 0; j < f.n; ++j)
           f.at_b(j, static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(f.k)))) *= 1e6f;
       },
       false}};
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
