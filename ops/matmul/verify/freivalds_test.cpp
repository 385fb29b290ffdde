// SPDX-License-Identifier: Apache-2.0
// Results that the product's checks accept or reject: a user's data, sums that overflow, and large products
// of any shape.
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include "ops/matmul/gemm/drawn_testing.hpp"
#include "ops/matmul/operation/matmul_operation.hpp"
#include "ops/matmul/matmul.hpp"
#include "tessera/matmul.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::matmul {
namespace {

const Operation& product() { return *find_operation("matmul"); }

Case sized(std::int64_t m, std::int64_t n, std::int64_t k, Arguments::Words words = {}) {
  return {.dims = {{"m", m}, {"n", n}, {"k", k}}, .words = std::move(words)};
}

constexpr VerifyOptions in_full{.reference_flops = 1e12}, randomised{.reference_flops = 0};

template <class T>
void set_all(const Matrix<T>& matrix, T value) {
  for (std::int64_t i = 0; i < matrix.rows(); ++i)
    for (std::int64_t j = 0; j < matrix.cols(); ++j) matrix(i, j) = value;
}

// One thread's loop over k in the element's own arithmetic, without fused operations.
template <class T>
void multiply_in_order(const Arguments& arguments) {
  const auto p = Problem<T>::of(arguments);
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t j = 0; j < p.n(); ++j) {
      T sum = 0;
      for (std::int64_t l = 0; l < p.k(); ++l) sum += p.a(i, l) * p.b(l, j);
      p.store(i, j, sum);
    }
}

TEST(Checking, AcceptsEquallyRoundedEqualElements) {
  for (const std::int64_t k : {1024, 5000, 100000}) {
    Inputs inputs(product(), Element::f32, sized(3, 2, k), 1);
    set_all(inputs.arguments().view<float, 2>("A"), 0.1F);
    set_all(inputs.arguments().view<float, 2>("B"), 0.1F);
    multiply_in_order<float>(inputs.arguments());
    for (const VerifyOptions& options : {in_full, randomised}) {
      const Verdict found = verify(product(), inputs.arguments(), nullptr, options);
      EXPECT_TRUE(found.passed) << "k = " << k << "\n" << describe(found);
      ASSERT_TRUE(found.norm_error);
      EXPECT_GT(*found.norm_error, 1e-6) << "else this is no test of the norm";
      EXPECT_EQ(found.norm_demanded, 0);
    }
    // Random data have the tighter bound.
    EXPECT_FALSE(verify(product(), inputs.arguments(), nullptr, {.data = Data::random}).passed);
  }
}

TEST(Checking, RequiresTheNormForRandomData) {
  Inputs inputs(product(), Element::f32, sized(9, 8, 7), 1);
  set_all(inputs.arguments().view<float, 2>("C"), 0.0F);
  const Verdict zeros = verify(product(), inputs.arguments(), nullptr, {.data = Data::random});
  EXPECT_FALSE(zeros.passed);
  EXPECT_TRUE(zeros.norm_failed);
  EXPECT_EQ(zeros.norm_demanded, 1e-6);
}

TEST(Checking, ReportsTheNormOverFiniteElements) {
  Inputs inputs(product(), Element::f64, sized(6, 5, 4), 2);
  inputs.arguments().view<double, 2>("A")(1, 2) = std::numeric_limits<double>::infinity();
  inputs.arguments().view<double, 2>("A")(3, 0) = std::numeric_limits<double>::quiet_NaN();
  inputs.arguments().view<double, 2>("A")(4, 0) = 1e200;  // its square overflows a double
  multiply_in_order<double>(inputs.arguments());
  const Verdict found = verify(product(), inputs.arguments());
  EXPECT_TRUE(found.passed) << describe(found);
  ASSERT_TRUE(found.norm_error);
  EXPECT_LT(*found.norm_error, 1e-14);
}

// A row times a column, and the allowed results.
struct Sum {
  const char* name;
  std::vector<double> a, b, right, wrong;
  double alpha = 1, beta = 0, c0 = 0;
};

