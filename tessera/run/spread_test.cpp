// SPDX-License-Identifier: Apache-2.0
// One call on several devices gives what one device gives.
#include "tessera/run/spread.hpp"
#include <gtest/gtest.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>
#include "tessera/dist/tiles.hpp"
#include "tessera/run/inputs.hpp"

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

TEST(Together, AnySplitOverLikeDevicesHasTheBitsOfOneAlone) {
  for (const auto& [devices, device, size] :
       {std::tuple{devices_of({"cpu:threads=1", "cpu:threads=2"}), "cpu", 333},
        std::tuple{devices_of({"simt:threads=1", "simt:threads=2", "simt:threads=1"}), "simt", 160}}) {
    Inputs inputs(product(), Element::f32, square(size, 130), 3, {.padding = 1});
    const auto wanted = alone(inputs, device);
    for (const char* split : {"dynamic", "auto", "2:1:1", "0:3:1", "1:0:0"}) {
      Spread spread{.devices = devices, .request = {.cached = false}, .split = parse_split(split)};
      if (spread.split.how == Split::How::shares) spread.split.shares.resize(devices.size());
      inputs.poison();
      const Together together = run_together(product(), inputs.arguments(), spread, true);
      EXPECT_TRUE(together.same_bits);
      EXPECT_TRUE(bytes_of_result(inputs.arguments()) == wanted) << device << " " << split;
      EXPECT_TRUE(together.verdict->passed);
      EXPECT_TRUE(inputs.padding_intact());
    }
  }
}

// One device is held up at its first part until the other has begun nothing more for a second. That the other
// would end it sooner is told by speeds, which a busy machine may blur: it has to be so in one of five runs,
// the result right in each.
TEST(Together, ASlowDeviceLeavesItsPartToAFastOne) {
  Inputs inputs(product(), Element::f32, square(512, 256), 4);
  const auto wanted = alone(inputs, "cpu");
  for (const char* split : {"dynamic", "auto"}) {
    bool left = false;
    for (int attempt = 0; attempt < 5 && !left; ++attempt) {
      Spread spread{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"}),
                    .request = {.cached = false},
                    .split = parse_split(split)};
      std::atomic<int> begun{0};  // by the other
      spread.before_tile = [&begun](std::size_t device, std::size_t) {
        if (device == 1) {
          ++begun;
          return;
        }
        for (int seen = 0, still = 0, waited = 0; still < 20 && waited < 400; ++waited) {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          still = begun == seen && seen > 0 ? still + 1 : 0;
          seen = begun;
        }
      };
      inputs.poison();
      const Together together = run_together(product(), inputs.arguments(), spread, true);
      EXPECT_TRUE(together.complete);
      EXPECT_TRUE(bytes_of_result(inputs.arguments()) == wanted) << split;
      EXPECT_TRUE(together.shares[0].lost.empty()) << together.shares[0].lost;
      EXPECT_TRUE(together.verdict->passed);
      left = together.shares[0].begun == 1 && together.shares[0].tiles == 0;
    }
    EXPECT_TRUE(left) << split;
  }
}

TEST(Together, SharesAreThoseThatWereNamed) {
  Inputs inputs(product(), Element::f32, square(768, 64), 3);
  const Spread spread{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"}),
                      .request = {.cached = false},
                      .split = parse_split("2:1")};
  const Together together = run_together(product(), inputs.arguments(), spread);
  EXPECT_EQ(together.shares[0].flops, 2.0 * 512 * 768 * 64);
  EXPECT_EQ(together.shares[1].flops, 2.0 * 256 * 768 * 64);
  std::size_t spans = 0;
  for (const Share& share : together.shares) spans += share.tiles;
  EXPECT_EQ(together.timeline.spans.size(), spans);
  EXPECT_LE(together.timeline.end(), together.seconds);
}

// One that takes a problem of 777 rows, and none of its parts.
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

