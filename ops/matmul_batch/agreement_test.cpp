// SPDX-License-Identifier: Apache-2.0
// Agreement of the calls for programs: batches, groups and products in place give each entry the single
// product's result for all Options, and refuse the same arguments.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include "tessera/matmul_batch.hpp"
#include "ops/matmul/gemm/drawn_testing.hpp"
#include "tessera/matmul.hpp"
#include "tests/complaint.hpp"

namespace tessera::matmul_batch {
namespace {

using matmul::bias_of_columns;
using matmul::drawn;

// Matrices of one size with gaps between lines and entries.
template <class T>
struct Lying {
  std::vector<T> memory;
  std::int64_t count, rows, cols, leading, step;
  Order order;

  Lying(Random& random, std::int64_t entries, std::int64_t m, std::int64_t n, bool hostile)
      : count(entries), rows(m), cols(n), order(random.below(2) == 0 ? Order::rows : Order::columns) {
    const std::int64_t line = order == Order::rows ? cols : rows, lines = order == Order::rows ? rows : cols;
    leading = line + static_cast<std::int64_t>(random.below(3));
    step = lines * leading + static_cast<std::int64_t>(random.below(3));
    memory = drawn<T>(count * step + 1, random.next());
    constexpr double inf = std::numeric_limits<double>::infinity();
    const double values[] = {inf, -inf, std::nan(""), 3e38, -3e38, 0};
    if (!hostile || std::is_integral_v<T>) return;
    for (T& x : memory)
      if (random.below(20) == 0) store_from_double(element_of<T>, &x, values[random.below(6)]);
  }
  template <class U = const T>
  BatchView<U> all(std::vector<T>& where) const {
    return {where.data(), count, rows, cols, leading, step, order};
  }
  template <class U = const T>
  MatrixView<U> one(std::vector<T>& where, std::int64_t e) const {
    return {where.data() + e * step, rows, cols, leading, order};
  }
};

// True if all elements have the same bits; any NaN equals any other.
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool nan =
        std::isnan(load_as_double(element_of<T>, &a[i])) && std::isnan(load_as_double(element_of<T>, &b[i]));
    if (!nan && std::memcmp(&a[i], &b[i], sizeof(T)) != 0) return false;
  }
  return true;
}

template <class T, class Out, class TB>
struct Drawn {
  Random random;
  std::int64_t count, m, n, k;
  bool hostile;
  Options options;
  Lying<T> a;
  Lying<TB> b;
  Lying<Out> c, c0;
  std::vector<float> scale_a, scale_b;
  using BiasOf = std::conditional_t<std::is_same_v<Out, std::int8_t>, float, Out>;
  std::vector<BiasOf> bias;

  std::int64_t below(std::int64_t most) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
  }

  explicit Drawn(std::uint64_t seed)
      : random(seed),
        count(below(5)),
        m(below(9)),
        n(below(9)),
        k(below(12)),
        hostile(below(3) == 0),
        options{.transpose_a = below(2) == 0, .transpose_b = below(2) == 0},
        a(random, count, options.transpose_a ? k : m, options.transpose_a ? m : k, hostile),
        b(random, count, options.transpose_b ? n : k, options.transpose_b ? k : n, hostile),
        c(random, count, m, n, hostile),
        c0(random, count, m, n, hostile),
        scale_a(drawn<float>(count * (m + 2) + 1, random.next())),
        scale_b(drawn<float>(count * (n + 2) + 1, random.next())),
        bias(drawn<BiasOf>(count * (m + n + 1) + 1, random.next())) {
    constexpr bool whole = std::is_same_v<Out, std::int32_t>, scaled = !whole && !std::is_same_v<T, double>;
    options.alpha = whole ? 2 : 0.5;
    options.beta = static_cast<double>(below(3)) * (whole ? 1 : 0.25);
    if (scaled && below(2) == 0) options.scale_a = {scale_a.data(), below(2) == 0, below(2) * (m + 1)};
    if (scaled && below(2) == 0) options.scale_b = {scale_b.data(), below(2) == 0, below(2) * (n + 1)};
    if (below(2) == 0) options.bias = {bias.data(), element_of<BiasOf>, below(2) == 0, below(2) * (m + n)};
    options.activation = static_cast<Activation>(below(whole ? 2 : 5));
    options.request.device = "cpu";
  }

  // Returns the options for the single product that is entry e.
  Options of_entry(std::int64_t e) {
    Options out = options;
    if (out.scale_a.data != nullptr) out.scale_a.data += e * out.scale_a.step;
    if (out.scale_b.data != nullptr) out.scale_b.data += e * out.scale_b.step;
    if (out.bias.data != nullptr)
      out.bias.data = static_cast<const BiasOf*>(out.bias.data) + e * out.bias.step;
    out.scale_a.step = out.scale_b.step = out.bias.step = 0;
    if (out.c0.data != nullptr) out.c0.data = static_cast<const Out*>(out.c0.data) + e * c0.step;
    return out;
  }
  std::vector<Out> load_elements() {
    std::vector<Out> out = c.memory;
    for (std::int64_t e = 0; e < count; ++e)
      (void)matmul::multiply<T, Out, TB>(a.one(a.memory, e), b.one(b.memory, e), c.template one<Out>(out, e),
                                         of_entry(e));
    return out;
  }
  std::vector<Product<T, Out, TB>> products(std::vector<Out>& out) {
    std::vector<Product<T, Out, TB>> all;
    for (std::int64_t e = 0; e < count; ++e)
      all.push_back({a.one(a.memory, e), b.one(b.memory, e), c.template one<Out>(out, e)});
    return all;
  }
};

