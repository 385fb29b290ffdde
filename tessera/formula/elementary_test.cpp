// SPDX-License-Identifier: Apache-2.0
// The errors that docs/formulas.md states, against the C library's functions of greater precision.
#include "tessera/formula/elementary.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace tessera::formula {
namespace {

namespace own = elementary;
using Wide = long double;

// In units of the last place of the wanted value; one not below 1 where only one of them is finite.
template <class T>
double ulps(T got, Wide want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : 1e9;
  int exponent = 0;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs((static_cast<Wide>(got) - want) /
                                       std::ldexp(Wide{1}, exponent - std::numeric_limits<T>::digits)));
}

// Evenly in a range, by size over many magnitudes, and as any bits.
template <class T>
class Arguments {
 public:
  Arguments(double low, double high) : low_(low), high_(high) {}
  T operator()() {
    const int kind = static_cast<int>(random_() % 3);
    if (kind == 0) return static_cast<T>(low_ + (high_ - low_) * uniform());
    if (kind == 1) {
      const double most = std::log2(std::max(std::fabs(low_), std::fabs(high_)));
      const T size = static_cast<T>(std::exp2(most - 60 * uniform()));
      return low_ < 0 && random_() % 2 == 0 ? -size : size;
    }
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    for (;;)
      if (const T any = std::bit_cast<T>(static_cast<Bits>(random_())); std::isfinite(any)) return any;
  }

 private:
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  double low_, high_;
  std::mt19937_64 random_{7};
};

constexpr int tries = 20000;

template <class T, class Own, class True>
void expect_near(const char* name, Own own, True truly, double low, double high, double bound) {
  Arguments<T> next(low, high);
  for (int i = 0; i < tries; ++i) {
    const T x = next();
    ASSERT_LE(ulps<T>(own(x), truly(Wide{x})), bound)
        << name << "(" << std::hexfloat << x << ") of " << sizeof(T) << " bytes";
  }
}
template <class T, class Own, class True>
void expect_near_2(const char* name, Own own, True truly, double low, double high, double bound) {
  Arguments<T> next(low, high);
  for (int i = 0; i < tries; ++i) {
    const T x = next(), y = next();
    ASSERT_LE(ulps<T>(own(x, y), truly(Wide{x}, Wide{y})), bound)
        << name << "(" << std::hexfloat << x << ", " << y << ") of " << sizeof(T) << " bytes";
  }
}

