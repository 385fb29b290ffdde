// SPDX-License-Identifier: Apache-2.0
// Whatever is in a device's memory at the same time lies apart, and within what the layout says.
#include "tessera/dist/layout.hpp"
#include <gtest/gtest.h>
#include <map>
#include <random>
#include "tessera/core/operation.hpp"
#include "tessera/dist/room_list.hpp"

namespace tessera::dist {
namespace {

struct Product {
  Arguments arguments;
  Division division;

  Product(std::int64_t m, std::int64_t n, std::int64_t k)
      : arguments(
            find_operation("matmul")->signature, Element::f32,
            {{"A", {nullptr, Element::f32, {m, k}, {k, 1}}}, {"B", {nullptr, Element::f32, {k, n}, {n, 1}}}},
            {}),
        division((*find_division("matmul"))(arguments)) {}

  Plan plan(std::int64_t memory, const Manner& manner) const {
    const Device device{.name = "gpu",
                        .kind = "gpu",
                        .flops_per_second = 1e12,
                        .bytes_in_per_second = 1e10,
                        .bytes_out_per_second = 1e10,
                        .memory_bytes = memory};
    const std::vector<Interval> rows{{0, division.rows}};
    return make_plan(division, arguments, {device}, rows, manner);
  }
};

bool apart(const Place& a, const Place& b) {
  return a.offset + a.bytes() <= b.offset || b.offset + b.bytes() <= a.offset;
}

TEST(Layout, OfSlotsKeepsApartWhatIsThereTogether) {
  const Product product(300, 330, 410);
  const Plan plan = product.plan(160 << 10, {64, 32, 0});
  ASSERT_FALSE(plan.held);
  const Layout layout(plan, 0, product.division, product.arguments);
  std::map<std::size_t, Place> here;
  const auto& steps = plan.parts[0].steps;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (s >= Plan::ahead)
      for (const std::size_t piece : steps[s - Plan::ahead].drops) here.erase(piece);
    for (std::size_t c = 0; c < steps[s].copies.size(); ++c)
      here[steps[s].copies[c].piece] = layout.step(s).copies[c];
    for (const auto& [piece, place] : here) {
      EXPECT_LE(place.offset + place.bytes(), layout.bytes());
      EXPECT_EQ(place.offset % 256, 0);
      EXPECT_TRUE(apart(place, layout.step(s).writes[0]));
      for (const auto& [other, there] : here) EXPECT_TRUE(piece == other || apart(place, there));
    }
    ASSERT_EQ(layout.step(s).reads.size(), steps[s].reads.size());
    for (std::size_t r = 0; r < steps[s].reads.size(); ++r)
      EXPECT_EQ(layout.step(s).reads[r].offset, here.at(steps[s].reads[r]).offset);
    if (s > 0 && steps[s].begins) {
      EXPECT_TRUE(apart(layout.step(s).writes[0], layout.step(s - 1).writes[0]));
    }
  }
}

TEST(Layout, OfAHeldPartHasEachArrayAsOne) {
  const Product product(100, 90, 70);
  const Plan plan = product.plan(0, {64, 32, 0});
  const Layout layout(plan, 0, product.division, product.arguments);
  const auto rounded = [](std::int64_t bytes) { return (bytes + 255) / 256 * 256; };
  EXPECT_EQ(layout.bytes(), rounded(100 * 288) + rounded(70 * 368) + rounded(100 * 368));  // rows of 16 bytes
  for (std::size_t s = 0; s < plan.parts[0].steps.size(); ++s) {
    const Step& step = plan.parts[0].steps[s];
    const auto reads = product.division.reads(step.tile);
    const std::int64_t a = layout.step(0).reads[0].offset;
    EXPECT_EQ(layout.step(s).reads[0].offset, a + step.tile.rows.first * 288 + step.tile.depth.first * 4);
    const ArrayView view = view_at(layout.step(s).reads[0], reads[0], product.arguments.array("A"), nullptr);
    EXPECT_EQ(view.strides, (Extents{72, 1}));
    EXPECT_EQ(view.extents, (Extents{step.tile.rows.size(), step.tile.depth.size()}));
  }
}

TEST(RoomList, NeverGivesTheSameRoomTwice) {
  RoomList room;
  std::mt19937 random(5);
  std::map<std::int64_t, std::int64_t> taken;
  for (int i = 0; i < 2000; ++i) {
    if (!taken.empty() && (random() % 2 == 0 || taken.size() > 40)) {
      const auto gone = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      room.give_back(gone->first, gone->second);
      taken.erase(gone);
      continue;
    }
    const std::int64_t bytes = 1 + random() % 100, offset = room.take(bytes);
    for (const auto& [other, size] : taken) ASSERT_TRUE(offset + bytes <= other || other + size <= offset);
    taken[offset] = bytes;
    ASSERT_LE(offset + bytes, room.end());
  }
  for (const auto& [offset, size] : taken) room.give_back(offset, size);
  EXPECT_EQ(room.take(room.end()), 0);  // all of it is one again
}

}  // namespace
}  // namespace tessera::dist
