// SPDX-License-Identifier: Apache-2.0
// Counters in the prediction, against times that a GPU was seen to take: the order that they predict must fit
// the measured one where occupancy alone does not, and leaving out the rest must cost nothing.
#include "tessera/tune/predict.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <fstream>
#include <tuple>
#include <nlohmann/json.hpp>
#include "tessera/bench/trace.hpp"
#include "tessera/tune/tuner.hpp"
#include "tests/made_up_rows.hpp"

namespace tessera::tune {
namespace {

const Operation& product() { return *find_operation("matmul"); }

// A product's arguments, as large as one likes: nobody reads the arrays.
struct Problem {
  explicit Problem(std::int64_t n) : one{.dims = {{"m", n}, {"n", n}, {"k", n}}}, arguments(given(n)) {}
  static Arguments given(std::int64_t n) {
    static char nothing[64];
    const ArrayView square{nothing, Element::f32, {n, n}, {n, 1}};
    return {product().signature, Element::f32, {{"A", square}, {"B", square}}, {}};
  }
  Case one;
  Arguments arguments;
};

struct Recorded {
  std::vector<Config> configs;
  std::vector<double> seconds;
};

// Of the kernels that the executor has, as a result file tells them.
Recorded recorded(const std::string& file, std::int64_t n) {
  Recorded out;
  std::ifstream in(TESSERA_RESULTS "/nvidia-h200/matmul/" + file);
  const auto document = nlohmann::json::parse(in);
  for (const auto& row : document.at("rows")) {
    const bool asked = row.at("dims").at("m").get<std::int64_t>() == n &&
                       row.at("element").get<std::string>() == "f32" && row.contains("median") &&
                       row.at("median").is_number();
    if (!asked) continue;
    const std::string name = row.at("variant");
    Tuning tuning;
    for (const auto& [parameter, value] : row.at("tuning").items()) tuning.set(parameter, value);
    for (const Variant* variant : ladder_of(product().name)) {
      if (variant->where != Where::simt || variant->name != name) continue;
      const Choice* const choice = variant->find(tuning);
      if (choice == nullptr) continue;
      Tuning all = choice->defaults();
      for (const auto& [parameter, value] : tuning) all.set(parameter, value);
      out.configs.push_back({variant, choice, all});
      out.seconds.push_back(row.at("median"));
    }
  }
  return out;
}

// Of all tests: cut down, problems of different sizes are alike, and nothing is counted twice.
Counter& shared_counter() {
  static Counter counter(product(), {.steps = 1e12, .configurations = 10000});
  return counter;
}

struct Fits {
  Fit counted, uncounted;
};

Fits fits(const Recorded& known, std::int64_t n) {
  const Problem problem(n);
  const Counted counted = shared_counter().of(Element::f32, problem.one, problem.arguments, 90);
  std::vector<double> with, without;
  for (const Config& config : known.configs) {
    const Prediction prediction = predict(config, problem.arguments, find_device("simt"), counted);
    with.push_back(prediction.cost.value());
    without.push_back(prediction.uncounted.value());
  }
  return {fit_of(with, known.seconds), fit_of(without, known.seconds)};
}

// What is the same of all tells nothing of their order.
double told(const Fit& fit) { return fit.kendall.value_or(0); }

TEST(Counting, FitsTheMeasuredOrderOfALadder) {
  for (const std::int64_t n : {1024, 4096}) {
    const Recorded known = recorded("matmul.json", n);
    ASSERT_GE(known.configs.size(), 8u);
    const Fits fit = fits(known, n);
    EXPECT_GT(fit.counted.kendall.value(), 0.8) << n;
    EXPECT_LT(told(fit.uncounted), 0.3) << n;
  }
}

TEST(Counting, FitsTheMeasuredOrderOfOneRungsTunings) {
  const Recorded known = recorded("matmul-factorial.json", 512);
  ASSERT_GE(known.configs.size(), 30u);
  const Fits fit = fits(known, 512);
  EXPECT_GT(fit.counted.kendall.value(), 0.8);
  EXPECT_LT(told(fit.uncounted), 0.3);
}

// Some of their shapes starve the GPU so much that occupancy tells something, too.
TEST(Counting, FitsTheMeasuredOrderOfSweepAndSearches) {
  for (const auto& [file, n, fewest] : {std::tuple("matmul-tune.json", 1024, 200u),
                                        {"matmul-tune.json", 4096, 40u},
                                        {"matmul-sweep.json", 1024, 60u}}) {
    const Recorded known = recorded(file, n);
    ASSERT_GE(known.configs.size(), fewest);
    const Fits fit = fits(known, n);
    EXPECT_EQ(fit.counted.count, known.configs.size());
    EXPECT_GT(fit.counted.kendall.value(), 0.8) << file << " " << n;
    EXPECT_LT(told(fit.uncounted), 0.5) << file << " " << n;
  }
}

// Blocks that occupancy cannot tell apart.
TEST(Counting, TellsCoalescedBlocksFromScatteredOnes) {
  const Problem problem(1024);
  const Counted counted = shared_counter().of(Element::f32, problem.one, problem.arguments, 90);
  const auto variants = ladder_of(product().name);
  const auto rung = std::ranges::find_if(
      variants, [](const Variant* v) { return v->where == Where::simt && v->name == "per_element"; });
  ASSERT_NE(rung, variants.end());
  const auto of = [&](int x, int y) {
    return predict({*rung, &(*rung)->choices[0], {{"x", x}, {"y", y}}}, problem.arguments,
                   find_device("simt"), counted);
  };
  EXPECT_LT(*of(32, 1).cost * 2, *of(1, 32).cost);
  EXPECT_EQ(of(32, 1).uncounted, of(1, 32).uncounted);
  EXPECT_LT(*of(32, 8).cost, *of(8, 32).cost);
}

// Searching the recorded tunings of one rung.
class Pruning : public testing::Test {
 protected:
  Outcome search(const Counted& counted, double promising) {
    Means means;
    means.explore = means.decide = [this](const std::vector<bench::Candidate>& candidates) {
      return made_up::measured(
          product(), problem_.one, problem_.arguments, candidates,
          [this](const Variant& variant, const Tuning& tuning) { return seconds_of(variant, tuning); });
    };
    means.counted = counted;
    means.promising = promising;
    means.most_trials = budget_;
    Task task{&product(), &problem_.one, &problem_.arguments, find_device("simt")};
    Space space;
    space.configs = known_.configs;
    space.all = known_.configs.size();
    Journal journal("", "test");
    return tune(task, space, means, journal);
  }

