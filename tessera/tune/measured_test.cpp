// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include "tessera/tune/tuner.hpp"
#include "tests/made_up.hpp"

namespace tessera::tune {
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

// On a device that answers in every build: a GPU that does not would end the search.
TEST(Measured, WhatFailsIsARow) {
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
      summary_of(rows),
      (std::vector<std::string>{
          "gpu/shaped on cuda:0: x=8 is the fastest, 2.00 ± 0.00 times faster than its default x=16."}));
  rows[0].seconds = {1, 8, 12, 15, 22};
  EXPECT_EQ(summary_of(rows)[0],
            "gpu/shaped on cuda:0: x=8 ran 1.33 ± 0.39 times faster than its default x=16; that does not "
            "settle it.")
      << "the interval holds 1";
  rows[0].seconds = {8};
  EXPECT_EQ(summary_of(rows)[0],
            "gpu/shaped on cuda:0: x=8 ran 2.00 times faster than its default x=16; one sample does not "
            "settle it.");
  rows[0].verified = bench::Verified::wrong;
  EXPECT_EQ(summary_of(rows),
            (std::vector<std::string>{"gpu/shaped on cuda:0: its default x=16 is the fastest."}));
  rows.erase(rows.begin(), rows.begin() + 2);
  EXPECT_TRUE(summary_of(rows).empty()) << "one configuration is no choice";
}

}  // namespace
}  // namespace tessera::tune
