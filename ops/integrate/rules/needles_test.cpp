// SPDX-License-Identifier: Apache-2.0
// Products and sums of narrow factors of several variables: where they are large together no probe is, but
// the formula's text shows it. Random places, widths and shapes.
#include <gtest/gtest.h>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <random>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/crossings.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/hidden_regions.hpp"

namespace tessera::quadrature {
namespace {

const std::vector<std::string> two{"x", "y"};

struct Shape {
  const char* text;  // {0}: what it is narrow across, {1}: its width
  double area;       // of width 1
};

const Shape shapes[] = {{"(abs({0})<{1})", 2},
                        {"exp(-abs({0})/{1})", 2},
                        {"exp(-(({0})/{1})^2)", std::sqrt(std::numbers::pi)},
                        {"max(0,1-abs({0})/{1})", 1},
                        {"1/cosh(({0})/{1})", std::numbers::pi}};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  double between(double a, double b) { return std::uniform_real_distribution<double>(a, b)(random_); }
  // As many digits as a text has: what is typed is what is meant.
  double rounded(double a, double b) { return std::stod(fmt::format("{:.6g}", between(a, b))); }
  double width(double least = -7, double most = -2.5) {
    return std::stod(fmt::format("{:.3g}", std::pow(10, between(least, most))));
  }
  const Shape& shape() { return shapes[static_cast<std::size_t>(between(0, 4.999))]; }
  // A factor that is narrow across this, of so much area.
  std::string factor(const std::string& across, double& area) {
    const Shape& one = shape();
    const double w = width();
    area *= one.area * w;
    return fmt::format(fmt::runtime(one.text), across, w);
  }

