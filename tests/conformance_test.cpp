// SPDX-License-Identifier: Apache-2.0
// Every variant of every operation, with every choice and element, on the host's processors and on the
// executor, against the operation's reference.
#include <gtest/gtest.h>
#include <algorithm>
#include "tessera/run/conformance.hpp"

namespace tessera {
namespace {

class Conformance : public testing::TestWithParam<Where> {};

TEST_P(Conformance, EveryVariantPassesOrGivesAReason) {
  Backend* backend = find_backend(GetParam());
  ASSERT_NE(backend, nullptr);
  ASSERT_FALSE(backend->devices().empty()) << backend->unusable();
  ASSERT_FALSE(operations().empty());
  for (const Operation& operation : operations()) {
    // On processors a ladder begins with a rung for all elements; kernels may know fewer.
    const auto ladder = ladder_of(operation.name);
    const auto first = std::ranges::find_if(
        ladder, [&](const Variant* v) { return v->where == GetParam() && !v->baseline; });
    ASSERT_NE(first, ladder.end());
    std::map<Element, int> passed;
    const auto totals = walk(operation, {.device = backend->devices()[0]}, [&](const WalkItem& item) {
      EXPECT_NE(item.outcome, WalkItem::Outcome::failed)
          << operation.name << " " << item.variant->name << " " << to_string(item.tuning) << " "
          << name_of(item.element) << " " << to_string(*item.tried) << "\n"
          << item.text;
      EXPECT_TRUE(item.outcome != WalkItem::Outcome::skipped || !item.text.empty());
      passed[item.element] += item.variant == *first && item.outcome == WalkItem::Outcome::passed;
    });
    EXPECT_FALSE(totals.empty()) << operation.name << " has no variant for " << name_of(GetParam());
    for (const WalkTotals& total : totals) {
      const bool may_be_absent = total.variant->baseline;
      EXPECT_TRUE(total.passed > 0 || may_be_absent) << total.variant->name << " was never run";
      EXPECT_LE(total.largest_ratio, 1) << total.variant->name;
    }
    for (const Element element : operation.elements)
      if (GetParam() == Where::cpu || (*first)->choices.at(0).prepare.contains(element)) {
        EXPECT_GT(passed[element], 0) << operation.name << " " << name_of(element);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Conformance, testing::Values(Where::cpu, Where::simt),
                         [](const auto& device) { return std::string(name_of(device.param)); });

}  // namespace
}  // namespace tessera
