// SPDX-License-Identifier: Apache-2.0
// Tests that one call on several devices gives the result of one device; devices in processes of their own;
// whole calls dispatched to devices.
#include "tessera/run/multi_device/multi_device.hpp"
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include "tessera/core/array/shared_array.hpp"
#include "tessera/core/operation/promise.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/multi_device/dispatch.hpp"
#include "tessera/run/multi_device/process_worker.hpp"
#include "tessera/run/multi_device/tiles.hpp"

namespace tessera {
namespace {

const Operation& product() { return *find_operation("matmul"); }

std::vector<Device> devices_of(std::initializer_list<const char*> words) {
  std::vector<Device> out;
  for (const char* word : words) out.push_back(find_device(word));
  return out;
}

Case square(std::int64_t size, std::int64_t k) { return {{{"m", size}, {"n", size}, {"k", k}}}; }

std::vector<char> bytes_of_result(const Arguments& arguments) {
  const Array packed = packed_copy(arguments.array("C"));
  const char* const first = packed.as<char>();
  return {first, first + packed.view().bytes()};
}

std::vector<char> alone(Inputs& inputs, const char* device) {
  inputs.poison();
  (void)run(product(), inputs.arguments(), {.device = device, .cached = false});
  return bytes_of_result(inputs.arguments());
}

TEST(MultiDevice, AnySplitOverLikeDevicesHasTheBitsOfOneAlone) {
  for (const auto& [devices, device, size] :
       {std::tuple{devices_of({"cpu:threads=1", "cpu:threads=2"}), "cpu", 333},
        std::tuple{devices_of({"simt:threads=1", "simt:threads=2", "simt:threads=1"}), "simt", 160}}) {
    Inputs inputs(product(), Element::f32, square(size, 130), 3, {.padding = 1});
    const auto wanted = alone(inputs, device);
    for (const char* split : {"dynamic", "auto", "2:1:1", "0:3:1", "1:0:0"}) {
      MultiDeviceOptions options{
          .devices = devices, .request = {.cached = false}, .split = parse_split(split)};
      if (options.split.how == Split::How::shares) options.split.shares.resize(devices.size());
      inputs.poison();
      const MultiDeviceOutcome outcome = run_on_devices(product(), inputs.arguments(), options, true);
      EXPECT_TRUE(outcome.same_bits);
      EXPECT_TRUE(bytes_of_result(inputs.arguments()) == wanted) << device << " " << split;
      EXPECT_TRUE(outcome.verdict->passed);
      EXPECT_TRUE(inputs.padding_intact());
    }
  }
}

TEST(MultiDevice, UsesTheGivenShares) {
  Inputs inputs(product(), Element::f32, square(768, 64), 3);
  const MultiDeviceOptions options{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"}),
                                   .request = {.cached = false},
                                   .split = parse_split("2:1")};
  const MultiDeviceOutcome outcome = run_on_devices(product(), inputs.arguments(), options);
  EXPECT_EQ(outcome.devices[0].flops, 2.0 * 512 * 768 * 64);
  EXPECT_EQ(outcome.devices[1].flops, 2.0 * 256 * 768 * 64);
  std::size_t spans = 0;
  for (const DeviceReport& share : outcome.devices) spans += share.tiles;
  EXPECT_EQ(outcome.timeline.spans.size(), spans);
  EXPECT_LE(outcome.timeline.end(), outcome.seconds);
}

// A variant that accepts a problem of 777 rows, but none of its parts.
void register_a_coy_variant() {
  for (const Variant* known : ladder_of(product().name)) {
    if (known->name != "naive") continue;
    Variant coy = *known;
    for (Choice& choice : coy.choices)
      choice.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
        if (arguments.dim("m") == 777) return std::nullopt;
        return "it is not 777 rows";
      };
    return register_variant(std::move(coy), {"ops/matmul/cpu_77_coy.cpp", 1});
  }
}

TEST(MultiDevice, PartsRefusedByTheWholesVariantUseAnother) {
  register_a_coy_variant();
  Inputs inputs(product(), Element::f32, {{{"m", 777}, {"n", 64}, {"k", 48}}}, 3);
  const MultiDeviceOptions options{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"}),
                                   .request = {.cached = false}};
  const MultiDeviceOutcome outcome = run_on_devices(product(), inputs.arguments(), options, true);
  EXPECT_EQ(outcome.devices[0].plan.variant->name, "coy");
  EXPECT_FALSE(outcome.same_bits);
  EXPECT_TRUE(outcome.verdict->passed);
}

TEST(MultiDevice, UnlikeDevicesStayWithinTheBound) {
  Inputs inputs(product(), Element::f64, square(256, 64), 3);
  const MultiDeviceOptions options{.devices = devices_of({"cpu:threads=1", "simt:threads=1"}),
                                   .request = {.cached = false}};
  const MultiDeviceOutcome outcome = run_on_devices(product(), inputs.arguments(), options, true);
  EXPECT_FALSE(outcome.same_bits);
  EXPECT_TRUE(outcome.verdict->passed);
}

// Registers a variant of the executor that keeps the promise, and takes no other calls.
void register_a_promising_variant() {
  for (const Variant* known : ladder_of(product().name)) {
    if (known->name != "naive" || known->where != Where::cpu) continue;
    Variant kept = *known;
    for (Choice& choice : kept.choices)
      choice.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
        if (arguments.text("batch-invariant") == "yes") return std::nullopt;
        return "nothing is promised";
      };
    kept.where = Where::simt;
    keep_promise("batch-invariant", {"ops/matmul/gpu_78_kept.cu", 1});
    return register_variant(std::move(kept), {"ops/matmul/gpu_78_kept.cu", 1});
  }
}

