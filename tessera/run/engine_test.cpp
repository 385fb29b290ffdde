// SPDX-License-Identifier: Apache-2.0
// Plans carried out on made-up devices of threads, whose every piece of work comes late by chance: a
// dependence that is missing shows as a wrong result.
#include "tessera/run/engine.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <set>
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"
#include "tests/made_up_lanes.hpp"

namespace tessera {
namespace {

using made_up::MadeUpLanes;
using made_up::Traits;

const Operation& product() { return *find_operation("matmul"); }

struct Setting {
  std::size_t devices = 1;
  bool peers = true;
  std::int64_t memory = 0;
  dist::Manner manner{64, 32, 0.5};
  Traits traits = {};
  std::vector<std::int64_t> rows = {};  // of each device; none: equal ones
};

// One call on made-up devices.
class Call {
 public:
  Call(Inputs& inputs, const Setting& setting)
      : inputs_(&inputs), division_((*find_division("matmul"))(inputs.arguments())) {
    std::vector<dist::Device> devices;
    for (std::size_t d = 0; d < setting.devices; ++d) {
      Traits traits = setting.traits;
      traits.peers = setting.peers;
      if (d + 1 != setting.devices) traits.fails_at_step = 0;
      lanes_.push_back(
          std::make_unique<MadeUpLanes>(find_device("cpu:threads=1"), static_cast<unsigned>(d), traits));
      dist::Device device{.name = "made up",
                          .kind = "made up",
                          .flops_per_second = 1e9,
                          .bytes_in_per_second = 1e9,
                          .bytes_out_per_second = 1e9,
                          .peer_bytes_per_second = setting.peers ? 4e9 : 0,
                          .memory_bytes = setting.memory};
      for (std::size_t other = 0; other < setting.devices; ++other)
        if (setting.peers && other != d) device.peers.push_back(other);
      devices.push_back(device);
    }
    plan_ = dist::make_plan(division_, inputs.arguments(), devices, rows_of(setting), setting.manner);
  }

  Engine& engine() {
    if (!engine_) {
      std::vector<Lanes*> lanes;
      for (const auto& one : lanes_) lanes.push_back(one.get());
      engine_.emplace(EngineCall{&product(), &inputs_->arguments(), &division_, &plan_, &request_}, lanes);
    }
    return *engine_;
  }
  const dist::Plan& plan() const { return plan_; }
  const Division& division() const { return division_; }
  const MadeUpLanes& lanes(std::size_t d) const { return *lanes_[d]; }

 private:
  std::vector<Interval> rows_of(const Setting& setting) const {
    std::vector<Interval> out;
    std::int64_t at = 0;
    const auto devices = static_cast<std::int64_t>(setting.devices);
    const std::int64_t equal = (division_.rows / devices + 15) / 16 * 16;
    for (std::size_t d = 0; d < setting.devices; ++d) {
      const std::int64_t rows = setting.rows.empty() ? equal : setting.rows[d];
      const std::int64_t last =
          d + 1 == setting.devices ? division_.rows : std::min(at + rows, division_.rows);
      out.push_back({at, last});
      at = last;
    }
    return out;
  }