constexpr double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();
constexpr double most = std::numeric_limits<float>::max();

const std::vector<Sum> sums = {
    {"a product beyond", {1e30}, {1e30}, {inf}, {0, 7, 1e38, -1e38, most, -inf, nan}},
    {"a negative one", {1e30}, {-1e30}, {-inf}, {0, 7, -most, inf, nan}},
    {"a partial sum beyond", {3e38, 3e38, -3e38}, {1, 1, 1}, {inf, 3e38}, {0, 7, 1e38, -3e38, -inf, nan}},
    {"none beyond", {2e38, 2e38}, {1, -1}, {0}, {1e38, -1e38, inf, -inf, nan}},
    {"beyond both ways", {3e38, 3e38, -3e38, -3e38}, {1, 1, 1, 1}, {0, inf, -inf, nan}, {1e38, -1e38}},
    {"products beyond both ways", {1e30, 1e30}, {1e30, -1e30}, {inf, -inf, nan}, {0, 7, 1e38, most}},
    {"hardly beyond", {most, 1e31}, {1, 1}, {inf, most}, {0, 3.3e38, -most, -inf, nan}},
    {"beyond before a factor", {3e38, 3e38}, {1, 1}, {3e38, inf}, {0, 1e38, -inf, nan}, 0.5},
    {"transposed by a factor", {3e38, 3e38, -3e38}, {1, 1, 1}, {-3e38, -inf}, {0, 3e38, inf, nan}, -1},
    {"beyond by a factor", {3e38}, {1}, {inf}, {0, 3e38, most, -inf, nan}, 4},
    {"beyond with what is added", {3e38}, {1}, {inf}, {0, 3e38, most, -inf, nan}, 1, 1, 3e38},
    {"back by what is added", {3e38, 3e38}, {1, 1}, {3e38, inf}, {0, -inf, nan}, 1, -1, 3e38},
    {"an infinite input", {inf, 1}, {1, 1}, {inf}, {0, 3e38, -inf, nan}},
    {"an overflow against it", {inf, -3e38, -3e38}, {1, 1, 1}, {inf, nan}, {0, -inf, -3e38}},
    {"no number at all", {inf, -inf}, {1, 1}, {nan}, {0, inf, -inf}},
    {"zero times infinity", {inf, 3e38, 3e38}, {0, 1, 1}, {nan}, {0, inf, 3e38}},
};

// Doubles overflow in the same sums, scaled; their smallest relevant difference is smaller.
double widened(double value) {
  if (value == most) return std::numeric_limits<double>::max();
  if (value == 1e31) return 1e292;
  return std::isfinite(value) && std::fabs(value) > 100 ? value * 0x1p896 : value;
}

template <class T>
void expect_only_what_is_right(const Sum& sum) {
  SCOPED_TRACE(std::string(sum.name) + ", " + std::string(name_of(element_of<T>)));
  const auto as = [](double value) {
    return static_cast<T>(std::is_same_v<T, float> ? value : widened(value));
  };
  constexpr std::int64_t m = 7, n = 5;
  Case tried = sized(m, n, std::ssize(sum.a),
                     {{"alpha", std::to_string(sum.alpha)}, {"beta", std::to_string(sum.beta)}});
  if (sum.beta != 0) tried.optional_inputs = {"C0"};
  Inputs inputs(product(), element_of<T>, tried, 3);
  const Arguments& arguments = inputs.arguments();
  const auto a = arguments.view<T, 2>("A"), b = arguments.view<T, 2>("B"), c = arguments.view<T, 2>("C");
  multiply_in_order<T>(arguments);
  for (std::int64_t l = 0; l < a.cols(); ++l) {
    a(2, l) = as(sum.a[static_cast<std::size_t>(l)]);
    for (std::int64_t i = 0; i < m; ++i)
      if (i != 2) a(i, l) = 0;
    for (std::int64_t j = 0; j < n; ++j) b(l, j) = j == 3 ? as(sum.b[static_cast<std::size_t>(l)]) : T{0};
  }
  if (sum.beta != 0) set_all(arguments.view<T, 2>("C0"), as(sum.c0));
  const auto verdict_of = [&](double claim, const VerifyOptions& options) {
    multiply_in_order<T>(arguments);
    c(2, 3) = as(claim);
    return verify(product(), arguments, nullptr, options);
  };
  for (const VerifyOptions& options : {in_full, randomised}) {
    for (const double claim : sum.right) {
      const Verdict found = verdict_of(claim, options);
      EXPECT_TRUE(found.passed) << claim << " is right\n" << describe(found);
    }
    for (const double claim : sum.wrong) {
      const Verdict found = verdict_of(claim, options);
      EXPECT_FALSE(found.passed) << claim << " is wrong\n" << describe(found);
      ASSERT_FALSE(found.first.empty());
      EXPECT_EQ(found.first[0].index, (Extents{2, 3}));
    }
  }
}