TEST(MultiDevice, APromiseRequiresDevicesThatGiveTheSameBits) {
  register_a_promising_variant();
  Case shape = square(512, 64);
  shape.words = {{"batch-invariant", "yes"}};
  Inputs inputs(product(), Element::f32, shape, 3);
  MultiDeviceOptions options{.devices = devices_of({"cpu:threads=1", "cpu:threads=2"}),
                             .request = {.cached = false}};
  EXPECT_TRUE(run_on_devices(product(), inputs.arguments(), options).same_bits);
  options.devices = devices_of({"cpu:threads=1", "simt:threads=1"});
  try {
    (void)run_on_devices(product(), inputs.arguments(), options);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--batch-invariant: parts of the result would not have the bits of one device alone");
  }
}

TEST(MultiDevice, DevicesTakeTurnsAtABaselinesProcess) {
  const MultiDeviceOptions options{.devices = devices_of({"cpu:threads=1", "cpu:threads=1", "cpu:threads=1"}),
                                   .request = {.variant = "openblas"},
                                   .split = parse_split("dynamic")};
  Inputs inputs(product(), Element::f32, square(512, 64), 3);
  try {
    (void)choose_on(options.devices[0], product(), inputs.arguments(), options.request);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const MultiDeviceOutcome outcome = run_on_devices(product(), inputs.arguments(), options, true);
  EXPECT_TRUE(outcome.verdict->passed);
}

TEST(MultiDevice, ADeviceThatFailsLosesNothing) {
  Inputs inputs(product(), Element::f32, square(512, 64), 3);
  const auto wanted = alone(inputs, "cpu");
  for (const char* split : {"dynamic", "auto", "1:1"}) {
    MultiDeviceOptions options{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"}),
                               .request = {.cached = false},
                               .split = parse_split(split)};
    // Device 1 waits until device 0 has failed, so that the failure always happens.
    std::atomic<bool> failed = false;
    options.before_tile = [&failed](std::size_t device, std::size_t) {
      while (device == 1 && !failed) std::this_thread::yield();
      if (device == 0 && !failed.exchange(true)) throw Error("it fell off the bus");
    };
    inputs.poison();
    const MultiDeviceOutcome outcome = run_on_devices(product(), inputs.arguments(), options, true);
    EXPECT_EQ(outcome.devices[0].failed, "it fell off the bus");
    EXPECT_EQ(outcome.devices[0].tiles, 0u);
    EXPECT_TRUE(outcome.devices[1].failed.empty());
    EXPECT_TRUE(bytes_of_result(inputs.arguments()) == wanted);
    EXPECT_TRUE(outcome.verdict->passed);
  }
}

TEST(MultiDevice, ReportsTheReasonsIfAllDevicesFail) {
  Inputs inputs(product(), Element::f32, square(64, 8), 3);
  MultiDeviceOptions options{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"})};
  options.before_tile = [](std::size_t, std::size_t) { throw Error("no power"); };
  try {
    (void)run_on_devices(product(), inputs.arguments(), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no power");
  }
}

TEST(MultiDevice, SmallAndEmptyResults) {
  for (const auto& [m, n, k] :
       std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {0, 5, 3}, {5, 0, 3}, {5, 7, 0}, {17, 1, 9}}) {
    Inputs inputs(product(), Element::f64, {{{"m", m}, {"n", n}, {"k", k}}}, 3);
    const MultiDeviceOptions options{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"})};
    EXPECT_TRUE(run_on_devices(product(), inputs.arguments(), options, true).verdict->passed) << m << n << k;
  }
}

TEST(MultiDevice, RefusesIndivisibleOperations) {
  Inputs inputs(product(), Element::f32, square(64, 8), 3);
  EXPECT_THROW(run_on_devices(product(), inputs.arguments(),
                              {.devices = devices_of({"cpu"}), .split = parse_split("1:2")}),
               Error);
  EXPECT_THROW(run_on_devices(product(), inputs.arguments(), {}), Error);
  Operation whole = product();
  whole.name = "whole";
  EXPECT_THROW(run_on_devices(whole, inputs.arguments(), {.devices = devices_of({"cpu"})}), Error);
}

TEST(Splits, AreReadAsTyped) {
  EXPECT_EQ(parse_split("").how, Split::How::dynamic);
  EXPECT_EQ(parse_split("dynamic").how, Split::How::dynamic);
  EXPECT_EQ(parse_split("auto").how, Split::How::dynamic);
  EXPECT_EQ(parse_split("2048:1024").shares, (std::vector<double>{2048, 1024}));
  EXPECT_EQ(parse_split("0.5:1:0").shares, (std::vector<double>{0.5, 1, 0}));
  for (const char* word : {"half", "2:", ":2", "2;1", "-1:2", "nan:1", "2:1:"})
    EXPECT_THROW(parse_split(word), Error) << word;
}

TEST(Tiles, CoverTheResultOnceWithinTheMemory) {
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {3072, 3072, 3072}, {100, 5000, 70}, {5000, 1, 400}, {40, 40, 40}}) {
    Inputs inputs(product(), Element::f32, {{{"m", m}, {"n", n}, {"k", 1}}}, 3);
    const Partition partition = (*find_partition("matmul"))(inputs.arguments());
    for (const std::int64_t memory : {0, 200'000}) {
      std::int64_t elements = 0;
      const auto tiles =
          tiles_of(partition, inputs.arguments(), {0, m}, {.min_flops = 1, .memory_bytes = memory});
      for (const Tile& tile : tiles) {
        elements += tile.rows.size() * tile.cols.size();
        if (memory > 0) {
          EXPECT_LE(bytes_of(partition, inputs.arguments(), tile), memory);
        }
        for (const Tile& other : tiles)
          if (&other != &tile) {
            EXPECT_TRUE(other.rows.last <= tile.rows.first || tile.rows.last <= other.rows.first ||
                        other.cols.last <= tile.cols.first || tile.cols.last <= other.cols.first);
          }
      }
      EXPECT_EQ(elements, m * n);
      EXPECT_TRUE(memory > 0 || tiles.size() <= 128u) << tiles.size();
      // A memory limit that holds everything changes nothing.
      if (memory == 0) {
        EXPECT_EQ(tiles, tiles_of(partition, inputs.arguments(), {0, m},
                                  {.min_flops = 1, .memory_bytes = std::int64_t{1} << 40}));
      }
    }
  }
}

TEST(SharedArray, IsFoundByAnyOfItsBytesWhileItLives) {
  const char* address = nullptr;
  {
    const Array array = shared_array(Element::f64, {3, 5});
    address = array.as<char>();
    EXPECT_EQ(array.as<double>()[14], 0);
    const auto place = find_shared(address + 100);
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(place->offset, 100);
    EXPECT_EQ(place->bytes, 120);
    EXPECT_FALSE(find_shared(address + 120).has_value());
    const auto other = map_shared(place->file, 120);
    static_cast<double*>(other.get())[7] = 2.5;
    EXPECT_EQ(array.as<double>()[7], 2.5);
  }
  EXPECT_FALSE(find_shared(address).has_value());
  const double local = 0;
  EXPECT_FALSE(find_shared(&local).has_value());
}

TEST(WorkerProcess, ReportsHowItEnded) {
  WorkerProcess ended("/bin/true");
  EXPECT_THROW(ended.receive(20), Error);
  EXPECT_THROW(WorkerProcess("/no/such/program"), Error);
  WorkerProcess silent(worker_program());  // nothing is asked of it
  kill(silent.id(), SIGKILL);
  try {
    (void)silent.receive(20);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Killed"), std::string::npos) << error.what();
  }
}

TEST(ProcessWorker, CopiesUnsharedOperandsOnce) {
  const Operation& product = *find_operation("matmul");
  const std::int64_t n = 96;
  const Array a = shared_array(Element::f32, {n, n}), b(Element::f32, {n, n});
  fill_normal(1, a.view());
  fill_normal(2, b.view());
  const Arguments host(product.signature, Element::f32, {{"A", a.view().transposed()}, {"B", b.view()}}, {});
  MultiDeviceOptions options{.devices = {find_device("cpu:threads=1"), find_device("cpu:threads=1")},
                             .request = {.cached = false},
                             .split = parse_split("1:1"),  // from a queue one might have had every part
                             .protect = true,
                             .faults = parse_faults("kill:1@1")};
  const MultiDeviceOutcome outcome = run_on_devices(product, host, options, true);
  EXPECT_EQ(missed_faults(options.faults, outcome.devices), std::vector<std::string>{});
  EXPECT_EQ(outcome.copied_bytes, n * n * 4);
  EXPECT_TRUE(outcome.verdict->passed);
  const Outcome wanted = run(product, host, {.device = "cpu:threads=1", .cached = false});
  EXPECT_EQ(std::memcmp(wanted.outputs.at("C").as<void>(), outcome.outputs.at("C").as<void>(), n * n * 4), 0);
}

// No page of the arrays is touched.
TEST(ProcessWorker, RefusesOperandsLargerThanMemoryBeforeCopying) {
  const std::int64_t n = std::int64_t{1} << 22;  // 64 TiB each of A, B and C
  const auto bytes = static_cast<std::size_t>(n * n * 4);
  void* const nothing = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (nothing == MAP_FAILED) GTEST_SKIP() << "this system has no such addresses to give";
  const ArrayView huge{nothing, Element::f32, {n, n}, {n, 1}};
  const Operation& product = *find_operation("matmul");
  const Arguments host(product.signature, Element::f32, {{"A", huge}, {"B", huge}}, {});
  try {
    const SharedCall call(product, host);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("want 211106232532992 bytes"), std::string::npos)
        << error.what();
  }
  (void)munmap(nothing, bytes);
}

TEST(Faults, AreReadAsTyped) {
  const auto faults = parse_faults("kill:1@3,kill:0@2");
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].device, 1u);
  EXPECT_EQ(faults[0].tile, 3u);
  EXPECT_EQ(faults[1].device, 0u);
  for (const char* word : {"kill:1@3:2", "kill:0@0", "kill@1", "kill:1", "flip:0@1"})
    EXPECT_THROW(parse_faults(word), Error);
}

