// SPDX-License-Identifier: Apache-2.0
// The check where the arrays lie, on the executor: its sums beside plain loops, and its answers beside those
// in host memory.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include "ops/matmul/verify/examine.hpp"
#include "ops/matmul/verify/judge.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::matmul {
namespace {

const Operation& product() { return *find_operation("matmul"); }

// A matrix of any layout with some infinities and NaN, where the element has them.
struct Drawn {
  Element element;
  std::int64_t rows, cols, row_stride, stride;
  std::vector<char> bytes;

  Drawn(Element e, std::int64_t r, std::int64_t c, int layout, bool special, Random& random)
      : element(e), rows(r), cols(c) {
    row_stride = layout == 0 ? c : layout == 1 ? 1 : 2 * c + 3;
    stride = layout == 0 ? 1 : layout == 1 ? r + 1 : 2;
    bytes.resize(static_cast<std::size_t>(r * row_stride + c * stride) * size_of(e));
    for (std::int64_t i = 0; i < r; ++i)
      for (std::int64_t j = 0; j < c; ++j) {
        double x = is_integer(e) ? std::round(20 * random.normal()) : random.normal();
        if (special && i == 5 && !is_integer(e)) x = j % 2 == 0 ? INFINITY : NAN;
        store_from_double(e, at(i, j), x);
      }
  }
  char* at(std::int64_t i, std::int64_t j) {
    return bytes.data() + static_cast<std::size_t>(i * row_stride + j * stride) * size_of(element);
  }
  SumsArgs args(SumPair* out) const { return {bytes.data(), element, rows, cols, row_stride, stride, out}; }
};

// `precision`: of sizes.
void expect_near(const SumPair& found, const SumPair& right, double precision = 1e-14) {
  const double scale = std::fabs(right.size) * std::sqrt(1e4);
  if (!std::isfinite(right.size)) {
    EXPECT_FALSE(std::isfinite(found.size));
    EXPECT_FALSE(std::isfinite(found.sum));
    return;
  }
  EXPECT_NEAR(found.sum, right.sum, 1e-14 * scale);
  EXPECT_NEAR(found.size, right.size, precision * scale);
}

TEST(DeviceSums, AreThoseOfPlainLoops) {
  const Device simt = find_device("simt");
  tessera::Run run{&simt};
  const DeviceSums& sums = *device_sums(Where::simt);
  Random random(1);
  for (const Element element : {Element::f64, Element::f32, Element::bf16, Element::f16, Element::e4m3,
                                Element::e5m2, Element::i8, Element::i32})
    for (const int layout : {0, 1, 2})
      for (const auto& [rows, cols] : {std::pair{1, 1}, {7, 66}, {33, 5}, {70, 300}, {40, 4133}}) {
        if (cols > 1000 && layout == 2) continue;
        SCOPED_TRACE(testing::Message()
                     << name_of(element) << " " << rows << " × " << cols << " layout " << layout);
        Drawn m(element, rows, cols, layout, cols != 4133, random);
        const auto value = [&](std::int64_t i, std::int64_t j) {
          return load_as_double(element, m.at(i, j));
        };
        std::vector<SumPair> out(static_cast<std::size_t>(rows * sum_vectors)),
            x(static_cast<std::size_t>(cols * sum_vectors));
        std::vector<float> signs(static_cast<std::size_t>(cols));
        for (float& sign : signs) sign = static_cast<float>(random.normal());
        for (SumPair& pair : x) pair = {random.normal(), std::fabs(random.normal())};
        for (const std::int64_t groups : {1, 3, 4}) {
          SumsArgs args = m.args(out.data());
          args.signs = signs.data(), args.parts = groups, args.scale = 2;
          sums.fold(args, run);
          for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t g = 0; g < groups; ++g) {
              SumPair right{};
              for (std::int64_t j = cols * g / groups; j < cols * (g + 1) / groups; ++j) {
                right.sum += double{signs[static_cast<std::size_t>(j)]} * value(i, j);
                right.size += value(i, j) * value(i, j);
              }
              right.size = 2 * std::sqrt(right.size);
              expect_near(out[static_cast<std::size_t>(g * rows + i)], right);
            }
        }
        out.assign(out.size(), {});
        SumsArgs args = m.args(out.data());
        const bool in_f32 = element != Element::f64;
        for (SumPair& pair : x)
          if (in_f32) {
            const auto size = static_cast<float>(pair.size);
            std::memcpy(&pair.size, &size, sizeof size);
          }
        args.x = x.data(), args.parts = 2;
        sums.multiply(args, run);
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t v = 0; v < sum_vectors; ++v) {
            SumPair right{};
            for (std::int64_t j = 0; j < cols; ++j) {
              SumPair by = x[static_cast<std::size_t>(v * cols + j)];
              if (float size = 0; in_f32) {
                std::memcpy(&size, &by.size, sizeof size);
                by.size = size;
              }
              right.sum += value(i, j) * by.sum;
              right.size += std::fabs(value(i, j)) * by.size;
            }
            expect_near(out[static_cast<std::size_t>(v * rows + i)], right, in_f32 ? 1e-7 : 1e-14);
          }
      }
}

