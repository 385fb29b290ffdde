// SPDX-License-Identifier: Apache-2.0
// Guarantees specific to the matrix product, and failures that its checks detect.
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/matmul.hpp"
#include "tessera/matmul.hpp"
#include "tessera/run/heuristics.hpp"
#include "tessera/core/operation/variant.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::matmul {
namespace {

const Operation& matmul_operation() { return *find_operation("matmul"); }

Case case_of(std::int64_t m, std::int64_t n, std::int64_t k,
             Distribution distribution = Distribution::normal) {
  return {.dims = {{"m", m}, {"n", n}, {"k", k}}, .distribution = distribution};
}

// Computes C in order, rounding each factor and each partial sum.
template <class T, class Factor, class Sum>
void multiply_with(const Arguments& arguments, Factor factor, Sum sum_of) {
  const auto p = Problem<T>::of(arguments);
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t j = 0; j < p.n(); ++j) {
      T sum = 0;
      for (std::int64_t l = 0; l < p.k(); ++l) sum = sum_of(sum, factor(p.a(i, l)), factor(p.b(l, j)));
      p.store(i, j, sum);
    }
}

template <class T>
T same(T value) {
  return value;
}
template <class T>
T plus(T sum, T a, T b) {
  return sum + a * b;
}
float as_bf16(float value) { return static_cast<float>(bf16::from(value)); }
float as_f16(float value) { return static_cast<float>(f16::from(value)); }

float as_tf32(float value) {                   // 11 significant bits
  const double scaled = (0x1p42 + 1) * value;  // Veltkamp: the upper 53 - 42 bits of a double
  return static_cast<float>(scaled - (scaled - value));
}
double as_f32(double value) { return static_cast<float>(value); }

// Every rung that runs on this machine's CPU or the executor, on small arguments.
void for_each_rung(Element element, const std::function<void(const Plan&)>& each) {
  for (const Variant* v : ladder_of("matmul")) {
    Backend* backend = find_backend(v->where);
    if (v->where == Where::cuda || backend == nullptr || v->baseline) continue;
    const Device device = backend->devices().at(0);
    if (v->choices[0].prepare.contains(element)) each({v, &v->choices[0], v->choices[0].defaults(), device});
  }
}

void execute(const Plan& plan, const Arguments& arguments) {
  PlacedCall placed(plan, arguments);
  placed.poison();
  placed.upload();
  placed.launch();
  placed.fetch();
}

class Exact : public testing::TestWithParam<std::int64_t> {
 protected:
  Verdict verdict(Inputs& inputs) const { return verify(matmul_operation(), inputs.arguments()); }
  Case exact() const { return case_of(4, 3, GetParam(), Distribution::exact); }
};

TEST_P(Exact, FloatsRoundedToAShorterTypeFail) {
  Inputs inputs(matmul_operation(), Element::f32, exact(), 11);
  multiply_with<float>(inputs.arguments(), same<float>, plus<float>);
  EXPECT_TRUE(verdict(inputs).passed) << describe(verdict(inputs));
  for (const auto shorter : {as_bf16, as_f16, as_tf32}) {
    multiply_with<float>(inputs.arguments(), shorter, plus<float>);
    const Verdict found = verdict(inputs);
    EXPECT_FALSE(found.passed);
    EXPECT_EQ(found.wrong, 12);  // no rounding error cancels
    EXPECT_TRUE(describe(found).starts_with("wrong result")) << describe(found);
  }
}

TEST_P(Exact, DoublesComputedInFloatFail) {
  Inputs inputs(matmul_operation(), Element::f64, exact(), 12);
  multiply_with<double>(inputs.arguments(), same<double>, plus<double>);
  EXPECT_TRUE(verdict(inputs).passed) << describe(verdict(inputs));
  multiply_with<double>(inputs.arguments(), as_f32, plus<double>);
  EXPECT_EQ(verdict(inputs).wrong, 12);
  multiply_with<double>(inputs.arguments(), same<double>,
                        [](double s, double a, double b) { return as_f32(s + a * b); });
  EXPECT_FALSE(verdict(inputs).passed);
}

