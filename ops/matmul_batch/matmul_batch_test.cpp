// SPDX-License-Identifier: Apache-2.0
// What a batch promises besides right products: bits that do not depend on the batch, operands that serve all
// entries, layouts, and a check that finds one wrong entry among many.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include "matmul_batch.hpp"
#include "multiply.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::matmul_batch {
namespace {

const Operation& batch_product() { return *find_operation("matmul_batch"); }

Case sized(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, Arguments::Words words = {}) {
  return {.dims = {{"batch", batch}, {"m", m}, {"n", n}, {"k", k}}, .words = std::move(words)};
}

void execute(const Plan& plan, const Arguments& arguments) {
  Placed placed(plan, arguments);
  placed.poison();
  placed.upload();
  placed.launch();
  placed.fetch();
}

// Every choice of every rung that runs here.
void for_each_choice(Element element, const std::function<void(const Plan&)>& each) {
  for (const Variant* v : ladder_of("matmul_batch")) {
    Backend* backend = find_backend(v->where);
    if (v->where == Where::cuda || backend == nullptr || v->baseline) continue;
    for (const Choice& choice : v->choices)
      if (choice.run.contains(element)) each({v, &choice, choice.defaults(), backend->devices().at(0)});
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

TEST(MatmulBatch, ProgramsGiveStepsAndLeadingDimensions) {
  // Two entries of C side by side in the rows of one matrix; one B for both; op(A) = Aᵀ.
  std::vector<double> a{1, 2, 3, 4, 5, 6, 7, 8}, b{1, 10}, c(2 * 5, std::nan(""));
  Options options{.alpha = 2, .transpose_a = true, .check = true};
  const Outcome outcome =
      multiply_batch<double>({a.data(), 2, 2, 2}, {b.data(), 1, 2, 1}, {c.data(), 2, 2, 1, 5, 2}, options);
  EXPECT_TRUE(outcome.verdict->passed);
  EXPECT_EQ(c[0], 2 * (1 + 30));
  EXPECT_EQ(c[5], 2 * (2 + 40));
  EXPECT_EQ(c[2], 2 * (5 + 70));
  EXPECT_EQ(c[7], 2 * (6 + 80));
  for (const std::size_t between : {1u, 3u, 4u, 6u, 8u, 9u}) EXPECT_TRUE(std::isnan(c[between]));
  // β·C, of two entries that share both factors.
  options = {.beta = -1, .check = true};
  c.assign(2, 5);
  multiply_batch<double>({a.data(), 1, 1, 2}, {b.data(), 1, 2, 1}, {c.data(), 2, 1, 1}, options);
  EXPECT_EQ(c, (std::vector<double>{16, 16}));
  c.assign(2, std::nan(""));
  multiply_batch<double>({a.data(), 1, 1, 2}, {b.data(), 1, 2, 1}, {c.data(), 2, 1, 1}, {});
  EXPECT_EQ(c, (std::vector<double>{21, 21}));
}

TEST(MatmulBatch, ProgramsMultiplyFewBits) {
  const std::vector<bf16> a(2 * 3 * 300, bf16::from(1.0f)), b(300 * 4, bf16::from(-1.0f));
  std::vector<float> c(2 * 3 * 4);
  multiply_batch<bf16, float>({a.data(), 2, 3, 300}, {b.data(), 1, 300, 4}, {c.data(), 2, 3, 4},
                              {.check = true});
  EXPECT_EQ(c, std::vector<float>(c.size(), -300));
  const std::vector<std::int8_t> left(2 * 4, -128), right(2 * 4, 127);
  std::vector<std::int32_t> whole(2);
  multiply_batch<std::int8_t, std::int32_t>({left.data(), 2, 1, 4}, {right.data(), 2, 4, 1},
                                            {whole.data(), 2, 1, 1}, {});
  EXPECT_EQ(whole, std::vector<std::int32_t>(2, -128 * 127 * 4));
}

TEST(MatmulBatch, ErrorsNameWhatIsWrong) {
  std::vector<float> x(100);
  const auto complaint = [&](ConstBatchView<float> a, ConstBatchView<float> b, BatchView<float> c) {
    try {
      multiply_batch<float>(a, b, c);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const float* const in = x.data();
  float* const out = x.data() + 50;
  EXPECT_EQ(complaint({in, 2, 2, 3}, {in, 2, 3, 2}, {out, 2, 2, 2, 0, 3}),
            "C has the step 3, with which its entries overlap");
  EXPECT_EQ(complaint({in, 2, 2, 3, 0, -6}, {in, 2, 3, 2}, {out, 2, 2, 2}), "A has the negative step -6");
  EXPECT_EQ(complaint({in, 3, 2, 3}, {in, 2, 3, 2}, {out, 2, 2, 2}), "B has batch = 2, but A has 3");
  EXPECT_EQ(complaint({nullptr, 2, 2, 3}, {in, 2, 3, 2}, {out, 2, 2, 2}), "A has no data");
  EXPECT_EQ(complaint({in, 0, 2, 3}, {in, 0, 3, 2}, {out, 0, 2, 2}), "none");
}

}  // namespace
}  // namespace tessera::matmul_batch
