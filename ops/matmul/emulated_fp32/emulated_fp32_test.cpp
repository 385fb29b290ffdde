// SPDX-License-Identifier: Apache-2.0
// Tests of f32 products by parts: the values of the parts, equal bits on CPUs and on the executor, errors
// compared with strict f32's for many kinds of data, and bf16x6 or strict f32 where the range check fails.
#include <gtest/gtest.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#include "ops/matmul/emulated_fp32/emulated_fp32_testing.hpp"
#include "ops/matmul/gemm/accuracy.hpp"
#include "ops/matmul/gemm/checks.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::matmul {
namespace {

TEST(Split, PartsAddUpToTheirNumber) {
  Random random(1);
  for (int t = 0; t < 10000; ++t) {
    const auto x = static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(161)) - 80));
    const auto sum = [&](Compute compute, float scale) {
      double out = 0;
      for (int part = 0; part < parts_of(compute); ++part)
        out += static_cast<double>(part_of(compute, x, scale, part));
      return out / static_cast<double>(scale);
    };
    const auto exact = static_cast<double>(x);
    EXPECT_EQ(sum(Compute::bf16x6, 1), exact);
    EXPECT_LE(std::fabs(sum(Compute::tf32x3, 1) - exact), 0x1p-22 * std::fabs(exact));
    EXPECT_LE(std::fabs(sum(Compute::f16x3, chunk_scale(std::fabs(x))) - exact), 0x1p-22 * std::fabs(exact));
  }
}

TEST(Split, ScalesPutTheLargestElementJustBelowTheLargestHalf) {
  for (const float x : {1.0f, 1.9995f, 1.99951f, 1.999999f, 0x1p-126f, 0x1.ffep-3f, 3.4e38f, 0x1p-111f}) {
    const float scaled = x * chunk_scale(x);
    EXPECT_LT(scaled, 65520) << x;
    EXPECT_GE(scaled, x >= 0x1p-110f ? 32760.0f : 0) << x;
    EXPECT_TRUE(std::isfinite(half_value(half_bits(scaled))) && half_value(half_bits(scaled)) <= 65504) << x;
    EXPECT_EQ(chunk_scale(x) * reciprocal_of_power(chunk_scale(x)), 1) << x;
  }
}

TEST(Split, BoundCoversARoundingForEveryPromotion) {
  constexpr std::int64_t k = 1 << 16;
  const Inputs inputs(matmul_operation(), Element::f32, Case{.dims = {{"m", 1}, {"n", 1}, {"k", k}}}, 1);
  for (const auto& [compute, interval] : {std::pair{Compute::tf32x3, 32}, std::pair{Compute::bf16x6, 32},
                                          std::pair{Compute::f16x3, emulation_chunk}})
    EXPECT_GE(error_bounds(compute, inputs.arguments()).always, static_cast<double>(k / interval) * 0x1p-24)
        << text_of(compute);
}

// All finite halves, and a number between each half and the next.
TEST(Split, HalvesAreThoseOfTheElement) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if ((half & 0x7c00) == 0x7c00) continue;
    const auto value = static_cast<float>(f16{half});
    ASSERT_EQ(std::bit_cast<std::uint32_t>(half_value(half)), std::bit_cast<std::uint32_t>(value));
    ASSERT_EQ(half_bits(value), half);
    const float between = value * (1 + 0x1.3p-12f);
    if (std::fabs(between) >= 65520) continue;
    ASSERT_EQ(half_bits(between), f16::from(between).bits);
  }
}

TEST(Split, ProcessorsAndExecutorAgreeInEveryBit) {
  Random random(2);
  for (const Kind& kind : kinds())
    for (const std::int64_t k : {1, 64, 200}) {
      Operands f(k == 200 ? 19 : 3, 18, k);
      kind.fill(f, random);
      for (const Compute compute : emulations) {
        const std::string variant(text_of(compute));
        const auto on_cpu = f.called(compute, "cpu", variant.c_str()),
                   on_executor = f.called(compute, "simt", variant.c_str());
        EXPECT_EQ(on_cpu, f.product(compute)) << kind.name << " " << variant << " k = " << k;
        EXPECT_EQ(on_cpu, on_executor) << kind.name << " " << variant << " k = " << k;
      }
    }
}

// The table of docs/learn/20_f16x3.md has the rows of k = 4096.
TEST(Split, IsAsAccurateAsStrictF32) {
  for (const Kind& kind : kinds())
    for (const std::int64_t k : {256, 1024, 4096, 16384, 65536}) {
      const std::int64_t side = k <= 1024 ? 16 : k == 4096 ? 12 : 4;
      Operands f(side, side, k);
      Random random(static_cast<std::uint64_t>(k));
      kind.fill(f, random);
      const double strict = f.error(f.product(Compute::strict));
      char cell[40];
      std::snprintf(cell, sizeof cell, " | %.1e", strict);
      std::string row = "| " + std::string(kind.name) + cell;
      for (const Compute compute : emulations) {
        const double error = f.error(f.product(compute));
        EXPECT_LE(error, strict) << kind.name << " " << text_of(compute) << " k = " << k;
        const Compute used = f.used(compute);
        EXPECT_TRUE(used == compute || (!kind.always_f16 && used == Compute::bf16x6))
            << kind.name << " " << text_of(compute) << " k = " << k << ": " << text_of(used);
        std::snprintf(cell, sizeof cell, " | %.1e", error);
        row += used == compute ? cell : " | bf16x6";
      }
      EXPECT_TRUE(k != 4096 || page_has(row + " |")) << "the page lacks the row\n" << row << " |";
    }
}