TEST(Checking, AcceptsOnlyOverflowsThatSomeOrderOfSummationGives) {
  for (const Sum& sum : sums) {
    expect_only_what_is_right<float>(sum);
    expect_only_what_is_right<double>(sum);
  }
}

TEST(Checking, ReportsTheAllowedValuesOfAnOverflow) {
  Inputs inputs(product(), Element::f32, sized(1, 1, 3), 4);
  const auto a = inputs.arguments().view<float, 2>("A");
  set_all(a, 3e38F);
  a(0, 2) = -3e38F;
  set_all(inputs.arguments().view<float, 2>("B"), 1.0F);
  inputs.arguments().view<float, 2>("C")(0, 0) = 7;
  const std::string text = describe(verify(product(), inputs.arguments()));
  EXPECT_NE(text.find("[0,0] is 7, should be 3.0"), std::string::npos) << text;
  EXPECT_NE(text.find(" or inf"), std::string::npos) << text;
  EXPECT_EQ(text.find("-inf"), std::string::npos) << text;
}

TEST(Checking, EveryRungOverflowsWithinTheRules) {
  for (const Variant* v : ladder_of("matmul")) {
    Backend* backend = find_backend(v->where);
    if (v->where == Where::cuda || backend == nullptr || v->baseline) continue;
    int computed = 0;
    // Six rows, and four for those that take no more.
    for (const auto& [m, k] :
         {std::pair<std::int64_t, std::int64_t>{6, 1}, {6, 3}, {6, 40}, {6, 200}, {4, 200}}) {
      Inputs inputs(product(), Element::f32,
                    sized(m, 37, k, {{"alpha", "-0.5"}, {"compute", compute_for(v->name)}}), 5);
      const Choice& choice = v->choices[0];
      if (v->refuses(choice, inputs.arguments(), choice.defaults(), backend->devices().front())) continue;
      ++computed;
      const auto a = inputs.arguments().view<float, 2>("A");
      for (std::int64_t i = 0; i < a.rows(); ++i)
        for (std::int64_t l = 0; l < k; ++l) a(i, l) *= std::ldexp(1.0F, 120 + static_cast<int>(i));
      const Outcome outcome = run(product(), inputs.arguments(),
                                  {.device = std::string(name_of(v->where)), .variant = v->name}, true);
      EXPECT_TRUE(outcome.verdict->passed) << v->name << "\n" << describe(*outcome.verdict);
    }
    EXPECT_GT(computed, 0) << v->name;
  }
}

TEST(Checking, DoublesAreSummedInMoreThanDouble) {
  Inputs inputs(product(), Element::f64, sized(1, 1, 1000), 6);
  const auto a = inputs.arguments().view<double, 2>("A"), b = inputs.arguments().view<double, 2>("B");
  for (std::int64_t l = 0; l < 499; ++l) {
    a(0, 999 - l) = -a(0, l);
    b(999 - l, 0) = b(l, 0);
  }
  a(0, 499) = 0x1p-60;
  b(499, 0) = 3;
  b(500, 0) = 0;
  Expected expected;
  const std::vector<std::int64_t> row{0};
  product().reference(inputs.arguments(), row, Data::any, expected);
  EXPECT_NEAR(expected.value.at(0), 3 * 0x1p-60, 0x1p-80);
}