template <class T, class Out = T, class TB = T>
void expect_agreement(std::uint64_t seed, const char* variant) {
  Drawn<T, Out, TB> x(seed);
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + variant + ", " + std::string(name_of(element_of<T>)));
  x.options.request.variant = variant;
  const bool apart = x.below(2) == 0;
  if (apart) x.options.c0 = {x.c0.memory.data(), x.c0.leading, x.c0.order, x.c0.step};
  const auto a = x.a.all(x.a.memory);
  const auto b = x.b.all(x.b.memory);
  std::vector<Out> batched = x.c.memory, placed = x.c.memory, grouped = x.c.memory, placed_group = x.c.memory;
  const std::vector<Out> expected = x.load_elements();
  x.options.check = true;
  const Outcome outcome = multiply_batch<T, Out, TB>(a, b, x.c.template all<Out>(batched), x.options);
  EXPECT_TRUE(outcome.verdict->passed) << describe(*outcome.verdict);
  EXPECT_TRUE(same(batched, expected)) << "batch";
  x.options.check = false;
  enqueue<T, Out, TB>(nullptr, a, b, x.c.template all<Out>(placed), x.options);
  EXPECT_TRUE(same(placed, expected)) << "batch in place";
  if (apart) return;
  const auto group = x.products(grouped), in_place = x.products(placed_group);
  x.options.check = true;
  const GroupOutcome of_group = multiply_group<T, Out, TB>(group, x.options);
  EXPECT_TRUE(of_group.passed.value_or(true)) << of_group.wrong;
  EXPECT_TRUE(same(grouped, expected)) << "group";
  x.options.check = false;
  enqueue_group<T, Out, TB>(nullptr, in_place, x.options);
  EXPECT_TRUE(same(placed_group, expected)) << "group in place";
  // Without a variant, one core computes each entry: for f32, f64 and i32 with the code of simd.
  if (std::strcmp(variant, "simd") != 0) return;
  x.options.request.variant.reset();
  std::vector<Out> cores = x.c.memory;
  multiply_group<T, Out, TB>(x.products(cores), x.options);
  EXPECT_TRUE(same(cores, expected)) << "a core for each";
}

TEST(Agreement, BatchesGroupsAndInPlaceResultsEqualTheSingleProduct) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const char* variant : {"naive", "simd"}) {
      expect_agreement<float>(seed, variant);
      expect_agreement<double>(seed, variant);
      expect_agreement<std::int32_t>(seed, variant);
    }
    expect_agreement<bf16, float>(seed, "naive");
    expect_agreement<e4m3, f16, e5m2>(seed, "naive");
    expect_agreement<std::int8_t, std::int8_t>(seed, "naive");
    expect_agreement<std::int8_t, std::int32_t>(seed, "naive");
  }
}

TEST(Agreement, PointerBatchesUseTheStridesOfOptions) {
  const std::vector<float> ones(4, 1), scales{1, 2}, bias{1, 10, 100, 1000};
  std::vector<float> c(8);
  const float *const as[] = {ones.data(), ones.data()}, *const bs[] = {ones.data(), ones.data()};
  float* const cs[] = {c.data(), c.data() + 4};
  const Options options{
      .check = true, .scale_a = {scales.data(), false, 1}, .bias = bias_of_columns(bias.data(), 2)};
  EXPECT_TRUE(*multiply_pointers<float>(as, bs, cs, {.m = 2, .n = 2, .k = 2}, options).passed);
  EXPECT_EQ(c, (std::vector<float>{3, 12, 3, 12, 104, 1004, 104, 1004}));
}

