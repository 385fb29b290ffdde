// SPDX-License-Identifier: Apache-2.0
// Plans tried on devices that are only described, whose memory has gaps and workspaces.
#include "tessera/dist/fitting.hpp"
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>
#include "tessera/core/operation.hpp"
#include "tessera/dist/clock.hpp"
#include "tessera/dist/layout.hpp"

namespace tessera::dist {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

struct Product {
  Arguments arguments;
  Division division;

  Product(Element element, std::int64_t n)
      : arguments(arguments_of(element, n)), division((*find_division("matmul"))(arguments)) {}

  static Arguments arguments_of(Element element, std::int64_t n) {
    const ArrayView view{nullptr, element, {n, n}, {n, 1}};
    return {find_operation("matmul")->signature, element, {{"A", view}, {"B", view}}, {}};
  }
  Planning planning() const {
    return [this](const std::vector<Device>& devices) { return make_plan(division, arguments, devices); };
  }
  std::int64_t laid_out(const Plan& plan) const { return Layout(plan, 0, division, arguments).bytes(); }
  double seconds(const Plan& plan) const { return run_virtually(plan, division, arguments).end(); }
};

// An H200 and its link, as an f32 product's trial finds them; `part` of the link carries rows of 4 KiB.
Device h200(std::int64_t memory, double part) {
  return {.name = "gpu",
          .kind = "gpu",
          .flops_per_second = 48.4e12,
          .flops_of_tiles = {{1 << 20, 41e12}, {1 << 22, 47e12}, {1 << 24, 48.4e12}},
          .step_seconds = 1e-5,
          .sum_bytes_per_second = 2e12,
          .bytes_in_per_second = 29.4e9,
          .part_of_link = {{4096, part}, {8192, 0.95}, {16384, 1}},
          .bytes_out_per_second = 29.4e9,
          .memory_bytes = memory};
}

// As `warp_tiles` wants it: a tile's partial sums, and counters.
std::int64_t workspace(const Plan& plan) { return 4 * plan.manner.tile * plan.manner.tile + 65536; }

// Deeper panels come first and do not fit: with their workspace, and uneven ones with the gaps between them.
// Where that was kept of every manner's memory, the panels that were left had room for three pieces less.
TEST(Fitting, WhatOneDepthWantsBesidesIsNotKeptFromOthers) {
  const Product product(Element::f32, 16384);
  constexpr std::int64_t memory = 512 * mebibyte, piece = 16 * mebibyte;
  for (const double part : {0.6, 0.7, 0.9, 1.0}) {
    const Device device = h200(memory, part);
    std::set<std::int64_t> panels;
    Plan plan;
    plan_to_fit({device}, product.planning(), [&](const Plan& tried) {
      plan = tried;
      panels.insert(tried.manner.panel);
      return std::vector{product.laid_out(tried) + workspace(tried)};
    });
    EXPECT_LE(product.laid_out(plan) + workspace(plan), memory);
    EXPECT_GT(panels.size(), 1u);

    Device less = device;
    less.memory_bytes = memory - (64 * mebibyte + 65536);
    const std::vector<Interval> rows{{0, product.division.rows}};
    const Plan shallow = make_plan(product.division, product.arguments, {less}, rows, {4096, 1024, 0});
    EXPECT_LE(product.seconds(plan), product.seconds(shallow)) << part;
    if (plan.manner.panel != 1024) continue;
    EXPECT_GT(product.laid_out(plan) + workspace(plan) + piece, memory - memory / 64) << part;
    EXPECT_LE(plan.bytes_from_host(), shallow.bytes_from_host()) << part;
  }
}

TEST(Fitting, ManyTriesEndWithThePlanThatFits) {
  const Product product(Element::f32, 8192);
  std::map<std::pair<std::int64_t, std::int64_t>, int> tries;
  Plan plan;
  // Every manner wants a quarter of the memory besides but the one that comes third.
  const std::int64_t memory = 256 * mebibyte;
  std::optional<std::pair<std::int64_t, std::int64_t>> third;
  plan_to_fit({h200(memory, 0.9)}, product.planning(), [&](const Plan& tried) {
    plan = tried;
    const std::pair manner{tried.manner.tile, tried.manner.panel};
    ++tries[manner];
    if (tries.size() == 3 && !third) third = manner;
    return std::vector{product.laid_out(tried) + (third == manner ? 0 : memory / 4)};
  });
  EXPECT_GE(tries.size(), 3u);
  EXPECT_EQ((std::pair{plan.manner.tile, plan.manner.panel}), third);
}

TEST(Fitting, WithoutALimitTheFirstPlanIsTaken) {
  const Product product(Element::f32, 4096);
  int tries = 0;
  plan_to_fit({h200(0, 0.6)}, product.planning(), [&](const Plan& plan) {
    ++tries;
    return std::vector{product.laid_out(plan) + workspace(plan)};
  });
  EXPECT_EQ(tries, 1);
}

TEST(Fitting, AWorkspaceLargerThanTheMemoryIsAnError) {
  const Product product(Element::f32, 2048);
  constexpr std::int64_t memory = 64 * mebibyte;
  EXPECT_THROW(
      plan_to_fit({h200(memory, 0.6)}, product.planning(),
                  [&](const Plan& plan) { return std::vector{product.laid_out(plan) + 2 * memory}; }),
      Error);
}

}  // namespace
}  // namespace tessera::dist