TEST_P(Exact, IntegersThatSaturateFail) {
  Inputs inputs(matmul_operation(), Element::i32, exact(), 13);
  multiply_with<std::int32_t>(
      inputs.arguments(), same<std::int32_t>,
      [](std::int32_t s, std::int32_t a, std::int32_t b) { return multiply_add(a, b, s); });
  EXPECT_TRUE(verdict(inputs).passed) << describe(verdict(inputs));
  multiply_with<std::int32_t>(
      inputs.arguments(), same<std::int32_t>, [](std::int32_t s, std::int32_t a, std::int32_t b) {
        const double sum = double(s) + double(a) * double(b);
        return static_cast<std::int32_t>(std::clamp(sum, -2147483648.0, 2147483647.0));
      });
  EXPECT_FALSE(verdict(inputs).passed);
}

INSTANTIATE_TEST_SUITE_P(Depths, Exact, testing::Values(1, 2, 17, 1000));

TEST(Matmul, ExactInputsHoldWithFactorsAndC0) {
  Case scaled = case_of(5, 6, 3000, Distribution::exact);
  scaled.words = {{"alpha", "-3"}, {"beta", "5"}};
  scaled.optional_inputs = {"C0"};
  for (const Element element : {Element::f32, Element::f64}) {
    Inputs inputs(matmul_operation(), element, scaled, 14);
    if (element == Element::f32) multiply_with<float>(inputs.arguments(), same<float>, plus<float>);
    else multiply_with<double>(inputs.arguments(), same<double>, plus<double>);
    EXPECT_TRUE(verify(matmul_operation(), inputs.arguments()).passed);
    Expected expected;
    const std::vector<std::int64_t> rows{0, 1, 2, 3, 4};
    matmul_operation().reference(inputs.arguments(), rows, Data::any, expected);
    for (const double bound : expected.bound) EXPECT_EQ(bound, 0);
  }
}

TEST(Matmul, TheBoundPassesFloatsAndFailsBf16) {
  for (const std::int64_t k : {1, 17, 1000, 2000}) {
    Inputs inputs(matmul_operation(), Element::f32, case_of(24, 25, k), 21);
    multiply_with<float>(inputs.arguments(), same<float>, plus<float>);
    const Verdict honest = verify(matmul_operation(), inputs.arguments(), nullptr, {.data = Data::random});
    EXPECT_TRUE(honest.passed) << describe(honest);
    EXPECT_GT(honest.largest_ratio, 0);
    EXPECT_LE(honest.largest_ratio, 1);
    EXPECT_EQ(honest.norm_demanded, k <= 1024 ? 1e-6 : 0);
    multiply_with<float>(inputs.arguments(), as_bf16, plus<float>);
    const Verdict rounded = verify(matmul_operation(), inputs.arguments(), nullptr, {.data = Data::random});
    EXPECT_FALSE(rounded.passed);
    EXPECT_GT(rounded.wrong, 0) << "the bound itself must find it, k = " << k;
  }
}

TEST(Matmul, NanNeverPasses) {
  Inputs inputs(matmul_operation(), Element::f32, case_of(20, 21, 22), 31);
  multiply_with<float>(inputs.arguments(), same<float>, plus<float>);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    float& victim = inputs.arguments().view<float, 2>("C")(7, 9);
    const float right = victim;
    victim = bad;
    for (const double flops : {1e9, 0.0}) {  // every element; randomised
      const Verdict found =
          verify(matmul_operation(), inputs.arguments(), nullptr, {.reference_flops = flops});
      EXPECT_FALSE(found.passed);
      ASSERT_FALSE(found.first.empty()) << describe(found);
      EXPECT_EQ(found.first[0].index, (Extents{7, 9}));
    }
    victim = right;
  }
}