TEST(Together, PartsThatTheWholesVariantRefusesHaveBitsOfTheirOwn) {
  register_a_coy_variant();
  Inputs inputs(product(), Element::f32, {{{"m", 777}, {"n", 64}, {"k", 48}}}, 3);
  const Spread spread{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"}),
                      .request = {.cached = false}};
  const Together together = run_together(product(), inputs.arguments(), spread, true);
  EXPECT_EQ(together.shares[0].plan.variant->name, "coy");
  EXPECT_FALSE(together.same_bits);
  EXPECT_TRUE(together.verdict->passed);
}

TEST(Together, UnlikeDevicesStayWithinTheBound) {
  Inputs inputs(product(), Element::f64, square(256, 64), 3);
  const Spread spread{.devices = devices_of({"cpu:threads=1", "simt:threads=1"}),
                      .request = {.cached = false}};
  const Together together = run_together(product(), inputs.arguments(), spread, true);
  EXPECT_FALSE(together.same_bits);
  EXPECT_TRUE(together.verdict->passed);
}

// One part that takes seconds, on the executor in one block: a call that was complete would have waited for
// it.
TEST(Together, AnInterruptEndsAPartInTheMiddle) {
  const auto interrupted = [](Inputs& inputs, const char* device, const char* variant) {
    std::atomic<bool> begun = false;
    Spread spread{
        .devices = devices_of({device}), .request = {.variant = variant, .cached = false}, .whole = true};
    spread.before_tile = [&](std::size_t, std::size_t) { begun = true; };
    spread.stopped = [&] { return begun.load(); };
    const Together together = run_together(product(), inputs.arguments(), spread);
    EXPECT_EQ(together.shares[0].lost, "") << variant;
    return !together.complete;
  };
  Inputs large(product(), Element::f64, square(3072, 3072), 3);
  for (const char* variant : {"naive", "ordered", "blocked", "simd"})
    EXPECT_TRUE(interrupted(large, "cpu:threads=1", variant)) << variant;
  EXPECT_TRUE(interrupted(large, "cpu:threads=2", "simd"));
  EXPECT_TRUE(interrupted(large, "simt:threads=2", "shared_tiles"));
  Inputs deep(product(), Element::f32, square(64, 1 << 16), 3);
  EXPECT_TRUE(interrupted(deep, "simt:threads=1", "vectorized"));
  Inputs low(product(), Element::bf16, square(512, 4096), 3);
  EXPECT_TRUE(interrupted(low, "cpu:threads=1", "naive"));
}

TEST(Together, ADeviceThatFailsLosesNothing) {
  Inputs inputs(product(), Element::f32, square(512, 64), 3);
  const auto wanted = alone(inputs, "cpu");
  for (const char* split : {"dynamic", "auto", "1:1"}) {
    Spread spread{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"}),
                  .request = {.cached = false},
                  .split = parse_split(split)};
    // The other waits until this one has failed, so that it always does.
    std::atomic<bool> failed = false;
    spread.before_tile = [&failed](std::size_t device, std::size_t) {
      while (device == 1 && !failed) std::this_thread::yield();
      if (device == 0 && !failed.exchange(true)) throw Error("it fell off the bus");
    };
    inputs.poison();
    const Together together = run_together(product(), inputs.arguments(), spread, true);
    EXPECT_EQ(together.shares[0].lost, "it fell off the bus");
    EXPECT_EQ(together.shares[0].tiles, 0u);
    EXPECT_TRUE(together.shares[1].lost.empty());
    EXPECT_TRUE(bytes_of_result(inputs.arguments()) == wanted);
    EXPECT_TRUE(together.verdict->passed);
  }
}

