// SPDX-License-Identifier: Apache-2.0
// The epilogue: its definition, and the pass over C.
#include <algorithm>
#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>
#include "ops/matmul/gemm/checks.hpp"
#include "ops/matmul/gemm/drawn_testing.hpp"
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/verify/bounds.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::matmul {
namespace {

TEST(ScaledSum, HasTheBitsOfF32ForNormalFactors) {
  Random random(3);
  const auto draw = [&] {
    return static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(40)) - 20));
  };
  for (int i = 0; i < 100000; ++i) {
    const float alpha = draw(), scale_a = draw(), scale_b = draw(), sum = draw();
    const float plain = alpha * scale_a * scale_b * sum;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(scaled_sum(alpha, scale_a, scale_b, sum)),
              std::bit_cast<std::uint32_t>(plain));
  }
}

TEST(ScaledSum, IsRightForFactorsOutsideTheRangeOfF32) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_FLOAT_EQ(scaled_sum(1, 1e20f, 1e20f, 1e-30f), 1e10f);
  EXPECT_FLOAT_EQ(scaled_sum(1e30f, 1e30f, 1e-30f, 1e-5f), 1e25f);
  EXPECT_FLOAT_EQ(scaled_sum(1, 1e-30f, 1e-30f, 1e38f), 1e-22f);
  // The first product keeps few digits.
  EXPECT_FLOAT_EQ(scaled_sum(1.23456e-20f, 1.23456e-22f, 1e30f, 1), 1.23456f * 1.23456f * 1e-12f);
  EXPECT_EQ(scaled_sum(1, 1e30f, 1e30f, 0), 0);
  EXPECT_EQ(scaled_sum(1, 0, 1e30f, 5), 0);
  EXPECT_EQ(scaled_sum(1, 1e30f, 1e30f, -1e-10f), -infinity);
  EXPECT_EQ(scaled_sum(1, infinity, 1, 2), infinity);
  EXPECT_TRUE(std::isnan(scaled_sum(1, infinity, 1, 0)));
  EXPECT_TRUE(std::isnan(scaled_sum(1, 1, std::numeric_limits<float>::quiet_NaN(), 1)));
}

// Multiplies each element of `input` by a factor.
void enlarge(const ArrayView& input, double times) {
  for (std::int64_t at = 0; at < input.count(); ++at) {
    void* const here =
        static_cast<char*>(input.data) + at * static_cast<std::int64_t>(size_of(input.element));
    store_from_double(input.element, here, times * load_as_double(input.element, here));
  }
}

// The check uses the same bound.
TEST(ScaledSum, MatchesTheReference) {
  struct Extreme {
    double factors, scale_a, scale_b;
  };
  for (const Extreme& e :
       {Extreme{1e-15, 1e20, 1e20}, {1e15, 1e-30, 1e-28}, {1, 1e36, 1e-36}, {1e-18, 1e38, 1}}) {
    Case tried{.dims = {{"m", 9}, {"n", 17}, {"k", 70}}, .words = {{"output-element", "f32"}}};
    tried.optional_inputs = {"scale-a", "scale-b"};
    Inputs inputs(*find_operation("matmul"), Element::bf16, tried, 7);
    Arguments& arguments = inputs.arguments();
    enlarge(arguments.array("A"), e.factors), enlarge(arguments.array("B"), e.factors);
    enlarge(arguments.array("scale-a"), e.scale_a), enlarge(arguments.array("scale-b"), e.scale_b);
    const Outcome outcome =
        run(*find_operation("matmul"), arguments, {.device = "cpu", .variant = "naive"}, true);
    ASSERT_TRUE(outcome.verdict.has_value());
    EXPECT_TRUE(outcome.verdict->passed) << e.scale_a << "\n" << describe(*outcome.verdict);
  }
}

constexpr std::int64_t batch = 2, m = 37, n = 69;  // more rows and columns than a block of the kernel has

struct Way {
  bool by_columns = false, apart = false, bias_along_rows = false;
  std::int64_t gap = 0;  // between neighbours
};

// A batch's arguments, with C in that layout between guards.
template <class T>
struct Tried {
  std::vector<T> a, b, bias, c, sums;
  std::optional<Arguments> arguments;

