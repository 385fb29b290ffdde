// SPDX-License-Identifier: Apache-2.0
// That whoever runs a rung learns that its result is wrong, whatever lay in the output before.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include "tessera/bench/measure.hpp"
#include "tessera/run/conformance.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera {
namespace {

const Operation& twice() { return *find_operation("twice"); }

std::vector<const Variant*> rungs(Where where) {
  auto out = ladder_of("twice");
  std::erase_if(out, [where](const Variant* v) { return v->where != where; });
  return out;
}

// Writes to memory that is not its output; its result is right.
bool violates_guards(const Variant& variant) {
  return variant.name == "past_end" || variant.name == "changes_input";
}

// With the right result in the output beforehand.
Verdict verdict_of(const std::string& variant, Element element) {
  Inputs inputs(twice(), element, {.dims = {{"m", 5}, {"n", 7}}}, 1);
  (void)run(twice(), inputs.arguments(), {.device = "cpu", .variant = "right"});
  const std::string device = variant == "wrong_thread" ? "simt" : "cpu";
  return *run(twice(), inputs.arguments(), {.device = device, .variant = variant}, true).verdict;
}

TEST(Faults, ACheckedRunFindsEachWrongElement) {
  for (const Element element : twice().elements) {
    EXPECT_TRUE(verdict_of("right", element).passed);
    EXPECT_TRUE(verdict_of("outside", element).passed) << "here no row has a gap";
    for (const char* variant : {"off_by_one", "unwritten", "no_number"}) {
      const Verdict found = verdict_of(variant, element);
      EXPECT_FALSE(found.passed) << variant;
      ASSERT_EQ(found.wrong, 1) << variant;
      EXPECT_EQ(found.first.at(0).index, (Extents{1, 2})) << variant;
      EXPECT_FALSE(found.first.at(0).owner.has_value());
    }
    EXPECT_GT(verdict_of("shorter", element).wrong, 20);
    const Verdict found = verdict_of("wrong_thread", element);
    ASSERT_EQ(found.wrong, 1);
    EXPECT_NE(describe(found).find("[1,6] is "), std::string::npos) << describe(found);
    EXPECT_NE(describe(found).find(", by thread (2,1,0) of block (1,0,0)"), std::string::npos)
        << describe(found);
  }
}

TEST(Faults, VerifyFailsEveryWrongRung) {
  std::string texts;
  for (const Where where : {Where::cpu, Where::simt}) {
    const Device device = find_backend(where)->devices().at(0);
    const auto totals =
        walk(twice(), {.device = device}, [&](const WalkItem& item) { texts += item.text + "\n"; });
    ASSERT_EQ(totals.size(), rungs(where).size());
    for (const WalkTotals& total : totals) {
      const bool right = total.variant->name == "right";
      EXPECT_EQ(total.failed > 0, !right) << total.variant->name;
      EXPECT_EQ(total.passed > 0, right || total.variant->name == "outside") << total.variant->name;
      EXPECT_EQ(total.harmed, violates_guards(*total.variant) ? total.failed : 0) << total.variant->name;
    }
  }
  for (const char* told :
       {"wrong result: something was written between the rows of the output",
        "a write outside B: 4 bytes, from 0 bytes behind its end",
        "a write outside B: 8 bytes, from 0 bytes behind its end", "a write to the input A"})
    EXPECT_NE(texts.find(told), std::string::npos) << told;
}

// One that runs behind it finds the inputs as they were, and is not blamed.
TEST(Faults, GuardViolationsAreAttributedToTheirVariant) {
  const Device device = find_backend(Where::cpu)->devices().at(0);
  Operation one_case = twice();
  one_case.cases.resize(1);
  int after = 0;
  const auto told = [&](const WalkItem& item) {
    EXPECT_EQ(item.harmed, violates_guards(*item.variant)) << item.variant->name << ": " << item.text;
    EXPECT_EQ(item.text.find("a write ") == 0, item.harmed) << item.text;
    after += item.variant->name == "outside" && item.outcome == WalkItem::Outcome::passed;
  };
  (void)walk(one_case, {.device = device, .elements = {Element::f32}}, told);
  EXPECT_EQ(after, 1);
}

TEST(Faults, BenchFindsThemAfterACorrectRung) {
  const Device device = find_backend(Where::cpu)->devices().at(0);
  std::vector<bench::Candidate> candidates;
  for (const Variant* v : rungs(Where::cpu))
    candidates.push_back({{v, &v->choices[0], v->choices[0].defaults(), device}});
  bench::Measuring measuring;
  measuring.effort.samples = 2;
  const auto rows =
      bench::measure(twice(), Element::f32, {.dims = {{"m", 6}, {"n", 7}}}, candidates, measuring);
  ASSERT_EQ(rows.size(), candidates.size());
  for (const bench::Row& row : rows) {
    const bool right = row.variant->name == "right" || row.variant->name == "outside";
    EXPECT_EQ(row.verified, right ? bench::Verified::ok : bench::Verified::wrong) << row.variant->name;
    EXPECT_EQ(row.finding.empty(), right) << row.variant->name;
  }
}

TEST(Inputs, DetectWritesBetweenRows) {
  Inputs inputs(twice(), Element::f32, {.dims = {{"m", 4}, {"n", 5}}}, 1, {.padding = 2});
  const auto b = inputs.arguments().view<float, 2>("B");
  ASSERT_EQ(b.stride[0], 7);
  EXPECT_TRUE(inputs.padding_intact());
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = 0; j < 5; ++j) b(i, j) = 1;
  EXPECT_TRUE(inputs.padding_intact());
  for (const std::int64_t row : {0, 1, 3})
    for (const std::int64_t column : {5, 6}) {
      b(row, column) = 0;
      EXPECT_FALSE(inputs.padding_intact()) << row << "," << column;
      inputs.poison();
      EXPECT_TRUE(inputs.padding_intact());
    }
  EXPECT_TRUE(std::isnan(b(0, 0))) << "poisoned";
}

}  // namespace
}  // namespace tessera
