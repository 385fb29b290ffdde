// SPDX-License-Identifier: Apache-2.0
// Tuning with recorded timings, on a variant of this file's own, from the search to the call that uses it.
#include <gtest/gtest.h>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>
#include "tessera/core/operation/promise.hpp"
#include "tessera/io/atomic_file.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/tune/tuner.hpp"
#include "tests/made_up.hpp"
#include "tests/made_up_rows.hpp"

namespace tessera::tune {
namespace {

// C = A; the computation does not matter here.
const Operation& copying() {
  static const Operation& out = []() -> const Operation& {
    Operation operation;
    operation.name = "copying";
    operation.signature.parameters = {
        parameter::input("A", {"m", "n"}, ""), parameter::output("C", {"m", "n"}, ""),
        parameter::choice("way", {"plain", "mirrored"}, ""), parameter::choice("steady", {"no", "yes"}, "")};
    operation.elements = {Element::f32};
    operation.output = "C";
    operation.flops = [](const Arguments& a) { return static_cast<double>(a.dim("m") * a.dim("n")); };
    register_operation(std::move(operation));
    register_promise("copying", "steady");
    for (const char* file : {"copying/cpu_01_plain.cpp", "copying/cpu_02_tiled.cpp"}) {
      keep_promise("steady", SourceLocation{file, 1});
      Variant variant;
      Choice choice = made_up::choice({});
      if (std::string_view(file).find("tiled") != std::string_view::npos)
        choice.ranges = {{"tile", 1, 128, 4}};
      choice.prepare[Element::f32] = without_plan([](const Arguments&, const Tuning&, Run&) {});
      choice.refuses = [](const Arguments&, const Tuning& tuning, const Device&) -> Reason {
        return tuning.find("tile") == 128 ? Reason("128 is too much") : std::nullopt;
      };
      variant.choices = {choice};
      register_variant(std::move(variant), SourceLocation{file, 1});
    }
    return *find_operation("copying");
  }();
  return out;
}

const Variant& variant(const std::string& name) {
  for (const Variant* v : ladder_of(copying().name))
    if (v->name == name) return *v;
  throw Error("none");
}

double recorded(const Variant& v, const Tuning& tuning) {
  if (v.name == "plain") return 0.020;
  const int tile = tuning["tile"];
  if (tile == 2) throw Error("an illegal access");
  if (tile == 64) return 0;  // wrong, and faster than all others
  return 0.010 * (1 + std::abs(std::log2(tile / 16.0)));
}

class TunerTest : public testing::Test {
 protected:
  TunerTest() {
    std::filesystem::remove(file_);
    ::setenv("TESSERA_CACHE", file_.c_str(), 1);
    ::unsetenv("TESSERA_NO_CACHE");
  }
  ~TunerTest() override {
    ::unsetenv("TESSERA_CACHE");
    std::error_code none;
    std::filesystem::remove(file_, none);
  }

  Outcome tune(TunerOptions options = {}) { return tune({&variant("tiled")}, std::move(options)); }
  Outcome tune(const std::vector<const Variant*>& variants, TunerOptions options = {}) {
    const Inputs inputs(copying(), Element::f32, problem_, 1);
    const auto measure = [&](const std::vector<bench::Candidate>& candidates) {
      for (const auto& candidate : candidates) requested_.push_back(to_string(candidate.plan.tuning));
      return made_up::measured(copying(), problem_, inputs.arguments(), candidates, times_);
    };
    options.explore = measure;
    options.confirm = [&](const std::vector<bench::Candidate>& candidates) {
      auto rows = measure(candidates);
      for (bench::Row& row : rows)
        if (samples_ && row.counts()) row.seconds = samples_(*row.variant, row.tuning);
      return rows;
    };
    Task task{&copying(), &problem_, &inputs.arguments(), device_};
    task.known.push_back(choose_on(device_, copying(), inputs.arguments(), {.cached = false}));
    Journal journal(file_, "test");
    const Space space = space_of(variants, {.open_ranges = true});
    EXPECT_EQ(space.configs.size(), 7 + variants.size());
    return tessera::tune::tune(task, space, options, journal);
  }

