// SPDX-License-Identifier: Apache-2.0
// Tests that an entry's bits do not depend on the batch; operands that serve all entries, layouts, and a
// check that finds one wrong entry among many.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include "matmul_batch.hpp"
#include "tessera/matmul_batch.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::matmul_batch {
namespace {

const Operation& batch_product() { return *find_operation("matmul_batch"); }

Case sized(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, Arguments::Words words = {}) {
  return {.dims = {{"batch", batch}, {"m", m}, {"n", n}, {"k", k}}, .words = std::move(words)};
}

void execute(const Plan& plan, const Arguments& arguments) {
  PlacedCall placed(plan, arguments);
  placed.poison();
  placed.upload();
  placed.launch();
  placed.fetch();
}

// Calls each() for every choice of every rung that runs here.
void for_each_choice(Element element, const std::function<void(const Plan&)>& each) {
  for (const Variant* v : ladder_of("matmul_batch")) {
    Backend* backend = find_backend(v->where);
    if (v->where == Where::cuda || backend == nullptr || v->baseline) continue;
    for (const Choice& choice : v->choices)
      if (choice.prepare.contains(element)) each({v, &choice, choice.defaults(), backend->devices().at(0)});
  }
}

template <class T>
void expect_same_bits_alone() {
  constexpr std::int64_t batch = 7, m = 35, n = 70, k = 300;
  Inputs many(batch_product(), element_of<T>, sized(batch, m, n, k), 5);
  int tried = 0;
  for_each_choice(element_of<T>, [&](const Plan& plan) {
    execute(plan, many.arguments());
    const Array grouped = packed_copy(many.arguments().array("C"));
    for (const std::int64_t entry : {std::int64_t{0}, std::int64_t{3}, batch - 1}) {
      Inputs one(batch_product(), element_of<T>, sized(1, m, n, k), 5);
      for (const char* name : {"A", "B"}) {
        const ArrayView& to = one.arguments().array(name);
        std::memcpy(to.data, entry_of(many.arguments(), entry).array(name).data, to.bytes());
      }
      execute(plan, one.arguments());
      const ArrayView& alone = one.arguments().array("C");
      EXPECT_EQ(std::memcmp(alone.data, grouped.as<T>() + entry * m * n, alone.bytes()), 0)
          << plan.variant->name << " " << to_string(plan.tuning) << ", entry " << entry;
    }
    ++tried;
  });
  EXPECT_GE(tried, 4);
}

TEST(MatmulBatch, AnEntryHasTheBitsThatItHasAlone) {
  expect_same_bits_alone<float>();
  expect_same_bits_alone<double>();
}

TEST(MatmulBatch, AnArrayOfOneDimensionFewerServesAll) {
  const Signature& signature = batch_product().signature;
  std::vector<float> a(2 * 3 * 5), b(5 * 4);
  const ArrayView of_each{a.data(), Element::f32, {2, 3, 5}, {15, 5, 1}};
  const ArrayView of_all{b.data(), Element::f32, {5, 4}, {4, 1}};
  const Arguments arguments(signature, Element::f32, {{"A", of_each}, {"B", of_all}}, {});
  EXPECT_EQ(arguments.array("C").extents, (Extents{2, 3, 4}));
  EXPECT_EQ(arguments.text("b-for"), "all");
  EXPECT_EQ(arguments.text("a-for"), "each");
  EXPECT_EQ((arguments.view<const float, 3>("B").stride[0]), 0);
  EXPECT_EQ((arguments.view<const float, 3>("B").extent[0]), 2);
  const auto complaint = [&](const std::map<std::string, ArrayView>& inputs, const Arguments::Words& words) {
    try {
      Arguments(signature, Element::f32, inputs, words);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(complaint({{"A", of_each}, {"B", of_all}}, {{"b-for", "each"}}), "B has 2 dimensions, not 3");
  EXPECT_EQ(complaint({{"A", {a.data(), Element::f32, {3, 5}, {5, 1}}}, {"B", of_all}}, {}),
            "no array has the dimension batch: A and B lack it, as one that serves all; of one of them it "
            "must be there");
  EXPECT_EQ(complaint({{"A", of_each}, {"B", {b.data(), Element::f32, {15}, {1}}}}, {}),
            "B has 1 dimension, not 3, or 2 where one serves all");
  EXPECT_EQ(complaint({{"A", of_each}, {"B", {b.data(), Element::f32, {1, 3, 5, 1}, {15, 5, 1, 1}}}}, {}),
            "B has 4 dimensions, not 3, or 2 where one serves all");
  EXPECT_EQ(complaint({{"A", of_each}, {"B", {b.data(), Element::f32, {3, 5, 1}, {5, 1, 1}}}}, {}),
            "B has batch = 3, but A has 2");
}

TEST(MatmulBatch, OneWrongElementOfManyEntriesIsFound) {
  Inputs inputs(batch_product(), Element::f32, sized(40, 48, 32, 64), 9);
  const Variant* simd = ladder_of("matmul_batch").at(2);
  execute({simd, &simd->choices[0], {}, find_backend(Where::cpu)->devices().at(0)}, inputs.arguments());
  // Large enough for the randomised check.
  const VerifyOptions random_check{.data = Data::random, .reference_flops = 1e5};
  EXPECT_TRUE(verify(batch_product(), inputs.arguments(), nullptr, random_check).passed);
  auto& element = static_cast<float*>(inputs.arguments().array("C").data)[(31 * 48 + 17) * 32 + 5];
  element += 0.01f;
  const Verdict verdict = verify(batch_product(), inputs.arguments(), nullptr, random_check);
  EXPECT_FALSE(verdict.passed);
  ASSERT_EQ(verdict.first.size(), 1u);
  EXPECT_EQ(verdict.first[0].index, (Extents{31, 17, 5}));
  element = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(verify(batch_product(), inputs.arguments(), nullptr, random_check).passed);
}

TEST(MatmulBatch, MoreEntriesThanAGridHasLayers) {
  constexpr std::int64_t batch = 65535 + 70;
  std::vector<std::int32_t> a(batch), b(batch, 3), c(batch);
  std::iota(a.begin(), a.end(), -9);
  for (const char* device : {"cpu", "simt"}) {
    Options options;
    options.request.device = device;
    multiply_batch<std::int32_t>({a.data(), batch, 1, 1}, {b.data(), batch, 1, 1}, {c.data(), batch, 1, 1},
                                 options);
    for (std::int64_t e = 0; e < batch; ++e) ASSERT_EQ(c[static_cast<std::size_t>(e)], 3 * (e - 9)) << device;
    std::ranges::fill(c, 0);
  }
}

}  // namespace
}  // namespace tessera::matmul_batch