MultiDeviceOptions two_devices(const char* split = "dynamic") {
  return {.devices = {find_device("cpu:threads=1"), find_device("cpu:threads=1")},
          .request = {.cached = false},
          .split = parse_split(split)};
}

// The outcome of a call on one device.
MultiDeviceOutcome of_one(const MultiDeviceOptions& on) {
  MultiDeviceOutcome out;
  out.devices.push_back({.plan = {}, .tiles = 1, .begun = 1, .failed = {}});
  out.devices.back().plan.device = on.devices.at(0);
  return out;
}

TEST(Dispatch, MakesEachCallOnceOnOneDevice) {
  for (const char* split : {"dynamic", "auto", "3:1", "0:1"}) {
    std::mutex mutex;
    std::multiset<std::size_t> made;
    const MultiDeviceOutcome outcome = dispatch(
        two_devices(split),
        {.work = std::vector<double>(20, 1), .make = [&](std::size_t call, const MultiDeviceOptions& on) {
           EXPECT_EQ(on.devices.size(), 1u);
           EXPECT_TRUE(on.whole);
           const std::lock_guard lock(mutex);
           made.insert(call);
           return of_one(on);
         }});
    EXPECT_EQ(made.size(), 20u);
    EXPECT_EQ(std::set(made.begin(), made.end()).size(), 20u);
    EXPECT_EQ(outcome.devices[0].tiles + outcome.devices[1].tiles, 20u);
    if (split[1] == ':') {
      EXPECT_EQ(outcome.devices[0].tiles, split[0] == '3' ? 15u : 0u);
    }
  }
}

