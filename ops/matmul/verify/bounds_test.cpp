// SPDX-License-Identifier: Apache-2.0
// Sums that overflow and inputs that are not finite: every rung's correct result passes, and results that no
// order of summation gives fail.
#include "tessera/matmul.hpp"
#include "ops/matmul/verify/bounds.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <vector>
#include "ops/matmul/gemm/checks.hpp"
#include "ops/matmul/gemm/gemm.hpp"
#include "tessera/core/array/random.hpp"

namespace tessera::matmul {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
T as(double x) {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return static_cast<T>(std::fmod(std::isfinite(x) ? x : 1, 127));
  else if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(x);
  else return T::from(static_cast<float>(x));
}

// A random number from one of several ranges; `most`: the largest double or f32.
class Hostile {
 public:
  Hostile(std::uint64_t seed, double most) : random_(seed), most_(most) {}

  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(count)));
  }
  double operator()(std::int64_t range) {
    const double list[] = {inf,       -inf,  nan, 0, -0.0, most_, -most_, most_ / 3,
                           1 / most_, 1e-45, 1,   2, -3,   448,   57344,  65504};
    switch (range) {
      case 0:
        return list[below(std::ssize(list))];
      case 1:
        return random_.normal() * most_ / 100;
      case 2:
        return random_.normal() / most_;
      case 3:
        return random_.normal() * std::sqrt(most_);
      case 4:
        return below(40) == 0 ? inf : static_cast<double>(below(7) - 3);
      default:
        return random_.normal();
    }
  }
  template <class T>
  std::vector<T> array(std::int64_t count) {
    std::vector<T> out(static_cast<std::size_t>(count) + 1);
    const std::int64_t range = below(6);
    for (T& x : out) x = as<T>((*this)(range));
    return out;
  }

 private:
  Random random_;
  double most_;
};

template <class T, class Out, class TB = T>
void expect_honest_products_pass(const std::string& variant, std::uint64_t seed, const char* device = "cpu") {
  constexpr bool doubles = std::is_same_v<T, double>, whole = std::is_same_v<Out, std::int32_t>;
  Hostile draw(seed, doubles ? 1.5e308 : 3.3e38);
  const std::int64_t m = 1 + draw.below(5), n = 1 + draw.below(5), k = draw.below(9);
  const auto a = draw.array<T>(m * k);
  const auto b = draw.array<TB>(k * n);
  auto c = draw.array<Out>(m * n);
  const auto scale_a = draw.array<float>(m), scale_b = draw.array<float>(n);
  using BiasOf = std::conditional_t<std::is_same_v<Out, std::int8_t>, float, Out>;
  const auto bias = draw.array<BiasOf>(n);
  Options o{.request = {.device = device, .variant = variant}, .check = true};
  const double factors[] = {1, 1, 1e-30, -1e30}, of_c0[] = {0, 1, -1e20};
  o.alpha = whole ? 2 : factors[draw.below(4)];
  o.beta = whole ? 3 : of_c0[draw.below(3)];
  if (!doubles && !whole && draw.below(2) == 0) o.scale_a = {scale_a.data(), true};
  if (!doubles && !whole && draw.below(2) == 0) o.scale_b = {scale_b.data(), true};
  if (draw.below(2) == 0) o.bias = bias_of_columns(bias.data());
  o.activation = static_cast<Activation>(draw.below(whole ? 2 : 5));
  if (std::is_same_v<T, float> && draw.below(3) == 0 && o.request.device != "cpu") o.compute = Compute::tf32;
  const Outcome outcome = multiply<T, Out, TB>({a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n}, o);
  EXPECT_TRUE(outcome.verdict->passed) << device << "/" << variant << ", seed " << seed << ", "
                                       << name_of(element_of<T>) << " to " << name_of(element_of<Out>) << "\n"
                                       << describe(*outcome.verdict);
}

