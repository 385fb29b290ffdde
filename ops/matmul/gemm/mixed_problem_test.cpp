// SPDX-License-Identifier: Apache-2.0
// Verification of mixed-precision products: correct sums pass, in the CPU's order or that of tensor cores;
// any lower precision fails.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>
#include "ops/matmul/gemm/checks.hpp"
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/verify/bounds.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/matmul.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::matmul {
namespace {

Case sized(std::int64_t m, std::int64_t n, std::int64_t k, Arguments::Words words = {},
           std::vector<std::string> given = {}) {
  Case out{.dims = {{"m", m}, {"n", n}, {"k", k}}, .words = std::move(words)};
  out.optional_inputs = std::move(given);
  return out;
}

Case exact(Case base) {
  base.distribution = Distribution::exact;
  return base;
}

using Row = std::vector<double>;
using Summing = std::function<float(const Row& a, const Row& b)>;

// C from sums of any kind.
void compute(const Arguments& arguments, const Summing& sum_of) {
  const auto p = MixedProblem::of(arguments);
  const Epilogue epilogue(p);
  with_factors(p, [&](const auto& a, const auto& b) {
    Row row(static_cast<std::size_t>(p.k)), col(row.size());
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        for (std::int64_t l = 0; l < p.k; ++l) {
          row[static_cast<std::size_t>(l)] = widened(a(i, l));
          col[static_cast<std::size_t>(l)] = widened(b(l, j));
        }
        const float sum = sum_of(row, col);
        if (p.c_element == Element::i32) epilogue.store(i, j, static_cast<std::int32_t>(sum));
        else epilogue.store(i, j, sum);
      }
  });
}

float in_f32(const Row& a, const Row& b) {
  float sum = 0;
  for (std::size_t l = 0; l < a.size(); ++l) sum += static_cast<float>(a[l] * b[l]);
  return sum;
}

double cut(double x, double unit) { return std::trunc(x / unit) * unit; }

// Models the sums of a tensor core: adds `block` products and the running sum, each truncated `bits` below
// the leading bit of the largest, and truncates the result below its own leading bit.
struct TensorCore {
  std::size_t block = 16;
  int bits = 25, kept = 23;
  std::size_t promoted_every = SIZE_MAX;
  int factor_bits = 53;  // fraction bits of a factor that are read

  float operator()(const Row& a, const Row& b) const {
    float total = 0;
    double sum = 0;
    for (std::size_t l = 0; l < a.size(); l += block) {
      sum = step(sum, a, b, l, std::min(a.size(), l + block));
      if ((l + block) % promoted_every != 0 && l + block < a.size()) continue;
      if (promoted_every == SIZE_MAX) total = static_cast<float>(sum);
      else total += static_cast<float>(sum);
      if (promoted_every != SIZE_MAX) sum = 0;
    }
    return total;
  }

 private:
  double read(double x) const { return x == 0 ? 0 : cut(x, std::ldexp(1.0, std::ilogb(x) - factor_bits)); }
  double step(double sum, const Row& a, const Row& b, std::size_t first, std::size_t last) const {
    double largest = std::fabs(sum);
    for (std::size_t l = first; l < last; ++l)
      largest = std::max(largest, std::fabs(read(a[l]) * read(b[l])));
    if (largest == 0) return 0;
    const double unit = std::ldexp(1.0, std::ilogb(largest) - bits);
    double out = cut(sum, unit);
    for (std::size_t l = first; l < last; ++l) out += cut(read(a[l]) * read(b[l]), unit);
    return out == 0 ? 0 : cut(out, std::ldexp(1.0, std::ilogb(out) - kept));
  }
};

const TensorCore halves{}, tf32{.block = 8, .factor_bits = 10},
    bytes{.block = 32, .bits = 13, .kept = 13, .promoted_every = 128},
    fast_bytes{.block = 32, .bits = 13, .kept = 13};

template <class T>
Summing with_factors_as() {
  return [](const Row& a, const Row& b) {
    float sum = 0;
    for (std::size_t l = 0; l < a.size(); ++l)
      sum += static_cast<float>(T::from(static_cast<float>(a[l]))) *
             static_cast<float>(T::from(static_cast<float>(b[l])));
    return sum;
  };
}

Summing without_the_last(std::size_t dropped) {
  return [dropped](Row a, const Row& b) {
    for (std::size_t l = a.size() - dropped; l < a.size(); ++l) a[l] = 0;
    return in_f32(a, b);
  };
}

template <class T>
float sums_in(const Row& a, const Row& b) {
  float sum = 0;
  for (std::size_t l = 0; l < a.size(); ++l)
    sum = static_cast<float>(T::from(sum + static_cast<float>(a[l] * b[l])));
  return sum;
}

Verdict verdict_of(Element element, const Case& tried, const Summing& sum_of, std::uint64_t seed = 5) {
  Inputs inputs(matmul_operation(), element, tried, seed);
  compute(inputs.arguments(), sum_of);
  return verify(matmul_operation(), inputs.arguments(), nullptr, {.data = Data::random});
}

void expect_passes(Element element, const Case& tried, const Summing& sum_of) {
  const Verdict found = verdict_of(element, tried, sum_of);
  EXPECT_TRUE(found.passed) << name_of(element) << "\n" << describe(found);
}
void expect_fails(Element element, const Case& tried, const Summing& sum_of) {
  EXPECT_FALSE(verdict_of(element, tried, sum_of).passed) << name_of(element) << " k=" << tried.dims.at("k");
}

constexpr Element floats[] = {Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::f32};

const TensorCore& core_for(Element element) {
  if (element == Element::f32) return tf32;
  return element == Element::e4m3 || element == Element::e5m2 ? bytes : halves;
}

Arguments::Words words_for(Element element) {
  if (element == Element::f32) return {{"compute", "tf32"}};
  return {{"output-element", "f32"}};
}

// Split products are held to strict f32's bound and a little more: f32 passes, one TF32 product does not.
TEST(MixedProblem, EmulatedFp32IsVerifiedAsF32) {
  for (const char* compute : {"tf32x3", "bf16x6", "f16x3"})
    for (const std::int64_t k : {16, 200, 1000}) {
      const Case tried = sized(30, 30, k, {{"compute", compute}});
      expect_passes(Element::f32, tried, in_f32);
      expect_passes(Element::f32, exact(tried), in_f32);
      expect_fails(Element::f32, tried, tf32);
      expect_fails(Element::f32, exact(tried), tf32);
      expect_fails(Element::f32, tried, without_the_last(1 + static_cast<std::size_t>(k) / 64));
    }
}

TEST(MixedProblem, SumsInF32AndOfTensorCoresPass) {
  for (const Element element : floats)
    for (const std::int64_t k : {1, 16, 33, 1000, 4096})
      for (const bool whole : {false, true}) {
        Case tried = sized(9, 11, k, words_for(element));
        if (whole) tried = exact(tried);
        expect_passes(element, tried, in_f32);
        expect_passes(element, tried, core_for(element));
      }
}

TEST(MixedProblem, DefaultOutputsPassToo) {
  for (const Element element : floats)
    if (element != Element::f32) {
      expect_passes(element, sized(20, 21, 300), core_for(element));
      expect_passes(element, exact(sized(20, 21, 300)), core_for(element));
    }
}

TEST(MixedProblem, ADroppedTailFails) {
  for (const Element element : floats)
    for (const std::int64_t k : {33, 130, 1000, 4096})
      expect_fails(element, sized(9, 11, k, words_for(element)),
                   without_the_last(1 + static_cast<std::size_t>(k) / 64));
}

TEST(MixedProblem, OnePrecisionLowerFails) {
  for (const std::int64_t k : {17, 200, 1000}) {
    expect_fails(Element::f16, sized(9, 11, k), with_factors_as<bf16>());
    expect_fails(Element::bf16, sized(9, 11, k), with_factors_as<e4m3>());
    expect_fails(Element::e4m3, sized(9, 11, k), with_factors_as<e5m2>());
    expect_fails(Element::f32, sized(60, 60, k, {{"compute", "tf32"}}), with_factors_as<bf16>());
    expect_fails(Element::bf16, sized(9, 11, k), sums_in<bf16>);
    expect_fails(Element::f16, sized(9, 11, k, {{"output-element", "f32"}}), sums_in<f16>);
    for (const Element element : {Element::bf16, Element::f16})
      expect_fails(element, sized(9, 11, k, {{"output-element", "f32"}}),
                   [element](const Row& a, const Row& b) {
                     return static_cast<float>(rounded_to(element, in_f32(a, b)));
                   });
  }
  // Strict f32 with an epilogue is still strict.
  expect_passes(Element::f32, sized(9, 11, 200, {}, {"bias"}), in_f32);
  expect_fails(Element::f32, sized(9, 11, 200, {}, {"bias"}), tf32);
}

TEST(MixedProblem, FastSumsOf8BitFloatsPassOnlyWhereTheyMay) {
  for (const Element element : {Element::e4m3, Element::e5m2})
    for (const std::int64_t k : {1000, 4096, 8192}) {
      const Arguments::Words promoted{{"output-element", "f32"}},
          fast{{"output-element", "f32"}, {"accumulate", "fast"}};
      expect_passes(element, sized(9, 11, k, fast), fast_bytes);
      expect_passes(element, sized(9, 11, k, fast), bytes);
      expect_passes(element, sized(9, 11, k, promoted), bytes);
    }
  expect_fails(Element::e4m3, sized(9, 11, 8192, {{"output-element", "f32"}}), fast_bytes);
}

TEST(MixedProblem, WholeNumbersComeOutExactly) {
  for (const Element element : floats) {
    Case tried = exact(sized(6, 7, 150, words_for(element), {"C0", "bias", "scale-a", "scale-b"}));
    tried.words["alpha"] = "-2";
    tried.words["beta"] = "3";
    Inputs inputs(matmul_operation(), element, tried, 9);
    Expected expected;
    const std::vector<std::int64_t> rows{0, 1, 2, 3, 4, 5};
    matmul_operation().reference(inputs.arguments(), rows, Data::any, expected);
    for (const double bound : expected.bound) EXPECT_EQ(bound, 0) << name_of(element);
    compute(inputs.arguments(), core_for(element));
    EXPECT_TRUE(verify(matmul_operation(), inputs.arguments()).passed);
  }
}

// Equal terms are all truncated alike, which random data do not show.
TEST(MixedProblem, OnesAreExactAtOddDepths) {
  for (const Element element : {Element::bf16, Element::f16})
    for (const std::int64_t k : {1, 17, 255, 1001, 4097}) {
      Inputs inputs(matmul_operation(), element, sized(3, 4, k, {{"output-element", "f32"}}), 1);
      for (const char* name : {"A", "B"}) {
        const ArrayView& v = inputs.arguments().array(name);
        for (std::int64_t i = 0; i < v.count(); ++i)
          store_from_double(element, static_cast<char*>(v.data) + 2 * i, 1);
      }
      compute(inputs.arguments(), halves);
      EXPECT_TRUE(verify(matmul_operation(), inputs.arguments()).passed);
      compute(inputs.arguments(), without_the_last(1));
      EXPECT_EQ(verify(matmul_operation(), inputs.arguments()).wrong, 12);
    }
}

TEST(MixedProblem, WholeProductsOfI8) {
  const auto saturated = [](const Row& a, const Row& b) { return std::min(in_f32(a, b), 32767.0f); };
  for (const std::int64_t k : {1, 17, 500}) {
    expect_passes(Element::i8, sized(9, 11, k), in_f32);
    expect_fails(Element::i8, sized(9, 11, k), [](const Row& a, const Row& b) { return in_f32(a, b) + 1; });
  }
  expect_fails(Element::i8, sized(9, 11, 500), saturated);
  Case tried = sized(9, 11, 300, {{"output-element", "i8"}}, {"scale-b", "bias"});
  expect_passes(Element::i8, tried, in_f32);
  expect_fails(Element::i8, tried, without_the_last(20));
  tried.words["output-element"] = "f32";
  expect_passes(Element::i8, tried, in_f32);
  expect_fails(Element::i8, tried, [](const Row& a, const Row& b) { return in_f32(a, b) * (1 + 0x1p-18f); });
}

TEST(MixedProblem, NanAndInfinityPass_AndReluKeepsNan) {
  for (const char* activation : {"none", "relu"}) {
    Inputs inputs(matmul_operation(), Element::bf16, sized(5, 6, 20, {{"activation", activation}}), 3);
    const auto a = inputs.arguments().view<bf16, 2>("A");
    a(1, 2) = bf16::from(std::numeric_limits<float>::quiet_NaN());
    a(3, 4) = bf16::from(std::numeric_limits<float>::infinity());
    compute(inputs.arguments(), in_f32);
    const auto c = inputs.arguments().view<bf16, 2>("C");
    for (std::int64_t j = 0; j < 6; ++j) EXPECT_TRUE(std::isnan(static_cast<float>(c(1, j))));
    EXPECT_TRUE(verify(matmul_operation(), inputs.arguments()).passed);
    c(1, 3) = bf16::from(0);
    EXPECT_FALSE(verify(matmul_operation(), inputs.arguments()).passed);
  }
}

TEST(MixedProblem, BetaZeroReadsNoC0AndAnEmptySumLeavesWhatIsAdded) {
  Inputs unread(matmul_operation(), Element::f16, sized(5, 6, 7, {}, {"C0"}), 3);
  const ArrayView& c0 = unread.arguments().array("C0");
  std::memset(c0.data, 0xff, c0.bytes());
  compute(unread.arguments(), in_f32);
  EXPECT_TRUE(verify(matmul_operation(), unread.arguments()).passed);
  EXPECT_EQ(MixedProblem::of(unread.arguments()).c0.data, nullptr);
  for (const Case& empty :
       {sized(5, 6, 0, {{"beta", "2"}, {"activation", "relu"}}, {"C0", "bias"}),
        sized(5, 6, 9, {{"alpha", "0"}, {"beta", "2"}, {"activation", "relu"}}, {"C0", "bias"})}) {
    Inputs inputs(matmul_operation(), Element::bf16, empty, 4);
    const auto p = MixedProblem::of(inputs.arguments());
    EXPECT_EQ(p.k, 0);
    const auto c = inputs.arguments().view<bf16, 2>("C"), added = inputs.arguments().view<bf16, 2>("C0");
    const auto bias = inputs.arguments().view<bf16, 1>("bias");
    compute(inputs.arguments(), in_f32);
    EXPECT_EQ(
        c(2, 3).bits,
        bf16::from(std::max(0.0f, 2 * static_cast<float>(added(2, 3)) + static_cast<float>(bias(3)))).bits);
    EXPECT_TRUE(verify(matmul_operation(), inputs.arguments()).passed);
  }
}

TEST(MixedProblem, TheRandomisedCheckFindsOneWrongElement) {
  const VerifyOptions randomised{.data = Data::random, .reference_flops = 0};
  for (const auto& [element, words] :
       std::vector<std::pair<Element, Arguments::Words>>{{Element::bf16, {}},
                                                         {Element::f16, {{"output-element", "f32"}}},
                                                         {Element::e4m3, {}},
                                                         {Element::i8, {}}}) {
    Inputs inputs(matmul_operation(), element, sized(300, 280, 200, words), 6);
    (void)run(matmul_operation(), inputs.arguments(), {.device = "cpu", .variant = "naive"});
    const Verdict right = verify(matmul_operation(), inputs.arguments(), nullptr, randomised);
    EXPECT_TRUE(right.passed) << name_of(element) << describe(right);
    EXPECT_TRUE(right.method.starts_with("a randomised check")) << right.method;
    const ArrayView& c = inputs.arguments().array("C");
    char* const victim =
        static_cast<char*>(c.data) + (123 * 280 + 77) * static_cast<std::int64_t>(size_of(c.element));
    const double was = load_as_double(c.element, victim);
    store_from_double(c.element, victim, was + (element == Element::i8 ? 1 : 60));
    const Verdict found = verify(matmul_operation(), inputs.arguments(), nullptr, randomised);
    ASSERT_EQ(found.wrong, 1) << name_of(element);
    EXPECT_EQ(found.first[0].index, (Extents{123, 77}));
  }
  Inputs bent(matmul_operation(), Element::bf16, sized(200, 100, 60, {{"activation", "gelu"}}), 6);
  (void)run(matmul_operation(), bent.arguments(), {.device = "cpu", .variant = "naive"});
  EXPECT_TRUE(verify(matmul_operation(), bent.arguments(), nullptr, randomised)
                  .method.starts_with("a sample of the rows"));
}

TEST(MixedProblem, RoundsAsTheElementsDo) {
  Random random(8);
  for (int i = 0; i < 3000; ++i) {
    const auto x = static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(60)) - 40));
    EXPECT_EQ(rounded_to(Element::bf16, x), static_cast<float>(bf16::from(x)));
    EXPECT_EQ(rounded_to(Element::f16, x), static_cast<float>(f16::from(x)));
    EXPECT_EQ(rounded_to(Element::f32, x), x);
  }
  EXPECT_EQ(rounded_to(Element::f32, 1 + 0x1p-24), 1);
  EXPECT_EQ(rounded_to(Element::i8, 2.5), 2);
  EXPECT_EQ(rounded_to(Element::i8, 1e9), 127);
}

