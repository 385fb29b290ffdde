// SPDX-License-Identifier: Apache-2.0
// What is said of a search that was stopped, or that its samples do not settle.
#include "tessera/cli/tune_words.hpp"
#include <gtest/gtest.h>
#include "tests/made_up.hpp"

namespace tessera::cli {
namespace {

const Variant& variant() {
  static const Variant out = made_up::variant("shaped", {made_up::choice({}, {{"x", 1, 64, 16}})});
  return out;
}

lab::Row row(int x, std::vector<double> seconds) {
  lab::Row out;
  out.variant = &variant();
  out.tuning = {{"x", x}};
  out.verified = seconds.empty() ? lab::Verified::unchecked : lab::Verified::ok;
  if (seconds.empty()) out.reason = "interrupted";
  out.seconds = std::move(seconds);
  return out;
}

tune::Trial trial(int x, std::vector<double> seconds) {
  return {{&variant(), &variant().choices[0], {{"x", x}}}, row(x, std::move(seconds)), {}};
}

std::string said(const tune::Outcome& outcome) { return text_of(outcome, {}, "exhaustive", {}); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TuneWords, AnInterruptInTheFinalsLeavesWhatTheTrialsShowed) {
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

TEST(TuneWords, NothingIsNothing) {
  tune::Outcome outcome;
  outcome.trials = {trial(32, {})};
  EXPECT_TRUE(has(said(outcome), "nothing was found: no configuration has a verified time")) << said(outcome);
}

TEST(TuneWords, WhatIsNotSettledIsNotCalledFaster) {
  tune::Outcome outcome;
  outcome.finals = {row(16, {2}), row(8, {1})};
  outcome.rival = 1;
  outcome.why = "too few samples: 1, 5 are needed";
  const std::string text = said(outcome);
  EXPECT_TRUE(has(text, "x=16, which is used without tuning, stays: ")) << text;
  EXPECT_TRUE(
      has(text, "x=8 ran 2.00 times faster, but that is not settled: too few samples: 1, 5 are needed"))
      << text;
}

}  // namespace
}  // namespace tessera::cli