// Every case of the product, computed by a processor: right ones are said to be right, unless they have
// infinities or are integers modulo 2^32, and a wrong element in each is not.
TEST(DeviceCheck, SaysTheSameAsInHostMemory) {
  const Device simt = find_device("simt");
  int right = 0, wrong = 0;
  std::vector<Case> cases = product().cases;
  for (const char* along : {"columns", "rows"})
    cases.push_back({.dims = {{"m", 60}, {"n", 170}, {"k", 40}},
                     .words = {{"alpha", "-2"}, {"beta", "0.5"}, {"bias-along", along}},
                     .optional_inputs = {"C0", "bias", "scale-a", "scale-b"},
                     .elements = {Element::bf16, Element::f16, Element::e4m3}});
  cases.push_back({.dims = {{"m", 60}, {"n", 170}, {"k", 40}},
                   .words = {{"op-b", "transpose"}},
                   .optional_inputs = {"bias"},
                   .elements = {Element::f32, Element::bf16}});
  for (const Case& one : cases)
    for (const Element element : one.elements.empty() ? product().elements : one.elements) {
      Inputs inputs(product(), element, one, 3);
      const Arguments& arguments = inputs.arguments();
      const ArrayView c = arguments.array("C");
      if (c.count() == 0 || element == Element::i32 || sampled_only(arguments)) continue;
      (void)tessera::run(product(), arguments, {.device = "cpu"});
      SCOPED_TRACE(testing::Message() << product().element_name(arguments) << " " << to_string(c.extents)
                                      << " k " << arguments.dim("k"));
      const Arithmetic arithmetic = arithmetic_of(arguments, "");
      const auto found = [&] { return right_on_device(simt, arithmetic); };
      ASSERT_TRUE(verify(product(), arguments).passed);
      const bool wraps = element == Element::i8 && arguments.has("C0");
      if (one.distribution == Distribution::special || wraps) {
        (void)found();
        continue;
      }
      const auto verdict = found();
      EXPECT_TRUE(verdict.has_value());

      ++right;
      void* const last = static_cast<char*>(c.data) +
                         ((c.extents[0] - 1) * c.strides[0] + (c.extents[1] - 1) * c.strides[1]) *
                             static_cast<std::int64_t>(size_of(c.element));
      store_from_double(c.element, last, 3 * std::fabs(load_as_double(c.element, last)) + 1000);
      EXPECT_FALSE(found().has_value());
      ++wrong;
    }
  EXPECT_GT(right, 150);
  EXPECT_GT(wrong, 100);
}

TEST(DeviceCheck, AnswersAsInHostMemory) {
  const Device simt = find_device("simt");
  Inputs inputs(product(), Element::f32, {.dims = {{"m", 530}, {"n", 700}, {"k", 500}}}, 1);
  (void)tessera::run(product(), inputs.arguments(), {.device = "cpu"});
  const Finding right = examine(inputs.arguments(), "", &simt);
  EXPECT_TRUE(right.right) << right.text;
  EXPECT_NE(right.text.find("a randomised check of all rows, 4 of 530 in full"), std::string::npos)
      << right.text;
  const Finding host = examine(inputs.arguments(), "");
  EXPECT_NEAR(right.sees, host.sees, 0.5 * host.sees);
  const auto c = inputs.arguments().view<float, 2>("C");
  for (std::int64_t i = 32; i < 48; ++i)
    for (std::int64_t j = 64; j < 80; ++j) c(i, j) = 0;
  EXPECT_EQ(examine(inputs.arguments(), "", &simt).text, examine(inputs.arguments(), "").text);
  EXPECT_FALSE(examine(inputs.arguments(), "", &simt).right);
}

// Within the bounds of strict f32, but not as precise.
TEST(DeviceCheck, SeesALessPreciseArithmetic) {
  const Device simt = find_device("simt");
  Inputs inputs(product(), Element::f32, {.dims = {{"m", 40}, {"n", 50}, {"k", 9000}}}, 1);
  (void)tessera::run(product(), inputs.arguments(), {.device = "cpu"});
  const auto c = inputs.arguments().view<float, 2>("C");
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t j = 0; j < 50; ++j) c(i, j) += 0.01F;
  const Arithmetic arithmetic = arithmetic_of(inputs.arguments(), "");
  EXPECT_FALSE(right_on_device(simt, arithmetic));
  EXPECT_TRUE(verify(product(), inputs.arguments()).passed);
}

}  // namespace
}  // namespace tessera::matmul