  Plan chosen(std::int64_t size, const Request& request = {}, const std::string& way = "plain",
              const std::string& steady = "no") {
    const Inputs inputs(copying(), Element::f32,
                        {.dims = {{"m", size}, {"n", size}}, .words = {{"way", way}, {"steady", steady}}}, 1);
    return choose_on(device_, copying(), inputs.arguments(), request);
  }

  Case problem_{.dims = {{"m", 64}, {"n", 64}}};
  Device device_ = find_device("cpu");
  std::string file_ = testing::TempDir() + "tuning-" + std::to_string(::getpid()) + ".jsonl";
  made_up::Times times_ = recorded;
  std::function<std::vector<double>(const Variant&, const Tuning&)> samples_;  // of the finals
  std::vector<std::string> requested_;
};

TEST_F(TunerTest, FindsTheFastestThatIsRight) {
  const Outcome outcome = tune();
  ASSERT_NE(outcome.best(), nullptr);
  EXPECT_EQ(to_string(outcome.best()->tuning), "tile=16");
  EXPECT_TRUE(outcome.complete);
  EXPECT_EQ(outcome.trials.size(), 7u);
  EXPECT_EQ(to_string(outcome.trials[0].config.tuning), "tile=4") << "the default comes first";
  ASSERT_EQ(outcome.left.size(), 1u);
  EXPECT_EQ(outcome.left[0].row.reason, "128 is too much");
  int failed = 0, wrong = 0;
  for (const Trial& trial : outcome.trials) {
    failed += trial.row.reason == "failed: an illegal access";
    wrong += trial.row.verified == bench::Verified::wrong;
  }
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(wrong, 1);
}

TEST_F(TunerTest, TheTunedCallPicksTheFasterConfiguration) {
  EXPECT_EQ(to_string(chosen(64).tuning), "tile=4");
  EXPECT_FALSE(chosen(64).tuned);
  const Outcome outcome = tune();
  const Plan plan = chosen(64);
  EXPECT_TRUE(plan.tuned);
  EXPECT_EQ(to_string(plan.tuning), "tile=16");
  EXPECT_LT(recorded(*plan.variant, plan.tuning), recorded(*plan.variant, plan.choice->defaults()));
  EXPECT_EQ(to_string(outcome.untuned()->tuning), "tile=4");
}

TEST_F(TunerTest, AppliesAFindingToSimilarProblems) {
  (void)tune();
  EXPECT_TRUE(chosen(100).tuned);
  EXPECT_TRUE(chosen(17).tuned);
  EXPECT_FALSE(chosen(1024).tuned) << "too far away";
  EXPECT_FALSE(chosen(64, {}, "mirrored").tuned) << "another shape class";
  EXPECT_FALSE(chosen(64, {.variant = "tiled"}).tuned) << "who names a variant gets it as it is";
  EXPECT_FALSE(chosen(64, {.cached = false}).tuned);
  device_.threads += 1;
  EXPECT_FALSE(chosen(64).tuned) << "another device";
  device_.threads -= 1;
  ::setenv("TESSERA_NO_CACHE", "1", 1);
  EXPECT_FALSE(chosen(64).tuned);
}

TEST_F(TunerTest, AFindingDoesNotChooseTheRungOfAPromise) {
  problem_.words = {{"steady", "yes"}};
  (void)tune();
  const Plan tiled = chosen(64, {}, "plain", "yes");
  EXPECT_EQ(to_string(tiled.tuning), "tile=16") << "of the rung that is chosen without findings";
  std::filesystem::remove(file_);
  times_ = [](const Variant& v, const Tuning&) { return v.name == "plain" ? 0.001 : 0.002; };
  (void)tune({&variant("plain"), &variant("tiled")});
  EXPECT_EQ(chosen(64, {}, "plain", "yes").variant->name, "tiled");
  EXPECT_FALSE(chosen(64, {}, "plain", "yes").tuned);
  problem_.words = {};
  (void)tune({&variant("plain"), &variant("tiled")});
  EXPECT_EQ(chosen(64).variant->name, "plain");
}

TEST_F(TunerTest, DistinguishesDriverVersions) {
  device_.driver = "driver 580.1 for CUDA 13.0, runtime 13.0";
  (void)tune();
  EXPECT_TRUE(chosen(64).tuned);
  device_.driver = "driver 580.2 for CUDA 13.0, runtime 13.0";
  EXPECT_FALSE(chosen(64).tuned);
  device_.driver = "driver for CUDA 13.0, runtime 13.0";
  EXPECT_TRUE(chosen(64).tuned);
  std::filesystem::remove(file_);
  (void)tune();  // as an older program did, which did not tell it
  device_.driver = "driver 580.2 for CUDA 13.0, runtime 13.0";
  EXPECT_TRUE(chosen(64).tuned);
}

TEST_F(TunerTest, PrefersTheNearestThenTheLatestFinding) {
  (void)tune();
  problem_.dims = {{"m", 128}, {"n", 128}};
  times_ = [](const Variant&, const Tuning& tuning) { return tuning["tile"] == 8 ? 0.001 : 0.002; };
  (void)tune();
  EXPECT_EQ(to_string(chosen(70).tuning), "tile=16");
  EXPECT_EQ(to_string(chosen(120).tuning), "tile=8");
  times_ = [](const Variant&, const Tuning& tuning) { return tuning["tile"] == 32 ? 0.001 : 0.002; };
  TunerOptions again;
  std::filesystem::rename(file_, file_ + ".old");
  (void)tune(again);  // nothing is known: it measures
  for (const std::string& line : read_lines(file_)) (void)append_line(file_ + ".old", line);
  std::filesystem::rename(file_ + ".old", file_);
  EXPECT_EQ(to_string(chosen(120).tuning), "tile=32");
}

TEST_F(TunerTest, FindingsThatNoLongerHoldAreIgnored) {
  (void)tune();
  auto lines = read_lines(file_);
  const std::string good = lines.back();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    const auto at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    line.replace(at, from.size(), to);
    std::filesystem::remove(file_);
    EXPECT_EQ(append_line(file_, line), "");
    return chosen(64).tuned;
  };
  EXPECT_TRUE(with("tiled", "tiled"));
  EXPECT_FALSE(with("\"tiled\"", "\"gone\"")) << "the rung is gone";
  EXPECT_FALSE(with("\"tile\":16", "\"tile\":128")) << "the rung refuses it";
  EXPECT_FALSE(with("\"tile\":16", "\"tile\":1000")) << "out of range";
  EXPECT_FALSE(with("\"tile\":16", "\"tile\":16,\"depth\":2")) << "a parameter is gone";
  EXPECT_FALSE(with("\"tile\":16", "")) << "a parameter is new";
  EXPECT_FALSE(with("\"verified\":\"ok\"", "\"verified\":\"unchecked\""));
  EXPECT_FALSE(with("\"tessera\":1", "\"tessera\":2"));
  EXPECT_FALSE(with("}", "")) << "cut off";
}

TEST_F(TunerTest, ResumesAnInterruptedSearch) {
  TunerOptions options;
  options.in_turn = 2;
  options.max_trials = 4;
  const Outcome first = tune(options);
  EXPECT_EQ(first.trials.size(), 4u);
  EXPECT_FALSE(first.complete);
  requested_.clear();
  options.max_trials = {};
  const Outcome second = tune(options);
  EXPECT_TRUE(second.complete);
  EXPECT_EQ(second.kept(), 4u);
  EXPECT_EQ(second.trials.size(), 7u);
  EXPECT_EQ(to_string(second.best()->tuning), "tile=16");
  requested_.clear();
  const Outcome third = tune(options);
  EXPECT_EQ(third.kept(), 7u) << "failed and wrong ones are known, too";
  EXPECT_EQ(requested_.size(), third.finals.size()) << "only the finals are measured";
  options.retry = true;
  EXPECT_EQ(tune(options).kept(), 5u);
}

TEST_F(TunerTest, AnInterruptKeepsFinishedTrials) {
  TunerOptions options;
  options.in_turn = 2;
  options.interrupted = [this] { return requested_.size() >= 4; };
  const Outcome first = tune(options);
  EXPECT_EQ(first.best(), nullptr);
  EXPECT_FALSE(chosen(64).tuned);
  options.interrupted = {};
  const Outcome second = tune(options);
  EXPECT_GE(second.kept(), 2u);
  EXPECT_EQ(to_string(second.best()->tuning), "tile=16");
}

TEST_F(TunerTest, SkipsAConfigurationThatCrashesTheProgram) {
  struct Ended {};
  TunerOptions options;
  options.in_turn = 4;
  times_ = [](const Variant& v, const Tuning& tuning) {
    if (tuning["tile"] == 8) throw Ended{};  // no std::exception: it is not caught, as if the program died
    return recorded(v, tuning);
  };
  EXPECT_THROW((void)tune(options), Ended);  // it was in company
  EXPECT_THROW((void)tune(options), Ended);  // it was alone
  const Outcome outcome = tune(options);
  ASSERT_NE(outcome.best(), nullptr);
  EXPECT_EQ(to_string(outcome.best()->tuning), "tile=16");
  int ended = 0;
  for (const Trial& trial : outcome.trials)
    ended += trial.row.reason && trial.row.reason->find("the program ended") != std::string::npos;
  EXPECT_EQ(ended, 1);
}

TEST_F(TunerTest, TimeIsABudgetToo) {
  double now = 0;
  TunerOptions options;
  options.in_turn = 1;
  options.most_seconds = 3;
  options.clock = [&now] { return now++; };
  EXPECT_LT(tune(options).trials.size(), 4u);
}

TEST_F(TunerTest, KeepsTheDefaultWithoutAClearWinner) {
  times_ = [](const Variant&, const Tuning&) { return 0.01; };
  EXPECT_EQ(to_string(tune().best()->tuning), "tile=4");
}

// Its minimum and its median are lower, but its upper quartile is not below the other's minimum.
TEST_F(TunerTest, KeepsTheDefaultWithUnsettledSamples) {
  samples_ = [](const Variant&, const Tuning& tuning) -> std::vector<double> {
    if (tuning["tile"] == 16) return {0.009, 0.0095, 0.0100, 0.0120, 0.0130};
    return {0.0100, 0.0110, 0.0120, 0.0130, 0.0140};
  };
  const Outcome outcome = tune();
  EXPECT_EQ(to_string(outcome.best()->tuning), "tile=4");
  ASSERT_TRUE(outcome.rival);
  EXPECT_EQ(to_string(outcome.finals[*outcome.rival].tuning), "tile=16");
  EXPECT_EQ(outcome.why, "too noisy to tell");
  EXPECT_TRUE(outcome.settled) << "there were enough of them";
  EXPECT_EQ(to_string(chosen(64).tuning), "tile=4");
}

TEST_F(TunerTest, KeepsTheDefaultForALowerMinimumAlone) {
  samples_ = [](const Variant&, const Tuning& tuning) -> std::vector<double> {
    if (tuning["tile"] == 16) return {0.001, 0.0119, 0.0119, 0.0119, 0.0130};
    return {0.0110, 0.0120, 0.0120, 0.0120, 0.0140};
  };
  EXPECT_EQ(to_string(tune().best()->tuning), "tile=4");
}

TEST_F(TunerTest, KeepsTheDefaultWithFewSamples) {
  for (const std::size_t few : {1u, 4u}) {
    samples_ = [few](const Variant& v, const Tuning& tuning) {
      return std::vector<double>(few, recorded(v, tuning));
    };
    const Outcome outcome = tune();
    EXPECT_EQ(to_string(outcome.best()->tuning), "tile=4");
    EXPECT_EQ(outcome.why, "too few samples: " + std::to_string(few) + ", 5 are needed");
    EXPECT_FALSE(outcome.settled);
    EXPECT_FALSE(chosen(64).tuned) << "nothing is kept for later calls";
  }
  // Nor do they if the untuned plan is faster than all.
  samples_ = [](const Variant&, const Tuning& tuning) {
    return std::vector<double>(3, tuning["tile"] == 4 ? 0.001 : 0.002);
  };
  EXPECT_FALSE(tune().settled);
  EXPECT_FALSE(chosen(64).tuned);
  samples_ = {};
  EXPECT_TRUE(tune().settled);
  EXPECT_TRUE(chosen(64).tuned);
}

TEST_F(TunerTest, AnUnknownSpreadIsNull) {
  const Inputs inputs(copying(), Element::f32, problem_, 1);
  Plan plan = choose_on(device_, copying(), inputs.arguments(), {.variant = "tiled"});
  plan.tuning.set("tile", 8);
  bench::Row row = bench::blank_row({.plan = plan}, copying(), problem_, inputs.arguments());
  row.verified = bench::Verified::ok;
  row.seconds = {1};
  Journal(file_, "test").record_winner(tuned_for(copying(), inputs.arguments(), device_), row, &row);
  const std::string line = read_lines(file_).back();
  const auto first = line.find("\"spread\":null");
  EXPECT_NE(first, std::string::npos) << line;
  EXPECT_NE(line.find("\"spread\":null", first + 1), std::string::npos) << line;
  EXPECT_EQ(to_string(chosen(64).tuning), "tile=8") << "and the line can be read";
}

TEST_F(TunerTest, ContinuesWithoutAWritableFile) {
  file_ = "/dev/null/tuning.jsonl";
  EXPECT_EQ(to_string(tune().best()->tuning), "tile=16");
  Journal journal(file_, "test");
  const Inputs inputs(copying(), Element::f32, problem_, 1);
  journal.begin({});
  EXPECT_NE(journal.failure(), "");
}

}  // namespace

