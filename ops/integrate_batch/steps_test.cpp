// SPDX-License-Identifier: Apache-2.0
// Batches of staircases and saws, which jump at more places than are cut: what is claimed is so.
#include <numbers>
#include "batch_testing.hpp"

namespace tessera::integrate_batch {
namespace {

// From 0 to x, of steps as wide as w.
double of_floor(double x, double w) {
  const double n = std::floor(x / w);
  return w * n * (n - 1) / 2 + n * (x - n * w);
}
double of_ceil(double x, double w) { return of_floor(x, w) + x; }
double of_round(double x, double w) {
  const double n = std::floor(x / w + 0.5);
  return w * n * (n - 1) / 2 + n * (x - (n - 0.5) * w);
}
double of_saw(double x, double w) { return x * x / 2 - w * of_floor(x, w); }

struct Stairs {
  const char *formula, *parameters;
  double to, from_w, to_w;
  double (*exact)(double to, double w);
};

const Stairs stairs[] = {
    {"floor(x*w)", "w=5:500", 1, 5, 500, [](double to, double w) { return of_floor(to, 1 / w); }},
    {"floor(x*w)", "w=5:50", 20, 5, 50, [](double to, double w) { return of_floor(to, 1 / w); }},
    {"floor(x/w)", "w=0.02:0.6", 20, 0.02, 0.6, of_floor},
    {"round(x/w)", "w=0.005:0.17", 5, 0.005, 0.17, of_round},
    {"ceil(x/w)", "w=0.003:0.3", 3, 0.003, 0.3, of_ceil},
    {"trunc(x/w)+1", "w=0.003:0.3", 5, 0.003, 0.3, [](double to, double w) { return of_floor(to, w) + to; }},
    {"floor(x/w)*w+1", "w=0.01:0.9", 20, 0.01, 0.9,
     [](double to, double w) { return w * of_floor(to, w) + to; }},
    {"fmod(x,w)+0.2988", "w=0.02:0.5", 5, 0.02, 0.5,
     [](double to, double w) { return of_saw(to, w) + 0.2988 * to; }},
    {"abs(sin(x/w))+0.05", "w=0.004:0.4", 5, 0.004, 0.4,
     [](double to, double w) {
       const double n = std::floor(to / w / std::numbers::pi);
       return w * (2 * n + 1 - std::cos(to / w - n * std::numbers::pi)) + 0.05 * to;
     }},
    {"if(fmod(x,2*w)<w,1,2)", "w=0.003:0.2", 3, 0.003, 0.2, [](double to, double w) {
       const double n = std::floor(to / (2 * w)), left = to - 2 * n * w;
       return 2 * to - n * w - std::fmin(left, w);
     }}};

TEST(Steps, WhatIsClaimedOfStaircasesAndSawsIsSo) {
  constexpr int n = 120;
  int claims = 0;
  for (const Stairs& of : stairs)
    for (const char* const relative : {"1e-2", "1e-3", "1e-4"}) {
      const Batch batch = ran(
          arguments_of(of.formula, fmt::format("0 {}", of.to), of.parameters, n, {{"relative", relative}}));
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const double w = of.from_w + (of.to_w - of.from_w) * (static_cast<double>(i) / (n - 1));
        expect_honest(batch, i, of.exact(of.to, w), std::stod(relative),
                      fmt::format("{} w = {}", of.formula, w));
        claims += batch.why[i] == converged;
      }
    }
  EXPECT_GE(claims, 1200);
}

// Its points lie as a mirror's images, as these steps nearly do where w is nearly a whole number.
TEST(Steps, TheCheckIsNotWrongOfThem) {
  for (const auto& [formula, parameters] :
       {std::pair("floor(x*w)", "w=5:500"), {"ceil(x*w)", "w=5:500"}, {"round(x*w)", "w=5.01:75.01"}}) {
    const Arguments arguments = arguments_of(formula, "0 1", parameters, 126, {{"relative", "1e-3"}});
    Batch batch = ran(arguments);
    const Verdict verdict = verdict_of(arguments, batch);
    EXPECT_TRUE(verdict.passed) << formula << ": " << describe(verdict);
  }
}

// Errors are multiplied where the text holds what jumps as the variable moves, and nowhere else.
TEST(Steps, TheTextTellsWhereItJumps) {
  const auto caution = [](const std::string& formula) {
    return setting_of(arguments_of(formula, "0 1", "w=0.2:0.7", 3)).caution;
  };
  for (const char* const jumps : {"floor(x*w)", "ceil(w*sin(x))", "round(x/w)", "trunc(x^2*w)", "fmod(x,w)",
                                  "fmod(w,x+1)", "abs(sin(x/w))", "max(sin(x/w),0)", "sign(sin(x/w))",
                                  "(sin(x/w)>0)", "if(x*x<w,1,0)", "if(x*x-w,1,0)", "w*(cos(x)>0 and x>0.1)"})
    EXPECT_GT(caution(jumps), 1) << jumps;
  for (const char* const smooth : {"x*floor(10*w)", "sin(x*w)", "abs(x-w)", "(x<w)", "abs(x-w)<0.1",
                                   "if(x<w,x,w)", "sign(x-w)", "max(x,w)", "fmod(3,w)*x", "x>w and x<2*w"})
    EXPECT_EQ(caution(smooth), 1) << smooth;
  // More linear zeros than are cut at: some are places like any other.
  std::string many = "(x<w)";
  for (int k = 1; k < 14; ++k) many += fmt::format("+(x<w*{})", 0.05 * k);
  EXPECT_GT(caution(many), 1);
}

}  // namespace
}  // namespace tessera::integrate_batch
