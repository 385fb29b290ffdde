// SPDX-License-Identifier: Apache-2.0
// A rung that a heuristic holds back runs if the caller names it, or if no other rung can compute the
// problem.
#include <gtest/gtest.h>
#include <algorithm>
#include <string>
#include <vector>
#include "tessera/run/heuristics.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/run.hpp"

namespace tessera {
namespace {

struct Held {
  const char *operation, *variant;
  Element element;
  Dims dims;
  Arguments::Words words = {};
  std::string sentence;  // the beginning of the heuristic's message
};

Dims product(std::int64_t m, std::int64_t n, std::int64_t k) { return {{"m", m}, {"n", n}, {"k", k}}; }
Dims picture(std::int64_t height, std::int64_t width, std::int64_t channels, std::int64_t images = 1) {
  return {{"images", images}, {"height", height}, {"width", width}, {"channels", channels}};
}

const std::vector<Held>& all_held() {
  static const std::vector<Held> all{
      {"matmul", "few_rows", Element::f32, product(2, 300, 40), {}, "sums of fewer than 128"},
      {"matmul", "few_rows", Element::f64, product(3, 33, 1), {}, "sums of fewer than 128"},
      {"matmul", "few_rows", Element::f32, product(1, 65, 0), {}, "sums of fewer than 128"},
      {"matmul", "few_rows", Element::bf16, product(4, 101, 200), {}, "sums of fewer than 256"},
      {"matmul", "few_rows", Element::i8, product(1, 300, 255), {}, "sums of fewer than 256"},
      {"matmul", "short_sums", Element::f32, product(200, 20, 33), {}, "lines of C have fewer than 32"},
      {"matmul", "short_sums", Element::f64, product(70, 2, 9), {}, "lines of C have fewer than 32"},
      {"matmul",
       "short_sums",
       Element::f32,
       product(90, 100, 40),
       {{"compute", "tf32"}},
       "tensor cores are faster at TF32"},
      {"matmul",
       "short_sums",
       Element::f16,
       product(90, 104, 32),
       {},
       "tensor cores are faster at sums of more than"},
      {"matmul", "short_sums", Element::e4m3, product(600, 625, 31), {}, "tensor cores are faster at sums"},
      {"filter", "packed", Element::f32, picture(21, 40, 3), {}, "a lower rung is faster for floats"},
      {"filter",
       "packed",
       Element::f32,
       picture(40, 301, 3),
       {{"border", "constant"}},
       "a lower rung is faster for floats"},
      {"filter", "streamed", Element::u8, picture(20, 48, 1), {}, "faster only for at least 131072 samples"},
      {"filter",
       "streamed",
       Element::f32,
       picture(1, 4, 3),
       {{"border", "wrap"}},
       "faster only for at least 131072"},
      {"filter",
       "matrices",
       Element::u8,
       picture(40, 160, 1),
       {{"kernel", "gaussian"}},
       "faster only for more than 3 x 3"},
      {"filter",
       "matrices",
       Element::u8,
       picture(30, 16, 1),
       {{"kernel", "gaussian"}, {"size", "5"}},
       "faster only for at least 4096"},
      {"filter",
       "matrices",
       Element::u8,
       picture(3, 16, 3),
       {{"kernel", "box"}, {"size", "5"}},
       "faster only for at least 4096"},
      {"resize",
       "samples",
       Element::u8,
       {{"images", 1}, {"from_height", 300}, {"from_width", 310}, {"channels", 3}},
       {{"height", "290"}, {"width", "320"}, {"method", "linear"}},
       "faster only for results of at most"},
      {"refocus",
       "planes",
       Element::u8,
       {{"rows", 3}, {"cols", 3}, {"height", 9}, {"width", 50}, {"channels", 1}},
       {{"slopes", "1.5"}},
       "faster only for several planes"}};
  return all;
}

void expect_right(const Held& held, const std::string& device) {
  const Operation& operation = *find_operation(held.operation);
  const std::string where =
      std::string(held.operation) + " " + held.variant + " on " + device + ": " + held.sentence;
  const Case chosen{.dims = held.dims, .words = held.words};
  const Inputs inputs(operation, held.element, chosen, 7);
  const Outcome named = run(operation, inputs.arguments(), {.device = device, .variant = held.variant}, true);
  ASSERT_TRUE(named.verdict) << where;
  EXPECT_TRUE(named.verdict->passed) << where << "\n" << describe(*named.verdict);
  const Arguments device_arguments = placed_arguments(inputs.arguments(), named.plan.device);
  const Reason reason = held_back(*named.plan.variant, device_arguments, named.plan.device);
  EXPECT_EQ(reason.value_or("").substr(0, held.sentence.size()), held.sentence) << where;
  // Without a name it is taken only if no other rung can compute the problem.
  const auto rungs = consider(named.plan.device, operation, device_arguments);
  const bool is_alone = std::ranges::count_if(rungs, [](const Considered& one) { return !one.cannot; }) == 1;
  const auto own = std::ranges::find(rungs, named.plan.variant, &Considered::variant);
  EXPECT_EQ(own->slower, reason) << where;
  EXPECT_EQ(own->taken, is_alone) << where;
}

TEST(HeldBack, NamedRungsIgnoreHeuristics) {
  if (find_backend(Where::simt) == nullptr) GTEST_SKIP() << "this build has no executor";
  for (const Held& held : all_held()) expect_right(held, "simt");
}

TEST(HeldBack, NamedRungsRunOnAGpu) {
  Backend* const gpus = find_backend(Where::cuda);
  if (gpus == nullptr || gpus->devices().empty()) GTEST_SKIP() << "no GPU";
  for (const Held& held : all_held()) expect_right(held, "cuda");
  if (gpus->devices().front().compute_capability != 90) return;
  for (const char* compute : {"tf32x3", "bf16x6", "f16x3"}) {
    expect_right(
        {"matmul", compute, Element::f32, product(70, 65, 130), {{"compute", compute}}, "strict f32"},
        "cuda");
    expect_right(
        {"matmul", compute, Element::f32, product(70, 65, 0), {{"compute", compute}}, "an empty product"},
        "cuda");
  }
}

// Heuristics choose by sizes. A promise excludes that.
TEST(HeldBack, PromisesIgnoreHeuristics) {
  if (find_backend(Where::simt) == nullptr) GTEST_SKIP() << "this build has no executor";
  const Operation& operation = *find_operation("matmul");
  const auto ladder = ladder_of("matmul");
  const auto rung = std::ranges::find(ladder, "few_rows", &Variant::name);
  ASSERT_NE(rung, ladder.end());
  const auto is_held_back = [&](const Arguments::Words& words) {
    const Inputs inputs(operation, Element::f32, {.dims = product(2, 300, 40), .words = words}, 1);
    return held_back(**rung, inputs.arguments(), Device()).has_value();
  };
  EXPECT_TRUE(is_held_back({}));
  EXPECT_FALSE(is_held_back({{"batch-invariant", "yes"}}));
}

// A GPU whose tensor cores multiply doubles slowly is made up.
TEST(HeldBack, TensorCoresOfDoublesWhereTheyAreSlow) {
  const auto ladder = ladder_of("matmul");
  const auto rung = std::ranges::find(ladder, "tensor_cores", &Variant::name);
  if (rung == ladder.end()) GTEST_SKIP() << "this build has no CUDA";
  const Inputs inputs(*find_operation("matmul"), Element::f64, {.dims = product(64, 64, 64)}, 1);
  Device gpu;
  gpu.where = Where::cuda;
  gpu.compute_capability = 86;
  EXPECT_TRUE(held_back(**rung, inputs.arguments(), gpu));
  const Choice& choice = (*rung)->choices.front();
  EXPECT_FALSE(choice.refuses(inputs.arguments(), choice.defaults(), gpu));
  gpu.compute_capability = 90;
  EXPECT_FALSE(held_back(**rung, inputs.arguments(), gpu));
}

}  // namespace
}  // namespace tessera
