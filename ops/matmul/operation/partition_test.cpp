// SPDX-License-Identifier: Apache-2.0
// A product in parts equals the whole product: bit for bit if the sums are not split, within the bound if
// they are.
#include "tessera/core/operation/partition.hpp"
#include <gtest/gtest.h>
#include <cstring>
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::matmul {
namespace {

const Operation& operation() { return *find_operation("matmul"); }

Partition partition_of(const Arguments& arguments) { return (*find_partition("matmul"))(arguments); }

std::vector<char> bytes_of_result(const Arguments& arguments) {
  const Array packed = packed_copy(arguments.array("C"));
  const char* const first = packed.as<char>();
  return {first, first + packed.view().bytes()};
}

// Cuts at odd multiples of the granule, in both directions.
std::vector<Tile> tiles_of(const Partition& partition) {
  std::vector<Tile> out;
  for (std::int64_t i = 0; i < partition.rows; i += 3 * partition.row_granule)
    for (std::int64_t j = 0; j < partition.cols; j += 5 * partition.col_granule)
      out.push_back({{i, std::min(i + 3 * partition.row_granule, partition.rows)},
                     {j, std::min(j + 5 * partition.col_granule, partition.cols)},
                     {0, partition.depth}});
  return out;
}

void compute(const Plan& plan, const Arguments& part) {
  PlacedCall placed(plan, part);
  placed.upload();
  placed.launch();
  placed.fetch();
}

struct Trial {
  Element element;
  std::string device;
  Case problem;
  std::optional<std::string> variant = {};
};

class InParts : public testing::TestWithParam<Trial> {};

TEST_P(InParts, IsTheWholeProduct) {
  const Trial& trial = GetParam();
  Inputs inputs(operation(), trial.element, trial.problem, 5, {.padding = 3});
  Arguments& arguments = inputs.arguments();
  const Plan plan =
      choose(operation(), arguments, {.device = trial.device, .variant = trial.variant, .cached = false});
  inputs.poison();
  compute(plan, arguments);
  const auto whole = bytes_of_result(arguments);
  inputs.poison();
  const Partition partition = partition_of(arguments);
  ASSERT_TRUE(partition.same_bits(plan.device.where));
  for (const Tile& tile : tiles_of(partition)) compute(plan, partition.part(tile));
  EXPECT_TRUE(bytes_of_result(arguments) == whole);
  EXPECT_TRUE(inputs.padding_intact());
}

INSTANTIATE_TEST_SUITE_P(
    Matmul, InParts,
    testing::Values(
        Trial{Element::f32, "cpu:threads=2", {{{"m", 131}, {"n", 203}, {"k", 777}}}},
        Trial{Element::f64,
              "cpu:threads=1",
              {{{"m", 61}, {"n", 83}, {"k", 300}}, {{"op-a", "transpose"}, {"op-b", "transpose"}}}},
        Trial{Element::i32, "cpu:threads=1", {{{"m", 61}, {"n", 83}, {"k", 30}}}},
        Trial{Element::f32,
              "cpu:threads=1",
              {{{"m", 61}, {"n", 83}, {"k", 70}},
               {{"beta", "0.5"}, {"alpha", "-2"}},
               Distribution::normal,
               {"C0"}}},
        Trial{Element::f32,
              "cpu:threads=1",
              {{{"m", 61}, {"n", 83}, {"k", 70}},
               {{"activation", "relu"}, {"bias-along", "rows"}},
               Distribution::normal,
               {"bias", "scale-a"}}},
        Trial{Element::bf16, "cpu:threads=2", {{{"m", 131}, {"n", 203}, {"k", 1777}}}},
        Trial{Element::e4m3,
              "cpu:threads=1",
              {{{"m", 50}, {"n", 90}, {"k", 70}},
               {{"scale-b-per", "tensor"}},
               Distribution::normal,
               {"scale-a", "scale-b", "bias"}}},
        Trial{Element::f32, "cpu:threads=1", {{{"m", 61}, {"n", 83}, {"k", 70}}}, "naive"},
        Trial{Element::f32, "cpu:threads=1", {{{"m", 61}, {"n", 83}, {"k", 70}}}, "blocked"},
        Trial{Element::f32, "simt:threads=2", {{{"m", 61}, {"n", 96}, {"k", 64}}}},
        Trial{Element::f64, "simt:threads=1", {{{"m", 50}, {"n", 64}, {"k", 33}}}, "shared_tiles"},
        Trial{Element::f32, "cpu:threads=1", {{{"m", 61}, {"n", 83}, {"k", 0}}}}));

TEST(InSteps, ASumMadeInStepsIsWithinTheBound) {
  for (const Element element : {Element::f32, Element::f64, Element::i32}) {
    const Case problem{
        {{"m", 61}, {"n", 83}, {"k", 200}}, {{"beta", "2"}, {"alpha", "3"}}, Distribution::normal, {"C0"}};
    Inputs inputs(operation(), element, problem, 7);
    Arguments& arguments = inputs.arguments();
    inputs.poison();
    const Partition partition = partition_of(arguments);
    ASSERT_GT(partition.depth_granule, 0);
    for (std::int64_t l = 0; l < partition.depth; l += 64) {
      Tile tile = partition.whole();
      tile.depth = {l, std::min(l + 64, partition.depth)};
      const Arguments part = partition.part(tile);
      compute(choose(operation(), part, {.device = "cpu:threads=1", .cached = false}), part);
    }
    EXPECT_TRUE(verify(operation(), arguments).passed) << name_of(element);
  }
}

TEST(InSteps, EpiloguesKeepTheSumWhole) {
  Inputs inputs(operation(), Element::bf16, {{{"m", 32}, {"n", 32}, {"k", 64}}}, 1);
  EXPECT_EQ(partition_of(inputs.arguments()).depth_granule, 0);
}

// Several processes add the panels that they receive.
TEST(PanelSums, HaveTheBitsOfOneProcess) {
  const Contraction& contraction = *contraction_of("matmul");
  const Case half{{{"m", 37}, {"n", 300}, {"k", 2900}},
                  {{"activation", "gelu"}, {"alpha", "-2"}, {"beta", "0.5"}},
                  Distribution::normal,
                  {"C0", "bias", "scale-a", "scale-b"}};
  const Case whole{{{"m", 37}, {"n", 70}, {"k", 2900}}, {{"beta", "2"}}, Distribution::normal, {"C0"}};
  for (const auto& [element, tried] : std::vector<std::pair<Element, Case>>{
           {Element::bf16, half}, {Element::f16, half}, {Element::f32, half}, {Element::i8, whole}}) {
    Inputs inputs(operation(), element, tried, 3);
    Arguments& arguments = inputs.arguments();
    (void)run(operation(), arguments, {.device = "cpu:threads=2", .cached = false});
    const std::vector<char> alone = bytes_of_result(arguments);
    inputs.poison();
    const auto sum = contraction.start(arguments, 2);
    const std::int64_t depth = contraction.depth(arguments), k = contraction.extent(arguments);
    ASSERT_LT(depth, k);
    for (std::int64_t l = 0; l < k; l += depth) {
      ArrayView a = arguments.array("A"), b = arguments.array("B");
      a.extents[1] = b.extents[0] = std::min(depth, k - l);
      a.data = static_cast<char*>(a.data) + l * a.strides[1] * static_cast<std::int64_t>(size_of(element));
      b.data = static_cast<char*>(b.data) + l * b.strides[0] * static_cast<std::int64_t>(size_of(element));
      sum->add(a, b);
    }
    sum->finish();
    EXPECT_TRUE(bytes_of_result(arguments) == alone) << name_of(element);
  }
}

TEST(ATile, ReadsItsRowsOfAAndItsColumnsOfB) {
  Inputs inputs(operation(), Element::f32, {{{"m", 64}, {"n", 96}, {"k", 32}}, {{"op-a", "transpose"}}}, 1);
  const Partition partition = partition_of(inputs.arguments());
  const Tile tile{{16, 48}, {32, 96}, {0, 16}};
  EXPECT_EQ(partition.reads(tile),
            (std::vector<Slice>{{"A", {{0, 16}, {16, 48}}}, {"B", {{0, 16}, {32, 96}}}}));
  EXPECT_EQ(partition.writes(tile), (std::vector<Slice>{{"C", {{16, 48}, {32, 96}}}}));
  EXPECT_EQ(partition.flops(tile), 2.0 * 32 * 64 * 16);
}

}  // namespace
}  // namespace tessera::matmul