 private:
  std::mt19937_64 random_;
};

Answer over(const std::string& text, const std::vector<std::string>& variables,
            const std::string& rule = "auto", const Limits& limits = usual_cubature_limits) {
  const formula::Tree tree = formula::parse(text);
  Box box{std::vector<Range>(variables.size())};
  if (rule == "auto") box.features = features_of(tree, variables, box);
  box.hidden = hidden_regions(tree, variables, box);
  return by_name(rule, many_values_of(tree, variables), box, usual_cubature_tolerance, limits, {}, 2, 1);
}

void expect_honest(const Answer& answer, double exact, const std::string& text) {
  if (!answer.converged()) return;
  EXPECT_NEAR(answer.value, exact, 1.1e-6 * exact) << text;
}

// amplitude·n(x)·n(y), which holds as much as the background or some of it.
std::string product(Draw& draw, double& exact) {
  double area = 1;
  const std::string factors = draw.factor(fmt::format("x-{}", draw.rounded(0.2, 0.8)), area) + "*" +
                              draw.factor(fmt::format("y-{}", draw.rounded(0.2, 0.8)), area);
  const double amplitude = std::stod(fmt::format("{:.4g}", draw.between(0.1, 4) / area));
  exact += amplitude * area;
  return fmt::format("{:.17g}*{}", amplitude, factors);
}

TEST(Needles, ProductsAcrossAxesAreRight) {
  Draw draw(5);
  const Limits few{.evaluations = 4'000'000, .seconds = 20, .regions = 1 << 20};
  for (int n = 0; n < 8; ++n) {
    double exact = n % 3 == 0 ? 0 : 1;
    std::string text = n % 3 == 0 ? "0" : "1";
    for (int k = 0; k <= n % 4 / 2; ++k) text += "+" + product(draw, exact);
    const Answer answer = over(text, two, "auto", few);
    EXPECT_TRUE(answer.converged()) << text << ": " << words(answer);
    expect_honest(answer, exact, text);
  }
}

TEST(Needles, RidgesAcrossAnAxisAreRight) {
  Draw draw(6);
  for (int n = 0; n < 6; ++n) {
    double area = 1;
    const std::string ridge = draw.factor(fmt::format("x-{}", draw.rounded(0.2, 0.8)), area);
    const double amplitude = std::stod(fmt::format("{:.4g}", 3 / area));
    const std::string text = fmt::format("1+{:.17g}*{}*cos(y)", amplitude, ridge);
    const Answer answer = over(text, two);
    EXPECT_TRUE(answer.converged()) << text << ": " << words(answer);
    expect_honest(answer, 1 + amplitude * area * std::sin(1.0), text);
  }
}

// The area where two bands cross is that of both over the sine between them.
TEST(Needles, CrossingsOfObliqueBandsAreNotOverlooked) {
  Draw draw(7);
  const Limits few{.evaluations = 200'000, .seconds = 20, .regions = 1 << 20};
  for (int n = 0; n < 10; ++n) {
    const double x = draw.between(0.2, 0.8), y = draw.between(0.2, 0.8);
    const double a = draw.rounded(0.5, 1.5), b = -draw.rounded(0.5, 1.5), c = draw.rounded(0.5, 1.5),
                 d = draw.rounded(0.5, 1.5);
    double area = 1 / std::fabs(a * d - b * c);
    const std::string first = draw.factor(fmt::format("{}*x+({})*y-({:.6f})", a, b, a * x + b * y), area);
    const std::string second = draw.factor(fmt::format("{}*x+{}*y-({:.6f})", c, d, c * x + d * y), area);
    const double amplitude = std::stod(fmt::format("{:.4g}", 2 / area));
    const std::string text = fmt::format("1+{:.17g}*{}*{}", amplitude, first, second);
    expect_honest(over(text, two, "auto", few), 1 + amplitude * area, text);
  }
}

TEST(Needles, ThreeVariablesAndNamedRules) {
  const std::vector<std::string> three{"x", "y", "z"};
  const Answer cube = over("1+2.5e11*(abs(x-0.31)<1e-4)*exp(-abs(y-0.62)*1e4)*(abs(z-0.77)<1e-4)", three);
  EXPECT_TRUE(cube.converged()) << words(cube);
  expect_honest(cube, 1 + 2.5e11 * 8e-12, "cube");
  const Limits few{.evaluations = 500'000, .seconds = 20, .regions = 1 << 20};
  // A line through the box, where two planes meet.
  expect_honest(over("1+1e8*(abs(x-y-0.1234)<1e-4)*(abs(y+z-1.1)<1e-4)", three, "auto", few), 1 + 4 * 0.7766,
                "line");
  for (const char* rule : {"genz_malik", "quasi_random", "vegas", "tanh_sinh"})
    EXPECT_FALSE(over("1+1e8*(abs(x-0.3)<1e-4)*(abs(y-0.7)<1e-4)", two, rule, few).converged()) << rule;
}

TEST(Needles, PlacesAreThoseOfTheText) {
  const auto places = [](const char* text) {
    return crossings(formula::parse(text), two, Box{{{0, 1}, {0, 1}}});
  };
  const auto one = places("1+1e8*(abs(x-y-0.1234)<1e-4)*(abs(x+y-1.1)<1e-4)");
  ASSERT_EQ(one.size(), 1);
  EXPECT_NEAR(one[0].inside[0], 0.6117, 1e-12);
  EXPECT_NEAR(one[0].inside[1], 0.4883, 1e-12);
  EXPECT_EQ(places("1+1e8*exp(-1e9*(x^2+y^2-0.5)^2)*(abs(x-y)<1e-4)").size(), 1) << "of a curve";
  // What overflows wherever no needle is hides no other part.
  EXPECT_EQ(
      places("1+1e10/cosh((0.72*x+0.313*y-0.422177)/1e-7)/cosh((0.879*x-1.129*y+0.266565)/4e-7)").size(), 1);
  // Kinks, jumps, roots and poles are no needles.
  for (const char* text : {"abs(x-0.3)*abs(y-0.7)", "(x>y)*(x+y>1)", "sqrt(abs(x-y))", "exp(-abs(x-y))",
                           "sin(x*y)", "1/sqrt(abs(x+y-1))", "1/(1+x*y)", "max(x,y)^2"})
    EXPECT_TRUE(places(text).empty()) << text;
}

}  // namespace
}  // namespace tessera::quadrature
