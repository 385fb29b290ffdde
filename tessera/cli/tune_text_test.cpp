// SPDX-License-Identifier: Apache-2.0
// What is said of a search that was stopped, or that its samples do not settle.
#include "tessera/cli/tune_text.hpp"
#include <gtest/gtest.h>
#include "tests/made_up.hpp"

namespace tessera::cli {
namespace {

const Variant& variant() {
  static const Variant out = made_up::variant("shaped", {made_up::choice({}, {{"x", 1, 64, 16}})});
  return out;
}

bench::Row row(int x, std::vector<double> seconds) {
  bench::Row out;
  out.variant = &variant();
  out.tuning = {{"x", x}};
  out.verified = seconds.empty() ? bench::Verified::unchecked : bench::Verified::ok;
  if (seconds.empty()) out.reason = "interrupted";
  out.seconds = std::move(seconds);
  return out;
}

tune::Trial trial(int x, std::vector<double> seconds) {
  return {{&variant(), &variant().choices[0], {{"x", x}}}, row(x, std::move(seconds)), {}};
}

std::string said(const tune::Outcome& outcome) { return text_of(outcome, {}, "exhaustive", {}); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TuneText, AnInterruptInTheFinalsLeavesWhatTheTrialsShowed) {
  tune::Outcome outcome;
  outcome.interrupted = true;
  EXPECT_TRUE(has(said(outcome), "no configuration has been looked at yet")) << said(outcome);
  outcome.trials = {trial(8, {2, 2}), trial(16, {1, 1}), trial(32, {})};
  EXPECT_TRUE(has(said(outcome), "x=16 is the fastest so far")) << said(outcome);
  outcome.finals = {row(16, {}), row(8, {})};
  outcome.winner = outcome.finals.size();
  EXPECT_TRUE(has(said(outcome), "x=16 is the fastest so far")) << said(outcome);
  EXPECT_FALSE(has(said(outcome), "nothing was found")) << said(outcome);
}

TEST(TuneText, NothingIsNothing) {
  tune::Outcome outcome;
  outcome.trials = {trial(32, {})};
  EXPECT_TRUE(has(said(outcome), "nothing was found: no configuration has a verified time")) << said(outcome);
}

TEST(TuneText, WhatIsNotSettledIsNotCalledFaster) {
  tune::Outcome outcome;
  outcome.finals = {row(16, {2}), row(8, {1})};
  outcome.rival = 1;
  outcome.why = "too few samples: 1, 5 are needed";
  const std::string text = said(outcome);
  EXPECT_TRUE(has(text, "x=16, which is used without tuning, goes on being used: ")) << text;
  EXPECT_TRUE(has(
      text,
      "x=8 ran 2.00 times faster, which does not show that it is faster (too few samples: 1, 5 are needed). "
      "The same command with --reps 5 or more can tell.\n"))
      << text;
}

TEST(TuneText, NoiseAsksForMoreSamplesThanThereWere) {
  tune::Outcome outcome;
  outcome.finals = {row(16, {2, 3, 4, 5, 6, 7}), row(8, {1, 3, 4, 5, 6, 7, 8})};
  outcome.rival = 1;
  outcome.why = "too noisy to tell";
  EXPECT_TRUE(
      has(said(outcome), "(too noisy to tell). The same command with more samples (--reps 24), on a machine"))
      << said(outcome);
}

TEST(TuneText, WhereNothingWasFasterThatIsSaid) {
  tune::Outcome outcome;
  outcome.finals = {row(16, {1, 1}), row(8, {2, 2})};
  EXPECT_TRUE(has(said(outcome), "x=16 is the fastest of what was tried; it is what is used without tuning"))
      << said(outcome);
}

}  // namespace
}  // namespace tessera::cli