TEST(Together, WithoutAnyDeviceLeftItSaysWhy) {
  Inputs inputs(product(), Element::f32, square(64, 8), 3);
  Spread spread{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"})};
  spread.before_tile = [](std::size_t, std::size_t) { throw Error("no power"); };
  try {
    (void)run_together(product(), inputs.arguments(), spread);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no power");
  }
}

TEST(Together, SmallAndEmptyResults) {
  for (const auto& [m, n, k] :
       std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {0, 5, 3}, {5, 0, 3}, {5, 7, 0}, {17, 1, 9}}) {
    Inputs inputs(product(), Element::f64, {{{"m", m}, {"n", n}, {"k", k}}}, 3);
    const Spread spread{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"})};
    EXPECT_TRUE(run_together(product(), inputs.arguments(), spread, true).verdict->passed) << m << n << k;
  }
}

TEST(Together, RefusesWhatItCannotDivide) {
  Inputs inputs(product(), Element::f32, square(64, 8), 3);
  EXPECT_THROW(run_together(product(), inputs.arguments(),
                            {.devices = devices_of({"cpu"}), .split = parse_split("1:2")}),
               Error);
  EXPECT_THROW(run_together(product(), inputs.arguments(), {}), Error);
  Operation whole = product();
  whole.name = "whole";
  EXPECT_THROW(run_together(whole, inputs.arguments(), {.devices = devices_of({"cpu"})}), Error);
}

TEST(Splits, AreReadAsTyped) {
  EXPECT_EQ(parse_split("").how, Split::How::planned);
  EXPECT_EQ(parse_split("plan").how, Split::How::planned);
  EXPECT_EQ(parse_split("dynamic").how, Split::How::dynamic);
  EXPECT_EQ(parse_split("auto").how, Split::How::measured);
  EXPECT_EQ(parse_split("2048:1024").shares, (std::vector<double>{2048, 1024}));
  EXPECT_EQ(parse_split("0.5:1:0").shares, (std::vector<double>{0.5, 1, 0}));
  for (const char* word : {"half", "2:", ":2", "2;1", "-1:2", "nan:1", "2:1:"})
    EXPECT_THROW(parse_split(word), Error) << word;
}

TEST(Tiles, CoverTheResultOnceWithinTheMemory) {
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {3072, 3072, 3072}, {100, 5000, 70}, {5000, 1, 400}, {40, 40, 40}}) {
    Inputs inputs(product(), Element::f32, {{{"m", m}, {"n", n}, {"k", 1}}}, 3);
    const Division division = (*find_division("matmul"))(inputs.arguments());
    for (const std::int64_t memory : {0, 200'000}) {
      std::int64_t elements = 0;
      const auto tiles =
          dist::tiles_of(division, inputs.arguments(), {0, m}, {.least_flops = 1, .memory_bytes = memory});
      for (const Tile& tile : tiles) {
        elements += tile.rows.size() * tile.cols.size();
        if (memory > 0) {
          EXPECT_LE(dist::bytes_of(division, inputs.arguments(), tile), memory);
        }
        for (const Tile& other : tiles)
          if (&other != &tile) {
            EXPECT_TRUE(other.rows.last <= tile.rows.first || tile.rows.last <= other.rows.first ||
                        other.cols.last <= tile.cols.first || tile.cols.last <= other.cols.first);
          }
      }
      EXPECT_EQ(elements, m * n);
      EXPECT_TRUE(memory > 0 || tiles.size() <= 128u) << tiles.size();
      // Memory that holds everything changes nothing.
      if (memory == 0) {
        EXPECT_EQ(tiles, dist::tiles_of(division, inputs.arguments(), {0, m},
                                        {.least_flops = 1, .memory_bytes = std::int64_t{1} << 40}));
      }
    }
  }
}

// Larger than the pieces in which such inputs are read.
TEST(Together, ACheckpointKnowsInputsWithGaps) {
  Inputs inputs(product(), Element::f32, {{{"m", 8}, {"n", 8}, {"k", 400'000}}}, 3, {.padding = 1});
  const ArrayView& left = inputs.arguments().array("A");
  ASSERT_FALSE(left.row_major());
  const auto path = std::filesystem::temp_directory_path() / ("tessera-gaps-" + std::to_string(getpid()));
  const Spread spread{
      .devices = devices_of({"cpu:threads=1"}), .request = {.cached = false}, .checkpoint = path};
  EXPECT_EQ(run_together(product(), inputs.arguments(), spread).restored, 0u);
  auto* const elements = static_cast<float*>(left.data);
  for (const std::int64_t k : {0, 200'000, 399'999}) {
    float& one = elements[7 * left.strides[0] + k * left.strides[1]];
    const float kept = std::exchange(one, one + 1);
    EXPECT_THROW((void)run_together(product(), inputs.arguments(), spread), Error) << k;
    one = kept;
  }
  EXPECT_GT(run_together(product(), inputs.arguments(), spread).restored, 0u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tessera
