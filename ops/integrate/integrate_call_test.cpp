// SPDX-License-Identifier: Apache-2.0
// The integral as programs call it.
#include <gtest/gtest.h>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include "tessera/integrate_device.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/run/choose.hpp"
#include "tessera/run/run.hpp"

namespace tessera {
namespace {

using integration::Sum;

// Nothing in it is rounded otherwise than products, sums and quotients: every device has the same bits.
struct Witch {
  double k = 1;

  SIMT double operator()(double x) const { return k / (1 + x * x); }
};

struct SingleWitch {
  SIMT float operator()(float x) const { return 4 / (1 + x * x); }
};

inline constexpr Sum every_sum[] = {Sum::pairwise, Sum::plain, Sum::kahan, Sum::double_float, Sum::exact};

constexpr double pi = std::numbers::pi, infinity = quadrature::infinity;
using integration::Options;
using quadrature::Answer;

double circle(double x) { return std::sqrt(1 - x * x); }

TEST(Call, ChoosesTheRuleForTheCircle) {
  const Answer quarter = integrate(circle, 0, 1);
  EXPECT_NEAR(quarter.value, pi / 4, 1e-15);
  EXPECT_TRUE(quarter.converged()) << quarter.why;
  EXPECT_LE(std::fabs(quarter.value - pi / 4), quarter.error());
  EXPECT_NEAR(integrate(circle, 1, 0).value, -pi / 4, 1e-15);
}

TEST(Call, SmoothFunctionsTakeFewEvaluations) {
  const double e = std::numbers::e, ln2 = std::numbers::ln2, root2 = std::numbers::sqrt2;
  int worst = 0;
  const auto take = [&](double exact, double from, double to, const auto& f) {
    int calls = 0;
    const auto counted = [&](double x) { return ++calls, f(x); };
    const Answer answer = integrate(counted, from, to);
    EXPECT_TRUE(answer.converged()) << exact << ": " << answer.why;
    EXPECT_LE(std::fabs(answer.value - exact), answer.error() + 1e-15) << exact;
    EXPECT_LE(answer.error(), 1e-10 * std::fabs(exact));
    EXPECT_LT(answer.width, 0.05 * (to - from));
    EXPECT_EQ(answer.evaluations, calls);
    EXPECT_EQ(integrate(f, to, from).value, -answer.value);
    worst = std::max(worst, calls);
  };
  take(e - 1, 0, 1, [](double x) { return std::exp(x); });
  take(1, 0, pi / 2, [](double x) { return std::cos(x); });
  take(pi / 4, 0, 1, [](double x) { return 1 / (1 + x * x); });
  take(3.75, -1, 2, [](double x) { return x * x * x - 2 * x + 1; });
  take(0.746824132812427025, 0, 1, [](double x) { return std::exp(-x * x); });
  take(2.0 / 3, 0, pi, [](double x) { return std::sin(3 * x); });
  take(2 * ln2 - 1, 0, 1, [](double x) { return std::log(1 + x); });
  take((4 * root2 - 2) / 3, 0, 1, [](double x) { return std::sqrt(1 + x); });
  take(1 - 3 / (e * e), 0, 2, [](double x) { return x * std::exp(-x); });
  take(pi / std::sqrt(8.0), 0, pi, [](double x) { return 1 / (3 + std::cos(x)); });
  EXPECT_LE(worst, 100);
  // Rough ones are not settled so.
  for (const double relative : {1e-10, 1e-4, 1e-2})
    for (int i = 0; i < 400; ++i) {
      const double at = (i + 0.37) / 400, exact = 0.5 * (at * at + (1 - at) * (1 - at));
      const Answer kink =
          integrate([&](double x) { return std::fabs(x - at); }, 0, 1, {.relative = relative});
      const Answer jump =
          integrate([&](double x) { return x < at ? 1.0 : 3.0; }, 0, 1, {.relative = relative});
      if (kink.converged()) {
        EXPECT_LE(std::fabs(kink.value - exact), relative * exact) << at;
      }
      if (jump.converged()) {
        EXPECT_LE(std::fabs(jump.value - (3 - 2 * at)), relative * (3 - 2 * at)) << at;
      }
    }
}

TEST(Call, InfiniteRangesRulesTolerancesAndBreaks) {
  const double scale = 2;
  const Answer bell = integrate([&](double x) { return scale * std::exp(-x * x); }, -infinity, infinity);
  EXPECT_NEAR(bell.value, 2 * std::sqrt(pi), 1e-12);
  const Answer by_name = integrate([](double x) { return std::exp(x); }, 0, 1, {.rule = "simpson"});
  EXPECT_STREQ(by_name.rule, "simpson");
  EXPECT_NEAR(by_name.value, std::exp(1.0) - 1, 1e-9);
  // The eight sums that it takes at least have eight digits.
  const auto by_richardson = [](double relative) {
    const Answer out = integrate(circle, 0, 1, {.relative = relative, .rule = "richardson"});
    EXPECT_TRUE(out.converged()) << quadrature::reason_text(out);
    EXPECT_NEAR(out.value, pi / 4, relative);
    return out.evaluations;
  };
  EXPECT_EQ(by_richardson(1e-8), 129);
  EXPECT_LT(by_richardson(1e-8), by_richardson(1e-12));
  const Answer step = integrate([](double x) { return x < 0.3 ? 1.0 : 2.0; }, 0, 1, {.points = {0.3}});
  EXPECT_NEAR(step.value, 1.7, 1e-14);
  const Answer few = integrate([](double x) { return std::sin(1e6 * x); }, 0, 1, {.most_evaluations = 5000});
  EXPECT_EQ(few.reason, quadrature::Reason::evaluations);
  EXPECT_LE(few.evaluations, 5000);
}

// 1 - x has lost the digits that the distance still has.
TEST(Call, TheDistanceToAnEnd) {
  const auto f = [](double, double d) { return std::pow(d < 0 ? -d : 1 - d, -0.8); };
  const Answer out = integrate(f, 0, 1);
  EXPECT_TRUE(out.converged()) << quadrature::reason_text(out);
  EXPECT_NEAR(out.value, 5, 5e-10);
  EXPECT_THROW((void)integrate(f, 0, 1, {.strips = 10}), Error);
}

TEST(Call, BoxesOfSpansArraysAndNumbers) {
  const auto exact = std::pow(std::exp(1.0) - 1, 2);
  const auto spans = [](std::span<const double> x) { return std::exp(x[0] + x[1]); };
  const auto arrays = [](const std::array<double, 2>& x) { return std::exp(x[0] + x[1]); };
  const auto numbers = [](double x, double y) { return std::exp(x + y); };
  EXPECT_NEAR(integrate(spans, {{0, 1}, {0, 1}}).value, exact, 1e-6 * exact);
  EXPECT_NEAR(integrate(arrays, {{0, 1}, {1, 0}}).value, -exact, 1e-6 * exact);
  EXPECT_NEAR(integrate(numbers, {{0, 1}, {0, 1}}, {.rule = "genz_malik", .threads = 1}).value, exact, 1e-5);
  const Answer bell = integrate([](double x, double y) { return std::exp(-(x * x + y * y) / 2); },
                                {{-infinity, infinity}, {-infinity, infinity}});
  EXPECT_NEAR(bell.value, 2 * pi, 1e-5);
  EXPECT_TRUE(bell.converged());
  EXPECT_THROW((void)integrate(arrays, {{0, 1}}), Error);
  EXPECT_THROW((void)integrate(numbers, {{0, 1}, {0, 1}, {0, 1}}), Error);
  EXPECT_THROW((void)integrate(spans, {}), Error);
  EXPECT_THROW((void)integrate(spans, {{0, 1}, {0, 1}}, {.strips = 5}), Error);
}

// The strips of a callable are those of the command.
TEST(Call, StripsHaveTheBitsOfTheCommand) {
  for (const Sum sum : every_sum)
    for (const std::int64_t strips : {1, 33, 1024, 70000}) {
      const char* const names[] = {"plain", "pairwise", "kahan", "double_float", "exact"};
      Arguments arguments(find_operation("integrate")->signature, Element::f64, {},
                          {{"FORMULA", "1/(1+x*x)"},
                           {"LIMITS", "0 2"},
                           {"strips", std::to_string(strips)},
                           {"sum", names[static_cast<int>(sum)]}});
      const Outcome outcome = run(*find_operation("integrate"), arguments,
                                  {.device = "cpu", .variant = "naive", .cached = false});
      const double command = load_as_double(Element::f64, outcome.outputs.at("integral").as<void>());
      const Options options{.strips = strips, .sum = sum, .threads = 3};
      EXPECT_EQ(integrate(Witch{}, 0, 2, options).value, command)
          << names[static_cast<int>(sum)] << " " << strips;
    }
}

TEST(Call, TrapezoidSumsReportTheirError) {
  const Answer sum = integrate(circle, 0, 1, {.strips = 65536});
  const double off = std::fabs(sum.value - pi / 4);
  EXPECT_LE(off, sum.error());
  EXPECT_LT(sum.error(), 1.2 * off);
  EXPECT_EQ(sum.reason, quadrature::Reason::as_requested);
  EXPECT_EQ(sum.exponent, 1.5);
  EXPECT_EQ(integrate(circle, 0, 1, {.relative = 1e-6, .strips = 65536}).reason,
            quadrature::Reason::converged);
  EXPECT_EQ(integrate(circle, 0, 1, {.relative = 1e-9, .strips = 65536}).reason,
            quadrature::Reason::unresolved);
  const auto in_step = [](double x) { return 1 + std::cos(2 * pi * 65536 * x); };
  const Answer aliased = integrate(in_step, 0, 1, {.relative = 1e-3, .strips = 65536});
  EXPECT_FALSE(aliased.converged());
  EXPECT_LE(std::fabs(aliased.value - 1), aliased.error());
  const Answer single = integrate<float>(SingleWitch{}, 0, 1, {.strips = 1 << 20, .sum = Sum::plain});
  EXPECT_EQ(single.value, static_cast<double>(static_cast<float>(single.value)));
  EXPECT_LE(std::fabs(single.value - pi), single.error());
  const Answer infinite = integrate([](double x) { return 1 / x; }, 0, 1, {.strips = 8});
  EXPECT_EQ(infinite.reason, quadrature::Reason::non_finite);
  EXPECT_EQ(infinite.where, 0);
  // Finite samples whose sum is no number any more.
  const auto high = [](float x) { return 3e38f * (1 - x / 1000); };
  const Answer overflown = integrate<float>(high, 0, 0.5, {.strips = 65536});
  EXPECT_EQ(overflown.reason, quadrature::Reason::too_large) << overflown.why;
  EXPECT_EQ(overflown.truncation, quadrature::infinity);
}

TEST(Call, TheExecutorGivesTheSameSum) {
  const Device simt = find_device("simt"), cpu = find_device("cpu");
  for (const Sum sum : every_sum) {
    const Options options{.strips = 5000, .sum = sum};
    const Answer on_executor = integrate(simt, Witch{2}, 0, 1, options);
    const Answer on_cpu = integrate(cpu, Witch{2}, 0, 1, options);
    if (integration::has_fixed_order(sum)) {
      EXPECT_EQ(on_executor.value, on_cpu.value) << static_cast<int>(sum);
    }
    EXPECT_NEAR(on_executor.value, pi / 2, 1e-7);
    EXPECT_LE(std::fabs(on_executor.value - pi / 2), on_executor.error());
  }
  const Options single{.strips = 3000};
  EXPECT_EQ(integrate<float>(simt, SingleWitch{}, 0, 1, single).value,
            integrate<float>(cpu, SingleWitch{}, 0, 1, single).value);
  EXPECT_THROW((void)integrate(simt, Witch{}, 0, 1, {}), Error);
  Device gpu;
  gpu.where = Where::cuda;
  EXPECT_THROW((void)integrate(gpu, Witch{}, 0, 1, {.strips = 8}), Error);
}

TEST(Call, RefusesInvalidOptions) {
  EXPECT_THROW((void)integrate(circle, 0, std::nan("")), Error);
  EXPECT_THROW((void)integrate(circle, 0, 1, {.relative = -1}), Error);
  EXPECT_THROW((void)integrate(circle, 0, 1, {.absolute = std::nan("")}), Error);
  EXPECT_THROW((void)integrate(circle, 0, 1, {.rule = "guess"}), Error);
  EXPECT_THROW((void)integrate(circle, 0, 1, {.rule = "genz_malik"}), Error);
  EXPECT_THROW((void)integrate(circle, 0, 1, {.strips = -1}), Error);
  EXPECT_THROW((void)integrate(circle, 0, infinity, {.strips = 8}), Error);
  EXPECT_THROW((void)integrate(circle, 0, 1, {.relative = -1, .strips = 8}), Error);
  EXPECT_THROW((void)integrate(circle, 0, 1, {.points = {0.5}, .strips = 8}), Error);
  struct Own : std::runtime_error {
    using runtime_error::runtime_error;
  };
  const auto throws = [](double) -> double { throw Own("mine"); };
  EXPECT_THROW((void)integrate(throws, 0, 1), Own);
  EXPECT_THROW((void)integrate(throws, 0, 1, {.strips = 100000}), Own);
}

}  // namespace
}  // namespace tessera
