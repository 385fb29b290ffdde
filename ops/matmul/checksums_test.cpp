// SPDX-License-Identifier: Apache-2.0
// Checksums fit every honest product, and no other: single bits, columns that changed
// places, numbers that are none; and they tell where.
#include <bit>
#include <limits>
#include <numeric>
#include "ops/matmul/checksums_on_device.hpp"
#include "tessera/core/random.hpp"

namespace tessera::matmul {
namespace {

class ChecksumsOn : public OnDeviceWithChecksums {
 protected:
  template <class T>
  void expect_bits_are_found(int lowest, int highest) const;
};
CHECKSUMS_ON_DEVICES(ChecksumsOn);

TEST_P(ChecksumsOn, FitHonestProductsOfEveryElementLayoutAndFactor) {
  const std::vector<Case> cases = {sized(200, 96, 1000),
                                   sized(1, 1, 1),
                                   sized(3, 515, 70),
                                   sized(515, 3, 4096),
                                   sized(64, 80, 0),
                                   sized(130, 70, 90, {{"alpha", "-2.5"}, {"beta", "3"}}),
                                   sized(130, 70, 90, {{"alpha", "0"}, {"beta", "1"}}),
                                   sized(77, 93, 131, {{"op-a", "transpose"}}),
                                   sized(77, 93, 131, {{"op-a", "transpose"}, {"op-b", "transpose"}})};
  for (const Element element :
       {Element::f32, Element::f64, Element::bf16, Element::f16, Element::e4m3, Element::e5m2})
    for (const std::int64_t padding : {0, 3})
      for (std::size_t i = 0; i < cases.size(); ++i) {
        Product p = made(element, cases[i], 5 + i, {.padding = padding});
        const ChecksumVerdict found = p.look();
        EXPECT_TRUE(found.fits()) << name_of(element) << ", case " << i << ": " << found.rows.size()
                                  << " rows, " << found.cols.size() << " columns"
                                  << (found.decided ? "" : ", undecided");
      }
}

template <class T>
T with_bit(T value, int bit) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  return std::bit_cast<T>(std::bit_cast<Bits>(value) ^ Bits{1} << bit);
}

// Every bit above a certain one, in elements of usual size, at many places.
template <class T>
void ChecksumsOn::expect_bits_are_found(int lowest, int highest) const {
  Product p = made(element_of<T>, sized(150, 130, 1024), 11);
  const auto c = p.arguments().view<T, 2>("C");
  for (int bit = lowest; bit <= highest; ++bit) {
    const std::int64_t i = bit * 37 % 150, j = bit * 53 % 130;
    const T right = c(i, j);
    c(i, j) = std::copysign(T{40}, right);
    const T wrong = with_bit(c(i, j), bit);
    c(i, j) = right + (wrong - c(i, j));
    const ChecksumVerdict found = p.look();
    EXPECT_TRUE(found.decided);
    EXPECT_EQ(found.rows, (std::vector<std::int64_t>{i})) << "bit " << bit;
    EXPECT_EQ(found.cols, (std::vector<std::int64_t>{j})) << "bit " << bit;
    c(i, j) = right;
  }
  EXPECT_TRUE(p.look().fits());
}

TEST_P(ChecksumsOn, FindAndLocateBitsFarAboveRounding) {
  expect_bits_are_found<float>(13, 31);  // from 2^-10 of an element on
  expect_bits_are_found<double>(16, 63);
}

TEST_P(ChecksumsOn, OfFewBitsSeeWhatOutputsRoundingDoesNotHide) {
  Product p = made(Element::bf16, sized(150, 130, 256, {{"output-element", "f32"}}), 12);
  const auto c = p.arguments().view<float, 2>("C");
  c(70, 60) += 0.05F;  // of 16
  EXPECT_EQ(p.look().cols, (std::vector<std::int64_t>{60}));
  Product rounded = made(Element::bf16, sized(150, 130, 256), 12);
  const auto to = rounded.arguments().view<bf16, 2>("C");
  to(70, 60) = bf16::from(static_cast<float>(to(70, 60)) + 0.05F);
  EXPECT_TRUE(rounded.look().fits());  // hidden, as the documentation says
  to(70, 60) = bf16::from(static_cast<float>(to(70, 60)) + 16);
  EXPECT_EQ(rounded.look().rows, (std::vector<std::int64_t>{70}));
}

TEST_P(ChecksumsOn, SeeColumnsThatChangedPlacesWhichWeightsOfOneWouldNot) {
  Product p = made(Element::f64, sized(60, 50, 40), 13);
  const auto c = p.arguments().view<double, 2>("C");
  const auto row_sum = [&](std::int64_t i) { return std::accumulate(&c(i, 0), &c(i, 0) + 50, 0.0); };
  const double before = row_sum(7);
  for (std::int64_t i = 0; i < 60; ++i) std::swap(c(i, 11), c(i, 29));
  EXPECT_NEAR(row_sum(7), before, 1e-12);
  const ChecksumVerdict found = p.look();
  EXPECT_EQ(found.cols, (std::vector<std::int64_t>{11, 29}));
  EXPECT_GT(found.rows.size(), 55u);
}

TEST_P(ChecksumsOn, SayNothingOfInputsThatAreNoNumbersAndAllOfResultsThatMustBe) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double odd : {inf, -inf, nan})
    for (const char* name : {"A", "B", "C0"}) {
      Product p = made(Element::f64, sized(40, 30, 20, {{"beta", "1"}}), 14);
      p.arguments().view<double, 2>(name)(5, 6) = odd;
      p.remake();
      const ChecksumVerdict found = p.look();
      EXPECT_FALSE(found.decided) << name << odd;
      EXPECT_TRUE(found.rows.empty() && found.cols.empty()) << name << odd;
    }
  for (const double odd : {inf, -inf, nan}) {
    Product p = made(Element::f32, sized(40, 30, 20), 14);
    p.arguments().view<float, 2>("C")(5, 6) = static_cast<float>(odd);
    const ChecksumVerdict found = p.look();
    EXPECT_TRUE(found.decided);
    EXPECT_EQ(found.rows, (std::vector<std::int64_t>{5}));
    EXPECT_EQ(found.cols, (std::vector<std::int64_t>{6}));
  }
}

