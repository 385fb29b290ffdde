// SPDX-License-Identifier: Apache-2.0
// The public calls: products of every element with every epilogue, in either order, compared with the
// reference; the same bits from calls in place; and the messages for wrong arguments.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>
#include "ops/matmul/gemm/checks.hpp"
#include "ops/matmul/gemm/drawn_testing.hpp"
#include "tessera/matmul.hpp"
#include "tessera/run/inputs.hpp"
#include "tests/complaint.hpp"

namespace tessera::matmul {
namespace {

// Padding between rows or columns belongs to the caller.
template <class T>
struct Padded {
  std::vector<T> memory;
  MatrixView<T> view;

  Padded(std::int64_t rows, std::int64_t cols, Order order, std::uint64_t seed)
      : memory(drawn<T>((rows + 3) * (cols + 3), seed)),
        view{memory.data(), rows, cols, order == Order::rows ? cols + 3 : rows + 3, order} {}
  ConstMatrixView<T> read() const {
    return {view.data, view.rows, view.cols, view.leading_dimension, view.order};
  }
};

constexpr std::int64_t m = 37, n = 29, k = 53;
constexpr Order orders[] = {Order::rows, Order::columns};

template <class T, class Out, class TB>
void expect_right(Options options, const char* device = "cpu") {
  options.check = true;
  options.request.device = device;
  for (const Order order_a : orders)
    for (const Order order_c : orders) {
      options.transpose_b = order_a == Order::columns;
      const Padded<T> a(m, k, order_a, 1);
      const Padded<TB> b(options.transpose_b ? n : k, options.transpose_b ? k : n, order_c, 2);
      Padded<Out> c(m, n, order_c, 3), in_place = c;
      in_place.view.data = in_place.memory.data();
      const Outcome outcome = multiply(a.read(), b.read(), c.view, options);
      ASSERT_TRUE(outcome.verdict.has_value());
      EXPECT_TRUE(outcome.verdict->passed) << describe(*outcome.verdict);
      // The same bits in place, and unchanged padding between lines.
      Options unchecked = options;
      unchecked.check = false;
      const Plan plan = enqueue(nullptr, a.read(), b.read(), in_place.view, unchecked);
      EXPECT_EQ(plan.variant, outcome.plan.variant);
      EXPECT_EQ(std::memcmp(c.memory.data(), in_place.memory.data(), c.memory.size() * sizeof(Out)), 0);
    }
}

template <class T, class Out, class TB = T>
void expect_right_with_all(const char* device = "cpu") {
  const std::vector<float> scale_a = drawn<float>(m, 5), scale_b = drawn<float>(n, 6);
  using Added = std::conditional_t<std::is_same_v<Out, std::int8_t>, float, Out>;
  const std::vector<Added> bias = drawn<Added>(m + n, 7);
  constexpr bool whole = std::is_same_v<Out, std::int32_t>;
  expect_right<T, Out, TB>({}, device);
  expect_right<T, Out, TB>({.alpha = 2, .beta = -1}, device);
  expect_right<T, Out, TB>({.bias = bias_of_columns(bias.data()), .activation = Activation::relu}, device);
  expect_right<T, Out, TB>({.beta = 3, .bias = bias_of_rows(bias.data())}, device);
  if (whole) return;
  if constexpr (std::is_same_v<T, double>) {
    expect_right<T, Out, TB>({.beta = 0.5, .bias = bias_of_rows(bias.data()), .activation = Activation::gelu},
                             device);
  } else {
    expect_right<T, Out, TB>({.scale_a = {scale_a.data()}, .scale_b = {scale_b.data(), true}}, device);
    expect_right<T, Out, TB>({.beta = 0.5, .scale_a = {scale_a.data(), true}, .activation = Activation::gelu},
                             device);
  }
  constexpr bool bytes = std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;
  expect_right<T, Out, TB>(
      {.activation = Activation::silu, .accumulate = bytes ? Accumulate::fast : Accumulate::promoted},
      device);
  expect_right<T, Out, TB>({.bias = bias_of_columns(bias.data()), .activation = Activation::gelu_tanh},
                           device);
}

TEST(Multiply, SupportsEveryEpilogueForEveryElement) {
  expect_right_with_all<bf16, bf16>();
  expect_right_with_all<bf16, float>();
  expect_right_with_all<f16, f16>();
  expect_right_with_all<f16, float>();
  expect_right_with_all<e4m3, bf16>();
  expect_right_with_all<e4m3, f16, e5m2>();
  expect_right_with_all<e5m2, float, e4m3>();
  expect_right_with_all<e5m2, bf16>();
  expect_right_with_all<std::int8_t, std::int32_t>();
  expect_right_with_all<std::int8_t, std::int8_t>();
  expect_right_with_all<std::int8_t, float>();
}

// The epilogue is fused on the CPU, except scales, and a separate pass on the executor.
TEST(Multiply, SupportsEveryEpilogueForElementsWithTheirOwnSums) {
  for (const char* device : {"cpu", "simt"}) {
    expect_right_with_all<float, float>(device);
    expect_right_with_all<double, double>(device);
    expect_right_with_all<std::int32_t, std::int32_t>(device);
  }
}

TEST(Multiply, PlainElements) {
  for (const Options& options : {Options{}, Options{.alpha = -2, .beta = 3}}) {
    expect_right<double, double, double>(options);
    expect_right<std::int32_t, std::int32_t, std::int32_t>(options);
    expect_right<float, float, float>(options);
  }
  expect_right<float, float, float>({.compute = Compute::tf32});
}

TEST(Multiply, AResultIsAFactorOfTheNextProduct) {
  float numbers[4] = {1, 2, 3, 4}, squared[4], cubed[4];
  const MatrixView<float> a{numbers, 2, 2}, b{squared, 2, 2}, c{cubed, 2, 2};
  multiply<float, float, float>(a, a, b);
  const Prepared<float> next(a, b, c);
  next.enqueue(nullptr, numbers, squared, cubed);
  EXPECT_TRUE(cubed[0] == 37 && cubed[1] == 54 && cubed[2] == 81 && cubed[3] == 118);
}

TEST(Multiply, AcceptsASeparateC0) {
  const Padded<bf16> a(m, k, Order::rows, 1), b(k, n, Order::rows, 2);
  const Padded<float> c0(m, n, Order::columns, 3);
  std::vector<float> c(m * n, NAN), in_place(m * n);
  const Addend addend{c0.view.data, c0.view.leading_dimension, c0.view.order};
  const Options options{.beta = 2, .request = {.device = "cpu"}, .check = true, .c0 = addend};
  const auto outcome = multiply(a.read(), b.read(), MatrixView<float>{c.data(), m, n}, options);
  EXPECT_TRUE(outcome.verdict->passed) << describe(*outcome.verdict);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      in_place[static_cast<std::size_t>(i * n + j)] = c0.view.data[i + j * c0.view.leading_dimension];
  multiply(a.read(), b.read(), MatrixView<float>{in_place.data(), m, n},
           {.beta = 2, .request = {.device = "cpu"}});
  EXPECT_EQ(c, in_place);
}

// The fast path of small products gives the bits of a checked call, which takes the slow path, and leaves the
// padding between lines unchanged.
template <class T>
void expect_small(std::int64_t rows, std::int64_t cols, std::int64_t depth) {
  for (int layout = 0; layout < 32; ++layout) {
    const auto order = [layout](int bit) { return (layout & bit) != 0 ? Order::columns : Order::rows; };
    Options options{.transpose_a = (layout & 8) != 0, .transpose_b = (layout & 16) != 0};
    if (layout % 3 == 1) options.alpha = -2, options.beta = 3;
    const auto across = [](bool transposed, std::int64_t x, std::int64_t y) { return transposed ? y : x; };
    const Padded<T> a(across(options.transpose_a, rows, depth), across(options.transpose_a, depth, rows),
                      order(1), 1),
        b(across(options.transpose_b, depth, cols), across(options.transpose_b, cols, depth), order(2), 2);
    Padded<T> c(rows, cols, order(4), 3), same = c, planned = c;
    same.view.data = same.memory.data();
    planned.view.data = planned.memory.data();
    options.request.device = layout % 2 == 0 ? "auto" : "cpu:threads=1";
    const Outcome outcome = multiply(a.read(), b.read(), c.view, options);
    const Prepared<T> product(a.read(), b.read(), planned.view, options);
    product.enqueue(nullptr, a.view.data, b.view.data, planned.view.data);
    EXPECT_EQ(std::memcmp(c.memory.data(), planned.memory.data(), c.memory.size() * sizeof(T)), 0);
    options.check = true;
    const Outcome checked = multiply(a.read(), b.read(), same.view, options);
    ASSERT_TRUE(checked.verdict && checked.verdict->passed) << describe(*checked.verdict);
    EXPECT_EQ(std::memcmp(c.memory.data(), same.memory.data(), c.memory.size() * sizeof(T)), 0)
        << rows << " × " << cols << " × " << depth << ", layout " << layout;
    ASSERT_NE(outcome.plan.variant, nullptr);
    if (checked.plan.device.where == Where::cpu) {
      EXPECT_EQ(outcome.plan.variant, checked.plan.variant);
    }
    EXPECT_EQ(outcome.plan.choice->prepare.count(element_of<T>), 1u);
  }
}

TEST(Multiply, SmallProducts) {
  for (const auto& [rows, cols, depth] : {std::array<std::int64_t, 3>{1, 1, 1},
                                          {8, 8, 8},
                                          {3, 17, 5},
                                          {16, 16, 16},
                                          {31, 2, 70},
                                          {1, 130, 40},
                                          {1, 7, 600},
                                          {23, 1, 1100},
                                          {47, 65, 33}}) {
    expect_small<float>(rows, cols, depth);
    expect_small<double>(rows, cols, depth);
  }
}

// C's lines interleave with A's: the address ranges overlap, the elements do not.
TEST(Multiply, AcceptsACBetweenTheRowsOfA) {
  std::vector<float> both(4 * 8, 1), b(16, 2);
  multiply<float>({both.data(), 4, 4, 8}, {b.data(), 4, 4}, {both.data() + 4, 4, 4, 8});
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_EQ(both[i], i % 8 < 4 ? 1 : 8);
}

// enqueue() relies on this: only the thread that writes an element of C reads that of C0, and reads it first.
template <class T>
void expect_same_in_place(const Case& chosen) {
  int tried = 0;
  for (const Variant* v : ladder_of("matmul")) {
    Backend* const backend = find_backend(v->where);
    if (backend == nullptr || backend->devices().empty() || v->where == Where::cuda || v->baseline) continue;
    for (const Choice& choice : v->choices) {
      const Plan plan{v, &choice, choice.defaults(), backend->devices().at(0)};
      Inputs inputs(matmul_operation(), element_of<T>, chosen, 7);
      if (v->refuses(choice, inputs.arguments(), plan.tuning, plan.device)) continue;
      const Arguments& given = inputs.arguments();
      const ArrayView& c = given.array("C");
      enqueue(plan, given, nullptr);
      Array both = packed_copy(given.array("C0"));
      Arguments in_place = given;
      in_place.set_array("C0", both.view());
      in_place.set_array("C", ArrayView{both.view().data, c.element, c.extents, both.view().strides});
      EXPECT_THROW(enqueue(plan, in_place, nullptr), Error);
      enqueue(plan, in_place, nullptr, {}, "C0");
      EXPECT_EQ(std::memcmp(packed_copy(c).view().data, both.view().data, c.bytes()), 0)
          << v->name << " " << to_string(plan.tuning);
      ++tried;
    }
  }
  EXPECT_GE(tried, 1);
}

TEST(Enqueue, EveryRungHereAddsInPlace) {
  Case chosen{.dims = {{"m", 35}, {"n", 41}, {"k", 40}}, .words = {{"beta", "2"}}};
  chosen.optional_inputs = {"C0"};
  expect_same_in_place<float>(chosen);
  expect_same_in_place<double>(chosen);
  expect_same_in_place<std::int32_t>(chosen);
  expect_same_in_place<bf16>(chosen);
  expect_same_in_place<std::int8_t>(chosen);
}

template <class T, class Out = T, class TB = T>
std::string complaint(ConstMatrixView<T> a, ConstMatrixView<TB> b, MatrixView<Out> c,
                      const Options& options = {}, void* stream = nullptr) {
  std::string first = "none";
  try {
    multiply(a, b, c, options);
  } catch (const Error& error) {
    first = error.what();
  }
  try {
    enqueue(stream, a, b, c, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::user);
    return first == error.what() ? first : first + " | " + error.what();
  }
  return first == "none" ? first : first + " | none";
}

TEST(Multiply, ReportsErrors) {
  std::vector<float> x(200);
  std::vector<bf16> y(100);
  const float* const in = x.data();
  float* const out = x.data() + 150;
  const bf16* const few = y.data();
  using F = ConstMatrixView<float>;
  EXPECT_EQ(complaint<float>({in, 2, 3}, {in, 4, 2}, {out, 2, 2}), "B has k = 4, but A has 3");
  EXPECT_EQ(complaint<float>({in, 2, 3}, {in, 3, 2}, {out, 2, 3}),
            "C is 2 × 3 of f32, but must be 2 × 2 of f32");
  EXPECT_EQ(complaint<float>({nullptr, 2, 3}, {in, 3, 2}, {out, 2, 2}), "A has no data");
  EXPECT_EQ(complaint<float>({in, 2, 3}, {in, 3, 2}, {nullptr, 2, 2}), "C has no data");
  EXPECT_EQ(complaint<float>({in, 2, 3, 2}, {in, 3, 2}, {out, 2, 2}),
            "A has the leading dimension 2, but rows of 3");
  EXPECT_EQ(complaint<float>({in, 2, 3, -3}, {in, 3, 2}, {out, 2, 2}),
            "A has the leading dimension -3, but rows of 3");
  EXPECT_EQ(complaint<float>(F{in, 5, 3, 4, Order::columns}, {in, 3, 2}, {out, 5, 2}),
            "A has the leading dimension 4, but columns of 5");
  EXPECT_EQ(complaint<float>({in, -2, 3}, {in, 3, 2}, {out, 2, 2}), "A has a negative extent");
  EXPECT_EQ(complaint<float>({in, 2, 3}, {in, 3, 2}, {x.data() + 4, 2, 2}),
            "C overlaps A in memory; outputs must not alias other arrays");
  const auto* const odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(in) + 2);
  EXPECT_EQ(complaint<float>({odd, 2, 3}, {in, 3, 2}, {out, 2, 2}), "A is not aligned to its elements");
  EXPECT_EQ((complaint<float>({in, 2, 3}, {in, 3, 2}, {out, 2, 2}, {.scale_a = {odd}})),
            "scale-a is not aligned to its elements");
  EXPECT_EQ((complaint<float, float, bf16>({in, 2, 3}, {few, 3, 2}, {out, 2, 2})),
            "B holds bf16, A f32: only 8-bit floats may be mixed");
  std::vector<double> wide(4);
  EXPECT_EQ((complaint<bf16, double>({few, 2, 3}, {few, 3, 2}, {wide.data(), 2, 2})),
            "C holds f64: the product of bf16 can be bf16, f16 or f32");
  EXPECT_EQ((complaint<bf16, float>({few, 2, 3}, {few, 3, 2}, {out, 2, 2}, {.bias = bias_of_columns(few)})),
            "bias holds bf16, not f32");
  EXPECT_EQ(complaint<float>({in, 2, 3}, {in, 3, 2}, {out, 2, 2}, {.request = {.variant = "blockd"}}),
            "no variant of matmul is called 'blockd'; did you mean 'blocked'?");
  EXPECT_NE(complaint<float>({in, 2, 3}, {in, 3, 2}, {out, 2, 2}, {.request = {.device = "cudo"}})
                .find("did you mean 'cuda'"),
            std::string::npos);
  EXPECT_EQ(complaint<float>({in, 2, 3}, {in, 3, 2}, {out, 2, 2}), "none");
  // Addresses that would wrap around.
  constexpr std::int64_t far = std::int64_t{1} << 61;
  EXPECT_EQ(complaint<float>({in, 2, 3, far}, {in, 3, 2}, {out, 2, 2}),
            "A exceeds the address space: 2 times 2305843009213693952 elements");
  EXPECT_EQ(complaint<float>({in, 2, 3}, {in, 3, 2}, {out, 2, 2, far}),
            "C exceeds the address space: 2 times 2305843009213693952 elements");
}

// Unread operands may hold NaN, and empty ones may have null pointers.
TEST(Multiply, IgnoresUnreadOperands) {
  const std::vector<float> nan(40, NAN);
  const float* const none = nullptr;
  for (const char* variant : {"naive", "ordered", "blocked", "simd"}) {
    Options o{.request = {.device = "cpu", .variant = variant}};
    const auto c_of = [&](ConstMatrixView<float> a, ConstMatrixView<float> b, float before) {
      std::vector<float> c(6, before);
      multiply<float>(a, b, {c.data(), 2, 3}, o);
      EXPECT_EQ(std::ranges::count(c, c[0]), std::isnan(c[0]) ? 0 : 6) << variant;
      return c[0];
    };
    const std::vector<float> ones(40, 1);
    EXPECT_EQ(c_of({ones.data(), 2, 5}, {ones.data(), 5, 3}, NAN), 5) << variant;
    EXPECT_EQ(c_of({none, 2, 0}, {none, 0, 3}, NAN), 0) << variant;
    o.c0 = {nan.data()};
    EXPECT_EQ(c_of({ones.data(), 2, 5}, {ones.data(), 5, 3}, 4), 5) << variant << ", β = 0";
    o.c0 = {};
    o.alpha = 0;
    EXPECT_EQ(c_of({nan.data(), 2, 5}, {nan.data(), 5, 3}, NAN), 0) << variant;
    o.beta = 3;
    EXPECT_EQ(c_of({nan.data(), 2, 5}, {nan.data(), 5, 3}, 2), 6) << variant;
    o.alpha = 1;
    EXPECT_EQ(c_of({none, 2, 0}, {none, 0, 3}, 2), 6) << variant;
    EXPECT_TRUE(std::isnan(c_of({nan.data(), 2, 5}, {ones.data(), 5, 3}, 2))) << variant;
    // Any number of empty rows.
    constexpr std::int64_t many = std::int64_t{1} << 60;
    multiply<float>({none, many, 0}, {none, 0, 0}, {nullptr, many, 0}, o);
    multiply<float>({none, 0, 0}, {none, 0, many}, {nullptr, 0, many}, o);
  }
}

TEST(Enqueue, ReportsErrors) {
  std::vector<float> x(200);
  const float* const in = x.data();
  float* const out = x.data() + 150;
  EXPECT_EQ(complaint<float>({in, 2, 3}, {in, 3, 2}, {out, 2, 2}, {}, out), "none | cpu has no streams");
  EXPECT_EQ(complaint<float>({in, 2, 3}, {in, 3, 2}, {out, 2, 2}, {.check = true}),
            "none | check is not supported for asynchronous calls");
  // A C0 that partially overlaps C.
  EXPECT_EQ(complaint<float>({in, 2, 3}, {in, 3, 2}, {out, 2, 2}, {.beta = 1, .c0 = {out + 1}}),
            "C overlaps C0 in memory; outputs must not alias other arrays");
  // Nothing to do, nowhere.
  EXPECT_EQ(enqueue<float>(nullptr, {in, 0, 3}, {in, 3, 2}, {nullptr, 0, 2}).variant, nullptr);
}

// Options that request an accuracy of f32 sums of k products, in bits of the result.
std::vector<float> product_with(const Options& options, std::int64_t depth) {
  const auto a = drawn<float>(9 * depth, 1), b = drawn<float>(depth * 7, 2);
  std::vector<float> c(63);
  enqueue<float>(nullptr, {a.data(), 9, depth}, {b.data(), depth, 7}, {c.data(), 9, 7}, options);
  return c;
}

TEST(Accuracy, ChoosesTheCheapestArithmeticThatIsAccurateEnough) {
  const auto by = [](const char* variant, Compute compute, Accuracy accuracy) {
    Options out{.compute = compute, .accuracy = accuracy};
    out.request.device = "cpu";
    out.request.variant = variant;
    return out;
  };
  const auto split = product_with(by("f16x3", Compute::f16x3, {}), 500);
  EXPECT_EQ(product_with(by("f16x3", Compute::strict, Element::f32), 500), split);
  EXPECT_EQ(product_with(by("f16x3", Compute::strict, 1e-4), 500), split);
  // Strict sums are accurate enough, and processors emulate f32 only if --compute names it.
  EXPECT_EQ(product_with({.accuracy = Element::f32}, 500), product_with({}, 500));
  // For few products strict f32 is the most accurate; for 1e-2 one TF32 product is enough.
  EXPECT_EQ(
      tessera::complaint([&] { product_with(by("f16x3", Compute::strict, Element::f32), 60); }),
      "no variant of matmul can compute this on cpu; f16x3: accuracy f32 leads to the arithmetic strict");
  EXPECT_NE(tessera::complaint([&] { product_with(by("f16x3", Compute::strict, 1e-2), 500); }), "none");
}

TEST(Accuracy, RefusesAnUnavailableAccuracyAndNamesTheBestOne) {
  EXPECT_EQ(
      tessera::complaint([] { product_with({.accuracy = Element::f64}, 1024); }),
      "accuracy f64 demands more than the product of f32 offers: the smallest at k = 1024 is 1.4e-05 of "
      "|A||B|, of "
      "operands in f64 2.6e-14");
  // Repeated while a call without accuracy is cached.
  (void)product_with({}, 1024);
  EXPECT_NE(tessera::complaint([] { product_with({.accuracy = 1e-7}, 1024); }).find("1.4e-05 of |A||B|"),
            std::string::npos);
  (void)product_with({.accuracy = 1.4e-5}, 1024);
  EXPECT_EQ(
      tessera::complaint([] { product_with({.compute = Compute::tf32, .accuracy = Element::f32}, 1024); }),
      "accuracy chooses the arithmetic, and compute tf32 names one: leave one out");
  EXPECT_EQ(tessera::complaint([] { product_with({.accuracy = Element::bf16}, 1024); }),
            "accuracy takes f32, f64 or a number above 0, not 'bf16'");
  EXPECT_EQ(tessera::complaint([] { product_with({.accuracy = -1.0}, 1024); }),
            "accuracy takes f32, f64 or a number above 0, not '-1'");
}

}  // namespace
}  // namespace tessera::matmul