  Tried(const Way& way, Activation activation) : a(1), b(1), bias(batch * (m + n)), sums(batch * m * n) {
    static constexpr const char* words[] = {"none", "relu", "gelu", "gelu-tanh", "silu"};
    Random random(5);
    const auto draw = [&] { return static_cast<T>(6 * random.normal()); };
    const std::int64_t step = 1 + way.gap, line = (way.by_columns ? m : n) * step + 3,
                       entry = line * (way.by_columns ? n : m) + 5;
    c.resize(static_cast<std::size_t>(batch * entry));
    for (std::vector<T>* to : {&bias, &c, &sums}) std::ranges::generate(*to, draw);
    const std::int64_t along = way.bias_along_rows ? m : n;
    std::map<std::string, ArrayView> inputs{
        {"A", {a.data(), element_of<T>, {batch, m, 0}, {0, 0, 1}}},
        {"B", {b.data(), element_of<T>, {batch, 0, n}, {0, n, 1}}},
        {"bias", {bias.data(), element_of<T>, {batch, along}, {along, 1}}}};
    arguments.emplace(find_operation("matmul_batch")->signature, element_of<T>, std::move(inputs),
                      Arguments::Words{{"bias-along", way.bias_along_rows ? "rows" : "columns"},
                                       {"activation", words[static_cast<int>(activation)]}});
    const Extents strides = way.by_columns ? Extents{entry, step, line} : Extents{entry, line, step};
    arguments->set_array("C", ArrayView{c.data(), element_of<T>, {batch, m, n}, strides});
  }
};

// Bounds on the difference between vector and scalar functions: docs/products.md.
template <class T>
double allowed(Activation activation, double z) {
  if (activation == Activation::none || activation == Activation::relu) return 0;
  return std::fabs(z) * (sizeof(T) == 8 ? 0x1p-48 : 0x1p-19);
}

template <class T>
void expect_concluded(const Device& device, const Way& way, Activation activation) {
  Tried<T> tried(way, activation);
  Run run{&device};
  void* const sums = way.apart ? tried.sums.data() : nullptr;
  const auto p = EpilogueProblem<T>::of(*tried.arguments, sums);
  std::vector<T> before = tried.c;
  run_epilogue(*tried.arguments, sums, run);
  for (std::int64_t e = 0; e < batch; ++e)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(place(p.of_c, e, i, j));
        const T sum = way.apart ? tried.sums[static_cast<std::size_t>((e * m + i) * n + j)] : before[at];
        const T z = plus(sum, p.bias[place(p.of_bias, e, i, j)]);
        const double right = applied_exactly({activation}, static_cast<double>(z));
        ASSERT_TRUE(std::fabs(static_cast<double>(tried.c[at]) - right) <=
                    allowed<T>(activation, static_cast<double>(z)))
            << e << ", " << i << ", " << j << ": " << tried.c[at] << " instead of " << right;
        before[at] = tried.c[at];
      }
  ASSERT_EQ(std::memcmp(before.data(), tried.c.data(), before.size() * sizeof(T)), 0) << "wrote beside C";
}

std::vector<Device> devices() {
  std::vector<Device> out;
  for (const Where where : {Where::cpu, Where::simt}) out.push_back(find_backend(where)->devices().at(0));
  out.front().threads = 2;
  return out;
}

TEST(EpilogueProblem, EveryLayoutAndEachBias) {
  using enum Activation;
  for (const Device& device : devices())
    for (const bool by_columns : {false, true})
      for (const bool apart : {false, true})
        for (const bool rows : {false, true})
          for (const std::int64_t gap : {0, 1}) {
            SCOPED_TRACE(std::string(name_of(device.where)) + (by_columns ? " by columns" : "") +
                         (apart ? " apart" : "") + (rows ? " bias of rows" : "") + (gap != 0 ? " gaps" : ""));
            const Way way{by_columns, apart, rows, gap};
            for (const Activation activation : {none, relu, gelu, gelu_tanh, silu}) {
              expect_concluded<float>(device, way, activation);
              expect_concluded<double>(device, way, activation);
            }
            for (const Activation activation : {none, relu})
              expect_concluded<std::int32_t>(device, way, activation);
          }
}

