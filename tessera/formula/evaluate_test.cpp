// SPDX-License-Identifier: Apache-2.0
// Vectors of every kind, the executor and the single number agree to the bit.
#include "tessera/formula/evaluate.hpp"
#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include "tessera/core/text/error.hpp"
#include "tessera/formula/interpret.hpp"
#include "tessera/formula/vectors.hpp"

namespace tessera::formula {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
bool same_bits(T a, T b) {
  return std::bit_cast<Bits<T>>(a) == std::bit_cast<Bits<T>>(b) || (std::isnan(a) && std::isnan(b));
}

// Ordinary numbers, numbers of any size, any bits, and those where functions change their ways.
template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  constexpr T inf = std::numeric_limits<T>::infinity();
  const std::vector<T> special{0,
                               T(-0.0),
                               1,
                               -1,
                               T(0.5),
                               T(-0.5),
                               2,
                               T(1e30),
                               -inf,
                               inf,
                               T(2.5),
                               T(1e-30f),
                               T(-2.5),
                               4,
                               T(0.25),
                               -3,
                               T(1.5),
                               std::nextafter(T(1), T(0)),
                               std::numeric_limits<T>::max(),
                               std::numeric_limits<T>::denorm_min(),
                               std::numeric_limits<T>::quiet_NaN()};
  std::vector<T> out;
  while (out.size() < count) switch (random() % 4) {
      case 0:
        out.push_back(static_cast<T>(8 * unit(random) - 4));
        break;
      case 1:
        out.push_back(static_cast<T>(std::exp2(60 * unit(random) - 30)) * (random() % 2 == 0 ? T(1) : T(-1)));
        break;
      case 2:
        out.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
        break;
      default:
        out.push_back(special[random() % special.size()]);
    }
  return out;
}

// Runs the check with each set of instructions that this processor has and the library was built for.
template <class Check>
void with_each_target(Check check) {
  constexpr std::uint64_t compiled = HWY_TARGETS;
  if (std::has_single_bit(compiled)) return check(hwy::TargetName(HWY_STATIC_TARGET));
  const auto supported = hwy::SupportedTargets();
  int tried = 0;
  for (int bit = 0; bit < 62; ++bit) {
    const auto target = std::int64_t{1} << bit;
    if ((supported & target) == 0 || (HWY_TARGETS & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check(hwy::TargetName(target));
    ++tried;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_GT(tried, 0);
}

template <class T>
void expect_same_bits(const Program<T>& program, const std::string& name) {
  constexpr std::size_t count = 3000 + 5;  // not a multiple of any vector
  const std::vector<T> data[] = {numbers<T>(count, 1), numbers<T>(count, 2), numbers<T>(count, 3)};
  std::vector<Input<T>> inputs;
  for (int i = 0; i < program.input_count; ++i) inputs.push_back({data[i].data(), true});
  with_each_target([&](const char* target) {
    std::vector<T> out(count + 1, T(7));
    evaluate_many<T>(program, inputs, count, out.data());
    EXPECT_EQ(out[count], T(7)) << "nothing is written beyond the points";
    for (std::size_t i = 0; i < count; ++i) {
      const T at[] = {data[0][i], data[1][i], data[2][i]};
      const T want = interpret(program, at);
      ASSERT_TRUE(same_bits(out[i], want))
          << name << "(" << std::hexfloat << at[0] << ", " << at[1] << ", " << at[2] << ") of " << sizeof(T)
          << " bytes on " << target << ": " << out[i] << ", not " << want;
    }
  });
}

template <class T>
Program<T> only(Op op) {
  Program<T> out;
  out.input_count = static_cast<std::uint8_t>(arity(op));
  out.register_count = 1;
  out.step_count = 1;
  out.steps[0] = {op, first_input, first_input + 1, first_input + 2, 0};
  return out;
}

TEST(Evaluate, EveryOperatorHasTheSameBitsInVectors) {
#define TESSERA_FORMULA_CHECK(name)                        \
  expect_same_bits<double>(only<double>(Op::name), #name); \
  expect_same_bits<float>(only<float>(Op::name), #name);
  TESSERA_FORMULA_1(TESSERA_FORMULA_CHECK)
  TESSERA_FORMULA_2(TESSERA_FORMULA_CHECK) TESSERA_FORMULA_3(TESSERA_FORMULA_CHECK)
#undef TESSERA_FORMULA_CHECK
}

TEST(Evaluate, FormulasHaveTheSameBitsInVectors) {
  for (const char* text : {"sqrt(1-x^2)", "x<y ? sin(x)*exp(-y^2) : log(abs(z))+x^-3", "z", "2",
                           "(x+y)*(y+z)*(z+x)-x*y*z/3", "min(x,y,z)+hypot(x,y)^z"}) {
    expect_same_bits<double>(compile<double>(parse(text), {"x", "y", "z"}), text);
    expect_same_bits<float>(compile<float>(parse(text), {"x", "y", "z"}), text);
  }
}

TEST(Evaluate, AnyNumberOfPointsAndOneValueForAll) {
  const auto program = compile<double>(parse("a*x+1"), {"x", "a"});
  const double a = 3;
  std::vector<double> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8},
                                  std::size_t{127}, std::size_t{128}, std::size_t{129}, std::size_t{1000}}) {
    std::vector<double> out(1001, -1);
    const Input<double> inputs[] = {{x.data(), true}, {&a, false}};
    evaluate_many<double>(program, inputs, count, out.data());
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(out[i], 3 * x[i] + 1);
    EXPECT_EQ(out[count], -1);
  }
  EXPECT_THROW(evaluate_many<double>(program, {}, 1, x.data()), Error);
}

}  // namespace
}  // namespace tessera::formula