TEST(Multiply, RefusesACThatOverlapsAFactor) {
  std::vector<float> memory(64, 1);
  const ConstMatrixView<float> a{memory.data(), 4, 4, 8}, b{memory.data() + 32, 4, 4, 8};
  for (float* c : {memory.data(), memory.data() + 3, memory.data() + 35}) {
    try {
      multiply<float>(a, b, {c, 4, 4, 8}, {.check = true});
      ADD_FAILURE() << "C may not lie at " << c - memory.data();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::user);
      EXPECT_NE(std::string(error.what()).find("C overlaps "), std::string::npos) << error.what();
    }
  }
  for (const float value : memory) EXPECT_EQ(value, 1) << "nothing is written before";
  const Outcome beside =
      multiply<float>(a, b, {memory.data() + 4, 4, 4, 8}, {.request = {.device = "cpu"}, .check = true});
  EXPECT_TRUE(beside.verdict->passed);
  EXPECT_EQ(memory[4], 4);
  EXPECT_EQ(memory[0], 1);
}

template <class T>
std::string refusal_of(const char* name, const std::string& word) {
  Case tried = sized(2, 2, 2, {{name, word}});
  tried.optional_inputs = {"C0"};
  const Inputs inputs(product(), Element::u8, tried, 1);
  Arguments arguments = inputs.arguments();
  try {
    return std::to_string(Problem<T>::factor(arguments, name));
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Factors, AreRepresentableOrRefused) {
  EXPECT_EQ(refusal_of<std::int32_t>("alpha", "-2147483648"), "-2147483648");
  EXPECT_EQ(refusal_of<std::int32_t>("beta", "2147483647"), "2147483647");
  for (const char* word : {"-2147483649", "2147483648", "0.5", "1e-60", "1e300"})
    EXPECT_NE(refusal_of<std::int32_t>("alpha", word).find("is not a number that i32 can hold"),
              std::string::npos)
        << word;
  for (const char* word : {"1e-60", "-1e-46", "1e39"})
    EXPECT_NE(refusal_of<float>("beta", word).find("is not a number that f32 can hold"), std::string::npos)
        << word;
  EXPECT_EQ(refusal_of<float>("alpha", "-0"), "-0.000000");
  EXPECT_EQ(refusal_of<double>("alpha", "1e-60"), std::to_string(1e-60));
  for (const char* word : {"nan", "inf", "-inf", "two"})
    EXPECT_THROW(Inputs(product(), Element::f32, sized(2, 2, 2, {{"alpha", word}}), 1), Error) << word;
}

struct Shape {
  std::int64_t m, n, k;
  const char *op_a, *op_b;
  bool c0;
};

template <class T>
void expect_one_wrong_element_is_found(const Shape& shape) {
  SCOPED_TRACE(std::to_string(shape.m) + " " + std::to_string(shape.n) + " " + std::to_string(shape.k) + " " +
               shape.op_a + " " + shape.op_b + " " + std::string(name_of(element_of<T>)));
  Case tried =
      sized(shape.m, shape.n, shape.k,
            {{"op-a", shape.op_a}, {"op-b", shape.op_b}, {"alpha", "-2"}, {"beta", shape.c0 ? "3" : "0"}});
  if (shape.c0) tried.optional_inputs = {"C0"};
  Inputs inputs(product(), element_of<T>, tried, 7, {.padding = 5});
  ASSERT_NO_THROW((void)run(product(), inputs.arguments(), {.device = "cpu", .variant = "simd"}));
  const auto c = inputs.arguments().view<T, 2>("C");
  Random random(8);
  for (const Data data : {Data::any, Data::random}) {
    const VerifyOptions options{.data = data, .reference_flops = 0};
    const Verdict right = verify(product(), inputs.arguments(), nullptr, options);
    EXPECT_TRUE(right.passed) << describe(right);
    // Few rows are checked in full: rounding errors raise no suspicion.
    const std::string many = std::to_string(shape.m) + " of " + std::to_string(shape.m);
    EXPECT_TRUE(shape.m < 100 || right.method.find(many) == std::string::npos) << right.method;
    for (int trial = 0; trial < 4; ++trial) {
      const auto i = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(shape.m))),
                 j = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(shape.n)));
      const T old = c(i, j);
      c(i, j) = static_cast<T>(old + 1);
      const Verdict found = verify(product(), inputs.arguments(), nullptr, options);
      ASSERT_EQ(found.wrong, 1) << describe(found);
      EXPECT_EQ(found.first[0].index, (Extents{i, j}));
      c(i, j) = old;
    }
  }
}

