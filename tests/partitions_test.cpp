// SPDX-License-Identifier: Apache-2.0
// Every operation that several devices can share, in parts that unlike devices compute: the bits of one
// device alone.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include "tessera/core/operation/partition.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"
#include "tessera/run/multi_device/multi_device.hpp"
#include "tests/made_up_streams.hpp"

namespace tessera {
namespace {

using Bytes = std::vector<char>;

Bytes bytes_of_outputs(const Arguments& arguments) {
  Bytes out;
  for (const Parameter* p : arguments.signature().of(Parameter::Kind::output)) {
    const Array packed = packed_copy(arguments.array(p->name));
    const char* const first = packed.as<char>();
    out.insert(out.end(), first, first + packed.view().bytes());
  }
  return out;
}

void compute(const Device& device, const Operation& operation, const Arguments& part) {
  PlacedCall placed(choose_on(device, operation, part, {.cached = false}), part);
  placed.upload();
  placed.launch();
  placed.fetch();
}

std::vector<const Operation*> divided_without_a_word_about_variants() {
  std::vector<const Operation*> out;
  for (const Operation& operation : operations()) {
    const Partitioner* const divide = find_partition(operation.name);
    if (divide == nullptr) continue;
    for (const Case& tried : operation.cases) try {
        const Inputs inputs(operation, operation.elements.front(), tried, 1);
        if ((*divide)(inputs.arguments()).same_everywhere) out.push_back(&operation);
        break;
      } catch (const Error&) {
        continue;  // this one is not cut
      }
  }
  return out;
}

// A few granules, or less where a cut may lie anywhere: pictures are cut between any two rows.
std::vector<Tile> tiles_of(const Partition& partition) {
  constexpr std::int64_t few = 5;
  std::vector<Tile> out;
  for (std::int64_t row = 0; row < partition.rows; row += few)
    out.push_back({{row, std::min(row + few, partition.rows)}, {0, partition.cols}, {0, partition.depth}});
  return out;
}

std::string text_of(const Case& tried) {
  std::string out;
  for (const auto& [name, size] : tried.dims) out += name + "=" + std::to_string(size) + " ";
  for (const auto& [name, word] : tried.words) out += name + "=" + word + " ";
  return out;
}

// Of one case, by devices that take turns, the first of which computes the whole. False: it is not cut.
bool parts_are_the_whole(const Operation& operation, Element element, const Case& tried,
                         const std::vector<std::string>& devices) {
  Inputs inputs(operation, element, tried, 3, {.padding = operation.row_dimensions == 2 ? 3 : 0});
  const Arguments& arguments = inputs.arguments();
  Partition partition;
  try {
    partition = (*find_partition(operation.name))(arguments);
  } catch (const Error&) {
    return false;
  }
  inputs.poison();
  compute(find_device(devices[0]), operation, arguments);
  const Bytes whole = bytes_of_outputs(arguments);
  inputs.poison();
  const auto tiles = tiles_of(partition);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const Arguments part = partition.part(tiles[i]);
    compute(find_device(devices[i % devices.size()]), operation, part);
    for (const Slice& slice : partition.reads(tiles[i]))
      EXPECT_EQ(part.array(slice.array).count(), part_of(arguments.array(slice.array), slice.box).count());
  }
  EXPECT_TRUE(bytes_of_outputs(arguments) == whole)
      << operation.name << " " << name_of(element) << " " << text_of(tried);
  EXPECT_TRUE(inputs.padding_intact());
  return true;
}

TEST(Divided, EveryCaseComputedInPartsHasTheBitsOfTheWhole) {
  const auto all = divided_without_a_word_about_variants();
  EXPECT_GE(all.size(), 4u);  // filter, resize, refocus, integrate_batch
  for (const Operation* operation : all) {
    std::size_t cut = 0;
    for (const Case& tried : operation->cases) {
      // A NaN's bits are not promised.
      if (tried.distribution == Distribution::special) continue;
      const Element element = tried.elements.empty() ? operation->elements.front() : tried.elements.front();
      cut += parts_are_the_whole(*operation, element, tried, {"cpu:threads=1", "simt:threads=1"}) ? 1 : 0;
    }
    EXPECT_GT(cut, 1u) << operation->name;
  }
}

std::vector<Device> devices_of(std::initializer_list<const char*> words) {
  std::vector<Device> out;
  for (const char* word : words) out.push_back(find_device(word));
  return out;
}

// Rungs of products differ in their order of summing, so that each device keeps to one.
TEST(Divided, ABatchOfProductsHasItsBitsAtAnyPlace) {
  const Operation& batch = *find_operation("matmul_batch");
  for (const Element element : {Element::f32, Element::bf16, Element::i8}) {
    std::size_t cut = 0;
    for (const Case& tried : batch.cases) {
      if (tried.distribution == Distribution::special) continue;
      if (!tried.elements.empty() && std::ranges::find(tried.elements, element) == tried.elements.end())
        continue;
      cut += parts_are_the_whole(batch, element, tried, {"cpu:threads=1"}) ? 1 : 0;
    }
    EXPECT_GT(cut, 3u) << name_of(element);
  }
}

struct Called {
  std::string operation;
  Case problem;
};

class Shared : public testing::TestWithParam<Called> {
 protected:
  const Operation& operation() const { return *find_operation(GetParam().operation); }
};

TEST_P(Shared, UnlikeDevicesGiveTheBitsOfOne) {
  Inputs inputs(operation(), operation().elements.front(), GetParam().problem, 7);
  inputs.poison();
  (void)run(operation(), inputs.arguments(), {.device = "cpu", .cached = false});
  const Bytes wanted = bytes_of_outputs(inputs.arguments());
  for (const char* split : {"dynamic", "auto", "3:1:2"}) {
    const MultiDeviceOptions options{
        .devices = devices_of({"cpu:threads=1", "cpu:threads=1", "simt:threads=1"}),
        .request = {.cached = false},
        .split = parse_split(split)};
    inputs.poison();
    const MultiDeviceOutcome outcome = run_on_devices(operation(), inputs.arguments(), options, true);
    EXPECT_TRUE(outcome.same_bits);
    EXPECT_TRUE(outcome.verdict->passed) << describe(*outcome.verdict);
    EXPECT_TRUE(bytes_of_outputs(inputs.arguments()) == wanted) << split;
    std::size_t parts = 0;
    for (const DeviceReport& share : outcome.devices) parts += share.tiles;
    EXPECT_GT(parts, 1u);
    EXPECT_EQ(outcome.timeline.spans.size(), parts);
  }
}

// As on GPUs, whose copies hide behind computing where the arrays can be laid out for that.
TEST_P(Shared, StreamedDevicesGiveTheBitsOfOne) {
  Inputs inputs(operation(), operation().elements.front(), GetParam().problem, 7);
  inputs.poison();
  (void)run(operation(), inputs.arguments(), {.device = "cpu", .cached = false});
  const Bytes wanted = bytes_of_outputs(inputs.arguments());
  const made_up::OnStreams streams;
  const MultiDeviceOptions options{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"}),
                                   .request = {.cached = false},
                                   .split = parse_split("dynamic")};
  inputs.poison();
  const MultiDeviceOutcome outcome = run_on_devices(operation(), inputs.arguments(), options, true);
  EXPECT_TRUE(outcome.verdict->passed) << describe(*outcome.verdict);
  EXPECT_TRUE(bytes_of_outputs(inputs.arguments()) == wanted) << streams.opened();
}

TEST_P(Shared, AKilledWorkerLosesNothing) {
  Inputs inputs(operation(), operation().elements.front(), GetParam().problem, 7);
  inputs.poison();
  (void)run(operation(), inputs.arguments(), {.device = "cpu", .cached = false});
  const Bytes wanted = bytes_of_outputs(inputs.arguments());
  MultiDeviceOptions options{.devices = devices_of({"cpu:threads=1", "cpu:threads=1"}),
                             .request = {.cached = false},
                             .split = parse_split("1:1"),
                             .protect = true,
                             .faults = parse_faults("kill:1@1")};
  inputs.poison();
  const MultiDeviceOutcome outcome = run_on_devices(operation(), inputs.arguments(), options, true);
  EXPECT_NE(outcome.devices[1].failed.find("Killed"), std::string::npos) << outcome.devices[1].failed;
  EXPECT_TRUE(outcome.verdict->passed);
  EXPECT_TRUE(bytes_of_outputs(inputs.arguments()) == wanted);
}

Dims picture(std::int64_t images, std::int64_t height, std::int64_t width) {
  return {{"images", images}, {"height", height}, {"width", width}, {"channels", 3}};
}
Dims smaller(std::int64_t images, std::int64_t height, std::int64_t width) {
  return {{"images", images}, {"from_height", height}, {"from_width", width}, {"channels", 3}};
}
INSTANTIATE_TEST_SUITE_P(
    Calls, Shared,
    testing::Values(
        Called{"filter", {picture(1, 300, 200), {{"kernel", "gaussian"}, {"size", "9"}, {"border", "wrap"}}}},
        Called{"filter", {picture(40, 30, 50), {{"kernel", "laplacian8"}, {"abs", "yes"}}}},
        Called{"resize", {smaller(1, 500, 300), {{"scale", "0.47"}}}},
        Called{"resize",
               {smaller(2, 100, 60), {{"scale", "1.7"}, {"method", "linear"}, {"convention", "opencv"}}}},
        Called{"refocus",
               {{{"rows", 3}, {"cols", 4}, {"height", 40}, {"width", 50}, {"channels", 3}},
                {{"slopes", "-1.3:1.9:6"}}}},
        Called{"integrate_batch",
               {.dims = {},
                .words = {{"FORMULA", "cos(k*x)*exp(-x)"},
                          {"LIMITS", "0 inf"},
                          {"parameters", "k=0.5:6"},
                          {"relative", "1e-9"},
                          {"n", "24"}}}}),
    [](const auto& called) { return called.param.operation + "_" + std::to_string(called.index); });

}  // namespace
}  // namespace tessera