#define NEAR(name, low, high, bound)                                            \
  TEST(Elementary, name) {                                                      \
    const auto truly = [](Wide x) { return std::name(x); };                     \
    expect_near<double>(                                                        \
        #name, [](double x) { return own::name(x); }, truly, low, high, bound); \
    expect_near<float>(                                                         \
        #name, [](float x) { return own::name(x); }, truly, low, high, bound);  \
  }
NEAR(exp, -30, 30, 0.7)
NEAR(exp2, -30, 30, 0.8)
NEAR(expm1, -5, 5, 0.9)
NEAR(log, 0, 10, 0.51)
NEAR(log2, 0, 10, 0.51)
NEAR(log10, 0, 10, 0.51)
NEAR(log1p, -1, 5, 0.51)
NEAR(sin, -100, 100, 0.8)
NEAR(cos, -100, 100, 0.8)
NEAR(tan, -100, 100, 0.9)
NEAR(asin, -1, 1, 0.7)
NEAR(acos, -1, 1, 0.7)
NEAR(atan, -10, 10, 0.7)
NEAR(sinh, -10, 10, 0.8)
NEAR(cosh, -10, 10, 0.65)
NEAR(tanh, -5, 5, 0.8)
NEAR(asinh, -10, 10, 0.51)
NEAR(acosh, 1, 10, 0.51)
NEAR(atanh, -1, 1, 0.51)
NEAR(cbrt, -10, 10, 0.51)
#undef NEAR

TEST(Elementary, OfTwoArguments) {
  const auto check = [](const char* name, auto own, auto truly, double low, double high, double bound) {
    expect_near_2<double>(name, own, truly, low, high, bound);
    expect_near_2<float>(name, own, truly, low, high, bound);
  };
  check(
      "pow", [](auto x, auto y) { return own::pow(x, y); }, [](Wide x, Wide y) { return std::pow(x, y); }, 0,
      30, 0.8);
  check(
      "atan2", [](auto x, auto y) { return own::atan2(x, y); },
      [](Wide x, Wide y) { return std::atan2(x, y); }, -3, 3, 1.2);
  check(
      "hypot", [](auto x, auto y) { return own::hypot(x, y); },
      [](Wide x, Wide y) { return std::hypot(x, y); }, -3, 3, 0.7);
}

template <class T>
void expect_same(T got, T want, const char* what) {
  if (std::isnan(want)) EXPECT_TRUE(std::isnan(got)) << what;
  else {
    EXPECT_EQ(got, want) << what;
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << what;
  }
}

// Ends, zeros of either sign, infinities and NaN, as the C library has them.
template <class T>
void expect_specials() {
  constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T values[] = {0,
                      T(-0.0),
                      1,
                      -1,
                      2,
                      -2,
                      T(0.5),
                      T(-0.5),
                      3,
                      -3,
                      inf,
                      -inf,
                      nan,
                      std::numeric_limits<T>::max(),
                      std::numeric_limits<T>::denorm_min(),
                      -std::numeric_limits<T>::denorm_min()};
  for (const T x : values) {
#define SAME(name)                                                                   \
  if (const T want = std::name(x); !std::isfinite(want) || want == std::trunc(want)) \
  expect_same(own::name(x), want, #name)
    SAME(exp);
    SAME(exp2);
    SAME(expm1);
    SAME(log);
    SAME(log2);
    SAME(log10);
    SAME(log1p);
    SAME(sin);
    SAME(cos);
    SAME(tan);
    SAME(asin);
    SAME(acos);
    SAME(atan);
    SAME(sinh);
    SAME(cosh);
    SAME(tanh);
    SAME(asinh);
    SAME(acosh);
    SAME(atanh);
    SAME(cbrt);
    SAME(round);
    SAME(floor);
    SAME(ceil);
    SAME(trunc);
#undef SAME
    for (const T y : values) {
      const Wide power = std::pow(Wide{x}, Wide{y});
      EXPECT_LE(ulps<T>(own::pow(x, y), power), 0.8) << x << "^" << y;
      EXPECT_TRUE(power != 0 || std::signbit(own::pow(x, y)) == std::signbit(power)) << x << "^" << y;
      expect_same(own::hypot(x, y), std::hypot(x, y), "hypot");
      EXPECT_LE(ulps<T>(own::atan2(x, y), std::atan2(Wide{x}, Wide{y})), 1) << x << y;
    }
  }
}
TEST(Elementary, SpecialValuesOfDouble) { expect_specials<double>(); }
TEST(Elementary, SpecialValuesOfFloat) { expect_specials<float>(); }

// The double nearest to a multiple of π/2, and others known to be hard; and the ends of the range.
TEST(Elementary, AnglesOfAnySize) {
  for (const double x : {0x1.6ac5b262ca1ffp+849, 0x1.921fb54442d18p+0, 0x1.921fb54442d18p+26, 0x1p1023,
                         0x1.fffffffffffffp+1023, 134217728.0, 134217729.0, 0x1.921fb54442d19p+28, 1e22}) {
    EXPECT_LE(ulps<double>(own::sin(x), std::sin(Wide{x})), 0.8) << x;
    EXPECT_LE(ulps<double>(own::cos(x), std::cos(Wide{x})), 0.8) << x;
    EXPECT_LE(ulps<double>(own::tan(-x), std::tan(Wide{-x})), 0.9) << x;
  }
  for (float x = 1.0f; std::isfinite(x); x *= 1.0009765625f) {
    EXPECT_LE(ulps<float>(own::sin(x), std::sin(Wide{x})), 0.8) << x;
    EXPECT_LE(ulps<float>(own::tan(x), std::tan(Wide{x})), 0.9) << x;
  }
}

TEST(Elementary, IsExactForExactResults) {
  for (int i = -300; i <= 300; ++i) EXPECT_EQ(own::exp2(double(i)), std::ldexp(1.0, i));
  for (int i = -1074; i <= 1023; ++i) EXPECT_EQ(own::log2(std::ldexp(1.0, i)), i);
  double ten = 1;
  for (int i = 0; i <= 22; ++i, ten *= 10) EXPECT_EQ(own::log10(ten), i);
  for (int i = 1; i < 200; ++i) EXPECT_EQ(own::cbrt(double(i) * i * i), i);
  EXPECT_EQ(own::hypot(3.0, 4.0), 5);
  EXPECT_EQ(own::pow(3.0, 20.0), 3486784401.0);
}

}  // namespace
}  // namespace tessera::formula