// Every exponent, both signs, and NaN.
template <class T>
void expect_functions_right() {
  using limits = std::numeric_limits<T>;
  std::vector<T> x{0,
                   -T{0},
                   limits::infinity(),
                   -limits::infinity(),
                   limits::quiet_NaN(),
                   limits::max(),
                   limits::lowest(),
                   limits::min(),
                   limits::denorm_min()};
  Random random(9);
  for (int i = 0; i < 40000; ++i)
    x.push_back(static_cast<T>(std::ldexp(random.normal(), static_cast<int>(random.below(30)) - 18)));
  for (const Activation activation :
       {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    std::vector<T> y(x.size());
    EpilogueProblem<T> p;
    p.batch = p.m = 1, p.n = std::ssize(x);
    p.c = y.data(), p.sums = x.data();
    p.of_c = p.of_sums = {0, 0, 1};
    p.post_op.activation = activation;
    run_epilogue_on_cpu(p, 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto z = static_cast<double>(x[i]), right = applied_exactly({activation}, z);
      const auto got = static_cast<double>(y[i]);
      if (std::isnan(right)) ASSERT_TRUE(std::isnan(got)) << z;
      else if (std::isinf(right)) ASSERT_EQ(got, right) << z;
      else
        ASSERT_TRUE(std::fabs(got - right) <= allowed<T>(activation, z) + 2 * limits::denorm_min())
            << z << ": " << got;
    }
  }
}

TEST(EpilogueProblem, VectorActivationsAreAccurateForAllInputs) {
  expect_functions_right<float>();
  expect_functions_right<double>();
}

// With scales, β·C0 is added after them, and C0 is C itself: the sums are in separate memory.
TEST(EpilogueProblem, ScalesAndAddsAnInPlaceMatrix) {
  for (const Variant* variant : ladder_of("matmul")) {
    if (variant->where == Where::cuda || variant->baseline ||
        !variant->choices[0].prepare.contains(Element::f32))
      continue;
    const Device device = find_backend(variant->where)->devices().at(0);
    const Choice& choice = variant->choices[0];
    Case tried{.dims = {{"m", 13}, {"n", 21}, {"k", 140}},
               .words = {{"alpha", "-2"},
                         {"beta", "0.5"},
                         {"activation", "relu"},
                         {"compute", compute_for(variant->name)}}};
    tried.optional_inputs = {"C0", "bias", "scale-a", "scale-b"};
    // Some support few rows only, or short sums.
    const decltype(tried.dims) few_rows{{"m", 4}, {"n", 21}, {"k", 140}},
        short_sums{{"m", 13}, {"n", 41}, {"k", 9}};
    for (const auto& dims : {few_rows, short_sums})
      if (variant->refuses(choice, Inputs(matmul_operation(), Element::f32, tried, 3).arguments(),
                           choice.defaults(), device))
        tried.dims = dims;
    Inputs apart(matmul_operation(), Element::f32, tried, 3),
        in_place(matmul_operation(), Element::f32, tried, 3);
    Arguments& arguments = in_place.arguments();
    arguments.set_array("C", arguments.array("C0"));
    for (Arguments* one : {&apart.arguments(), &arguments}) {
      ASSERT_FALSE(variant->refuses(choice, *one, choice.defaults(), device)) << variant->name;
      std::vector<std::uint64_t> workspace(
          choice.prepared(*one, choice.defaults(), device).workspace_bytes / 8 + 1);
      tessera::Run here{&device, nullptr, workspace.data(), workspace.size() * 8};
      choice.run(*one, choice.defaults(), here);
    }
    EXPECT_TRUE(verify(matmul_operation(), apart.arguments()).passed) << variant->name;
    const ArrayView &c = apart.arguments().array("C"), &other = arguments.array("C");
    EXPECT_EQ(std::memcmp(c.data, other.data, c.bytes()), 0) << variant->name;
  }
}

// A check must detect a missing pass.
TEST(EpilogueProblem, FindsOmittedSteps) {
  for (const Element element : {Element::f64, Element::i32, Element::f32}) {
    Case tried{.dims = {{"m", 33}, {"n", 21}, {"k", 40}}, .words = {{"activation", "relu"}}};
    tried.optional_inputs = {"bias"};
    Inputs inputs(matmul_operation(), element, tried, 4);
    const Arguments& arguments = inputs.arguments();
    (void)run(matmul_operation(), inputs.arguments(), {.device = "cpu", .variant = "simd"});
    EXPECT_TRUE(verify(matmul_operation(), arguments).passed) << name_of(element);
    (void)run(matmul_operation(), inputs.arguments(), {.device = "cpu", .variant = "blocked"});
    EXPECT_TRUE(verify(matmul_operation(), arguments).passed) << name_of(element);
    const Arguments bare = without_epilogue(arguments, nullptr);
    tessera::Run here{};
    const Device device = find_backend(Where::cpu)->devices().at(0);
    here.device = &device;
    for (const Variant* variant : ladder_of("matmul"))
      if (variant->name == "simd") variant->choices[0].run(bare, {}, here);
    EXPECT_FALSE(verify(matmul_operation(), arguments).passed) << name_of(element);
  }
}

}  // namespace
}  // namespace tessera::matmul