TEST(Dispatch, MovesAFailedDevicesCallToAnother) {
  std::atomic<bool> failed = false;
  std::atomic<int> made = 0;
  const Device first = find_device("cpu:threads=1"), second = find_device("simt:threads=1");
  MultiDeviceOptions options = two_devices("1:1");
  options.devices = {first, second};
  const MultiDeviceOutcome outcome = dispatch(
      options, {.work = std::vector<double>(6, 1), .make = [&](std::size_t, const MultiDeviceOptions& on) {
                  if (on.devices[0].where == Where::simt) {
                    failed = true;
                    throw Error(Error::Kind::no_device, "it fell off the bus");
                  }
                  while (!failed) std::this_thread::yield();
                  ++made;
                  return of_one(on);
                }});
  EXPECT_EQ(outcome.devices[1].failed, "it fell off the bus");
  EXPECT_EQ(outcome.devices[0].tiles, 6u);
  EXPECT_EQ(made, 6);
}

TEST(Dispatch, CountsFaultsByCalls) {
  MultiDeviceOptions options = two_devices("1:1");
  options.faults = parse_faults("kill:1@2");
  std::mutex mutex;
  std::vector<std::size_t> faults;
  (void)dispatch(options, {.work = std::vector<double>(6, 1),
                           .make = [&](std::size_t call, const MultiDeviceOptions& on) {
                             const std::lock_guard lock(mutex);
                             for (const Fault& fault : on.faults) {
                               EXPECT_EQ(fault.device, 0u);
                               EXPECT_EQ(fault.tile, 1u);
                               faults.push_back(call);
                             }
                             return of_one(on);
                           }});
  EXPECT_EQ(faults, std::vector<std::size_t>{4});  // the second of 3, 4, 5
}

