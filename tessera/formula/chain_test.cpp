// SPDX-License-Identifier: Apache-2.0
// Chains give the bits of single numbers, with every set of instructions, and fast roots their few units.
#include "tessera/formula/chain.hpp"
#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include "tessera/formula/evaluate.hpp"
#include "tessera/formula/interpret.hpp"

namespace tessera::formula {
namespace {

void with_every_target(const std::function<void()>& work) {
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(left & -left));
    work();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

template <class T>
std::vector<T> points(std::size_t count) {
  std::mt19937_64 random(count);
  std::uniform_real_distribution<double> wide(-300, 300), narrow(-1, 1);
  std::vector<T> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(static_cast<T>(i % 3 == 0 ? narrow(random) : narrow(random) * std::exp2(wide(random) / 4)));
  return out;
}

template <class T>
bool is_chain(const Program<T>& program) {
  const auto link = chains<T>().links[0];
  const Link end{link, nullptr};
  return bool(Chain<T>(program, Roots::ieee, end, end));
}

template <class T>
void same_bits_as_single_numbers(const char* text) {
  const auto program = compile<T>(parse(text), {"x"});
  for (const std::size_t count : {1, 7, 63, 64, 128, 300, 1025}) {
    const std::vector<T> x = points<T>(count);
    std::vector<T> y(count);
    const Input<T> input{x.data()};
    evaluate_many<T>(program, {&input, 1}, count, y.data());
    for (std::size_t i = 0; i < count; ++i) {
      const T single = interpret(program, &x[i]);
      if (std::isnan(single)) EXPECT_TRUE(std::isnan(y[i])) << text << " at " << x[i];
      else EXPECT_EQ(y[i], single) << text << " at " << x[i] << ", " << i << " of " << count;
    }
  }
}

TEST(Chain, HasTheBitsOfSingleNumbers) {
  with_every_target([] {
    for (const char* text :
         {"sqrt(1-x^2)", "4/(1+x*x)", "x/(1+x)", "(x-1)/x", "x^3-2*x+1/x", "-abs(x)*x+2*x", "x+x",
          "sqrt(abs(x))", "1/(x*x+(x-1)*(x+1))", "(x+1)*(x+2)*(x+3)-x", "sqrt(x*x+1)-abs(x-3)"}) {
      EXPECT_TRUE(is_chain(compile<double>(parse(text), {"x"}))) << text;
      same_bits_as_single_numbers<double>(text);
      same_bits_as_single_numbers<float>(text);
    }
    // Chains only where the processor fuses.
    for (const char* text : {"fma(x,x,1)", "fma(x,2,3)", "fma(2,x,x)", "2*x+fma(3,x,x*x)", "fma(2,3,x)*x"}) {
      same_bits_as_single_numbers<double>(text);
      same_bits_as_single_numbers<float>(text);
    }
  });
}

TEST(Chain, LeavesOtherProgramsAlone) {
  for (const char* text : {"exp(x)", "x<1 ? x : 2", "x-x", "x", "2"}) {
    EXPECT_FALSE(is_chain(compile<double>(parse(text), {"x"}))) << text;
    same_bits_as_single_numbers<double>(text);
  }
  EXPECT_FALSE(is_chain(compile<double>(parse("x+y"), {"x", "y"})));
}

template <class T>
double units_off(T value, T argument) {
  const long double right = std::sqrt(static_cast<long double>(argument));
  const long double unit = std::ldexp(1.0L, std::ilogb(right) - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(value - right) / unit);
}

// `head` is a link that loads, `tail` one that stores.
template <class T>
std::vector<T> fast_roots(const char* text, std::vector<T> x) {
  const auto program = compile<T>(parse(text), {"x"});
  const Chains all = chains<T>();
  std::vector<T> y(x.size());
  const Chain<T> chain(program, Roots::fast, {all.links[static_cast<int>(LinkKind::load)], x.data()},
                       {all.links[static_cast<int>(LinkKind::leave)], y.data()});
  EXPECT_TRUE(bool(chain));
  chain.run(x.size());
  return y;
}

template <class T>
void fast_roots_are_near() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(std::numeric_limits<T>::min_exponent + 2,
                                                  std::numeric_limits<T>::max_exponent - 1);
  std::vector<T> x(1 << 16);
  for (T& each : x) each = static_cast<T>(std::exp2(exponent(random)));
  const std::vector<T> y = fast_roots<T>("sqrt(x)", x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) worst = std::fmax(worst, units_off(y[i], x[i]));
  EXPECT_LE(worst, sizeof(T) == 4 ? 5 : 3);
  constexpr T inf = std::numeric_limits<T>::infinity();
  std::vector<T> odd(1024, T(2));
  odd[3] = odd[70] = 0;
  odd[260] = inf;
  odd[390] = T(-1);
  odd[600] = std::numeric_limits<T>::quiet_NaN();
  odd[700] = std::numeric_limits<T>::denorm_min();
  const std::vector<T> roots = fast_roots<T>("sqrt(x)", odd);
  EXPECT_EQ(roots[3], 0);
  EXPECT_EQ(roots[70], 0);
  EXPECT_EQ(roots[260], inf);
  EXPECT_TRUE(std::isnan(roots[390]) && std::isnan(roots[600]));
  EXPECT_LE(units_off(roots[700], odd[700]), 5);
  std::vector<T> circle(1024);
  for (std::size_t i = 0; i < circle.size(); ++i) circle[i] = static_cast<T>(i) / 1023;
  const std::vector<T> samples = fast_roots<T>("sqrt(1-x^2)", circle);
  // The difference is rounded once where the processor fuses, and roots are its estimates' own.
  const auto link = [](LinkKind kind) { return chains<T>().links[static_cast<int>(kind)]; };
  const bool fused =
      link(LinkKind::multiply_add) != nullptr && link(LinkKind::fast_root) != link(LinkKind::root);
  for (std::size_t i = 0; i + 1 < circle.size(); ++i) {
    const T square = circle[i] * circle[i];
    EXPECT_LE(units_off(samples[i], fused ? std::fma(-circle[i], circle[i], T(1)) : T(1) - square),
              sizeof(T) == 4 ? 5 : 3);
  }
  EXPECT_EQ(samples[1023], 0);
}

TEST(Chain, FastRootsAreNear) {
  with_every_target([] {
    fast_roots_are_near<double>();
    fast_roots_are_near<float>();
  });
}

}  // namespace
}  // namespace tessera::formula