// Lines of (u - ½)·exp(2·normal) as a GPU's pass reads them, 256 along k at once.
struct WideLines {
  OperandRange range;
  std::vector<float> widest;  // sorted magnitudes of the line with the largest peak

  WideLines(std::int64_t lines, std::int64_t k, Random& random) {
    float largest = -1;
    std::vector<float> x(Operands::index(k));
    for (std::int64_t i = 0; i < lines; ++i) {
      LineRange line;
      for (std::int64_t first = 0; first < k; first += 256) {
        ChunkRange seen;
        for (std::int64_t l = first; l < first + 256; ++l) {
          float& element = x[Operands::index(l)];
          element = static_cast<float>(std::fabs(random.uniform() - 0.5) * std::exp(2 * random.normal()));
          seen.add(element);
        }
        line.add(seen);
        range.add_scale(chunk_scale(seen.largest));
      }
      OperandRange of_one;
      of_one.add(line, k);
      range.add(of_one);
      if (of_one.peak > largest) largest = of_one.peak, widest = x;
    }
    std::sort(widest.begin(), widest.end());
    // Moves to the front, of the 16 smallest elements, the one that loses most under the largest one's scale.
    const auto lost = [&](float y) {
      const float scale = chunk_scale(widest.back());
      const F16Parts parts = decompose_f16(y, scale);
      return y * scale - half_value(parts.hi) - half_value(parts.lo);
    };
    std::iter_swap(widest.begin(), std::max_element(widest.begin(), widest.begin() + 16,
                                                    [&](float y, float z) { return lost(y) < lost(z); }));
  }
};

// Rows of docs/learn/20_f16x3.md. A check that sees each operand alone can hardly be sharper: where bf16x6 is
// taken, the same magnitudes in another order lose nearly the allowance, or more.
TEST(Split, UsesBf16ForDataOfWideRange) {
  for (const auto& [lines, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {256, 256}, {256, 1024}, {256, 4096}, {1024, 256}, {1024, 1024}}) {
    int taken = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      const WideLines a(lines, k, random), b(lines, k, random);
      if (passes_range_check(Compute::f16x3, a.range, b.range, k)) continue;
      ++taken;
      // Large elements meet small ones, and one chunk has the largest elements of both.
      Operands f(1, 1, k);
      f.a = a.widest, f.b.assign(b.widest.rbegin(), b.widest.rend());
      std::swap(f.a[1], f.a.back()), std::swap(f.b[1], f.b.back());
      EXPECT_GT(f.error(f.by_parts(Compute::f16x3)), 0.35 * range_allowance(static_cast<double>(k)))
          << lines << " lines, k = " << k << ", seed " << seed;
    }
    char row[80];
    std::snprintf(row, sizeof row, "| %d | %d | %d of 20 |", static_cast<int>(lines), static_cast<int>(k),
                  taken);
    EXPECT_TRUE(page_has(row)) << "the page lacks the row\n" << row;
  }
}

// Rectified data: half of A, or of a weight matrix, is zero.
TEST(Split, ZerosInOneOperandAreFine) {
  Random random(3);
  for (const std::int64_t k : {256, 4096}) {
    Operands f(16, 16, k);
    fill_each(f, [&] { return random.normal(); });
    for (float& x : f.a) x = std::max(x, 0.0f);
    for (const Compute compute : emulations) {
      EXPECT_EQ(f.used(compute), compute);
      EXPECT_LE(f.error(f.product(compute)), f.error(f.product(Compute::strict)));
    }
  }
}

