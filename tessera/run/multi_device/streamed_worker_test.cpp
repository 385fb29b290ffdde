// SPDX-License-Identifier: Apache-2.0
// Tests tiles from a queue on made-up devices that overlap copies and computation, with random delays.
#include "tessera/run/multi_device/streamed_worker.hpp"
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include "tessera/run/multi_device/tiles.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/multi_device/multi_device.hpp"
#include "tests/made_up_streams.hpp"

namespace tessera {
namespace {

using made_up::MadeUpStreams;
using made_up::OnStreams;
using made_up::Traits;

const Operation& matmul() { return *find_operation("matmul"); }

Case sizes(std::int64_t m, std::int64_t n, std::int64_t k) { return {{{"m", m}, {"n", n}, {"k", k}}}; }

std::vector<char> result_bytes(const Arguments& arguments) {
  const Array packed = packed_copy(arguments.array("C"));
  const char* const first = packed.as<char>();
  return {first, first + packed.view().bytes()};
}

std::vector<char> alone(Inputs& inputs) {
  inputs.poison();
  (void)run(matmul(), inputs.arguments(), {.device = "cpu", .cached = false});
  return result_bytes(inputs.arguments());
}

// One worker, and tiles of a product.
struct OneWorker {
  Inputs inputs;
  Partition partition;
  MadeUpStreams* streams = nullptr;
  std::unique_ptr<StreamedWorker> worker;
  std::size_t before = 0;  // bytes copied in before the first tile

  OneWorker(const Case& problem, std::int64_t memory, std::int64_t wanted, Traits traits = {},
            std::shared_ptr<HeldInputs> held = std::make_shared<HeldInputs>())
      : inputs(matmul(), Element::f32, problem, 3, {.padding = 2}),
        partition((*find_partition("matmul"))(inputs.arguments())) {
    const Device device = find_device("cpu:threads=1");
    auto made = std::make_unique<MadeUpStreams>(device, 1, traits);
    streams = made.get();
    const Request request{.cached = false};
    worker = std::make_unique<StreamedWorker>(
        matmul(), inputs.arguments(), partition, choose_on(device, matmul(), inputs.arguments(), request),
        request, std::move(made),
        StreamedWorker::Options{
            .memory_bytes = memory, .largest = tiles(wanted).front(), .held = std::move(held)});
    before = streams->bytes_in();
    inputs.poison();
  }