TEST(Checking, OneWrongElementIsFoundInEveryShape) {
  for (const Shape& shape :
       {Shape{700, 16, 300, "none", "none", false}, Shape{16, 700, 300, "transpose", "none", true},
        Shape{301, 299, 3, "none", "transpose", true}, Shape{129, 257, 130, "transpose", "transpose", false},
        Shape{203, 1, 77, "none", "none", true}, Shape{1, 203, 77, "none", "transpose", false},
        Shape{150, 150, 0, "none", "none", true}}) {
    expect_one_wrong_element_is_found<float>(shape);
    expect_one_wrong_element_is_found<double>(shape);
    expect_one_wrong_element_is_found<std::int32_t>(shape);
  }
}

// The height of a band of rows decides how wide a tile fits a device's memory.
TEST(Checking, TilesCutAtDifferentColumnsAreCheckedWhole) {
  for (const char* op : {"none", "transpose"}) {
    Inputs inputs(product(), Element::f32, sized(96, 128, 40, {{"op-b", op}}), 5);
    const auto c = inputs.arguments().view<float, 2>("C");
    multiply_in_order<float>(inputs.arguments());
    const std::vector<Tile> tiles{{{0, 48}, {0, 64}, {0, 40}},
                                  {{0, 48}, {64, 128}, {0, 40}},
                                  {{48, 96}, {0, 32}, {0, 40}},
                                  {{48, 96}, {32, 80}, {0, 40}},
                                  {{48, 96}, {80, 128}, {0, 40}}};
    const TileCheck check = tile_check(inputs.arguments(), tiles, 1);
    for (const Tile& tile : tiles) EXPECT_TRUE(check(tile));
    for (const Tile& tile : tiles)
      for (std::int64_t j = tile.cols.first; j < tile.cols.last; ++j) {
        c(tile.rows.first + 1, j) += 1;
        for (const Tile& other : tiles) EXPECT_EQ(check(other), !(other == tile)) << j;
        c(tile.rows.first + 1, j) -= 1;
      }
  }
}

TEST(Checking, ScalesOfTheDataDoNotMatter) {
  for (const double scale : {1e-200, 1e-160, 1e150}) {
    Inputs inputs(product(), Element::f64, sized(40, 41, 42), 9);
    const auto a = inputs.arguments().view<double, 2>("A"), b = inputs.arguments().view<double, 2>("B"),
               c = inputs.arguments().view<double, 2>("C");
    for (std::int64_t i = 0; i < 40; ++i)
      for (std::int64_t l = 0; l < 42; ++l) a(i, l) *= scale;
    for (std::int64_t l = 0; l < 42; ++l)
      for (std::int64_t j = 0; j < 41; ++j) b(l, j) *= scale;
    multiply_in_order<double>(inputs.arguments());
    for (const VerifyOptions& options : {in_full, randomised})
      EXPECT_TRUE(verify(product(), inputs.arguments(), nullptr, options).passed) << scale;
    c(5, 6) = scale < 1 ? scale : -c(5, 6);
    for (const VerifyOptions& options : {in_full, randomised})
      EXPECT_EQ(verify(product(), inputs.arguments(), nullptr, options).wrong, 1) << scale;
  }
}

}  // namespace
}  // namespace tessera::matmul