std::string error_of(Element element, const Case& tried) {
  try {
    Inputs inputs(matmul_operation(), element, tried, 1);
    (void)run(matmul_operation(), inputs.arguments(), {.device = "cpu", .variant = "naive"});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MixedProblem, ReportsIncompatibleElements) {
  EXPECT_EQ(error_of(Element::bf16, sized(2, 2, 2, {{"output-element", "i8"}})),
            "--output-element i8: the product of bf16 can be bf16, f16 or f32");
  EXPECT_EQ(error_of(Element::f16, sized(2, 2, 2, {{"element-b", "e5m2"}})),
            "--element-b e5m2 goes with e4m3 or e5m2 alone: A holds f16");
  EXPECT_EQ(error_of(Element::i8, sized(2, 2, 2, {}, {"scale-a"})),
            "a scaled product is no i32: --output-element f32 or i8");
  EXPECT_EQ(error_of(Element::i8, sized(2, 2, 2, {{"activation", "gelu"}})),
            "--activation gelu is for floats, C holds i32");
  EXPECT_EQ(error_of(Element::f64, sized(2, 2, 2, {}, {"scale-a"})), "a product of f64 takes no scales");
  EXPECT_EQ(error_of(Element::i32, sized(2, 2, 2, {{"activation", "silu"}}, {"bias"})),
            "--activation silu is for floats, C holds i32");
  EXPECT_EQ(error_of(Element::e4m3, sized(2, 2, 2, {{"element-b", "e5m2"}})), "no error");
}

TEST(MixedProblem, WordsForOtherElementsAreRefused) {
  using enum Element;
  for (const Element element : matmul_operation().elements) {
    const std::string held = ": A holds " + std::string(name_of(element));
    EXPECT_EQ(error_of(element, sized(2, 2, 2, {{"accumulate", "fast"}})),
              element == e4m3 || element == e5m2 ? "no error"
                                                 : "--accumulate fast is only for e4m3 and e5m2" + held);
    EXPECT_EQ(error_of(element, sized(2, 2, 2, {{"compute", "tf32"}})),
              element == f32 ? "no error" : "--compute tf32 is only for f32" + held);
  }
}

TEST(MixedProblem, DistinguishesKindsOfProducts) {
  const auto text = [](Element element, Arguments::Words words) {
    const Inputs inputs(matmul_operation(), element, sized(2, 2, 2, std::move(words)), 1);
    return matmul_operation().element_name(inputs.arguments());
  };
  EXPECT_EQ(text(Element::bf16, {}), "bf16");
  EXPECT_EQ(text(Element::bf16, {{"output-element", "bf16"}}), "bf16");
  EXPECT_EQ(text(Element::e4m3, {{"output-element", "f16"}, {"element-b", "e5m2"}}), "e4m3*e5m2>f16");
  EXPECT_EQ(text(Element::e4m3, {{"accumulate", "fast"}}), "e4m3 fast");
  EXPECT_EQ(text(Element::f32, {{"compute", "tf32"}}), "tf32");
  EXPECT_EQ(text(Element::f32, {{"compute", "f16x3"}}), "f16x3");
  EXPECT_EQ(text(Element::i8, {{"output-element", "f32"}}), "i8>f32");
}

}  // namespace
}  // namespace tessera::matmul
