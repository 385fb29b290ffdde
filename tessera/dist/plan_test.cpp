// SPDX-License-Identifier: Apache-2.0
// Plans of products on devices that are only described. The times of one H200 are those of another simulation
// of the same orders: 60.4, 345 and 51 TFLOP/s and a link of 55.6 GB/s.
#include "tessera/dist/plan.hpp"
#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include "tessera/core/operation.hpp"
#include "tessera/dist/clock.hpp"
#include "tessera/dist/split.hpp"

namespace tessera::dist {
namespace {

constexpr double h200_f64 = 60.4e12, h200_tf32 = 345e12, h200_f32 = 51e12;

Device gpu(double flops, std::int64_t memory = 0) {
  return {.name = "gpu",
          .kind = "gpu",
          .flops_per_second = flops,
          .bytes_in_per_second = 55.6e9,
          .bytes_out_per_second = 55.5e9,
          .memory_bytes = memory};
}

std::vector<Device> peers(std::size_t count, double flops) {
  std::vector<Device> out(count, gpu(flops));
  for (std::size_t d = 0; d < count; ++d) {
    out[d].peer_bytes_per_second = 370e9;
    for (std::size_t other = 0; other < count; ++other)
      if (other != d) out[d].peers.push_back(other);
  }
  return out;
}

struct Product {
  Arguments arguments;
  Division division;

  Product(Element element, std::int64_t m, std::int64_t n, std::int64_t k)
      : arguments(arguments_of(element, m, n, k)), division((*find_division("matmul"))(arguments)) {}

  static Arguments arguments_of(Element element, std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto view = [element](std::int64_t rows, std::int64_t cols) {
      return ArrayView{nullptr, element, {rows, cols}, {cols, 1}};
    };
    return {find_operation("matmul")->signature, element, {{"A", view(m, k)}, {"B", view(k, n)}}, {}};
  }