  Inputs* inputs_;
  Division division_;
  dist::Plan plan_;
  Request request_{.cached = false};
  std::vector<std::unique_ptr<MadeUpLanes>> lanes_;
  std::optional<Engine> engine_;  // gone before its lanes
};

Case sizes(std::int64_t m, std::int64_t n, std::int64_t k) { return {{{"m", m}, {"n", n}, {"k", k}}}; }

// Done twice: a run leaves nothing behind that the next would stumble over.
void expect_right(Element element, const Case& problem, const Setting& setting) {
  Inputs inputs(product(), element, problem, 11, {.padding = 3});
  Call call(inputs, setting);
  for (int i = 0; i < 2; ++i) {
    inputs.poison();
    const Engine::Run run = call.engine().run();
    const Verdict verdict = verify(product(), inputs.arguments());
    EXPECT_TRUE(verdict.passed) << describe(verdict);
    EXPECT_TRUE(inputs.padding_intact());
    EXPECT_LE(run.timeline.end(), run.seconds);
  }
}

TEST(Engine, HeldPlansOnOneTwoAndFourDevices) {
  for (const std::size_t devices : {1u, 2u, 4u})
    for (const bool peers : {true, false})
      for (const double sweep : {0.0, 0.5})
        for (const std::int64_t finish : {0, 100})
          expect_right(Element::f32, sizes(300, 170, 130), {devices, peers, 0, {64, 32, sweep, finish}});
}

TEST(Engine, PlansThatFitNoDevice) {
  for (const std::size_t devices : {1u, 2u}) {
    Setting setting{.devices = devices, .memory = 160 << 10, .manner = {64, 32, 0.5}};
    for (const auto& problem : {sizes(300, 330, 410), sizes(64, 700, 500)})
      expect_right(Element::f32, problem, setting);
    Inputs inputs(product(), Element::f32, sizes(300, 330, 410), 11);
    Call call(inputs, setting);
    EXPECT_FALSE(call.plan().held);
    (void)call.engine();
    for (std::size_t d = 0; d < devices; ++d)
      EXPECT_EQ(call.lanes(d).allocated(), static_cast<std::size_t>(call.engine().bytes(d)));
  }
}

TEST(Engine, MemoryThatCopiesDoNotReachPassesThroughBuffers) {
  for (const std::int64_t memory : {0, 160 << 10})
    expect_right(Element::f32, sizes(300, 170, 130),
                 {.devices = 2, .memory = memory, .traits = {.reaches_host = false}});
  // Rows longer than a buffer.
  Inputs inputs(product(), Element::f32, sizes(2, 1, 4'500'000), 11);
  Call call(inputs, {.manner = {64, 4'500'000, 0}, .traits = {.reaches_host = false}});
  inputs.poison();
  (void)call.engine().run();
  EXPECT_TRUE(verify(product(), inputs.arguments()).passed);
  EXPECT_GT(call.lanes(0).stagings(), 4u);
}

TEST(Engine, UnevenRowsAndDevicesWithoutAny) {
  expect_right(Element::f64, sizes(300, 100, 90), {.devices = 4, .rows = {16, 0, 208, 0}});
  expect_right(Element::f64, sizes(5, 100, 90), {.devices = 2, .rows = {0, 5}});
}

TEST(Engine, TransposedOperandsAndAddends) {
  const Arguments::Words both{{"op-a", "transpose"}, {"op-b", "transpose"}};
  for (const std::int64_t memory : {0, 160 << 10}) {
    const Setting setting{.devices = 2, .memory = memory};
    expect_right(Element::f32, {{{"m", 200}, {"n", 150}, {"k", 140}}, both}, setting);
    Arguments::Words scaled = both;
    scaled["alpha"] = "-2", scaled["beta"] = "0.5";
    expect_right(Element::f32, {{{"m", 200}, {"n", 150}, {"k", 140}}, scaled, Distribution::normal, {"C0"}},
                 setting);
    expect_right(Element::i32,
                 {{{"m", 200}, {"n", 150}, {"k", 140}}, {{"beta", "3"}}, Distribution::normal, {"C0"}},
                 setting);
  }
}

TEST(Engine, AnAddendTimesZeroIsNotRead) {
  const Case problem{{{"m", 100}, {"n", 90}, {"k", 70}}, {{"beta", "0"}}, Distribution::normal, {"C0"}};
  Inputs inputs(product(), Element::f32, problem, 11);
  std::memset(inputs.arguments().array("C0").data, 0xff, inputs.arguments().array("C0").bytes());
  Call call(inputs, {.devices = 2});
  inputs.poison();
  (void)call.engine().run();
  EXPECT_TRUE(verify(product(), inputs.arguments()).passed);
}

// What follows a sum, or rounds it, keeps it whole: such a tile is one step.
TEST(Engine, ElementsOfFewBitsAreRoundedOnce) {
  const Case plain = sizes(150, 130, 200);
  for (const std::int64_t memory : {0, 160 << 10}) {
    for (const Element element : {Element::bf16, Element::f16, Element::e4m3})
      expect_right(element, plain, {.devices = 2, .memory = memory});
    expect_right(Element::f32,
                 {plain.dims,
                  {{"activation", "relu"}, {"bias-along", "rows"}},
                  Distribution::normal,
                  {"bias", "scale-a"}},
                 {.devices = 2, .memory = memory});
  }
  Inputs inputs(product(), Element::bf16, plain, 1);
  const Call call(inputs, {});
  for (const dist::Step& step : call.plan().parts[0].steps) EXPECT_TRUE(step.begins && step.ends);
}

TEST(Engine, SmallAndEmptyProducts) {
  for (const auto& problem :
       {sizes(1, 1, 1), sizes(0, 4, 3), sizes(5, 0, 3), sizes(5, 4, 0), sizes(17, 33, 65)})
    for (const std::size_t devices : {1u, 2u}) expect_right(Element::f32, problem, {devices});
  expect_right(Element::f32,
               {{{"m", 40}, {"n", 30}, {"k", 0}}, {{"beta", "2"}}, Distribution::normal, {"C0"}}, {});
}

TEST(Engine, EachPieceCrossesTheHostsLinkOnce) {
  Inputs inputs(product(), Element::f32, sizes(256, 192, 128), 11);
  for (const std::size_t devices : {1u, 2u, 4u}) {
    Call call(inputs, {.devices = devices});
    (void)call.engine().run();
    std::size_t in = 0, out = 0, peer = 0;
    for (std::size_t d = 0; d < devices; ++d)
      in += call.lanes(d).bytes_in(), out += call.lanes(d).bytes_out(), peer += call.lanes(d).bytes_peer();
    EXPECT_EQ(in, 4u * (256 * 128 + 128 * 192));
    EXPECT_EQ(peer, 4u * 128 * 192 * (devices - 1));
    EXPECT_EQ(out, 4u * 256 * 192);
  }
}

TEST(Engine, TheTimelineTellsOfEveryStep) {
  Inputs inputs(product(), Element::f32, sizes(256, 192, 128), 11);
  Call call(inputs, {.devices = 2});
  const Engine::Run run = call.engine().run();
  std::map<dist::Deed, std::size_t> seen;
  for (const dist::Span& span : run.timeline.spans) {
    ++seen[span.deed];
    EXPECT_LE(span.first, span.last);
    EXPECT_GE(span.first, -1e-3);
  }
  std::size_t steps = 0;
  for (const dist::Part& part : call.plan().parts) steps += part.steps.size();
  EXPECT_EQ(seen[dist::Deed::compute], steps);
  EXPECT_EQ(seen[dist::Deed::copy_out], call.plan().tiles.size());
  EXPECT_GT(seen[dist::Deed::copy_in], 0u);
  EXPECT_GT(seen[dist::Deed::copy_peer], 0u);
}

TEST(Engine, ADeviceThatFailsIsNamedAndNobodyHangs) {
  Inputs inputs(product(), Element::f32, sizes(300, 330, 410), 11);
  for (const std::int64_t memory : {0, 160 << 10})
    for (const std::size_t devices : {1u, 2u, 4u}) {
      Call call(inputs, {.devices = devices, .memory = memory, .traits = {.fails_at_step = 40}});
      Engine& engine = call.engine();
      try {
        (void)engine.run();
        FAIL() << "nothing failed";
      } catch (const LostDevice& lost) {
        EXPECT_EQ(lost.device, devices - 1);
        EXPECT_THROW(std::rethrow_exception(lost.cause), Error);
      }
    }
}

}  // namespace
}  // namespace tessera