TEST_P(ChecksumsOn, AreNoJudgesOfSumsThatMayOverflow) {
  Product p = made(Element::f32, sized(40, 30, 20), 15);
  scale(p.arguments().view<float, 2>("A"), 1e19F);
  scale(p.arguments().view<float, 2>("B"), 1e19F);
  p.remake();
  p.arguments().view<float, 2>("C")(5, 6) = std::numeric_limits<float>::infinity();  // it may have been
  const ChecksumVerdict found = p.look();
  EXPECT_FALSE(found.decided);
  EXPECT_TRUE(found.rows.empty());
}

TEST_P(ChecksumsOn, OfPartsShareWhatIsKeptAndForgetIt) {
  Product p = made(Element::f32, sized(96, 96, 64), 16);
  const auto c = p.arguments().view<float, 2>("C");
  c(50, 70) += 1;
  for (const Interval& rows : {Interval{0, 48}, Interval{48, 96}})
    for (const Interval& cols : {Interval{0, 32}, Interval{32, 96}}) {
      const ChecksumVerdict found = p.look({rows, cols, {0, 64}});
      const bool wrong = rows.first == 48 && cols.first == 32;
      EXPECT_EQ(found.fits(), !wrong);
      if (wrong) {
        EXPECT_EQ(found.rows, (std::vector<std::int64_t>{2}));
        EXPECT_EQ(found.cols, (std::vector<std::int64_t>{38}));
      }
    }
  // What is kept of B's columns no longer belongs to B.
  p.arguments().view<float, 2>("B")(3, 3) += 10;
  p.multiply();
  const Tile first{{0, 48}, {0, 32}, {0, 64}};
  EXPECT_FALSE(p.look(first).fits());
}

// The first rows' parts make what is kept of B's columns, those of the second want it of all columns: at one
// reading of A, where a device does that.
TEST_P(ChecksumsOn, OfManyPartsShareTheReadingOfTheirRows) {
  constexpr std::int64_t m = 90, n = 10 * 16, k = 2048 + 48, wrong_row = 80, wrong_col = 7 * 16 + 5;
  for (const Element element :
       {Element::f32, Element::f64, Element::bf16, Element::f16, Element::e4m3, Element::e5m2})
    for (const char* op : {"none", "transpose"}) {
      Arguments::Words words{{"op-a", op}};
      if (size_of(element) < 4) words["output-element"] = "f32";
      Product p = made(element, sized(m, n, k, words), 21);
      dispatch(p.arguments().array("C").element, [&](auto type) {
        using T = typename decltype(type)::type;
        if constexpr (std::is_floating_point_v<T>)
          p.arguments().template view<T, 2>("C")(wrong_row, wrong_col) += static_cast<T>(64);
      });
      for (const Interval& rows : {Interval{0, 67}, Interval{67, m}})
        for (std::int64_t col = 0; col < n; col += 16) {
          const ChecksumVerdict found = p.look({rows, {col, col + 16}, {0, k}});
          const bool wrong = rows.last == m && col == 7 * 16;
          EXPECT_TRUE(found.decided);
          EXPECT_EQ(found.rows,
                    wrong ? std::vector<std::int64_t>{wrong_row - 67} : std::vector<std::int64_t>())
              << name_of(element) << " " << op << " " << col;
          EXPECT_EQ(found.cols, wrong ? std::vector<std::int64_t>{5} : std::vector<std::int64_t>())
              << name_of(element) << " " << op << " " << col;
        }
    }
}

TEST_P(ChecksumsOn, TellEqualResultsFromOthersByTheirMark) {
  Product p = made(Element::f32, sized(64, 64, 64), 17);
  const auto c = p.arguments().view<float, 2>("C");
  const float right = c(3, 4);
  c(3, 4) = right + 1;
  const auto once = p.look().mark;
  EXPECT_EQ(p.look().mark, once);
  c(3, 4) = right + 2;
  EXPECT_NE(p.look().mark, once);
}

TEST_P(ChecksumsOn, ServeSumsOfFloatsAlone) {
  EXPECT_TRUE(made(Element::f32, sized(4, 4, 4, {{"compute", "tf32"}}), 1).has_checksums());
  EXPECT_FALSE(made(Element::f32, sized(4, 4, 4, {{"activation", "relu"}}), 1).has_checksums());
  EXPECT_FALSE(made(Element::i32, sized(4, 4, 4), 1).has_checksums());
  EXPECT_FALSE(made(Element::i8, sized(4, 4, 4), 1).has_checksums());
}

}  // namespace
}  // namespace tessera::matmul
