// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include "tessera/run/inputs.hpp"
#include "tessera/tune/predict.hpp"
#include "tests/made_up.hpp"

namespace tessera::tune {
namespace {

Operation nothing() {
  Operation out;
  out.name = "nothing";
  out.signature.parameters = {parameter::input("A", {"m"}, ""), parameter::output("C", {"m"}, "")};
  out.elements = {Element::f32};
  out.output = "C";
  return out;
}

class Predicting : public testing::Test {
 protected:
  Predicting() {
    variant_ = made_up::variant("kernel", {made_up::choice({}, {{"threads", 1, 1024, 256}})});
    variant_.choices[0].footprint = [this](const Arguments&,
                                           const Tuning& tuning) -> std::optional<Footprint> {
      return Footprint{work_ / tuning["threads"], tuning["threads"], shared_, registers_};
    };
  }

  Prediction of(int threads, const Counted& counted = {}) {
    return predict({&variant_, &variant_.choices[0], {{"threads", threads}}}, inputs_.arguments(), gpu_,
                   counted);
  }
  static Counted always(Work work) {
    return [work](const Config&) { return work; };
  }

  Operation operation_ = nothing();
  Inputs inputs_{operation_, Element::f32, {.dims = {{"m", 8}}}, 1};
  Variant variant_;
  Device gpu_ = model_gpu();
  std::int64_t work_ = 1 << 24, shared_ = 0;
  std::optional<int> registers_;
};

TEST_F(Predicting, MoreWarpsAtWorkAreLikelierToBeFast) {
  EXPECT_EQ(*of(256).occupancy, 1);
  EXPECT_EQ(*of(32).occupancy, 0.5) << "32 blocks of a warp on a processor that holds 64 warps";
  EXPECT_LT(*of(256).cost, *of(32).cost);
  EXPECT_LT(*of(32).cost, *of(16).cost) << "half of each warp idles";
  EXPECT_LT(*of(512).cost, *of(768).cost) << "24 warps leave 16 places empty";
}

TEST_F(Predicting, BlocksThatDoNotFillTheDeviceCost) {
  work_ = 256 * 132 * 8;  // one wave of 8 blocks on each
  const double full = *of(256).cost;
  work_ = 256 * 132 * 4;
  EXPECT_DOUBLE_EQ(*of(256).cost, 2 * full);
  work_ = 256 * (132 * 8 + 1);  // a second wave for one block
  EXPECT_GT(*of(256).cost, 1.9 * full);
}

TEST_F(Predicting, SharedMemoryAndRegistersBound) {
  shared_ = 100 * 1024;
  EXPECT_EQ(*of(256).occupancy, 0.25);
  shared_ = 300 * 1024;
  EXPECT_EQ(of(256).rejected, "no block of it fits on a multiprocessor: shared memory");
  shared_ = 0;
  registers_ = 128;
  EXPECT_EQ(*of(256).occupancy, 0.25);
  registers_ = 255;
  EXPECT_EQ(of(1024).rejected, "no block of it fits on a multiprocessor: registers");
}

TEST_F(Predicting, CountedWorkTellsKernelsApart) {
  work_ = 256 * 132 * 8;
  EXPECT_DOUBLE_EQ(*of(256, always({.cache = 132e6, .issue = 66e6})).cost, 1e6);
  EXPECT_DOUBLE_EQ(*of(256, always({.cache = 132e6, .arithmetic = 264e6})).cost, 2e6) << "the busiest unit's";
  const Prediction unknown = of(256, [](const Config&) { return std::nullopt; });
  EXPECT_FALSE(unknown.cost);
  EXPECT_EQ(unknown.uncounted, of(256).cost);
}

TEST_F(Predicting, TheFullestMultiprocessorIsTheLastToFinish) {
  const Counted counted = always({.cache = 132e6});
  work_ = 256 * 132 * 2;
  const double even = *of(256, counted).cost;
  work_ = 256 * (132 * 2 + 1);
  EXPECT_NEAR(*of(256, counted).cost / even, 1.5, 0.01) << "three blocks on one of them, two on the others";
  work_ = 256 * 66;
  EXPECT_DOUBLE_EQ(*of(256, counted).cost, 2 * even) << "half of them idle";
}

TEST_F(Predicting, FewWarpsWaitForMemory) {
  work_ = 256 * 132 * 8;
  const Counted counted = always({.cache = 132e4, .requests = 132e4});  // 1e4 each on 64 warps or fewer
  const double many = *of(256, counted).cost;
  shared_ = 200 * 1024;  // one block at a time
  EXPECT_GT(*of(256, counted).cost, 5 * many);
}

TEST_F(Predicting, NothingIsSaidOfWhatIsNoKernel) {
  gpu_.where = Where::cpu;
  EXPECT_FALSE(of(256).cost || of(256).occupancy || of(256).rejected);
  gpu_.where = Where::simt;
  EXPECT_TRUE(of(256).cost) << "the executor stands for a GPU";
  variant_.choices[0].footprint = {};
  EXPECT_FALSE(of(256).cost);
}

// Kernels of the real ladders tell what they take.
TEST(Footprints, OfEveryKernel) {
  int kernels = 0;
  for (const Operation& operation : operations()) {
    const auto tried = std::ranges::find_if(operation.cases, [](const Case& c) {
      return std::ranges::all_of(c.dims, [](const auto& d) { return d.second > 0; });
    });
    if (tried == operation.cases.end()) continue;
    const Inputs inputs(operation, operation.elements[0], *tried, 1);
    for (const Variant* variant : ladder_of(operation.name)) {
      if (variant->where != Where::simt) continue;
      const Choice& choice = variant->choices[0];
      ASSERT_TRUE(choice.footprint) << variant->name;
      const Device& executor = find_backend(Where::simt)->devices().front();
      if (choice.refuses && choice.refuses(inputs.arguments(), choice.defaults(), executor)) continue;
      const auto footprint = choice.footprint(inputs.arguments(), choice.defaults());
      ASSERT_TRUE(footprint) << variant->name;
      EXPECT_GT(footprint->blocks, 0) << variant->name;
      EXPECT_GT(footprint->threads_per_block, 0) << variant->name;
      EXPECT_FALSE(footprint->registers) << "the host's compiler cannot know";
      ++kernels;
    }
  }
  EXPECT_GT(kernels, 5);
}

}  // namespace
}  // namespace tessera::tune