TEST(Dispatch, DoesNotCountUnreadableFilesForADevice) {
  MultiDeviceOptions options = two_devices("1:1");
  options.faults = parse_faults("kill:1@1,kill:0@4");
  std::mutex mutex;
  std::vector<std::size_t> faults;
  const auto made = [&](const std::set<std::size_t>& unreadable) {
    faults.clear();
    return dispatch(options, {.work = std::vector<double>(6, 1),
                              .make = [&](std::size_t call, const MultiDeviceOptions& on) {
                                if (unreadable.contains(call)) return MultiDeviceOutcome{};
                                const std::lock_guard lock(mutex);
                                for (std::size_t i = 0; i < on.faults.size(); ++i) faults.push_back(call);
                                return of_one(on);
                              }});
  };
  // The second of 3, 4, 5 is the first that the device has; the other one has no fourth.
  MultiDeviceOutcome outcome = made({3});
  EXPECT_EQ(faults, std::vector<std::size_t>{4});
  EXPECT_EQ(outcome.devices[1].tiles, 2u);
  EXPECT_EQ(missed_faults(options.faults, outcome.devices),
            std::vector<std::string>{"fault kill:0@4 did not happen: device 0 had 3 parts"});
  outcome = made({3, 4, 5});
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(outcome.devices[1].tiles, 0u);
  EXPECT_EQ(missed_faults(options.faults, outcome.devices).front(),
            "fault kill:1@1 did not happen: device 1 had 0 parts");
}

TEST(Dispatch, NamesEachDeviceIfAllFail) {
  const DispatchedCalls lost{
      .work = {1, 1}, .make = [](std::size_t, const MultiDeviceOptions& on) -> MultiDeviceOutcome {
        throw AllDevicesFailed(Error::Kind::no_device,
                               "no device is left: " + on.devices[0].label() + ": no power", {"no power"});
      }};
  try {
    (void)dispatch(two_devices("1:1"), lost);
    FAIL();
  } catch (const AllDevicesFailed& error) {
    EXPECT_EQ(error.kind(), Error::Kind::no_device);
    EXPECT_STREQ(error.what(), "no device is left: cpu (device 0): no power; cpu (device 1): no power");
  }
}

TEST(Dispatch, ReportsTheReasonsIfAllDevicesFail) {
  const DispatchedCalls broken{.work = {1, 1},
                               .make = [](std::size_t, const MultiDeviceOptions&) -> MultiDeviceOutcome {
                                 throw Error(Error::Kind::no_device, "no power");
                               }};
  EXPECT_THROW(dispatch(two_devices(), broken), Error);
  EXPECT_THROW(dispatch(two_devices("1:1:1"), broken), Error);
  EXPECT_NO_THROW(dispatch(two_devices(), {.work = {}, .make = broken.make}));
}

}  // namespace
}  // namespace tessera