TEST(Reach, HonestProductsOfHostileNumbersPass) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const char* variant : {"naive", "simd"}) {
      expect_honest_products_pass<float, float>(variant, seed);
      expect_honest_products_pass<double, double>(variant, seed);
    }
    expect_honest_products_pass<bf16, bf16>("naive", seed);
    expect_honest_products_pass<f16, f16>("naive", seed);
    expect_honest_products_pass<bf16, float>("naive", seed);
    expect_honest_products_pass<e4m3, bf16, e5m2>("naive", seed);
    expect_honest_products_pass<e5m2, f16, e4m3>("naive", seed);
    expect_honest_products_pass<std::int8_t, std::int32_t>("naive", seed);
    expect_honest_products_pass<std::int8_t, std::int8_t>("naive", seed);
    expect_honest_products_pass<std::int8_t, float>("naive", seed);
  }
}

// Skips arguments that a rung refuses.
template <class T, class Out, class TB = T>
void expect_rungs_of_gpus_pass(std::uint64_t seed) {
  for (const Variant* v : ladder_of("matmul")) {
    if (v->where != Where::cuda || v->baseline) continue;
    try {
      expect_honest_products_pass<T, Out, TB>(v->name, seed, "cuda");
    } catch (const Error&) {
    }
  }
}

TEST(Reach, HonestProductsOfHostileNumbersPassOnAGpu) {
  if (Backend* const cuda = find_backend(Where::cuda); cuda == nullptr || cuda->devices().empty())
    GTEST_SKIP() << "no GPU";
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    expect_rungs_of_gpus_pass<float, float>(seed);
    expect_rungs_of_gpus_pass<double, double>(seed);
    expect_rungs_of_gpus_pass<bf16, bf16>(seed);
    expect_rungs_of_gpus_pass<bf16, float>(seed);
    expect_rungs_of_gpus_pass<f16, f16>(seed);
    expect_rungs_of_gpus_pass<e4m3, bf16, e5m2>(seed);
    expect_rungs_of_gpus_pass<std::int8_t, std::int8_t>(seed);
    expect_rungs_of_gpus_pass<std::int8_t, float>(seed);
  }
}

// A row times a column, and the allowed results.
struct Claims {
  const char* name;
  std::vector<double> a, b, right, wrong;
  double scale = 1, bias = 0;
  Activation activation = Activation::none;
};

template <class T, class Out = T>
void expect_only_what_is_right(const Claims& claims) {
  std::vector<T> a, b;
  for (const double x : claims.a) a.push_back(as<T>(x));
  for (const double x : claims.b) b.push_back(as<T>(x));
  const auto scale = static_cast<float>(claims.scale);
  const Out bias = as<Out>(claims.bias);
  Options o{.bias = bias_of_columns(&bias), .activation = claims.activation};
  if (claims.scale != 1) o.scale_a = {&scale};
  const auto passes = [&](double claim) {
    Out c = as<Out>(claim);
    const std::int64_t k = std::ssize(a);
    const Arguments arguments =
        Gemm::of(detail::any(ConstMatrixView<T>{a.data(), 1, k}),
                 detail::any(ConstMatrixView<T>{b.data(), k, 1}), detail::any(MatrixView<Out>{&c, 1, 1}), o)
            .arguments();
    return verify(matmul_operation(), arguments).passed;
  };
  for (const double claim : claims.right)
    EXPECT_TRUE(passes(claim)) << claims.name << ", " << name_of(element_of<T>) << ": " << claim;
  for (const double claim : claims.wrong)
    EXPECT_FALSE(passes(claim)) << claims.name << ", " << name_of(element_of<T>) << ": " << claim;
}