namespace {

const Variant& variant() {
  static const Variant out = made_up::variant("shaped", {made_up::choice({}, {{"x", 1, 64, 16}})});
  return out;
}

std::vector<bench::Candidate> candidates(Where where) {
  Device device;
  device.where = where;
  std::vector<bench::Candidate> out;
  for (const int x : {8, 16, 32})
    out.push_back(candidate_of({&variant(), &variant().choices[0], {{"x", x}}}, device));
  return out;
}

// Takes x seconds; x = 16 throws.
std::vector<bench::Row> measure(const std::vector<bench::Candidate>& some, int failing) {
  std::vector<bench::Row> out;
  for (const bench::Candidate& candidate : some) {
    bench::Row& row = out.emplace_back();
    row.variant = candidate.plan.variant;
    row.tuning = candidate.plan.tuning;
    row.device = candidate.plan.device;
    row.reason = candidate.absent;
    if (row.reason) continue;
    if (row.tuning["x"] == failing) throw std::runtime_error("an illegal access");
    row.seconds = {1.0 * row.tuning["x"], 1.0 * row.tuning["x"]};
    row.verified = bench::Verified::ok;
  }
  return out;
}

// On a device that is usable in every build: a GPU that does not answer would end the search.
TEST(Measured, RecordsAFailureAsARow) {
  const auto rows =
      measure_each(candidates(Where::simt), [](const auto& some) { return measure(some, 16); }, {});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].median(), 8);
  EXPECT_EQ(rows[1].reason, "failed: an illegal access");
  EXPECT_TRUE(rows[1].seconds.empty());
  EXPECT_EQ(rows[2].median(), 32);
}

