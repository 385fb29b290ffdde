// SPDX-License-Identifier: Apache-2.0
// A call by a plan made beforehand, on made-up devices: what the trial finds, what memory is taken, what is
// told.
#include "tessera/run/overlapped.hpp"
#include <gtest/gtest.h>
#include "tessera/run/inputs.hpp"
#include "tessera/run/spread.hpp"
#include "tests/made_up_lanes.hpp"

namespace tessera {
namespace {

using made_up::MadeUpLanes;
using made_up::Traits;

const Operation& product() { return *find_operation("matmul"); }

struct Made {
  Inputs inputs;
  Division division;
  Spread spread;
  std::vector<MadeUpLanes*> lanes = {};

  Made(Element element, const Case& problem, std::size_t devices)
      : inputs(product(), element, problem, 3, {.padding = 2}),
        division((*find_division("matmul"))(inputs.arguments())),
        spread{.devices = std::vector<Device>(devices, find_device("cpu:threads=1")),
               .request = {.cached = false}} {}

  Overlapped overlapped(Traits traits = {}) {
    lanes.clear();
    return Overlapped(product(), inputs.arguments(), division, spread, [this, traits](const Device& device) {
      auto out = std::make_unique<MadeUpLanes>(device, static_cast<unsigned>(lanes.size()), traits);
      lanes.push_back(out.get());
      return out;
    });
  }
};

Case sizes(std::int64_t m, std::int64_t n, std::int64_t k) { return {{{"m", m}, {"n", n}, {"k", k}}}; }

TEST(Overlapped, GivesTheProductAgainAndAgain) {
  Made made(Element::f32, sizes(400, 300, 200), 2);
  Overlapped call = made.overlapped();
  for (int i = 0; i < 3; ++i) {
    made.inputs.poison();
    const Together together = call.run();
    EXPECT_TRUE(verify(product(), made.inputs.arguments()).passed);
    EXPECT_TRUE(made.inputs.padding_intact());
    ASSERT_TRUE(together.overlap);
    EXPECT_GT(together.overlap->start_seconds, 0);
    EXPECT_EQ(together.overlap->bytes_from_host, 4 * (400 * 200 + 200 * 300));
    double flops = 0;
    for (const Share& share : together.shares) flops += share.flops;
    EXPECT_EQ(flops, 2.0 * 400 * 300 * 200);
    EXPECT_GT(together.shares[0].busy_seconds, 0);
  }
}

TEST(Overlapped, TakesNoMoreMemoryThanIsAllowed) {
  Made made(Element::f32, sizes(2000, 1100, 1500), 2);
  made.spread.memory_bytes = 14 << 20;
  Overlapped call = made.overlapped();
  EXPECT_FALSE(call.plan().held);
  made.inputs.poison();
  const Together together = call.run();
  EXPECT_TRUE(verify(product(), made.inputs.arguments()).passed);
  for (const std::int64_t bytes : together.overlap->memory_bytes) {
    EXPECT_LE(bytes, made.spread.memory_bytes);
    EXPECT_GT(bytes, made.spread.memory_bytes / 4);
  }
  made.spread.memory_bytes = 1 << 10;
  EXPECT_THROW(made.overlapped(), Error);
}

TEST(Overlapped, SharesAreThoseThatWereNamed) {
  Made made(Element::f64, sizes(480, 64, 96), 2);
  made.spread.split = parse_split("2:1");
  Overlapped call = made.overlapped();
  made.inputs.poison();
  const Together together = call.run();
  EXPECT_TRUE(verify(product(), made.inputs.arguments()).passed);
  EXPECT_EQ(together.shares[0].flops, 2.0 * 320 * 64 * 96);
  made.spread.split = parse_split("1:2:3");
  EXPECT_THROW(made.overlapped(), Error);
}

TEST(Overlapped, NamesTheDeviceThatFails) {
  Made made(Element::f32, sizes(400, 300, 200), 2);
  try {
    made.overlapped({.fails_at_step = 2});
    FAIL() << "nothing failed";
  } catch (const LostDevice& lost) {
    EXPECT_EQ(lost.device, 0u);
  }
}

TEST(Overlapped, LeavesOutWhoWouldAddNextToNothing) {
  const made_up::OnLanes lanes;
  Inputs inputs(product(), Element::f32, sizes(400, 300, 200), 3);
  const Device fast = find_device("cpu:threads=1"), slow = find_device("simt:threads=1");
  for (const auto& devices : {std::vector{fast, slow, fast}, {slow, fast}})
    for (const char* split : {"plan", "auto"}) {
      inputs.poison();
      const Spread spread{.devices = devices, .request = {.cached = false}, .split = parse_split(split)};
      const Together together = run_together(product(), inputs.arguments(), spread, true);
      EXPECT_TRUE(together.verdict->passed);
      EXPECT_TRUE(together.overlap.has_value());
      for (std::size_t d = 0; d < devices.size(); ++d) {
        EXPECT_EQ(together.shares[d].plan.device.where, devices[d].where);
        EXPECT_EQ(together.shares[d].left_out.empty(), devices[d].where == Where::cpu);
        EXPECT_EQ(together.shares[d].tiles == 0, devices[d].where == Where::simt);
      }
      for (const dist::Span& span : together.timeline.spans)
        EXPECT_EQ(devices[span.device].where, Where::cpu);
    }
  // Whoever asks for a queue, or names shares, means all of them.
  const Spread spread{.devices = {fast, slow}, .request = {.cached = false}, .split = parse_split("dynamic")};
  EXPECT_EQ(run_together(product(), inputs.arguments(), spread).shares[1].left_out, "");
}

TEST(Overlapped, LeavesToTheQueueWhatItCannotDo) {
  Made made(Element::f32, sizes(64, 64, 64), 2);
  EXPECT_TRUE(Overlapped::refuses(product(), made.inputs.arguments(), made.division,
                                  made.spread));  // processors have no lanes
  made.spread.protect = true;
  EXPECT_EQ(Overlapped::refuses(product(), made.inputs.arguments(), made.division, made.spread),
            "devices are in processes of their own");
}

}  // namespace
}  // namespace tessera
