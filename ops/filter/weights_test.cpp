// SPDX-License-Identifier: Apache-2.0
// Which kernels are taken for a column times a row, and what the results of those differ from the sums of the
// weights as given.
#include <gtest/gtest.h>
#include <cmath>
#include <cstdio>
#include <cstring>
#include "weights.hpp"
#include "filter.hpp"
#include "tessera/core/random.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::filter {
namespace {

constexpr double half_place = 0x1p-24;  // of f32, of a number: what rounding changes at most

Kernel rounded(const std::string& text) {
  Kernel out = kernel_of(text, 3, 0, Element::f32);
  round_weights(out);
  return out;
}

bool is_product(Kernel kernel, bool exact, double deviation = 0) {
  find_factors(kernel, exact, deviation);
  return !kernel.column.empty();
}

TEST(Kernel, FactorsAreFoundWhereTheyAreExact) {
  for (const bool exact : {true, false}) {
    Kernel product = rounded("2 4 2; -1 -2 -1");
    find_factors(product, exact, 0);
    EXPECT_EQ(product.row, (std::vector<double>{1, 2, 1}));
    EXPECT_EQ(product.column, (std::vector<double>{2, -1}));
    Kernel fractions = rounded("0.5 0.25; 0.25 0.125");
    find_factors(fractions, exact, 0);
    EXPECT_EQ(fractions.row, (std::vector<double>{0.5, 0.25}));
    EXPECT_EQ(fractions.column, (std::vector<double>{1, 0.5}));
    for (const char* text :
         {"1 1 1; 1 -8 1; 1 1 1", "1 2; 2 4.000005", "0 0; 0 0", "1 2 3", "1 0; 0 1", "1 1; 1 0"})
      EXPECT_FALSE(is_product(rounded(text), exact)) << text;
  }
  EXPECT_FALSE(is_product(rounded("1 2; 2 4.0000005"), true));
}

// A bell, or numbers of any sign and size, of `taps` taps.
std::vector<double> line(Random& random, int taps, double sigma) {
  std::vector<double> out;
  for (int i = 0; i < taps; ++i) {
    const double x = i - (taps - 1) * 0.5;
    out.push_back(sigma > 0 ? std::exp(-x * x / (2 * sigma * sigma)) : random.normal());
  }
  return out;
}

Kernel outer(const std::vector<double>& column, const std::vector<double>& row, double factor) {
  Kernel out{static_cast<int>(column.size()), static_cast<int>(row.size()), {}, {}, {}};
  for (const double c : column)
    for (const double r : row) out.weights.push_back(c * r * factor);
  return out;
}

TEST(Kernel, AProductOfDoublesRoundedToFloatsIsOne) {
  Random random(11);
  int inexact = 0;
  for (int rows = 2; rows <= most_taps; ++rows)
    for (const double sigma : {0.0, 0.4, 1.1, 6.0})  // 0.4: the corners of 31 × 31 are beyond f32's least
      for (const double factor : {1.0, 1.0 / 273, 1e-30}) {
        const int cols = 2 + static_cast<int>(random.below(most_taps - 1));
        Kernel kernel = outer(line(random, rows, sigma), line(random, cols, sigma), factor);
        round_weights(kernel);
        EXPECT_TRUE(is_product(kernel, false))
            << rows << " x " << cols << " sigma " << sigma << " factor " << factor;
        inexact += is_product(kernel, true) ? 0 : 1;
      }
  EXPECT_GT(inexact, 300) << "nothing was rounded";
}

TEST(Kernel, AWeightThatIsMoreThanRoundedAwayIsNoPartOfAProduct) {
  Random random(12);
  for (int i = 0; i < 200; ++i) {
    Kernel kernel = outer(line(random, 5, 2), line(random, 7, 2), 1);
    round_weights(kernel);
    ASSERT_TRUE(is_product(kernel, false));
    double& w = kernel.weights[random.below(kernel.weights.size())];
    w = static_cast<float>(w * (1 + 20 * half_place));
    EXPECT_FALSE(is_product(kernel, false));
    EXPECT_TRUE(is_product(kernel, false, 25 * half_place));
    EXPECT_LT(largest_deviation(kernel), 25 * half_place);
  }
}

// A Gaussian as tables print it.
std::string printed(int taps, double sigma, int digits) {
  Random none(1);
  const std::vector<double> bell = line(none, taps, sigma);
  double sum = 0;
  for (const double b : bell) sum += b;
  std::string out;
  for (const double c : bell)
    for (std::size_t j = 0; j < bell.size(); ++j) {
      char word[40];
      std::snprintf(word, sizeof word, "%.*f", digits, c * bell[j] / (sum * sum));
      out += std::string(word) + (j + 1 < bell.size() ? " " : "; ");
    }
  return out;
}

Case sized(std::int64_t height, std::int64_t width, Arguments::Words words) {
  return {.dims = {{"images", 1}, {"height", height}, {"width", width}, {"channels", 1}},
          .words = std::move(words)};
}

// Holds |result − Σ w·x| of a picture of floats, w being the weights as they were given, against what is
// allowed for each |w|·|x|: a rounding for each tap of the column and the row, one for the column's quotient,
// five halves of a place between a weight and its product; and for each |x| `within` of the largest weight.
void expect_sums(const std::string& text, const std::string& within, bool separable) {
  constexpr int size = 40;
  Arguments::Words words{{"kernel", text}, {"border", "wrap"}};
  if (!within.empty()) words["separable-within"] = within;
  Inputs inputs(*find_operation("filter"), Element::f32, sized(size, size, words), 3);
  const Arguments& arguments = inputs.arguments();
  EXPECT_EQ(options_of(arguments)->taps.separable, separable) << text;
  run(*find_operation("filter"), inputs.arguments(), {.device = "cpu"}, true);
  const Kernel kernel = rounded(text);
  const auto* const x = static_cast<const float*>(arguments.array("image").data);
  const auto* const out = static_cast<const float*>(arguments.array("filtered").data);
  double largest = 0;
  for (const double w : kernel.weights) largest = std::max(largest, std::fabs(w));
  const double deviation = within.empty() ? 0 : std::stod(within) * largest,
               roundings = separable ? kernel.rows + kernel.cols + 1 + 5 + 1 : kernel.rows * kernel.cols + 1;
  for (int y = 0; y < size; ++y)
    for (int at = 0; at < size; ++at) {
      double sum = 0, bound = 0;
      for (int i = 0; i < kernel.rows; ++i)
        for (int j = 0; j < kernel.cols; ++j) {
          const double w = kernel.weights[static_cast<std::size_t>(i * kernel.cols + j)];
          const double sample =
              x[(y + i - kernel.rows / 2 + size) % size * size + (at + j - kernel.cols / 2 + size) % size];
          sum += w * sample;
          bound += (roundings * half_place * std::fabs(w) + deviation) * std::fabs(sample);
        }
      EXPECT_LE(std::fabs(out[y * size + at] - sum), bound);
    }
}

TEST(Filter, SeparableSumsAreAsNearToTheWeightsAsOthers) {
  const std::string nine = printed(9, 2, 9), coarse = printed(9, 2, 6);
  expect_sums(printed(9, 2, 12), "", true);
  expect_sums(printed(15, 1.5, 30), "", true);
  expect_sums("0.111111 0.111111 0.111111; 0.111111 0.111111 0.111111", "", true);
  expect_sums("0.003663 0.014652; 0.014652 0.0586081", "", false);
  expect_sums(coarse, "", false);
  expect_sums(coarse, "5e-5", true);
  expect_sums(nine, "1e-7", true);
}

TEST(Filter, ADeviationIsForFloatSumsThatKeepWithinIt) {
  const auto says = [](Element element, Arguments::Words words, const std::string& what) {
    try {
      Inputs inputs(*find_operation("filter"), element, sized(4, 5, std::move(words)), 1);
      EXPECT_TRUE(options_of(inputs.arguments())->taps.separable);
      EXPECT_EQ(what, "");
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), what);
    }
  };
  const auto within = [](const char* kernel, const char* deviation) {
    return Arguments::Words{{"kernel", kernel}, {"separable-within", deviation}};
  };
  const std::string only = " is only for kernels of several rows and columns whose sums are floats";
  says(Element::u8, within("1 2; 2 5", "0.3"), "--separable-within 0.3" + only);
  says(Element::f32, within("1 2; 2 5", "0.3"), "");
  says(Element::u8, within("0.1 0.2; 0.2 0.41", "0.03"), "");
  says(Element::f32, within("1 2 1", "0.3"), "--separable-within 0.3" + only);
  says(Element::f32, within("gaussian", "0.3"), "--separable-within 0.3" + only);
  says(Element::f32, within("1 2; 2 5", "0.03"),
       "--separable-within 0.03: a weight is 0.04 of the largest away from a column times a row");
  says(Element::f32, within("laplacian8", "0.1"),
       "--separable-within 0.1: a weight is 0.14 of the largest away from a column times a row");
}

}  // namespace
}  // namespace tessera::filter