  Plan plan(const std::vector<Device>& devices, const Manner& manner) const {
    return make_plan(division, arguments, devices, rows_by_speed(division, arguments, devices), manner);
  }
  double milliseconds(const Plan& plan) const { return 1e3 * run_virtually(plan, division, arguments).end(); }
  double best(const Device& device, std::initializer_list<double> sweeps, std::int64_t panel = 512) const {
    double least = INFINITY;
    for (const std::int64_t tile : {1024, 2048, 4096, 8192})
      for (const double sweep : sweeps)
        least = std::min(least, milliseconds(plan({device}, {tile, panel, sweep})));
    return least;
  }
};

// Every tile of the result is summed over its whole depth, in order, once; every step has what it reads, and
// nothing is held beyond what the plan says.
void check(const Product& product, const Plan& plan) {
  double flops = 0;
  for (std::size_t d = 0; d < plan.parts.size(); ++d) {
    const Part& part = plan.parts[d];
    std::map<std::size_t, std::int64_t> depths;
    std::set<std::size_t> here;
    std::int64_t bytes = 0;
    for (std::size_t s = 0; s < part.steps.size(); ++s) {
      const Step& step = part.steps[s];
      if (s >= Plan::ahead)
        for (const std::size_t piece : part.steps[s - Plan::ahead].drops) {
          EXPECT_EQ(here.erase(piece), 1u);
          bytes -= plan.pieces[piece].bytes;
        }
      for (const Copy& copy : step.copies) {
        EXPECT_TRUE(here.insert(copy.piece).second) << "copied though it is here";
        bytes += plan.pieces[copy.piece].bytes;
      }
      if (plan.devices[d].memory_bytes > 0) {
        EXPECT_LE(bytes, plan.devices[d].memory_bytes);
      }
      for (const std::size_t piece : step.reads)
        EXPECT_TRUE(!plan.devices[d].copies() || here.contains(piece))
            << "step " << s << " lacks piece " << piece;
      EXPECT_EQ(step.begins, !depths.contains(step.number));
      EXPECT_EQ(step.tile.depth.first, depths[step.number]);
      depths[step.number] = step.tile.depth.last;
      EXPECT_EQ(step.ends, step.tile.depth.last == product.division.depth);
    }
    for (const auto& [tile, depth] : depths) EXPECT_EQ(depth, product.division.depth);
    flops += plan.flops(product.division, d);
  }
  EXPECT_EQ(flops, product.division.flops(product.division.whole()));
}

TEST(Plan, ReproducesTheTimesOfTheTwoOrders) {
  const Product f64(Element::f64, 8192, 8192, 8192), f64_large(Element::f64, 16384, 16384, 16384),
      tf32(Element::f32, 32768, 32768, 32768), f32(Element::f32, 16384, 16384, 16384);
  const double two_phases = f64.best(gpu(h200_f64), {0.25, 0.5}),
               large_two_phases = f64_large.best(gpu(h200_f64), {0.25}),
               tf32_two_phases = tf32.best(gpu(h200_tf32), {0.5});
  EXPECT_NEAR(two_phases, 24.2, 0.03 * 24.2);
  EXPECT_NEAR(tf32_two_phases, 212, 0.03 * 212);
  EXPECT_NEAR(f32.best(gpu(h200_f32), {0.25}), 178, 0.05 * 178);
  EXPECT_NEAR(large_two_phases, 156.3, 0.07 * 156.3);
  // Tile after tile there is with a tile's inputs whole: its sum begins when all of them have come.
  constexpr std::int64_t whole = 32768;
  const struct {
    double here, there, in_panels, two_phases;
  } tile_after_tile[] = {
      {f64.best(gpu(h200_f64), {0}, whole), 28.8, f64.best(gpu(h200_f64), {0}), two_phases},
      {f64_large.best(gpu(h200_f64), {0}, whole), 165.2, f64_large.best(gpu(h200_f64), {0}),
       large_two_phases},
      {tf32.best(gpu(h200_tf32), {0}, whole), 275, tf32.best(gpu(h200_tf32), {0}), tf32_two_phases}};
  for (const auto& times : tile_after_tile) {
    EXPECT_NEAR(times.here, times.there, 0.03 * times.there);
    // In panels of 512, as plans have them, it begins with the first, and so gains a part of what two phases
    // gain.
    EXPECT_LT(times.in_panels, 0.97 * times.here);
    EXPECT_GT(times.in_panels, 1.05 * times.two_phases);
  }
}

TEST(Plan, IsTheSameForTheSameCall) {
  const Product product(Element::f32, 4096, 3000, 5000);
  const auto devices = peers(3, h200_f32);
  const Plan one = make_plan(product.division, product.arguments, devices);
  const Plan other = make_plan(product.division, product.arguments, devices);
  ASSERT_EQ(one.tiles, other.tiles);
  for (std::size_t d = 0; d < 3; ++d) {
    ASSERT_EQ(one.parts[d].steps.size(), other.parts[d].steps.size());
    for (std::size_t s = 0; s < one.parts[d].steps.size(); ++s)
      EXPECT_EQ(one.parts[d].steps[s].reads, other.parts[d].steps[s].reads);
  }
  check(product, one);
}

TEST(Plan, EachPieceCrossesTheHostsLinkOnce) {
  const Product product(Element::f64, 16384, 16384, 16384);
  const std::int64_t matrix = std::int64_t{16384} * 16384 * 8;
  for (const std::size_t count : {1u, 2u, 4u}) {
    const Plan plan = product.plan(peers(count, h200_f64), {2048, 1024, 0.25});
    check(product, plan);
    EXPECT_EQ(plan.bytes_from_host(), 2 * matrix);
    EXPECT_EQ(plan.bytes_from_peers(), static_cast<std::int64_t>(count - 1) * matrix);
  }
  // Devices that cannot see each other's memory fetch B each for itself.
  const Plan alone = product.plan(std::vector<Device>(4, gpu(h200_f64)), {2048, 1024, 0.25});
  check(product, alone);
  EXPECT_EQ(alone.bytes_from_host(), 5 * matrix);
}

TEST(Plan, FourDevicesWithPeersStayBoundByComputing) {
  const Product product(Element::f64, 16384, 16384, 16384);
  const double four = product.milliseconds(product.plan(peers(4, h200_f64), {2048, 1024, 0.25}));
  EXPECT_LE(four, 1.2 * 36.4);
  // Without them, the links: 48.3 ms.
  EXPECT_GE(product.milliseconds(product.plan(std::vector<Device>(4, gpu(h200_f64)), {2048, 1024, 0.25})),
            48.3);
}

TEST(Plan, StaysWithinItsMemory) {
  const Product product(Element::f64, 16384, 16384, 16384);
  const std::int64_t operands = std::int64_t{2} * 16384 * 16384 * 8;
  const double without =
      product.milliseconds(make_plan(product.division, product.arguments, {gpu(h200_f64)}));
  const Plan limited = make_plan(product.division, product.arguments, {gpu(h200_f64, operands / 4)});
  EXPECT_FALSE(limited.held);
  EXPECT_LE(limited.parts[0].bytes, operands / 4);
  check(product, limited);
  EXPECT_GT(limited.bytes_from_host(), operands);
  EXPECT_LE(product.milliseconds(limited), 1.15 * without);
  EXPECT_THROW(make_plan(product.division, product.arguments, {gpu(h200_f64, 1 << 20)}), Error);
}

TEST(Plan, TwoTilesAndThreeStepsOfInputsHideTheCopies) {
  // Tiles a quarter larger than what the link can feed; one at a time would wait for each to leave.
  const Product product(Element::f64, 26624, 26624, 26624);
  const std::int64_t tile = 13312;
  const Plan plan = product.plan(
      {gpu(h200_f64, least_bytes(product.division, product.arguments, {tile, 1024, 0}))}, {tile, 1024, 0});
  check(product, plan);
  const double bound = 1e3 * product.division.flops(product.division.whole()) / h200_f64;
  EXPECT_LE(product.milliseconds(plan), bound / 0.95);
}

TEST(Plan, UnlikeDevicesFinishTogether) {
  const Product product(Element::f32, 16384, 8192, 8192);
  for (const std::vector<double>& speeds :
       std::vector<std::vector<double>>{{1, 1}, {1, 1.8}, {1, 2}, {1, 10}, {4, 2, 1, 1}}) {
    std::vector<Device> devices;
    double all = 0;
    for (const double speed : speeds) {
      Device host{.name = "host", .kind = "host", .flops_per_second = speed * 1e11};
      devices.push_back(host);
      all += speed * 1e11;
    }
    const Plan plan = make_plan(product.division, product.arguments, devices);
    check(product, plan);
    EXPECT_EQ(plan.bytes_from_host(), 0);
    const double flops = product.division.flops(product.division.whole());
    for (std::size_t d = 0; d < speeds.size(); ++d)
      EXPECT_NEAR(plan.flops(product.division, d) / flops, speeds[d] * 1e11 / all,
                  0.05 * speeds[d] * 1e11 / all);
    EXPECT_LE(product.milliseconds(plan), 1.02e3 * flops / all);
  }
}

// A trial's chance must not cut a large product beside the block that both would compute whole.
TEST(Plan, LikeDevicesShareEquallyThoughATrialTellsThemApart) {
  const Product product(Element::f32, 16384, 16384, 16384);
  std::vector<Device> devices = peers(2, h200_f32);
  devices[0].flops_per_second *= 0.95;
  devices[1].bytes_in_per_second *= 0.9;
  even_out(devices);
  EXPECT_DOUBLE_EQ(devices[0].flops_per_second, 0.975 * h200_f32);
  EXPECT_EQ(devices[0].flops_per_second, devices[1].flops_per_second);
  EXPECT_EQ(devices[0].bytes_in_per_second, devices[1].bytes_in_per_second);
  EXPECT_EQ(rows_by_speed(product.division, product.arguments, devices)[0].last, 8192);
  // Another kind, and one that is throttled, keep what they showed.
  devices[0].flops_per_second = 0.5 * h200_f32;
  devices.push_back(gpu(0.97 * h200_f32));
  devices[2].kind = "another";
  even_out(devices);
  EXPECT_EQ(devices[0].flops_per_second, 0.5 * h200_f32);
  EXPECT_EQ(devices[2].flops_per_second, 0.97 * h200_f32);
  for (const Interval& rows : rows_by_speed(product.division, product.arguments, devices))
    EXPECT_EQ(rows.last % 128, 0) << rows.last;
}

TEST(Plan, WhatIsHeldIsFinishedInLongSteps) {
  const Product product(Element::f64, 8192, 8192, 8192);
  const auto count = [&](const Plan& plan) { return plan.parts[0].steps.size(); };
  const Plan plan = product.plan({gpu(h200_f64)}, {2048, 1024, 0.25, 4096});
  check(product, plan);
  EXPECT_EQ(count(plan), 16u * (2 + 2));  // two panels of the sweep, then 4096 and the rest
  // Where sums that are added to cost something, fewer steps take less.
  Device counted = gpu(h200_f64);
  counted.sum_bytes_per_second = 1e12;
  EXPECT_LT(product.milliseconds(product.plan({counted}, {2048, 1024, 0.5, 4096})),
            product.milliseconds(product.plan({counted}, {2048, 1024, 0.5})));
  // What is not held has no room for them.
  const Plan limited = product.plan({gpu(h200_f64, std::int64_t{1} << 28)}, {2048, 1024, 0.25, 4096});
  check(product, limited);
  EXPECT_EQ(count(limited), 16u * 8);
}

TEST(Plan, TilesAreAsLargeAsADeviceIsFastWith) {
  const Product product(Element::f32, 8192, 8192, 8192);
  Device device = gpu(h200_f32);
  device.flops_of_tiles = {{1024 * 1024, h200_f32 / 4}, {4096 * 4096, h200_f32}};
  EXPECT_GE(make_plan(product.division, product.arguments, {device}).manner.tile, 4096);
  EXPECT_EQ(device.flops_of(1000), h200_f32 / 4);
  EXPECT_EQ(device.flops_of(std::int64_t{1} << 40), h200_f32);
}

TEST(Plan, PiecesSayWhatLiesTogether) {
  const Product product(Element::f64, 4096, 4096, 4096);
  const Plan plan = product.plan({gpu(h200_f64)}, {2048, 1024, 0});
  for (const Piece& piece : plan.pieces)
    EXPECT_EQ(piece.row_bytes, (piece.slice.array == "A" ? 1024 : 2048) * 8) << piece.slice.array;
  const Plan whole = product.plan({gpu(h200_f64)}, {4096, 1024, 0});
  for (const Piece& piece : whole.pieces)
    EXPECT_EQ(piece.row_bytes, piece.slice.array == "A" ? 1024 * 8 : 1024 * 4096 * 8) << piece.slice.array;
}

// What an H200 showed of rows of several lengths, beside computing; operands 4 times as large as the memory
// allowed.
TEST(Plan, LongRowsAreWorthDeepPanelsWhereMemoryIsShort) {
  const Product product(Element::f32, 16384, 16384, 16384);
  Device device = gpu(48.9e12);
  device.step_seconds = 1e-5;
  device.sum_bytes_per_second = 2e12;
  device.bytes_in_per_second = 33.2e9;
  const auto seconds = [&](const Device& with) {
    const Plan plan = make_plan(product.division, product.arguments, {with});
    check(product, plan);
    return run_virtually(plan, product.division, product.arguments).end();
  };
  device.part_of_link = {{4096, 0.6}, {8192, 0.95}, {16384, 1}};
  const double unlimited = seconds(device);
  device.memory_bytes = std::int64_t{440} << 20;  // with room for what the kernel wants besides
  const Plan plan = make_plan(product.division, product.arguments, {device});
  EXPECT_EQ(plan.manner.panel, 2048);
  EXPECT_LT(seconds(device), 1.11 * unlimited);
  const double shallow = product.milliseconds(product.plan({device}, {4096, 1024, 0}));
  EXPECT_GT(shallow * 1e-3, 1.06 * seconds(device));
}

TEST(Plan, SmallAndEmptyProducts) {
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {5, 4, 3}, {0, 4, 3}, {5, 0, 3}, {5, 4, 0}, {17, 33, 65}}) {
    const Product product(Element::f32, m, n, k);
    check(product, make_plan(product.division, product.arguments, peers(2, h200_f32)));
  }
}

}  // namespace
}  // namespace tessera::dist