TEST(Matmul, BetaZeroDoesNotReadC0AndAlphaZeroNeitherFactor) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Case with_c0 = case_of(18, 19, 20);
  with_c0.optional_inputs = {"C0"};
  Case no_product = with_c0;
  no_product.words = {{"alpha", "0"}, {"beta", "2"}};
  for (const Case& tried : {with_c0, no_product}) {
    Inputs inputs(matmul_operation(), Element::f32, tried, 41);
    for (const std::string& name :
         tried.words.empty() ? std::vector<std::string>{"C0"} : std::vector<std::string>{"A", "B"}) {
      const auto unread = inputs.arguments().view<float, 2>(name);
      for (std::int64_t i = 0; i < unread.rows(); ++i)
        for (std::int64_t j = 0; j < unread.cols(); ++j) unread(i, j) = nan;
    }
    for_each_rung(Element::f32, [&](const Plan& plan) {
      if (plan.variant->refuses(*plan.choice, inputs.arguments(), plan.tuning, plan.device)) return;
      execute(plan, inputs.arguments());
      const Verdict found = verify(matmul_operation(), inputs.arguments(), &plan);
      EXPECT_TRUE(found.passed) << plan.variant->name << "\n" << describe(found);
      EXPECT_EQ(std::isnan(inputs.arguments().view<float, 2>("C")(3, 3)), false);
    });
  }
}

// The executor has no tensor core kernels for products of 8-bit floats.
TEST(Matmul, ARungThatIsHeldBackComputesWhatNoOtherCan) {
  if (find_backend(Where::simt) == nullptr) GTEST_SKIP() << "this build has no executor";
  const Case large{.dims = {{"m", 1}, {"n", 4100}, {"k", 4096}}, .words = {{"op-b", "transpose"}}};
  Inputs inputs(matmul_operation(), Element::e4m3, large, 1);
  const Plan plan = choose(matmul_operation(), inputs.arguments(), {.device = "simt"});
  EXPECT_EQ(plan.variant->name, "few_rows");
  EXPECT_TRUE(held_back(*plan.variant, inputs.arguments(), plan.device));
}

TEST(Matmul, AWrongElementNamesItsOwner) {
  if (find_backend(Where::simt) == nullptr) GTEST_SKIP() << "this build has no executor";
  Inputs inputs(matmul_operation(), Element::f32, case_of(40, 40, 8), 52);
  const Plan plan =
      choose(matmul_operation(), inputs.arguments(), {.device = "simt", .variant = "shared_tiles"});
  execute(plan, inputs.arguments());
  inputs.arguments().view<float, 2>("C")(17, 35) += 1;
  const Verdict found = verify(matmul_operation(), inputs.arguments(), &plan);
  ASSERT_EQ(found.wrong, 1);
  ASSERT_TRUE(found.first[0].owner.has_value());
  EXPECT_NE(describe(found).find("by thread (3,1,0) of block (2,1,0)"), std::string::npos) << describe(found);
}

// `list` says so of rungs that state nothing: a rung that copied an input first would need memory for it.
TEST(Matmul, RungsThatDeclareNoLayoutsPackNothing) {
  int tried = 0;
  for (const char* name : {"matmul", "matmul_batch"})
    for (const Variant* variant : ladder_of(name)) {
      if (variant->baseline || layouts_of(variant->file) != nullptr) continue;
      for (const char* op : {"op-a", "op-b"})
        for (const Choice& choice : variant->choices) {
          Case transposed = case_of(70, 90, 110);
          if (name != std::string("matmul")) transposed.dims["batch"] = 3;
          transposed.words = {{op, "transpose"}};
          const Inputs inputs(*find_operation(name), choice.prepare.begin()->first, transposed, 1);
          const PreparedRun run = choice.prepared(inputs.arguments(), choice.defaults(),
                                                  find_backend(variant->where)->devices().at(0));
          EXPECT_EQ(run.workspace_bytes, 0u) << variant->name;
          ++tried;
        }
    }
  EXPECT_GT(tried, 20);
}

}  // namespace
}  // namespace tessera::matmul