  double seconds_of(const Variant& variant, const Tuning& tuning) const {
    for (std::size_t i = 0; i < known_.configs.size(); ++i)
      if (known_.configs[i].variant == &variant && known_.configs[i].tuning == tuning)
        return known_.seconds[i];
    throw Error("not recorded");
  }
  double best() const { return *std::ranges::min_element(known_.seconds); }

  std::optional<std::size_t> budget_;
  Problem problem_{512};
  Recorded known_ = recorded("matmul-factorial.json", 512);
  Counted counted_ = shared_counter().of(Element::f32, problem_.one, problem_.arguments, 90);
};

TEST_F(Pruning, KeepsTheFastestAmongFew) {
  const Outcome outcome = search(counted_, 0.2);
  EXPECT_LE(outcome.trials.size(), known_.configs.size() / 4);
  ASSERT_NE(outcome.best(), nullptr);
  EXPECT_EQ(outcome.best()->median(), best());
  EXPECT_GT(search({}, 0.2).best()->median(), best()) << "occupancy alone leaves it out";
  const Outcome all = search(counted_, 1);
  EXPECT_GT(all.fit.kendall.value(), told(all.fit_uncounted) + 0.3);
}

TEST_F(Pruning, NeverLosesWhatIsUnknown) {
  const auto unknown = [](const Config& config) { return config.tuning["tile"] == 16; };
  const Outcome outcome =
      search([&](const Config& config) { return unknown(config) ? std::nullopt : counted_(config); }, 0.01);
  const auto lost =
      std::ranges::count_if(outcome.left, [&](const Trial& trial) { return unknown(trial.config); });
  const auto tried =
      std::ranges::count_if(outcome.trials, [&](const Trial& trial) { return unknown(trial.config); });
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(tried, std::ranges::count_if(known_.configs, unknown));
  EXPECT_GT(outcome.left.size(), 0u) << "of the others it leaves out";
  EXPECT_EQ(outcome.best()->median(), best());
}

TEST_F(Pruning, ABudgetReachesWhatIsUnknown) {
  const auto unknown = [](const Config& config) { return config.tuning["outputs"] == 4; };
  budget_ = known_.configs.size() / 3;
  const Outcome outcome =
      search([&](const Config& config) { return unknown(config) ? std::nullopt : counted_(config); }, 1);
  const auto tried =
      std::ranges::count_if(outcome.trials, [&](const Trial& trial) { return unknown(trial.config); });
  EXPECT_EQ(outcome.trials.size(), budget_);
  EXPECT_NEAR(static_cast<double>(tried),
              static_cast<double>(std::ranges::count_if(known_.configs, unknown)) / 3, 1);
  EXPECT_EQ(outcome.best()->median(), best()) << "it is one of them";
}

TEST_F(Pruning, CountsWithinItsBoundsAndNothingTwice) {
  for (const Bounds& bounds : {Bounds{.steps = 1}, Bounds{.configurations = 1}}) {
    Counter little(product(), bounds);
    const Outcome outcome = search(little.of(Element::f32, problem_.one, problem_.arguments, 90), 0.01);
    const Counter::Totals totals = little.take_totals();
    EXPECT_EQ(totals.counted, 1u);
    EXPECT_EQ(totals.left, known_.configs.size() - 1);
    EXPECT_EQ(outcome.trials.size(), known_.configs.size()) << "one is kept, and all that are unknown";
  }

  for (const Config& config : known_.configs) (void)counted_(config);
  (void)shared_counter().take_totals();
  const Problem larger(2048);
  const Counted again = shared_counter().of(Element::f32, larger.one, larger.arguments, 90);
  for (const Config& config : known_.configs)
    EXPECT_NEAR(again(config)->cache / counted_(config)->cache, 64, 1e-6) << "64 times the flops";
  EXPECT_EQ(shared_counter().take_totals().counted, 0u) << "cut to a small problem, they are alike";
}

TEST_F(Pruning, AKernelForAGpuIsCountedAsTheExecutorHasIt) {
  Config config = known_.configs.at(0);
  Variant on_gpu = *config.variant;
  on_gpu.where = Where::cuda;
  config.variant = &on_gpu;
  config.choice = &on_gpu.choices.at(0);
  config.tuning = config.choice->defaults();
  Config same = config;
  same.variant = known_.configs.at(0).variant;
  ASSERT_TRUE(counted_(config));
  Counter other(product());
  const Counted counted = other.of(Element::f32, problem_.one, problem_.arguments, 90);
  EXPECT_EQ(counted(config)->busiest(), counted_(same)->busiest());
}

TEST_F(Pruning, WhatIsNotTracedHasNoWork) {
  Config config = known_.configs.at(0);
  const Variant stranger = [&] {
    Variant out = *config.variant;
    out.file = "elsewhere/gpu_01_stranger.simt.cu";
    return out;
  }();
  config.variant = &stranger;
  (void)shared_counter().take_totals();
  EXPECT_FALSE(counted_(config));
  EXPECT_EQ(shared_counter().take_totals().failed, 1u);
}

}  // namespace
}  // namespace tessera::tune
