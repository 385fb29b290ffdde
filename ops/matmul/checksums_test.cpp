// SPDX-License-Identifier: Apache-2.0
// Checksums fit every honest product, whatever its scale, and no other: single bits, columns that changed
// places, numbers that are none; and they tell where.
#include "checksums.hpp"
#include <gtest/gtest.h>
#include <bit>
#include <limits>
#include <numeric>
#include "matmul.hpp"
#include "tessera/core/random.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/run.hpp"
#include "widened.hpp"

namespace tessera::matmul {
namespace {

const Operation& product() { return *find_operation("matmul"); }

Case sized(std::int64_t m, std::int64_t n, std::int64_t k, Arguments::Words words = {}) {
  Case out{.dims = {{"m", m}, {"n", n}, {"k", k}}, .words = std::move(words)};
  if (out.words.contains("beta")) out.optional_inputs = {"C0"};
  return out;
}

// A product made on the processors, and its checksums, as a whole or of a part, by one kind of device.
class Product {
 public:
  Product(const Device& device, Element element, const Case& chosen, std::uint64_t seed, Layout layout = {})
      : inputs_(product(), element, chosen, seed, layout), device_(device) {
    remake();
  }

  // After its inputs changed.
  void remake() {
    multiply();
    checksums_ = (*find_checksums("matmul", device_.where))(inputs_.arguments(), device_);
  }
  void multiply() { (void)run(product(), inputs_.arguments(), {.device = "cpu:threads=2", .cached = false}); }

  Arguments& arguments() { return inputs_.arguments(); }
  bool has_checksums() const { return checksums_ != nullptr; }
  ChecksumVerdict look() { return look((*find_division("matmul"))(inputs_.arguments()).whole()); }
  ChecksumVerdict look(const Tile& tile) {
    const Arguments part = (*find_division("matmul"))(inputs_.arguments()).part(tile);
    Backend& backend = backend_of(device_);
    if (backend.shares_host_memory()) return checksums_->look(tile, part, {.device = &device_});
    Placed placed(choose_on(device_, product(), part, {.cached = false}), part);
    placed.upload();
    const Array c = packed_copy(part.array("C"));
    backend.copy(placed.run(), placed.arguments().array("C").data, c.view().data, c.view().bytes());
    return checksums_->look(tile, placed.arguments(), placed.run());
  }

 private:
  Inputs inputs_;
  Device device_;
  std::unique_ptr<Checksums> checksums_;
};

// Once on the processors, once on a GPU where there is one.
class ChecksumsOn : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      device_ = find_device(GetParam());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Product made(Element element, const Case& chosen, std::uint64_t seed, Layout layout = {}) const {
    return {device_, element, chosen, seed, layout};
  }
  template <class T>
  void expect_bits_are_found(int lowest, int highest) const;
  template <class T>
  void expect_errors_are_seen_beside_large_addends(T large, T small, T error) const;
  template <class T>
  void expect_fits_at_random_scales(int spread) const;

