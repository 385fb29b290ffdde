// SPDX-License-Identifier: Apache-2.0
// The vectorized product on every instruction set of this CPU: odd sizes, any strides, one thread or
// two. Integers keep every sum exact, so results must agree to the last bit.
#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>
#include "ops/matmul/kernels/cpu/packed.hpp"
#include "ops/matmul/kernels/cpu/simd.hpp"

namespace tessera::matmul {
namespace {

struct Shape {
  std::int64_t m, n, k;
};

// A matrix in memory of its own, with room after each row and gaps between the elements of a row.
template <class T>
struct Owned {
  std::vector<T> memory;
  Matrix<T> view;

  Owned(std::int64_t rows, std::int64_t cols, bool by_columns, std::int64_t step) {
    const std::int64_t slow = by_columns ? cols : rows, fast = by_columns ? rows : cols;
    const std::int64_t leap = fast * step + 3;
    memory.assign(static_cast<std::size_t>(slow * leap + 1), T{77});
    view = {memory.data(), {rows, cols}, {by_columns ? step : leap, by_columns ? leap : step}};
  }
  Matrix<const T> read_only() const {
    return {view.data, {view.extent[0], view.extent[1]}, {view.stride[0], view.stride[1]}};
  }
};

template <class T>
void fill(Owned<T>& to, std::mt19937& random) {
  for (std::int64_t i = 0; i < to.view.rows(); ++i)
    for (std::int64_t j = 0; j < to.view.cols(); ++j)
      if constexpr (std::is_integral_v<T>) to.view(i, j) = static_cast<T>(random());
      else to.view(i, j) = static_cast<T>(static_cast<int>(random() % 17) - 8);
}

template <class T>
T expected(const Problem<T>& p, std::int64_t i, std::int64_t j) {
  T sum = 0;
  for (std::int64_t l = 0; l < p.k(); ++l) sum = multiply_add(p.a(i, l), p.b(l, j), sum);
  return p.scaled(i, j, sum);
}

// Bit 0: A by columns, 1: B by columns, 2: C by columns, 3: gaps everywhere, 4: β ≠ 0.
template <class T>
void check(const Shape& shape, int layout, int threads) {
  std::mt19937 random(static_cast<unsigned>(layout + 1));
  const std::int64_t step = (layout & 8) != 0 ? 2 : 1;
  Owned<T> a(shape.m, shape.k, layout & 1, step), b(shape.k, shape.n, layout & 2, step);
  Owned<T> c(shape.m, shape.n, layout & 4, step), c0(shape.m, shape.n, layout & 1, 1);
  fill(a, random);
  fill(b, random);
  fill(c0, random);
  const std::vector<T> before = c.memory;
  const bool scaled = (layout & 16) != 0;
  Problem<T> p{a.read_only(), b.read_only(), {}, c.view, T(scaled ? 2 : 1), T(scaled ? 3 : 0)};
  if (scaled) p.c0 = c0.read_only();
  multiply_simd(p, threads);
  for (std::int64_t i = 0; i < shape.m; ++i)
    for (std::int64_t j = 0; j < shape.n; ++j) {
      ASSERT_EQ(c.view(i, j), expected(p, i, j))
          << i << ", " << j << " of " << shape.m << " × " << shape.n << " × " << shape.k << ", layout "
          << layout << ", threads " << threads;
      c.view(i, j) = T{77};
    }
  ASSERT_EQ(c.memory, before) << "wrote between or after the rows of C";
}

class EveryTarget : public testing::Test {
 protected:
  // Calls f with dispatch restricted to one instruction set after another.
  template <class F>
  void each(const F& f) {
    const std::int64_t all = hwy::SupportedTargets();
    for (std::int64_t left = all; left != 0; left &= left - 1) {
      const std::int64_t target = left & -left;
      SCOPED_TRACE(hwy::TargetName(target));
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      f();
    }
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

TEST_F(EveryTarget, EverySizeAroundATile) {
  each([] {
    for (std::int64_t m = 1; m <= 10; ++m)
      for (const std::int64_t n : {1, 7, 16, 31, 48, 65}) {
        check<float>({m, n, 21}, 0, 1);
        check<double>({m, n, 21}, 16, 1);
        check<std::int32_t>({m, n, 21}, 16, 1);
      }
  });
}

TEST_F(EveryTarget, EveryLayout) {
  each([] {
    for (int layout = 0; layout < 32; ++layout) {
      check<float>({37, 53, 29}, layout, 2);
      check<double>({37, 53, 29}, layout, 2);
      check<std::int32_t>({37, 53, 29}, layout, 2);
    }
  });
}

TEST_F(EveryTarget, SeveralBlocksEachWay) {
  each([] {
    for (const int threads : {1, 2}) {
      check<float>({11, 170, 2100}, 16, threads);
      check<double>({70, 170, 1100}, 1, threads);
      check<std::int32_t>({11, 170, 2100}, 18, threads);
    }
  });
}

TEST_F(EveryTarget, EmptySumsAndEmptyMatrices) {
  each([] {
    for (const Shape& shape : {Shape{5, 7, 0}, Shape{0, 7, 3}, Shape{5, 0, 3}, Shape{0, 0, 0}})
      for (const int layout : {0, 16}) check<float>(shape, layout, 2);
  });
}

// Infinity times a panel's zero padding must reach no element of C.
TEST_F(EveryTarget, InfinityStaysInItsRow) {
  each([] {
    Owned<float> a(9, 5, false, 1), b(5, 19, false, 1), c(9, 19, false, 1);
    for (float& value : a.memory) value = 1;
    for (float& value : b.memory) value = 2;
    a.view(4, 2) = std::numeric_limits<float>::infinity();
    b.view(3, 17) = std::numeric_limits<float>::quiet_NaN();
    multiply_simd(Problem<float>{a.read_only(), b.read_only(), {}, c.view}, 2);
    for (std::int64_t i = 0; i < 9; ++i)
      for (std::int64_t j = 0; j < 19; ++j) {
        if (j == 17) EXPECT_TRUE(std::isnan(c.view(i, j)));
        else EXPECT_EQ(c.view(i, j), i == 4 ? std::numeric_limits<float>::infinity() : 10.0f);
      }
  });
}

// Arbitrary numbers: fused operations decide the last bit.
template <class T>
void fill_any(Owned<T>& to, std::mt19937& random) {
  for (T& value : to.memory) value = static_cast<T>(static_cast<double>(random()) / 3e9 - 0.7);
}

template <class T>
Matrix<T> columns(Matrix<T> of, std::int64_t first, std::int64_t last) {
  return {of.data + first * of.stride[1], {of.extent[0], last - first}, {of.stride[0], of.stride[1]}};
}

template <class T>
Matrix<T> rows(Matrix<T> of, std::int64_t first, std::int64_t last) {
  return {of.data + first * of.stride[0], {last - first, of.extent[1]}, {of.stride[0], of.stride[1]}};
}

// Part of C, panel by panel as a rank computes it, has the bits of the whole.
template <class T>
void check_panels(const Shape& shape, std::int64_t first, std::int64_t last) {
  std::mt19937 random(5);
  Owned<T> a(shape.m, shape.k, false, 1), b(shape.k, shape.n, false, 1), c0(shape.m, shape.n, false, 1);
  Owned<T> whole(shape.m, shape.n, false, 1), part(shape.m, last - first, false, 1);
  for (Owned<T>* owned : {&a, &b, &c0}) fill_any(*owned, random);
  Problem<T> p{a.read_only(), b.read_only(), c0.read_only(), whole.view, T(1.7), T(-0.3)};
  multiply_simd(p, 2);
  p.c = part.view;
  p.c0 = columns(c0.read_only(), first, last);
  const std::int64_t depth = simd_depth(shape.k, sizeof(T));
  for (std::int64_t l = 0; l < shape.k; l += depth) {
    const std::int64_t end = std::min(l + depth, shape.k);
    p.a = columns(a.read_only(), l, end);
    p.b = columns(rows(b.read_only(), l, end), first, last);
    if (l == 0) multiply_simd(p, 1);
    else add_simd(p, 1);
  }
  for (std::int64_t i = 0; i < shape.m; ++i)
    for (std::int64_t j = first; j < last; ++j)
      ASSERT_EQ(part.view(i, j - first), whole.view(i, j)) << i << ", " << j << " of " << shape.k << " deep";
}

TEST_F(EveryTarget, PanelsOfAPartHaveTheBitsOfTheWhole) {
  each([] {
    for (const std::int64_t k : {1, 40, 1300, 2500})
      for (const std::int64_t first : {0, 48, 71}) {
        check_panels<float>({9, 131, k}, first, 131);
        check_panels<float>({9, 131, k}, first, first + 29);
        check_panels<double>({9, 131, k}, first, first + 29);
        check_panels<std::int32_t>({9, 131, k}, first, first + 29);
      }
  });
}

// Small parts of a large product, and parts of few rows or columns, which have loops of their own.
template <class T>
void check_parts(std::int64_t k, int layout) {
  constexpr std::int64_t m = 530, n = 540;
  std::mt19937 random(6);
  Owned<T> a(m, k, layout & 1, 1), b(k, n, layout & 2, 1), c0(m, n, false, 1), whole(m, n, false, 1);
  for (Owned<T>* owned : {&a, &b, &c0}) fill_any(*owned, random);
  Problem<T> p{a.read_only(), b.read_only(), c0.read_only(), whole.view, T(1.7), T(-0.3)};
  multiply_simd(p, 2);
  for (const Shape& part :
       {Shape{1, 1, 0}, Shape{1, n, 0}, Shape{m, 1, 0}, Shape{3, n - 7, 0}, Shape{m, 5, 0}, Shape{16, 300, 0},
        Shape{8, 8, 0}, Shape{33, 47, 0}, Shape{130, 200, 0}})
    for (const bool by_columns : {false, true}) {
      Owned<T> c(part.m, part.n, by_columns, 1);
      const std::int64_t i = m - part.m, j = n - part.n;
      Problem<T> q = p;
      q.a = rows(a.read_only(), i, m);
      q.b = columns(b.read_only(), j, n);
      q.c0 = columns(rows(c0.read_only(), i, m), j, n);
      q.c = c.view;
      multiply_simd(q, 2);
      for (std::int64_t r = 0; r < part.m; ++r)
        for (std::int64_t s = 0; s < part.n; ++s)
          ASSERT_EQ(c.view(r, s), whole.view(i + r, j + s))
              << r << ", " << s << " of " << part.m << " × " << part.n << " × " << k << ", layout " << layout;
    }
}

TEST_F(EveryTarget, SmallPartsHaveTheBitsOfTheWhole) {
  each([] {
    for (int layout = 0; layout < 4; ++layout) {
      check_parts<float>(layout == 0 ? 1300 : 75, layout);
      check_parts<double>(layout == 3 ? 650 : 130, layout);
    }
  });
}

TEST(ThreadGrid, APanelIsASingleBlock) {
  for (const std::int64_t wanted : {64, 418, 1024})
    for (std::int64_t k = 1; k < 5000; k += 7) {
      const std::int64_t depth = near_part(k, wanted, 16);
      for (const std::int64_t panel : {std::min(depth, k), k % depth == 0 ? depth : k % depth})
        EXPECT_GE(near_part(panel, wanted, 16), panel) << k;
    }
}

TEST(ThreadGrid, DepthsAreNearTheRequestedOne) {
  for (const std::int64_t wanted : {64, 418, 1024})
    for (std::int64_t k = 1; k < 5000; k += 7) {
      const std::int64_t depth = near_part(k, wanted, 16), parts = (k + depth - 1) / depth;
      EXPECT_EQ(depth % 16, 0);
      EXPECT_LT(depth, wanted * 3 / 2 + 16);
      EXPECT_TRUE(parts == 1 || depth > wanted * 2 / 3);
    }
}

TEST(ThreadGrid, EveryElementOfCBelongsToOneBlock) {
  for (const std::int64_t m : {0, 1, 8, 100, 4096})
    for (const std::int64_t n : {0, 1, 16, 100, 4096})
      for (const int threads : {1, 2, 3, 6, 64}) {
        const ThreadGrid division = thread_grid(m, n, threads, 8, 16);
        ASSERT_LE(division.down * division.across, threads);
        std::int64_t elements = 0;
        for (int part = 0; part < division.down * division.across; ++part) {
          const Block block = division.block(part, m, n);
          elements += (block.last_row - block.first_row) * (block.last_col - block.first_col);
        }
        EXPECT_EQ(elements, m * n);
      }
}

// Products of short elements, by the instructions for them and without.

float value_of(Element element, const void* at) { return static_cast<float>(load_as_double(element, at)); }

struct MixedCase {
  Shape shape;
  Element element, c_element;
  int layout;  // bit 0: A by columns, 1: B, 2: C, 3: gaps
};

// A matrix of any element, with room after each row.
struct OwnedBytes {
  std::vector<char> memory;
  std::int64_t row, col;
  Element element;

  OwnedBytes(Element of, std::int64_t rows, std::int64_t cols, bool by_columns, bool gaps) : element(of) {
    const std::int64_t step = gaps ? 2 : 1, leap = (by_columns ? rows : cols) * step + 3;
    row = by_columns ? step : leap;
    col = by_columns ? leap : step;
    memory.assign(static_cast<std::size_t>((by_columns ? cols : rows) * leap + 1) * size_of(of), 0x55);
  }
  char* at(std::int64_t i, std::int64_t j) {
    return memory.data() + (i * row + j * col) * static_cast<std::int64_t>(size_of(element));
  }
  Operand operand() const { return {memory.data(), element, row, col}; }
};

template <class Value>
void fill(OwnedBytes& to, std::int64_t rows, std::int64_t cols, const Value& value) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) store_from_double(to.element, to.at(i, j), value());
}

template <class Value>
std::vector<char> product(const MixedCase& tried, const DotInstructions& dots, const Value& value,
                          bool check) {
  const auto [m, n, k] = tried.shape;
  const bool gaps = tried.layout & 8;
  OwnedBytes a(tried.element, m, k, tried.layout & 1, gaps), b(tried.element, k, n, tried.layout & 2, gaps),
      c(tried.c_element, m, n, tried.layout & 4, gaps);
  fill(a, m, k, value);
  fill(b, k, n, value);
  const OwnedBytes before = c;
  MixedProblem p;
  p.a = a.operand();
  p.b = b.operand();
  p.c = c.memory.data();
  p.c_element = tried.c_element;
  p.c_row_stride = c.row;
  p.c_col_stride = c.col;
  p.m = m, p.n = n, p.k = k;
  multiply_packed(p, 2, dots);
  std::vector<char> out = c.memory;
  for (std::int64_t i = 0; check && i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += double{value_of(tried.element, a.at(i, l))} * double{value_of(tried.element, b.at(l, j))};
      EXPECT_EQ(load_as_double(tried.c_element, c.at(i, j)), sum)
          << i << ", " << j << " of " << m << " × " << n << " × " << k << " of " << name_of(tried.element)
          << ", layout " << tried.layout;
      std::memcpy(c.at(i, j), OwnedBytes(before).at(i, j), size_of(c.element));
      if (testing::Test::HasFailure()) return out;
    }
  if (check) {
    EXPECT_EQ(c.memory, before.memory) << "wrote between or after the rows of C";
  }
  return out;
}

constexpr DotInstructions none{};

TEST_F(EveryTarget, ShortElementsOfEveryLayout) {
  using enum Element;
  each([] {
    for (const DotInstructions& dots : {none, dot_instructions()})
      for (int layout = 0; layout < 16; ++layout)
        for (const auto& [element, to] : {std::pair{bf16, f32}, {f16, f32}, {e4m3, f32}, {i8, i32}})
          for (const Shape& shape : {Shape{37, 53, 29}, Shape{1, 50, 7}, Shape{18, 1, 66}, Shape{5, 7, 0},
                                     Shape{1, 1, 29}, Shape{2, 4, 66}, Shape{8, 1, 7}, Shape{1, 8, 3}}) {
            std::mt19937 random(static_cast<unsigned>(layout));
            product(
                {shape, element, to, layout}, dots,
                [&] {
                  return static_cast<int>(random() % (element == i8 ? 256 : 9)) - (element == i8 ? 128 : 4);
                },
                true);
          }
  });
}

// Longer than a block along k, more rows than are summed at a time, several parts of B.
TEST_F(EveryTarget, ShortElementsInSeveralBlocks) {
  each([] {
    for (const DotInstructions& dots : {none, dot_instructions()})
      for (const int layout : {0, 3}) {
        std::mt19937 random(1);
        const auto value = [&] { return static_cast<int>(random() % 7) - 3; };
        product({{2, 70, 9001}, Element::i8, Element::i32, layout}, dots, value, true);
        product({{525, 3, 1700}, Element::i8, Element::i32, layout}, none, value, true);
        product({{525, 3, 1700}, Element::bf16, Element::f32, layout}, dots, value, true);
        product({{3, 250, 1700}, Element::bf16, Element::f32, layout}, dots, value, true);
      }
  });
}

// Sums of many roundings: bits depend neither on instructions nor, for normal numbers, on the check for
// subnormal ones, which vdpbf16ps would flush to 0.
TEST_F(EveryTarget, NoInstructionAffectsTheBitsOfBf16) {
  each([] {
    for (const int least : {-3, -60, -130}) {
      const auto bits = [&](const DotInstructions& dots) {
        std::mt19937 random(5);
        return product(
            {{19, 65, 1201}, Element::bf16, Element::f32, 2}, dots,
            [&] {
              const double digits = 1 + static_cast<double>(random() % 128) / 128;
              return std::ldexp(random() % 2 == 0 ? digits : -digits, least + static_cast<int>(random() % 6));
            },
            false);
      };
      EXPECT_EQ(bits(none), bits(dot_instructions())) << least;
    }
  });
}

// Products of few elements are summed without panels, and thin ones are computed as their transpose.
TEST_F(EveryTarget, ThinProductsOfShortElementsHaveTheBitsOfTheWhole) {
  each([] {
    for (const Element element : {Element::bf16, Element::f16, Element::e4m3, Element::i8}) {
      constexpr std::int64_t m = 40, n = 20, k = 2101;
      std::mt19937 random(7);
      OwnedBytes a(element, m, k, false, false), b(element, k, n, false, false);
      const auto value = [&] {  // whose sums are rounded
        const double digits = 1 + static_cast<double>(random() % 128) / 128;
        return std::ldexp(random() % 2 == 0 ? digits : -digits, static_cast<int>(random() % 6));
      };
      fill(a, m, k, value);
      fill(b, k, n, value);
      const auto multiply = [&](std::int64_t rows, std::int64_t cols) {
        std::vector<std::uint32_t> c(static_cast<std::size_t>(m * n));
        MixedProblem p;
        p.a = a.operand();
        p.b = b.operand();
        p.c = c.data();
        p.c_element = element == Element::i8 ? Element::i32 : Element::f32;
        p.c_row_stride = n;
        p.c_col_stride = 1;
        p.m = rows, p.n = cols, p.k = k;
        multiply_packed(p, 2);
        return c;
      };
      const std::vector<std::uint32_t> whole = multiply(m, n);
      for (const auto& [rows, cols] : {std::pair{1, 1}, {1, 8}, {8, 1}, {2, 3}, {40, 1}, {40, 7}}) {
        const std::vector<std::uint32_t> part = multiply(rows, cols);
        for (int i = 0; i < rows; ++i)
          for (int j = 0; j < cols; ++j)
            ASSERT_EQ(part[static_cast<std::size_t>(i * n + j)], whole[static_cast<std::size_t>(i * n + j)])
                << name_of(element) << ", " << i << ", " << j << " of " << rows << " × " << cols;
      }
    }
  });
}

TEST_F(EveryTarget, SubnormalBf16IsNotFlushed) {
  each([] {
    bool large = false;
    const std::vector<char> bytes = product(
        {{1, 1, 2}, Element::bf16, Element::f32, 0}, dot_instructions(),
        [&] { return (large = !large) ? 0x1p-130 : 0x1p-2; }, false);
    EXPECT_GT(value_of(Element::f32, bytes.data()), 0);
  });
}

}  // namespace
}  // namespace tessera::matmul