TEST(Agreement, GroupsRefuseMeaninglessStridesAndTunings) {
  std::vector<float> x(40, 1);
  std::vector<Product<float>> products{{{x.data(), 2, 2}, {x.data(), 2, 2}, {x.data() + 20, 2, 2}},
                                       {{x.data(), 2, 2}, {x.data(), 2, 2}, {x.data() + 30, 2, 2}}};
  const auto says = [&](const Options& o) {
    const std::string message = complaint([&] { multiply_group<float>(products, o); });
    EXPECT_EQ(message, complaint([&] { enqueue_group<float>(nullptr, products, o); }));
    return message;
  };
  const Request cpu{.device = "cpu"}, nonsense{.device = "cpu", .tuning = Tuning{{"nonsense", 3}}};
  EXPECT_EQ(says({.request = cpu, .bias = bias_of_columns(x.data(), -1)}),
            "product 0: bias has the negative step -1");
  constexpr std::int64_t far = std::int64_t{1} << 60;
  EXPECT_EQ(says({.request = cpu, .scale_b = {x.data(), false, far * 4}}),
            "product 0: scale-b exceeds the address space: 1 times 4611686018427387904 elements");
  EXPECT_NE(says({.request = nonsense}).find("nonsense"), std::string::npos);
  EXPECT_NE(complaint([&] {
              matmul::multiply<float>({x.data(), 2, 2}, {x.data(), 2, 2}, {x.data() + 20, 2, 2},
                                      {.request = nonsense});
            }).find("nonsense"),
            std::string::npos);
  products[1].scale_a = {x.data(), false, 2};
  EXPECT_EQ(says({.request = cpu}), "product 1: its own scale-a has the step 2: it is for one product");
}

TEST(Agreement, RefusesInvalidEnumerators) {
  std::vector<float> x(40, 1);
  const auto all_say = [&](const Options& o, Order order, const std::string& message) {
    const ConstMatrixView<float> a{x.data(), 2, 2, 0, order}, b{x.data(), 2, 2};
    const MatrixView<float> c{x.data() + 20, 2, 2};
    const std::vector<Product<float>> products{{a, b, c}};
    EXPECT_EQ(complaint([&] { matmul::multiply<float>(a, b, c, o); }), message);
    EXPECT_EQ(complaint([&] { matmul::enqueue<float>(nullptr, a, b, c, o); }), message);
    EXPECT_EQ(complaint([&] {
                multiply_batch<float>({x.data(), 2, 2, 2, 0, 0, order}, {x.data(), 2, 2, 2},
                                      {x.data() + 20, 2, 2, 2}, o);
              }),
              message);
    EXPECT_EQ(complaint([&] { multiply_group<float>(products, o); }), "product 0: " + message);
  };
  const std::string ends = " of its enumeration, which ends at ";
  all_say({.activation = static_cast<Activation>(99)}, Order::rows, "activation is number 99" + ends + "4");
  all_say({.compute = static_cast<Compute>(9)}, Order::rows, "compute is number 9" + ends + "4");
  all_say({.accumulate = static_cast<Accumulate>(7)}, Order::rows, "accumulate is number 7" + ends + "1");
  all_say({}, static_cast<Order>(9), "A's order is number 9" + ends + "1");
  all_say({.bias = {x.data(), static_cast<Element>(77)}}, Order::rows,
          "bias's element is number 77" + ends + "10");
}

TEST(Agreement, CpuBaselinesRunInPlaceOnHostMemory) {
  const std::vector<float> ones(4, 1);
  for (const Variant* v : ladder_of("matmul")) {
    if (v->where != Where::cpu || !v->baseline || !v->choices[0].prepare.contains(Element::f32)) continue;
    std::vector<float> c(4);
    const Options options{.request = {.device = "cpu", .variant = v->name}};
    if (v->unsupported_device && v->unsupported_device(find_device("cpu")))
      continue;  // its library is not installed
    matmul::enqueue<float>(nullptr, {ones.data(), 2, 2}, {ones.data(), 2, 2}, {c.data(), 2, 2}, options);
    EXPECT_EQ(c, std::vector<float>(4, 2)) << v->name;
  }
}

// There are more entries than a loop could visit.
TEST(Agreement, EmptyEntriesCostNothing) {
  float x[8] = {};
  for (const char* variant : {"naive", "simd"})
    for (const std::int64_t count :
         {std::int64_t{1000000000}, std::numeric_limits<std::int64_t>::max() / 2}) {
      const Options options{.request = {.device = "cpu", .variant = variant}, .check = true};
      EXPECT_TRUE(
          multiply_batch<float>({x, 1, 0, 2}, {x, 1, 2, 2}, {x, count, 0, 2}, options).verdict->passed);
      EXPECT_TRUE(
          multiply_batch<float>({x, 1, 2, 2}, {x, 1, 2, 0}, {x, count, 2, 0}, options).verdict->passed);
    }
  const Options large{
      .request = {.device = "cpu", .variant = "naive"}, .check = true, .activation = Activation::gelu};
  bf16 few[8] = {};
  EXPECT_TRUE(
      multiply_batch<bf16>({few, 1, 0, 2}, {few, 1, 2, 2}, {few, 1000000000, 0, 2}, large).verdict->passed);
}

}  // namespace
}  // namespace tessera::matmul_batch