// Wide ranges that cancel between A's columns and B's rows, so that all products have like magnitudes
// although their factors do not. With scales of 2^±E, parts err no more than strict f32, or by at most a
// quarter of √k roundoffs (tf32x3: half), until the range check selects bf16x6.
TEST(Split, HostileDataErrsNoMoreThanStrictF32) {
  Random random(4);
  const auto power = [](double e) { return std::exp2(std::round(e)); };
  // Element l of line i of A, and of B, for the exponent E.
  using Element =
      std::function<std::pair<double, double>(std::int64_t i, std::int64_t l, std::int64_t k, double e)>;
  std::vector<double> shared(1 << 14);
  for (double& x : shared) x = random.uniform();
  const auto at = [&](std::int64_t l) { return shared[static_cast<std::size_t>(l)]; };
  const Element tests[] = {
      [&](std::int64_t i, std::int64_t l, std::int64_t k, double e) {  // falling scales, each line shifted
        const std::int64_t from = (l + i) % k;
        const double scale = power(e - 2 * e * static_cast<double>(from) / static_cast<double>(k - 1));
        return std::pair{(1 + at(from)) * scale, (1 + at(from)) / scale};
      },
      [&](std::int64_t, std::int64_t l, std::int64_t, double e) {  // scales at random
        const double scale = power((2 * at(l) - 1) * e);
        return std::pair{random.normal() * scale, random.normal() / scale};
      },
      [&](std::int64_t, std::int64_t l, std::int64_t, double e) {  // large ones meet small ones
        const double scale = l % 64 == 0 ? power(e) : 1;
        return std::pair{random.normal() * scale, random.normal() / scale};
      },
      [&](std::int64_t, std::int64_t l, std::int64_t, double e) {  // and in the same chunk the reverse
        const double scale = l % 64 == 0 ? power(e) : l % 64 == 1 ? power(-e / 2) : 1;
        return std::pair{(1 + random.uniform()) * scale, random.normal() / scale};
      },
      [&](std::int64_t, std::int64_t l, std::int64_t, double e) {  // in one chunk alone, beside little else
        const double scale = l == 0 ? power(e) : l == 1 ? power(-e / 2) : 1;
        return std::pair{(1 + random.uniform()) * scale, random.normal() / (l < 2 ? scale : power(e / 4))};
      }};
  int taken = 0, all = 0;
  for (const Element& test : tests)
    for (const std::int64_t k : {256, 1024})
      for (int e = 0; e <= 40; e += k == 256 ? 1 : 5) {
        Operands f(6, 6, k);
        for (std::int64_t i = 0; i < f.m; ++i)
          for (std::int64_t l = 0; l < k; ++l) {
            const auto [x, y] = test(i, l, k, e);
            f.at_a(i, l) = static_cast<float>(x), f.at_b(i, l) = static_cast<float>(y);
          }
        const double strict = f.error(f.product(Compute::strict)),
                     half = std::sqrt(static_cast<double>(k)) / 2 * rounding;
        for (const Compute compute : emulations) {
          const double floor = compute == Compute::tf32x3 ? half : half / 2;
          EXPECT_LE(f.error(f.product(compute)), std::max(strict, floor))
              << text_of(compute) << " test " << &test - tests << " k = " << k << " E = " << e;
        }
        taken += f.used(Compute::f16x3) == Compute::f16x3 ? 0 : 1, ++all;
      }
  EXPECT_GT(taken, all / 4);
  EXPECT_LT(taken, all * 3 / 4);
}

// NaN, infinities, zeros of either sign, subnormal numbers, and products that overflow or underflow: strict
// f32 is computed, so the bits are those of strict f32.
TEST(Split, SpecialNumbersGiveStrictBits) {
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<float, float>> strewn{
      {infinity, 1},         {-infinity, 2},        {nan, 1},
      {infinity, -infinity}, {0x1p-130f, 1},        {1, 0x1p-149f},
      {0x1p127f, 0x1p120f},  {-0x1p100f, 0x1p100f}, {3e38f, 1},
      {infinity, 0}};
  for (const auto& [x, y] : strewn) {
    Random random(5);
    Operands f(4, 5, 130);
    fill_each(f, [&] { return random.normal(); });
    f.at_a(1, 70) = x, f.at_b(2, 70) = y;
    const auto strict = f.product(Compute::strict);
    for (const Compute compute : emulations) {
      EXPECT_EQ(f.used(compute), Compute::strict) << x << " " << y;
      const auto c = f.product(compute);
      for (std::size_t at = 0; at < c.size(); ++at)
        EXPECT_TRUE(std::bit_cast<std::uint32_t>(c[at]) == std::bit_cast<std::uint32_t>(strict[at]) ||
                    (std::isnan(c[at]) && std::isnan(strict[at])))
            << x << " " << y << ": " << c[at] << " " << strict[at];
    }
  }
}

// Rounding the largest number to the first part's digits gives infinity.
TEST(Split, TheLargestNumberTimesSmallOnesGivesStrictBits) {
  Random random(5);
  Operands f(4, 5, 130);
  fill_each(f, [&] { return 1e-4 * random.normal(); });
  f.at_a(1, 70) = std::numeric_limits<float>::max();
  const auto strict = f.product(Compute::strict);
  for (const Compute compute : {Compute::tf32x3, Compute::bf16x6}) {
    EXPECT_EQ(f.used(compute), Compute::strict);
    EXPECT_EQ(f.product(compute), strict);
  }
}

TEST(Split, ZerosOfEitherSignGiveStrictBits) {
  Operands f(2, 2, 70);
  for (float& x : f.a) x = -0.0f;
  for (float& x : f.b) x = 3;
  for (const Compute compute : emulations)
    for (const float x : f.product(compute))
      EXPECT_EQ(std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(f.product(Compute::strict)[0]));
}

}  // namespace
}  // namespace tessera::matmul
