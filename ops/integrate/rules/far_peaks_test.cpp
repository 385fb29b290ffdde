// SPDX-License-Identifier: Apache-2.0
// Bells that lie far from each other where axes have no end: both are in the integral, or nothing is claimed.
#include <gtest/gtest.h>
#include <cmath>
#include <numbers>
#include <random>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/far_peaks.hpp"

namespace tessera::quadrature {
namespace {

struct Bell {
  std::vector<double> centre;
  double width = 1, height = 1;

  double at(const double* x, std::size_t stride) const {
    double sum = 0;
    for (std::size_t axis = 0; axis < centre.size(); ++axis) {
      const double away = (x[axis * stride] - centre[axis]) / width;
      sum += away * away;
    }
    return height * std::exp(-sum);
  }
  // Where it begins at the finite lower limits, if there are any.
  double integral(const std::vector<Range>& box) const {
    double out = height;
    for (std::size_t axis = 0; axis < centre.size(); ++axis)
      out *= std::sqrt(std::numbers::pi) * width *
             (std::isfinite(box[axis].lower) ? std::erfc((box[axis].lower - centre[axis]) / width) / 2 : 1);
    return out;
  }
};

ManyValues values_of(const std::vector<Bell>& bells) {
  return [&bells](std::span<const double> x, std::size_t count, std::span<double> y) {
    for (std::size_t i = 0; i < count; ++i) {
      y[i] = 0;
      for (const Bell& bell : bells) y[i] += bell.at(&x[i], count);
    }
  };
}

struct Outcome {
  Answer answer;
  double exact = 0;
};

Outcome integrated(const std::vector<Bell>& bells, const std::vector<Range>& axes) {
  Outcome out;
  for (const Bell& bell : bells) out.exact += bell.integral(axes);
  out.answer = automatic_cubature(values_of(bells), Box{axes}, {.relative = 1e-4},
                                  {.evaluations = 4'000'000, .seconds = 20, .regions = 1 << 18}, 2);
  return out;
}

void expect_no_wrong_claim(const Outcome& of, const std::string& what) {
  const double off = std::fabs(of.answer.value - of.exact);
  if (!of.answer.converged()) return;
  EXPECT_TRUE(off <= of.answer.error() + 1e-12 * of.exact)
      << what << " claims " << of.answer.value << " +- " << of.answer.error() << " of " << of.exact;
}

constexpr Range all{-infinity, infinity}, upwards{0, infinity};

TEST(FarPeaks, BothOfTwoBellsAreFound) {
  for (const double away : {5.0, 30.0, 300.0}) {
    const std::vector<Bell> diagonal{{{0, 0}}, {{away, away}}}, beside{{{0, 0}}, {{-away, 0}}};
    for (const auto& bells : {diagonal, beside}) {
      const Outcome two = integrated(bells, {all, all});
      EXPECT_TRUE(two.answer.converged()) << away << ": " << words(two.answer);
      expect_no_wrong_claim(two, std::to_string(away));
    }
    const Outcome half = integrated({{{0, 0}}, {{away, 2 * away}}}, {upwards, all});
    EXPECT_TRUE(half.answer.converged()) << away << ": " << words(half.answer);
    expect_no_wrong_claim(half, "half-infinite, " + std::to_string(away));
  }
  const Outcome three = integrated({{{0, 0, 0}}, {{30, 30, -30}}}, {all, all, all});
  EXPECT_TRUE(three.answer.converged()) << words(three.answer);
  expect_no_wrong_claim(three, "three variables");
}

// Two or three, of any widths and heights.
TEST(FarPeaks, NothingWrongIsClaimedOfRandomBells) {
  std::mt19937 random(5);
  const auto uniform = [&random](double from, double to) {
    return from + (to - from) * static_cast<double>(random()) / 4294967296.0;
  };
  int claims = 0;
  for (int i = 0; i < 12; ++i) {
    const std::size_t d = 2 + random() % 2;
    std::vector<Range> axes;
    for (std::size_t axis = 0; axis < d; ++axis) axes.push_back(random() % 3 == 0 ? upwards : all);
    std::vector<Bell> bells(2 + random() % 2);
    for (Bell& bell : bells) {
      const double radius = std::pow(10, uniform(0, 2));
      for (std::size_t axis = 0; axis < d; ++axis)
        bell.centre.push_back(axes[axis].lower == 0 ? uniform(0, radius) : uniform(-radius, radius));
      bell.width = std::fmax(radius / 50, std::pow(10, uniform(-0.5, 0.7)));  // or what no point meets
      bell.height = std::pow(10, uniform(-1, 1));
    }
    const Outcome of = integrated(bells, axes);
    expect_no_wrong_claim(of, "bells " + std::to_string(i));
    claims += of.answer.converged();
  }
  EXPECT_GE(claims, 6);
}

TEST(FarPeaks, AreNoneOfOneBellOrOfBellsSideBySide) {
  std::int64_t evaluations = 0;
  bool hurried = false;
  const std::vector<Bell> one{{{7, 3}}}, close{{{0, 0}}, {{1.5, 0}}}, far{{{0, 0}}, {{40, 0}}};
  const Box plane{{all, all}}, square{{{0, 1}, {0, 1}}};
  EXPECT_TRUE(far_peaks(values_of(one), plane, {}, {}, evaluations, hurried).empty());
  EXPECT_TRUE(far_peaks(values_of(close), plane, {}, {}, evaluations, hurried).empty());
  EXPECT_TRUE(far_peaks(values_of(far), square, {}, {}, evaluations, hurried).empty());
  EXPECT_FALSE(hurried);
  EXPECT_EQ(far_peaks(values_of(far), plane, {}, {}, evaluations, hurried).size(), 2u);
  far_peaks(values_of(far), plane, {}, {.evaluations = 1000}, evaluations, hurried);
  EXPECT_TRUE(hurried);
}

// No text tells where they are: over an infinite range a callable is tried at so many places that bells of a
// seven-hundredth of their distance from the origin, and wider, stand out from what falls slowly.
TEST(FarPeaks, OfCallablesOfOneVariable) {
  for (const double from : {0.0, -infinity})
    for (const double ratio : {100., 400., 700.})
      for (int k = 0; k < 24; ++k) {
        const double centre = std::pow(10, 0.1 + 3.8 * std::fmod(0.618034 * k, 1)), width = centre / ratio;
        const Integrand f = plain([=](double x) {
          const double z = (x - centre) / width;
          return 1 / (1 + x * x) + std::exp(-z * z) / width;
        });
        const double pi = std::numbers::pi, exact = (std::isinf(from) ? pi : pi / 2) + std::sqrt(pi);
        const Answer answer = automatic(f, {from, infinity});
        EXPECT_LE(std::fabs(answer.value - exact), answer.error() + 1e-14) << centre << " wide " << width;
        EXPECT_TRUE(answer.converged()) << centre << " wide " << width << ": " << words(answer);
      }
}

}  // namespace
}  // namespace tessera::quadrature
