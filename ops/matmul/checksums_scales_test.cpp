// SPDX-License-Identifier: Apache-2.0
// Checksums fit honest products whatever the scale of all, of a row, of a column, or of what is added; and
// see errors beside them.
#include <cmath>
#include "ops/matmul/checksums_on_device.hpp"
#include "tessera/core/random.hpp"
#include "ops/matmul/problem/typed_operands.hpp"

namespace tessera::matmul {
namespace {

class ChecksumsAtScales : public OnDeviceWithChecksums {
 protected:
  template <class T>
  void expect_errors_are_seen_beside_large_addends(T large, T small, T error) const;
  template <class T>
  void expect_fits_at_random_scales(int spread) const;
};
CHECKSUMS_ON_DEVICES(ChecksumsAtScales);

TEST_P(ChecksumsAtScales, FitAtAnyScale) {
  for (const double factor : {1e-150, 1e-140, 1e-30, 1e30, 1e140}) {
    Product p = made(Element::f64, sized(90, 110, 300), 7);
    scale(p.arguments().view<double, 2>("A"), factor);
    scale(p.arguments().view<double, 2>("B"), factor);
    p.remake();
    EXPECT_TRUE(p.look().fits()) << factor;
    p.arguments().view<double, 2>("C")(40, 50) *= 1 + 1e-3;
    EXPECT_EQ(p.look().rows, (std::vector<std::int64_t>{40})) << factor;
  }
  // Partly below the smallest normal number, and all of it.
  for (const float factor : {1e-20F, 1e-22F, 1e-25F, 1e15F}) {
    Product p = made(Element::f32, sized(90, 110, 300), 8);
    scale(p.arguments().view<float, 2>("A"), factor);
    scale(p.arguments().view<float, 2>("B"), factor);
    p.remake();
    EXPECT_TRUE(p.look().fits()) << factor;
  }
}

TEST_P(ChecksumsAtScales, FitWhereRowsDifferInScaleAndNothingCancels) {
  Product p = made(Element::f32, sized(120, 100, 700), 9);
  const auto a = p.arguments().view<float, 2>("A"), b = p.arguments().view<float, 2>("B");
  for (std::int64_t i = 0; i < a.rows(); ++i)
    for (std::int64_t l = 0; l < a.cols(); ++l)
      a(i, l) = std::fabs(a(i, l)) * std::ldexp(1.0F, static_cast<int>(i % 40) - 20);
  for (std::int64_t l = 0; l < b.rows(); ++l)
    for (std::int64_t j = 0; j < b.cols(); ++j)
      b(l, j) = std::fabs(b(l, j)) * std::ldexp(1.0F, static_cast<int>(l % 30));
  p.remake();
  EXPECT_TRUE(p.look().fits());
}

// A column a million times smaller than the others: what is wrong in it shows all the same.
TEST_P(ChecksumsAtScales, SeeErrorsOfSmallColumnsBesideLargeOnes) {
  Product p = made(Element::f32, sized(120, 100, 700), 10);
  const auto b = p.arguments().view<float, 2>("B"), c = p.arguments().view<float, 2>("C");
  for (std::int64_t l = 0; l < b.rows(); ++l) b(l, 33) *= 1e-6F;
  p.remake();
  EXPECT_TRUE(p.look().fits());
  c(44, 33) += 1e-6F;  // of 26e-6
  const ChecksumVerdict found = p.look();
  EXPECT_EQ(found.rows, (std::vector<std::int64_t>{44}));
  EXPECT_EQ(found.cols, (std::vector<std::int64_t>{33}));
}

// What is added may be far larger than the product, in some columns: the others are seen all the same.
template <class T>
void ChecksumsAtScales::expect_errors_are_seen_beside_large_addends(T large, T small, T error) const {
  Product p = made(element_of<T>, sized(120, 100, 700, {{"alpha", "1.5"}, {"beta", "1"}}), 20);
  const auto b = p.arguments().view<T, 2>("B"), c0 = p.arguments().view<T, 2>("C0"),
             c = p.arguments().view<T, 2>("C");
  for (std::int64_t i = 0; i < c0.rows(); ++i) c0(i, 17) *= large;
  for (std::int64_t l = 0; l < b.rows(); ++l) b(l, 33) *= small;
  p.remake();
  EXPECT_TRUE(p.look().fits());
  const T right = c(44, 70);
  c(44, 70) += error;
  ChecksumVerdict found = p.look();
  EXPECT_EQ(found.rows, (std::vector<std::int64_t>{44}));
  EXPECT_EQ(found.cols, (std::vector<std::int64_t>{70}));
  c(44, 70) = right;
  swap_columns(c, 60, 61);
  found = p.look();
  EXPECT_GT(found.rows.size(), 110u);
  EXPECT_EQ(found.cols, (std::vector<std::int64_t>{60, 61}));
  swap_columns(c, 60, 61);
  EXPECT_TRUE(p.look().fits());
}

TEST_P(ChecksumsAtScales, SeeErrorsBesideLargeColumnsOfWhatIsAdded) {
  expect_errors_are_seen_beside_large_addends<float>(1e12F, 1e-9F, 0.05F);  // of 40
  expect_errors_are_seen_beside_large_addends<double>(1e16, 1e-16, 1e-9);
  expect_errors_are_seen_beside_large_addends<double>(1e120, 1e-120, 1e-9);
}

TEST_P(ChecksumsAtScales, SeeErrorsBesideLargeColumnsWhereNothingElseIsAdded) {
  Product p = made(Element::f32, sized(120, 100, 700, {{"alpha", "0"}, {"beta", "2"}}), 21);
  const auto c0 = p.arguments().view<float, 2>("C0"), c = p.arguments().view<float, 2>("C");
  for (std::int64_t i = 0; i < c0.rows(); ++i) c0(i, 17) *= 1e12F;
  p.remake();
  EXPECT_TRUE(p.look().fits());
  c(44, 70) += 1e-3F;
  EXPECT_EQ(p.look().rows, (std::vector<std::int64_t>{44}));
}

// Scales of rows and columns from 2^-spread to 2^spread, of all three inputs.
template <class T>
void scale_at_random(const Matrix<T>& matrix, int spread, Random random) {
  const auto power = [&] {
    return std::ldexp(1.0,
                      static_cast<int>(random.next() % (2 * static_cast<unsigned>(spread) + 1)) - spread);
  };
  std::vector<double> rows, cols;
  for (std::int64_t i = 0; i < matrix.rows(); ++i) rows.push_back(power());
  for (std::int64_t j = 0; j < matrix.cols(); ++j) cols.push_back(power());
  for (std::int64_t i = 0; i < matrix.rows(); ++i)
    for (std::int64_t j = 0; j < matrix.cols(); ++j) {
      const double scaled = static_cast<double>(widened(matrix(i, j))) * rows[static_cast<std::size_t>(i)] *
                            cols[static_cast<std::size_t>(j)];
      if constexpr (std::is_same_v<T, bf16>) matrix(i, j) = bf16::from(static_cast<float>(scaled));
      else matrix(i, j) = static_cast<T>(scaled);
    }
}

template <class T>
void ChecksumsAtScales::expect_fits_at_random_scales(int spread) const {
  constexpr const char* factors[] = {"1", "-0.001", "3e5"};
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Product p =
        made(element_of<T>,
             sized(40 + 7 * static_cast<std::int64_t>(seed), 75, 20 + 13 * static_cast<std::int64_t>(seed),
                   {{"alpha", factors[seed % 3]}, {"beta", factors[seed / 3 % 3]}}),
             seed);
    for (const char* name : {"A", "B", "C0"})
      scale_at_random(p.arguments().view<T, 2>(name), spread,
                      Random(seed, static_cast<std::uint64_t>(name[0])));
    p.remake();
    const ChecksumVerdict found = p.look();
    EXPECT_TRUE(found.fits()) << seed << ": " << found.rows.size() << " rows, " << found.cols.size()
                              << " columns";
  }
}

TEST_P(ChecksumsAtScales, FitWhereRowsAndColumnsOfAllInputsDifferInScale) {
  expect_fits_at_random_scales<float>(9);
  expect_fits_at_random_scales<double>(70);
  expect_fits_at_random_scales<bf16>(9);
}

// One row so small, or so large, that its squares are no doubles: it fits, it hides nothing in others, and
// what is wrong in it shows, too.
TEST_P(ChecksumsAtScales, FitAndLocateErrorsBesideOneRowOrColumnOfAnySize) {
  constexpr std::int64_t odd = 50, other = 20;
  for (const bool column : {false, true})
    for (const char* op : {"none", "transpose"})
      for (const double factor : {1e-310, 1e-300, 1e-250, 1e-200, 1e-170, 1e160, 1e200}) {
        Product p = made(Element::f64, sized(90, 110, 200, {{column ? "op-b" : "op-a", op}}), 22);
        const auto c = p.arguments().view<double, 2>("C");
        const Matrix<double> factors = p.arguments().view<double, 2>(column ? "B" : "A");
        for (std::int64_t l = 0; l < 200; ++l)
          (column ? factors(l, odd) : factors(odd, l)) *= factor;  // of op(A), op(B)
        p.remake();
        EXPECT_TRUE(p.look().fits()) << column << op << factor;
        constexpr double least_weighed = 1e-260;  // smaller lines are no more made as large as others
        for (const std::int64_t line : {odd, other}) {
          if (line == odd && factor < least_weighed) continue;
          const std::int64_t i = column ? other + 1 : line, j = column ? line : other + 1;
          const double right = c(i, j);
          c(i, j) *= 1 + 1e-6;
          const ChecksumVerdict found = p.look();
          EXPECT_TRUE(found.decided) << column << op << factor;
          EXPECT_EQ(found.rows, (std::vector<std::int64_t>{i})) << column << op << factor;
          EXPECT_EQ(found.cols, (std::vector<std::int64_t>{j})) << column << op << factor;
          c(i, j) = right;
        }
      }
}

// Results at the end of the doubles, and factors far from 1 whose product is not.
TEST_P(ChecksumsAtScales, FitWhereResultsUnderflowAndWhereScalesOfFactorsCancel) {
  for (const auto& [of_a, of_b] : std::vector<std::pair<double, double>>{{1e-155, 1e-155},
                                                                         {1e-160, 1e-160},
                                                                         {1e-162, 1e-162},
                                                                         {1e-200, 1e-200},
                                                                         {1e-310, 1e150},
                                                                         {1e-160, 1e160},
                                                                         {1e250, 1e-250}}) {
    Product p = made(Element::f64, sized(90, 110, 200), 23);
    scale(p.arguments().view<double, 2>("A"), of_a);
    scale(p.arguments().view<double, 2>("B"), of_b);
    p.remake();
    EXPECT_TRUE(p.look().fits()) << of_a << " " << of_b;
    p.arguments().view<double, 2>("C")(5, 6) += 1e-100;
    const bool seen = of_a * of_b < 1e-110;
    const ChecksumVerdict found = p.look();
    EXPECT_EQ(found.rows, seen ? std::vector<std::int64_t>{5} : std::vector<std::int64_t>())
        << of_a << " " << of_b;
    EXPECT_EQ(found.cols, seen ? std::vector<std::int64_t>{6} : std::vector<std::int64_t>())
        << of_a << " " << of_b;
  }
}

TEST_P(ChecksumsAtScales, FitWhereALargeLineMeetsASmallOne) {
  for (const bool inner : {false, true})
    for (const double factor : {1e200, 1e-200}) {
      Product p = made(Element::f64, sized(90, 110, 200), 24);
      const auto a = p.arguments().view<double, 2>("A"), b = p.arguments().view<double, 2>("B");
      if (inner) {
        for (std::int64_t i = 0; i < 90; ++i) a(i, 7) *= factor;
        for (std::int64_t j = 0; j < 110; ++j) b(7, j) /= factor;
      } else {
        for (std::int64_t l = 0; l < 200; ++l) a(7, l) *= factor, b(l, 8) /= factor;
      }
      p.remake();
      EXPECT_TRUE(p.look().fits()) << inner << factor;
      p.arguments().view<double, 2>("C")(44, 33) += 1e-3;
      const ChecksumVerdict found = p.look();
      EXPECT_EQ(found.rows, (std::vector<std::int64_t>{44})) << inner << factor;
      EXPECT_EQ(found.cols, (std::vector<std::int64_t>{33})) << inner << factor;
    }
}

// Rows and columns of nothing have no squares either.
TEST_P(ChecksumsAtScales, FitWhereLinesAreNothing) {
  for (const Element element : {Element::f32, Element::f64}) {
    Product p = made(element, sized(90, 110, 200), 25);
    const auto nothing = [](auto matrix, bool all) {
      for (std::int64_t i = 0; i < matrix.rows(); ++i)
        for (std::int64_t j = 0; j < matrix.cols(); ++j)
          if (all || i % 3 == 0) matrix(i, j) = 0;
    };
    for (const bool all : {false, true}) {
      if (element == Element::f32) nothing(p.arguments().view<float, 2>("A"), all);
      else nothing(p.arguments().view<double, 2>("A"), all);
      p.remake();
      EXPECT_TRUE(p.look().fits()) << all;
    }
    if (element == Element::f32) p.arguments().view<float, 2>("C")(3, 4) = 1e-30F;
    else p.arguments().view<double, 2>("C")(3, 4) = 1e-30;
    EXPECT_EQ(p.look().rows, (std::vector<std::int64_t>{3}));
  }
}

}  // namespace
}  // namespace tessera::matmul
