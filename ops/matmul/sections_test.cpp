// SPDX-License-Identifier: Apache-2.0
// Products cut into sections: the whole's numbers, whatever is cut and wherever the sums meet.
#include "ops/matmul/sections.hpp"
#include <gtest/gtest.h>
#include "ops/matmul/kernels/cpu/serial_loops.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::matmul {
namespace {

const Operation& product() { return *find_operation("matmul"); }

TEST(Sections, AreAllOfAWholeOnce) {
  for (const std::int64_t whole : {0, 1, 6, 7, 8, 14, 15, 100}) {
    std::int64_t next = 0;
    for (const Section& s : sections_of(whole, 7)) {
      EXPECT_EQ(s.first, next);
      EXPECT_TRUE(s.count <= 7 && (s.count > 0 || whole == 0));
      next += s.count;
    }
    EXPECT_EQ(next, whole);
  }
  const auto at_the_border = sections_of(most_counted + 1, most_counted);
  ASSERT_EQ(at_the_border.size(), 2u);
  EXPECT_EQ(at_the_border[1].first, most_counted);
  EXPECT_EQ(at_the_border[1].count, 1);
}

void conclude(const SectionStep& step) {
  MixedProblem p = step.p;
  p.alpha = 1;
  p.scale_a = p.scale_b = nullptr;
  const Epilogue epilogue(p);
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) epilogue.store(i, j, step.sums[i * p.n + j]);
}

// By three loops, section after section, into sums that begin as NaN.
void compute(const MixedProblem& p, std::int64_t most) {
  std::vector<float> sums(section_bytes(p, most) / sizeof(float), std::numeric_limits<float>::quiet_NaN());
  for (const SectionStep& step : sections_of(p, sums.data(), most)) {
    EXPECT_TRUE(step.p.m <= most && step.p.n <= most && (step.p.k <= most || step.sums != nullptr));
    if (step.sums == nullptr) naive_mixed(step.p);
    else conclude(step);
  }
}

struct Given {
  Element element;
  Arguments::Words words;
  std::vector<std::string> optional = {};
};

TEST(Sections, OfFewBitsMakeTheWhole) {
  using enum Element;
  for (const Given& given :
       {Given{bf16, {}},
        {bf16, {{"output-element", "f16"}, {"op-a", "transpose"}}, {"bias", "scale-a"}},
        {f16, {{"beta", "-2"}, {"activation", "relu"}}, {"C0", "bias", "scale-a", "scale-b"}},
        {bf16, {{"output-element", "f32"}, {"beta", "0.5"}, {"bias-along", "rows"}}, {"C0", "bias"}},
        {e4m3, {{"element-b", "e5m2"}, {"scale-b-per", "tensor"}, {"alpha", "-2"}}, {"scale-b"}},
        {i8, {{"beta", "-3"}, {"alpha", "2"}, {"activation", "relu"}}, {"C0", "bias"}},
        {f32, {{"compute", "tf32"}, {"activation", "silu"}}, {"bias"}},
        {bf16, {{"alpha", "0"}, {"beta", "2"}}, {"C0", "bias"}}}) {
    Case tried{
        .dims = {{"m", 17}, {"n", 23}, {"k", 40}}, .words = given.words, .distribution = Distribution::exact};
    tried.optional_inputs = given.optional;
    for (const std::int64_t most : {7, 13, 40}) {
      Inputs inputs(product(), given.element, tried, 5);
      inputs.poison();
      compute(MixedProblem::of(inputs.arguments()), most);
      const Verdict verdict = verify(product(), inputs.arguments());
      EXPECT_TRUE(verdict.passed) << name_of(given.element) << ' ' << most << ": " << describe(verdict);
    }
  }
}

template <class T>
void expect_plain_right(const Arguments::Words& words, std::vector<std::string> optional) {
  Case tried{.dims = {{"m", 17}, {"n", 23}, {"k", 40}}, .words = words, .distribution = Distribution::exact};
  tried.optional_inputs = std::move(optional);
  for (const std::int64_t most : {7, 13, 40}) {
    Inputs inputs(product(), element_of<T>, tried, 6);
    inputs.poison();
    for (const Problem<T>& one : sections_of(Problem<T>::of(inputs.arguments()), most)) {
      EXPECT_TRUE(one.m() <= most && one.n() <= most && one.k() <= most);
      naive(one);
    }
    const Verdict verdict = verify(product(), inputs.arguments());
    EXPECT_TRUE(verdict.passed) << name_of(element_of<T>) << ' ' << most << ": " << describe(verdict);
  }
}

TEST(Sections, OfPlainProductsMakeTheWhole) {
  expect_plain_right<float>({{"op-b", "transpose"}}, {});
  expect_plain_right<double>({{"alpha", "-2"}, {"beta", "3"}}, {"C0"});
  expect_plain_right<std::int32_t>({{"alpha", "5"}, {"beta", "-7"}}, {"C0"});
  expect_plain_right<double>({{"alpha", "0"}, {"beta", "3"}}, {"C0"});
}

TEST(Sections, AnI32SumThatIsScaledHasOnePiece) {
  MixedProblem p;
  p.a.element = p.b.element = Element::i8;
  p.c_element = Element::f32;
  p.k = most_counted;
  EXPECT_FALSE(cannot_cut(p).has_value());
  ++p.k;
  EXPECT_TRUE(cannot_cut(p).has_value());
  p.c_element = Element::i32;
  EXPECT_FALSE(cannot_cut(p).has_value());
  EXPECT_EQ(section_bytes(p), 0u);
  p.a.element = Element::e4m3;
  p.c_element = Element::bf16;
  p.m = 3, p.n = 5;
  EXPECT_EQ(section_bytes(p), 60u);
}

}  // namespace
}  // namespace tessera::matmul