  // Two tiles in flight at a time, as in the queue's threads.
  std::vector<TimelineSpan> compute(const std::vector<Tile>& tiles) {
    std::vector<TimelineSpan> out;
    for (std::size_t i = 0; i <= tiles.size(); ++i) {
      if (i < tiles.size()) worker->begin(tiles[i]);
      if (i == 0) continue;
      const auto more = worker->finish();
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }

  std::vector<Tile> tiles(std::int64_t wanted) const {
    return tiles_of(partition, inputs.arguments(), {0, partition.rows}, {.wanted = wanted, .min_flops = 1});
  }
};

TEST(StreamedWorker, CopiesEachInputSliceOnceIfAllFit) {
  OneWorker one(sizes(200, 170, 130), std::int64_t{1} << 30, 20);
  const auto tiles = one.tiles(20);
  ASSERT_GT(tiles.size(), 10u);
  const auto spans = one.compute(tiles);
  EXPECT_TRUE(verify(matmul(), one.inputs.arguments()).passed);
  EXPECT_TRUE(one.inputs.padding_intact());
  EXPECT_EQ(one.streams->bytes_in() - one.before, 4u * (200 * 130 + 130 * 170));
  EXPECT_EQ(one.streams->bytes_out(), 4u * 200 * 170);
  std::size_t computed = 0;
  for (const TimelineSpan& span : spans) {
    EXPECT_LE(span.first, span.last);
    EXPECT_GE(span.last, 0);
    computed += span.activity == Activity::compute;
  }
  EXPECT_EQ(computed, tiles.size());
}

TEST(StreamedWorker, OverlapsDownloadsWithComputation) {
  std::promise<void> open;
  const std::shared_future<void> gate = open.get_future().share();
  std::atomic<bool> timed_out{false};
  // The first two steps load code and are timed, before any tile; the fourth one belongs to the second tile.
  const auto hold = [&](std::size_t step) {
    if (step == 4 && gate.wait_for(std::chrono::seconds(10)) != std::future_status::ready) timed_out = true;
  };
  OneWorker one(sizes(200, 170, 130), std::int64_t{1} << 30, 20);
  one.streams->before_steps(hold);
  const auto tiles = one.tiles(20);
  one.worker->begin(tiles[0]);
  one.worker->begin(tiles[1]);
  (void)one.worker->finish();
  open.set_value();
  (void)one.worker->finish();
  EXPECT_FALSE(timed_out);
}

TEST(StreamedWorker, EvictsTheLeastRecentlyUsedSlice) {
  constexpr std::int64_t memory = 340'000;  // enough for three tiles, and little more
  OneWorker one(sizes(300, 280, 260), memory, 36);
  const auto tiles = one.tiles(36);
  (void)one.compute(tiles);
  EXPECT_TRUE(verify(matmul(), one.inputs.arguments()).passed);
  EXPECT_LE(one.streams->max_held(), static_cast<std::size_t>(memory));
  EXPECT_GT(one.streams->bytes_in(), 4u * (300 * 260 + 260 * 280));
  // Copying each tile's inputs anew would be far more.
  std::size_t each = 0;
  for (const Tile& tile : tiles)
    for (const Slice& slice : one.partition.reads(tile))
      each += bytes_of(slice, one.inputs.arguments().array(slice.array));
  EXPECT_LT(one.streams->bytes_in() - one.before, each * 3 / 4);
}

TEST(StreamedWorker, StagesPageableMemory) {
  OneWorker one(sizes(200, 170, 130), std::int64_t{1} << 30, 20, {.pinned = false});
  (void)one.compute(one.tiles(20));
  EXPECT_TRUE(verify(matmul(), one.inputs.arguments()).passed);
  EXPECT_GT(one.streams->stagings(), 0u);
}

TEST(StreamedWorker, NoDeviceCopiesFromAFailedOne) {
  const auto held = std::make_shared<HeldInputs>();
  OneWorker failed(sizes(200, 170, 130), std::int64_t{1} << 30, 20, {}, held),
      other(sizes(200, 170, 130), std::int64_t{1} << 30, 20, {}, held);
  const auto messages = [](const std::vector<TimelineSpan>& spans) {
    return std::ranges::count(spans, Activity::message, &TimelineSpan::activity);
  };
  const auto tiles = failed.tiles(20);
  (void)failed.compute({tiles[0], tiles.back()});
  EXPECT_EQ(messages(other.compute({tiles[0]})), 1);
  failed.worker->stop();
  EXPECT_EQ(messages(other.compute({tiles.back()})), 0);
}

TEST(StreamedWorker, EverySplitGivesTheBitsOfOneDeviceAlone) {
  for (const Element element : {Element::f32, Element::bf16}) {
    Inputs inputs(matmul(), element,
                  {{{"m", 333}, {"n", 250}, {"k", 120}},
                   {{"op-a", "transpose"}, {"beta", "2"}},
                   Distribution::normal,
                   {"C0"}},
                  3, {.padding = 1});
    const auto wanted = alone(inputs);
    for (const char* split : {"dynamic", "auto", "2:1"}) {
      const OnStreams streams;
      MultiDeviceOptions options{.devices = std::vector<Device>(2, find_device("cpu:threads=1")),
                                 .request = {.cached = false},
                                 .split = parse_split(split)};
      inputs.poison();
      const MultiDeviceOutcome outcome = run_on_devices(matmul(), inputs.arguments(), options, true);
      EXPECT_EQ(streams.opened(), 2u);
      EXPECT_TRUE(outcome.same_bits);
      EXPECT_TRUE(result_bytes(inputs.arguments()) == wanted) << split;
      EXPECT_TRUE(inputs.padding_intact());
      std::int64_t bytes = 0;
      for (const DeviceReport& share : outcome.devices) {
        EXPECT_LE(share.busy_seconds, outcome.seconds);
        bytes += share.host_bytes;
      }
      const Partition whole = partition_of(matmul(), inputs.arguments());
      EXPECT_EQ(bytes, bytes_of(whole, inputs.arguments(), whole.whole())) << split;
    }
  }
}

TEST(StreamedWorker, WithoutPeersInputsComeFromTheHost) {
  Inputs inputs(matmul(), Element::f32, sizes(400, 300, 100), 3);
  const auto wanted = alone(inputs);
  const OnStreams streams(std::vector<Traits>{{.peers = false}});
  inputs.poison();
  const MultiDeviceOutcome outcome = run_on_devices(
      matmul(), inputs.arguments(),
      {.devices = std::vector<Device>(3, find_device("cpu:threads=1")), .request = {.cached = false}}, true);
  for (const DeviceReport& share : outcome.devices) EXPECT_EQ(share.peer_bytes, 0);
  EXPECT_TRUE(result_bytes(inputs.arguments()) == wanted);
}

// Four devices without room for all inputs take them from each other while these are evicted.
TEST(StreamedWorker, PeersEvictWhatOthersRead) {
  Inputs inputs(matmul(), Element::f32, sizes(300, 280, 260), 3);
  const auto wanted = alone(inputs);
  for (int run = 0; run < 5; ++run) {
    const OnStreams streams;
    inputs.poison();
    const MultiDeviceOutcome outcome =
        run_on_devices(matmul(), inputs.arguments(),
                       {.devices = std::vector<Device>(4, find_device("cpu:threads=1")),
                        .request = {.cached = false},
                        .memory_bytes = 340'000},
                       true);
    EXPECT_GT(outcome.devices[0].peer_bytes, 0);
    for (const TimelineSpan& span : outcome.timeline.spans) EXPECT_LE(span.first, span.last);
    EXPECT_TRUE(result_bytes(inputs.arguments()) == wanted);
  }
}

TEST(StreamedWorker, ATimeIsPredictedIfAllInputsStay) {
  const auto predicted = [](std::int64_t k, std::int64_t memory) {
    Inputs inputs(matmul(), Element::f32, sizes(300, 280, k), 3);
    const OnStreams streams;
    return run_on_devices(matmul(), inputs.arguments(),
                          {.devices = std::vector<Device>(2, find_device("cpu:threads=1")),
                           .request = {.cached = false},
                           .memory_bytes = memory,
                           .rates = LinkRates{1e9, 1e9, 1e9, 1e9, 1e9}})
        .predicted;
  };
  const auto all = predicted(260, 0);
  ASSERT_TRUE(all);
  EXPECT_TRUE(std::isfinite(all->seconds));
  EXPECT_FALSE(predicted(260, 340'000)) << "inputs are evicted";
  EXPECT_FALSE(predicted(0, 0)) << "nothing is computed";
}

// The default split of a GPU and the processors.
TEST(StreamedWorker, WorksWithADeviceWithoutStreams) {
  Inputs inputs(matmul(), Element::f64, sizes(256, 200, 64), 3);
  const OnStreams streams;
  const MultiDeviceOptions options{.devices = {find_device("cpu:threads=1"), find_device("simt:threads=1")},
                                   .request = {.cached = false}};
  inputs.poison();
  const MultiDeviceOutcome outcome = run_on_devices(matmul(), inputs.arguments(), options, true);
  EXPECT_EQ(streams.opened(), 1u);
  EXPECT_TRUE(outcome.verdict->passed);
  bool in = false, out = false;
  for (const TimelineSpan& span : outcome.timeline.spans) {
    if (span.device != 0) continue;
    in = in || span.activity == Activity::copy_in;
    out = out || span.activity == Activity::copy_out;
  }
  EXPECT_TRUE(in && out);
}

TEST(StreamedWorker, AFailedDeviceLosesNothing) {
  Inputs inputs(matmul(), Element::f32, sizes(400, 300, 100), 3);
  const auto wanted = alone(inputs);
  for (const std::size_t step : {1u, 2u, 5u}) {
    const OnStreams streams(std::vector<Traits>{{.fails_at_step = step}, {}});
    const MultiDeviceOptions options{.devices = std::vector<Device>(2, find_device("cpu:threads=1")),
                                     .request = {.cached = false},
                                     .split = parse_split("1:1")};
    inputs.poison();
    const MultiDeviceOutcome outcome = run_on_devices(matmul(), inputs.arguments(), options, true);
    EXPECT_EQ(outcome.devices[0].failed, "this device is broken");
    EXPECT_LT(outcome.devices[0].tiles, step);
    EXPECT_TRUE(result_bytes(inputs.arguments()) == wanted);
  }
}

// While inputs are evicted, and copied from each other.
TEST(StreamedWorker, AFailureOfAnyCallLosesNothing) {
  Inputs inputs(matmul(), Element::f32, sizes(300, 280, 260), 3);
  const auto wanted = alone(inputs);
  std::size_t failures = 0;
  for (std::size_t call = 1; call < 400; call += 13) {
    const OnStreams streams(std::vector<Traits>{{.fails_at_call = call}, {}});
    inputs.poison();
    const MultiDeviceOutcome outcome =
        run_on_devices(matmul(), inputs.arguments(),
                       {.devices = std::vector<Device>(3, find_device("cpu:threads=1")),
                        .request = {.cached = false},
                        .memory_bytes = 340'000});
    failures += !outcome.devices[0].failed.empty();
    for (const std::size_t other : {1, 2}) EXPECT_TRUE(outcome.devices[other].failed.empty()) << call;
    EXPECT_TRUE(result_bytes(inputs.arguments()) == wanted) << call;
  }
  EXPECT_GT(failures, 10u);
}

TEST(StreamedWorker, ReportsTheReasonsIfAllDevicesFail) {
  Inputs inputs(matmul(), Element::f32, sizes(900, 700, 500), 3);
  const OnStreams streams(std::vector<Traits>{{.fails_at_step = 3}});
  const MultiDeviceOptions options{.devices = std::vector<Device>(2, find_device("cpu:threads=1")),
                                   .request = {.cached = false},
                                   .split = parse_split("dynamic")};
  try {
    (void)run_on_devices(matmul(), inputs.arguments(), options);
    FAIL();
  } catch (const Error& error) {
    const std::string said = error.what();
    for (const char* device : {"(device 0): this device is broken", "(device 1): this device is broken"})
      EXPECT_NE(said.find(device), std::string::npos) << said;
  }
}

// Each device in a process of its own, which has such streams, too; one of them is killed.
TEST(StreamedWorker, InProcessesADeviceThatIsKilledLosesNothing) {
  Inputs inputs(matmul(), Element::f32, sizes(400, 300, 100), 3);
  const auto wanted = alone(inputs);
  const OnStreams streams;
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tessera_worker_with_streams";
  (void)setenv("TESSERA_WORKER", program.c_str(), 1);
  const MultiDeviceOptions options{.devices = std::vector<Device>(2, find_device("cpu:threads=1")),
                                   .request = {.cached = false},
                                   .split = parse_split("1:1"),
                                   .protect = true,
                                   .faults = parse_faults("kill:1@2")};
  inputs.poison();
  const MultiDeviceOutcome outcome = run_on_devices(matmul(), inputs.arguments(), options, true);
  (void)unsetenv("TESSERA_WORKER");
  EXPECT_EQ(streams.opened(), 0u);
  EXPECT_NE(outcome.devices[1].failed.find("Killed"), std::string::npos) << outcome.devices[1].failed;
  EXPECT_GE(outcome.devices[0].checked, outcome.devices[0].tiles);
  EXPECT_TRUE(std::ranges::any_of(
      outcome.timeline.spans, [](const TimelineSpan& span) { return span.activity == Activity::copy_in; }));
  EXPECT_TRUE(result_bytes(inputs.arguments()) == wanted);
}

// Each tile is checked by the host; a device is given up after three wrong ones.
TEST(StreamedWorker, RecomputesAWrongProtectedTile) {
  Inputs inputs(matmul(), Element::f32, sizes(400, 300, 100), 3);
  const OnStreams streams;
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tessera_worker_with_streams";
  (void)setenv("TESSERA_WORKER", program.c_str(), 1);
  for (const char* wrong : {"1", "2"}) {
    (void)setenv("TESSERA_WRONG_COPIES", wrong, 1);
    const MultiDeviceOptions options{.devices = std::vector<Device>(2, find_device("cpu:threads=1")),
                                     .request = {.cached = false},
                                     .split = parse_split("1:1"),
                                     .protect = true};
    inputs.poison();
    const MultiDeviceOutcome outcome = run_on_devices(matmul(), inputs.arguments(), options, true);
    for (const DeviceReport& device : outcome.devices) {
      EXPECT_EQ(device.wrong, static_cast<std::size_t>(wrong[0] - '0'));
      EXPECT_EQ(device.checked, device.tiles + device.wrong);
      EXPECT_TRUE(device.failed.empty());
    }
    EXPECT_TRUE(outcome.verdict->passed);
  }
  (void)setenv("TESSERA_WRONG_COPIES", "99", 1);
  EXPECT_THROW((void)run_on_devices(matmul(), inputs.arguments(),
                                    {.devices = {find_device("cpu:threads=1")}, .protect = true}),
               Error);
  (void)unsetenv("TESSERA_WRONG_COPIES");
  (void)unsetenv("TESSERA_WORKER");
}

}  // namespace
}  // namespace tessera