  Device device_;
};

INSTANTIATE_TEST_SUITE_P(Devices, ChecksumsOn, testing::Values("cpu:threads=2", "cuda"),
                         [](const auto& about) {
                           return std::string(about.param).substr(0, about.param[1] == 'p' ? 3 : 4);
                         });

template <class T>
void scale(const Matrix<T>& matrix, T factor) {
  for (std::int64_t i = 0; i < matrix.rows(); ++i)
    for (std::int64_t j = 0; j < matrix.cols(); ++j) matrix(i, j) *= factor;
}

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

TEST_P(ChecksumsOn, FitAtAnyScale) {
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

TEST_P(ChecksumsOn, FitWhereRowsDifferInScaleAndNothingCancels) {
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
TEST_P(ChecksumsOn, SeeErrorsOfSmallColumnsBesideLargeOnes) {
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

template <class T>
void swap_columns(const Matrix<T>& c, std::int64_t first, std::int64_t second) {
  for (std::int64_t i = 0; i < c.rows(); ++i) std::swap(c(i, first), c(i, second));
}

// What is added may be far larger than the product, in some columns: the others are seen all the same.
template <class T>
void ChecksumsOn::expect_errors_are_seen_beside_large_addends(T large, T small, T error) const {
  Product p = made(element_of<T>, sized(120, 100, 700, {{"alpha", "1.5"}, {"beta", "1"}}), 20);
  const auto b = p.arguments().view<T, 2>("B"), c0 = p.arguments().view<T, 2>("C0"), c = p.arguments().view<T, 2>("C");
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

TEST_P(ChecksumsOn, SeeErrorsBesideLargeColumnsOfWhatIsAdded) {
  expect_errors_are_seen_beside_large_addends<float>(1e12F, 1e-9F, 0.05F);  // of 40
  expect_errors_are_seen_beside_large_addends<double>(1e16, 1e-16, 1e-9);
  expect_errors_are_seen_beside_large_addends<double>(1e120, 1e-120, 1e-9);
}

TEST_P(ChecksumsOn, SeeErrorsBesideLargeColumnsWhereNothingElseIsAdded) {
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
  const auto power = [&] { return std::ldexp(1.0, static_cast<int>(random.next() % (2 * static_cast<unsigned>(spread) + 1)) - spread); };
  std::vector<double> rows, cols;
  for (std::int64_t i = 0; i < matrix.rows(); ++i) rows.push_back(power());
  for (std::int64_t j = 0; j < matrix.cols(); ++j) cols.push_back(power());
  for (std::int64_t i = 0; i < matrix.rows(); ++i)
    for (std::int64_t j = 0; j < matrix.cols(); ++j) {
      const double scaled = static_cast<double>(widened(matrix(i, j))) * rows[static_cast<std::size_t>(i)] * cols[static_cast<std::size_t>(j)];
      if constexpr (std::is_same_v<T, bf16>) matrix(i, j) = bf16::from(static_cast<float>(scaled));
      else matrix(i, j) = static_cast<T>(scaled);
    }
}

template <class T>
void ChecksumsOn::expect_fits_at_random_scales(int spread) const {
  constexpr const char* factors[] = {"1", "-0.001", "3e5"};
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Product p = made(element_of<T>, sized(40 + 7 * static_cast<std::int64_t>(seed), 75, 20 + 13 * static_cast<std::int64_t>(seed),
                                          {{"alpha", factors[seed % 3]}, {"beta", factors[seed / 3 % 3]}}), seed);
    for (const char* name : {"A", "B", "C0"})
      scale_at_random(p.arguments().view<T, 2>(name), spread, Random(seed, static_cast<std::uint64_t>(name[0])));
    p.remake();
    const ChecksumVerdict found = p.look();
    EXPECT_TRUE(found.fits()) << seed << ": " << found.rows.size() << " rows, " << found.cols.size() << " columns";
  }
}

TEST_P(ChecksumsOn, FitWhereRowsAndColumnsOfAllInputsDifferInScale) {
  expect_fits_at_random_scales<float>(9);
  expect_fits_at_random_scales<double>(70);
  expect_fits_at_random_scales<bf16>(9);
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

// The first rows' parts make what is kept of B's columns, those of the second want it of all columns: at one reading of A,
// where a device does that.
TEST_P(ChecksumsOn, OfManyPartsShareTheReadingOfTheirRows) {
  constexpr std::int64_t m = 90, n = 10 * 16, k = 2048 + 48, wrong_row = 80, wrong_col = 7 * 16 + 5;
  for (const Element element : {Element::f32, Element::f64, Element::bf16, Element::f16, Element::e4m3, Element::e5m2})
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
          EXPECT_EQ(found.rows, wrong ? std::vector<std::int64_t>{wrong_row - 67} : std::vector<std::int64_t>()) << name_of(element) << " " << op << " " << col;
          EXPECT_EQ(found.cols, wrong ? std::vector<std::int64_t>{5} : std::vector<std::int64_t>()) << name_of(element) << " " << op << " " << col;
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