const std::vector<Claims> claims = {
    {"one product", {1e38}, {1}, {1e38}, {nan, inf, -inf, 0, -1e38}},
    {"one product and a bias", {1e38}, {1}, {2e38}, {nan, inf, -inf, 1e38}, 1, 1e38},
    {"scaled up", {1e5}, {1}, {inf}, {nan, -inf, 0, 1e38}, 1e36},
    {"a sum beyond", {3e38}, {-2}, {-inf}, {9, 3, nan, inf, 0}, 1e-38, 9},
    {"and ReLU", {3e38}, {-2}, {0}, {9, 3, 1, nan, inf, -inf}, 1e-38, 9, Activation::relu},
    {"and GELU", {3e38}, {-2}, {nan}, {9, 3, 0, inf, -inf}, 1e-38, 9, Activation::gelu},
    {"and a bias against it", {3e38}, {-2}, {nan}, {9, 0, inf, -inf}, 1, inf},
    {"and a bias along it", {3e38}, {-2}, {-inf}, {9, 0, inf, nan}, 1, -inf},
    {"in one order beyond", {3e38, 3e38, -3e38}, {1, 1, 1}, {3e38, inf}, {0, nan, -inf}},
    {"in one order beyond, a bias against it",
     {3e38, 3e38, -3e38},
     {1, 1, 1},
     {nan, -inf},
     {0, 3e38, inf},
     1,
     -inf},
    {"an infinite bias", {1}, {1}, {inf}, {nan, -inf, 1}, 1, inf},
    {"no number as a bias", {1}, {1}, {nan}, {inf, -inf, 1}, 1, nan},
    {"an infinite scale", {1}, {-1}, {-inf}, {nan, inf, -1}, inf},
    {"an infinite scale of nothing", {0}, {-1}, {nan}, {0, inf, -inf}, inf},
    {"a scale of 0 behind an infinity", {inf}, {-1}, {nan}, {0, inf, -inf}, 0},
    {"an infinity behind ReLU", {inf}, {-1}, {0}, {nan, inf, -inf, 1}, 1, 0, Activation::relu},
    {"no less than 0 behind ReLU",
     {0.1, -0.1, 1e-10},
     {1, 1, 1},
     {1e-10, 0},
     {-1e-9},
     1,
     0,
     Activation::relu},
};

TEST(Reach, OnlyValuesOfSomeOrderPass) {
  for (const Claims& one : claims) {
    expect_only_what_is_right<bf16>(one);
    expect_only_what_is_right<float>(one);
  }
  const float scale = 1e35F;
  for (const double wrong : {nan, -inf, 0.0})
    expect_only_what_is_right<f16, float>({"scaled beyond", {60000}, {1}, {inf}, {wrong}, scale});
}

TEST(Reach, OnlyDoublesOfSomeOrderPass) {
  using enum Activation;
  const std::vector<Claims> doubles = {
      {"a bias takes it beyond", {1.5e308}, {1}, {inf}, {nan, -inf, 1e308}, 1, 1e308},
      {"and another back", {1.5e308, 1.5e308}, {1, 1}, {inf}, {nan, -inf, 0}, 1, -1e308},
      {"in one order beyond, a bias against it",
       {1.5e308, 1.5e308, -1.5e308},
       {1, 1, 1},
       {nan, -inf},
       {inf, 0},
       1,
       -inf},
      {"ReLU of one that fell", {-1.5e308, -1.5e308}, {1, 1}, {0}, {nan, inf, -inf, 1}, 1, 1, relu},
      {"GELU of one that fell", {-1.5e308, -1.5e308}, {1, 1}, {nan}, {inf, -inf, 1, 0}, 1, 1, gelu},
      {"GELU of a large one", {1e307}, {1}, {1e307}, {nan, inf, -inf, 0}, 1, 1, gelu},
      {"no less than 0 behind ReLU", {0.1, -0.1, 1e-18}, {1, 1, 1}, {1e-18, 0}, {-1e-18}, 1, 0, relu},
  };
  for (const Claims& one : doubles) expect_only_what_is_right<double>(one);
}

}  // namespace
}  // namespace tessera::matmul