TEST(Measured, AnInterruptEndsTheRetries) {
  int calls = 0;
  const auto rows = measure_each(
      candidates(Where::simt), [](const auto& some) { return measure(some, 16); },
      [&calls] { return ++calls > 1; });
  EXPECT_EQ(rows.size(), 1u);
}

TEST(TuneSummary, ComparesWithTheDefault) {
  auto rows = measure(candidates(Where::cuda), 0);
  EXPECT_EQ(
      tune::summary_of(rows),
      (std::vector<std::string>{
          "gpu/shaped on cuda:0: x=8 is the fastest, 2.00 ± 0.00 times faster than its default x=16."}));
  rows[0].seconds = {1, 8, 12, 15, 22};
  EXPECT_EQ(tune::summary_of(rows)[0],
            "gpu/shaped on cuda:0: x=8 ran 1.33 ± 0.39 times faster than its default x=16; that does not "
            "settle it.")
      << "the interval holds 1";
  rows[0].seconds = {8};
  EXPECT_EQ(tune::summary_of(rows)[0],
            "gpu/shaped on cuda:0: x=8 ran 2.00 times faster than its default x=16; one sample does not "
            "settle it.");
  rows[0].verified = bench::Verified::wrong;
  EXPECT_EQ(tune::summary_of(rows),
            (std::vector<std::string>{"gpu/shaped on cuda:0: its default x=16 is the fastest."}));
  rows.erase(rows.begin(), rows.begin() + 2);
  EXPECT_TRUE(tune::summary_of(rows).empty()) << "one configuration is no choice";
}

}  // namespace

}  // namespace tessera::tune
