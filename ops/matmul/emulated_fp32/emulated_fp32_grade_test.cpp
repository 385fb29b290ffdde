// SPDX-License-Identifier: Apache-2.0
// Products by parts, graded as proposed by Demmel and others, following NVIDIA's CUDALibrarySamples
// (cuBLAS/Emulation/gemm_grading). Grade A: each element errs by at most f(k)·u of |A||B|, and f grows no
// faster than k; here f(k) = k. The tests have the authors' numbers: 2 detects sums of products other than
// a_il·b_lj, 4 and 6 detect operands truncated at a place fixed for a whole line. The authors' tests have
// only the largest exponents, and square matrices.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>
#include "ops/matmul/emulated_fp32/emulated_fp32_testing.hpp"

namespace tessera::matmul {
namespace {

constexpr std::int64_t side = 16;

// The largest exponent of scales with which no product overflows.
int max_exponent(std::int64_t k) { return 62 - static_cast<int>(std::log2(static_cast<double>(k))); }

// The exponent at place l of `count`: E at the first, -E at the last.
int falling(int exponent, std::int64_t l, std::int64_t count) {
  return exponent -
         static_cast<int>(2.0 * exponent * static_cast<double>(l) / static_cast<double>(count - 1));
}

float scaled(double x, int exponent) { return static_cast<float>(std::ldexp(x, exponent)); }

struct Grading {
  const char* name;
  bool with_scales;  // 2^±E along k, which cancel between A and B
  std::function<void(Operands&, Random&, int exponent)> fill;
};

const Grading gradings[] = {{"uniform in (0, 1)", false,
                             [](Operands& f, Random& r, int) { fill_each(f, [&] { return r.uniform(); }); }},
                            {"2: row i and column i share no element that is not 0", false,
                             [](Operands& f, Random& r, int) {
                               fill_each(f, [&] { return r.normal(); });
                               for (std::int64_t i = 0; i < side; ++i) {
                                 const double share = r.uniform();
                                 for (std::int64_t l = 0; l < f.k; ++l)
                                   (r.uniform() < share ? f.at_a(i, l) : f.at_b(i, l)) = 0;
                               }
                             }},
                            {"4: scales 2^±E fall along k, each line shifted", true,
                             [](Operands& f, Random& r, int exponent) {
                               std::vector<double> x(Operands::index(f.k));
                               for (double& element : x) element = 1 + r.uniform();
                               for (std::int64_t i = 0; i < side; ++i)
                                 for (std::int64_t l = 0; l < f.k; ++l) {
                                   const std::int64_t from = (l + (i < side / 2 ? i : i * f.k / side)) % f.k;
                                   const int power = falling(exponent, from, f.k);
                                   f.at_a(i, l) = scaled(x[Operands::index(from)], power);
                                   f.at_b(i, l) = scaled(x[Operands::index(from)], -power);
                                 }
                             }},
                            {"6: scales 2^±E in random order, the last line has the largest only", true,
                             [](Operands& f, Random& r, int exponent) {
                               std::array<int, 16> powers;
                               for (std::int64_t l = 0; l < 16; ++l)
                                 powers[Operands::index(l)] = falling(exponent, l, 16);
                               for (std::size_t l = 15; l > 0; --l)
                                 std::swap(powers[l], powers[r.below(l + 1)]);
                               for (std::int64_t i = 0; i < side; ++i)
                                 for (std::int64_t l = 0; l < f.k; ++l) {
                                   const int power = powers[Operands::index(l % 16)];
                                   f.at_a(i, l) = scaled(1 + r.uniform(), i == side - 1 ? exponent : power);
                                   f.at_b(i, l) = scaled(1 + r.uniform(), i == side - 1 ? exponent : -power);
                                 }
                             }}};

// All calls of a test: k from 16 to 4096, and the scales' exponent from 0 to its maximum in tenths.
void for_each_call(const Grading& grading, const std::function<void(const Operands&, bool largest)>& take) {
  for (std::int64_t k = 16; k <= 4096; k *= 4)
    for (int tenth = 0; tenth <= (grading.with_scales ? 10 : 0); ++tenth) {
      Operands f(side, side, k);
      Random random(static_cast<std::uint64_t>(k + tenth));
      grading.fill(f, random, max_exponent(k) * tenth / 10);
      take(f, tenth == 10);
    }
}

// The exponent with which errors grow: the slope of their logarithms.
double growth(const std::vector<std::pair<double, double>>& errors) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto count = static_cast<double>(errors.size());
  for (const auto& [k, error] : errors) {
    const double s = std::log(k), t = std::log(error);
    x += s, y += t, xx += s * s, xy += s * t;
  }
  return (count * xy - x * y) / (count * xx - x * x);
}

std::string text(const char* format, double value) {
  char out[60];
  std::snprintf(out, sizeof out, format, value);
  return out;
}

constexpr Compute all_arithmetics[] = {Compute::strict, Compute::tf32x3, Compute::bf16x6, Compute::f16x3};

// The table of docs/learn/20_f16x3.md.
TEST(EmulatedFp32Grade, IsA) {
  for (const Grading& grading : gradings) {
    std::string row = "| " + std::string(grading.name), growths = "| growth of that with k, exponent";
    for (const Compute compute : all_arithmetics) {
      double worst = 0;
      int calls = 0, others = 0;
      std::vector<std::pair<double, double>> errors;
      for_each_call(grading, [&](const Operands& f, bool largest) {
        const double error = f.error(f.product(compute)) / rounding, k = static_cast<double>(f.k);
        EXPECT_LE(error, k) << grading.name << " " << text_of(compute) << " k = " << k;
        worst = std::max(worst, error / k);
        EXPECT_FALSE(largest && f.used(compute) == Compute::f16x3) << k;
        errors.emplace_back(k, error);
        ++calls, others += compute != Compute::strict && f.used(compute) != compute ? 1 : 0;
      });
      row += text(" | %.3f", worst);
      if (compute != Compute::strict) row += text(", %.0f %%", 100.0 * others / calls);
      growths += text(" | %.2f", growth(errors));
      if (grading.with_scales) continue;
      EXPECT_LE(growth(errors), 1) << grading.name << " " << text_of(compute);
    }
    EXPECT_TRUE(page_has(row + " |")) << "the page lacks the row\n" << row << " |";
    if (&grading == gradings) {
      EXPECT_TRUE(page_has(growths + " |")) << "the page lacks the row\n" << growths << " |";
    }
  }
}

// Without the range check, f16x3 fails both tests that have scales. Parts with f32's range pass.
TEST(EmulatedFp32Grade, IsNotAWithoutTheRangeCheck) {
  for (const Grading& grading : gradings)
    for (const Compute compute : emulations) {
      int failed = 0;
      for_each_call(grading, [&](const Operands& f, bool) {
        failed += f.error(f.by_parts(compute)) > rounding * static_cast<double>(f.k) ? 1 : 0;
      });
      EXPECT_EQ(failed > 0, grading.with_scales && compute == Compute::f16x3)
          << grading.name << " " << text_of(compute) << ": " << failed;
    }
}

}  // namespace
}  // namespace tessera::matmul
