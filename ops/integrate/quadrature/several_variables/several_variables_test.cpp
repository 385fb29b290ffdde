// SPDX-License-Identifier: Apache-2.0
// Integrals over several variables: ordinary ones converge, random ones with known values never converge to a
// wrong value, and an answer that does not converge has a reason.
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numbers>
#include <random>
#include "ops/integrate/quadrature/several_variables/genz_malik.hpp"
#include "ops/integrate/quadrature/scattered/sobol.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::quadrature {
namespace {

bool near(double value, double exact, double relative) {
  return std::fabs(value - exact) <= relative * std::fabs(exact);
}

template <class F>
BatchIntegrand many(int d, F f) {
  return [d, f](std::span<const double> points, std::size_t count, std::span<double> y) {
    double x[max_dimensions];
    for (std::size_t i = 0; i < count; ++i) {
      for (int k = 0; k < d; ++k) x[k] = points[static_cast<std::size_t>(k) * count + i];
      y[i] = f(x);
    }
  };
}

template <class Term>
double sum(int d, Term term) {
  double out = 0;
  for (int i = 0; i < d; ++i) out += term(static_cast<std::size_t>(i));
  return out;
}

template <class Term>
double product(int d, Term term) {
  double out = 1;
  for (int i = 0; i < d; ++i) out *= term(static_cast<std::size_t>(i));
  return out;
}

double squares(int d, const double* x) {
  return sum(d, [x](std::size_t i) { return x[i] * x[i]; });
}

struct KnownIntegral {
  std::string id;
  int d;
  Range range;  // of every axis
  double exact;
  std::function<double(const double*)> f;
  double relative = 1e-6;
};

Answer answer_of(const KnownIntegral& known, const Limits& limits = usual_cubature_limits) {
  return integrate_several("auto", many(known.d, known.f),
                           Box{std::vector<Range>(static_cast<std::size_t>(known.d), known.range)},
                           {.relative = known.relative}, limits);
}

void expect_right(const KnownIntegral& known, const Answer& answer) {
  const double off = std::fabs(answer.value - known.exact), bound = known.relative * std::fabs(known.exact);
  EXPECT_TRUE(off <= answer.error() && off <= bound)
      << known.id << " claims " << answer.value << " and is " << known.exact << "; " << answer.why;
}

KnownIntegral gaussian(int d, Range range, double c) {
  const double r = std::sqrt(c), one = std::sqrt(std::numbers::pi) / 2 / r *
                                       (std::erf(r * range.upper) - std::erf(r * range.lower));
  return {fmt::format("a Gaussian in {} variables over ({}, {})", d, range.lower, range.upper), d, range,
          std::pow(one, d), [d, c](const double* x) { return std::exp(-c * squares(d, x)); }};
}

double ball_of(int d) { return std::pow(std::numbers::pi, d / 2.0) / std::tgamma(d / 2.0 + 1); }

std::vector<KnownIntegral> everyday() {
  std::vector<KnownIntegral> out;
  for (int d = 2; d <= 6; ++d) {
    out.push_back(gaussian(d, {-1, 1}, 1));
    out.push_back(gaussian(d, {0, 1}, 1));
    if (d <= 4) out.push_back(gaussian(d, {0, infinity}, 1));
    if (d <= 3) out.push_back(gaussian(d, {-infinity, infinity}, 0.5));
    if (d <= 3) out.push_back(gaussian(d, {-10, 10}, 0.5));
  }
  for (int d = 2; d <= 5; ++d)
    out.push_back({fmt::format("a ball in {} variables", d),
                   d,
                   {-1, 1},
                   ball_of(d),
                   [d](const double* x) { return squares(d, x) < 1 ? 1.0 : 0.0; },
                   1e-3});
  const auto add = [&out](const char* id, int d, Range range, double exact,
                          std::function<double(const double*)> f, double relative = 1e-6) {
    out.push_back({id, d, range, exact, std::move(f), relative});
  };
  add("|x-y|", 2, {0, 1}, 1.0 / 3, [](const double* x) { return std::fabs(x[0] - x[1]); });
  add("max(x,y)", 2, {0, 1}, 2.0 / 3, [](const double* x) { return std::fmax(x[0], x[1]); });
  add("max(x,y,z)", 3, {0, 1}, 0.75, [](const double* x) { return std::fmax(x[0], std::fmax(x[1], x[2])); });
  add(
      "|x|+|y|<1", 2, {-2, 2}, 2,
      [](const double* x) { return std::fabs(x[0]) + std::fabs(x[1]) < 1 ? 1.0 : 0.0; }, 1e-3);
  add("1/sqrt(x*y)", 2, {0, 1}, 4, [](const double* x) { return 1 / std::sqrt(x[0] * x[1]); });
  add("log(x*y)", 2, {0, 1}, -2, [](const double* x) { return std::log(x[0] * x[1]); });
  add("distance in a cube", 3, {0, 1}, 0.960591956455052959425108,
      [](const double* x) { return std::sqrt(squares(3, x)); });
  add("a shell in a large box", 3, {-100, 100}, 1.5, [](const double* x) {
    const double s = squares(3, x);
    return std::pow(std::numbers::pi, -1.5) * s * std::exp(-s);
  });
  add("logistic densities", 2, {-infinity, infinity}, 1, [](const double* x) {
    return product(2, [x](std::size_t i) {
      const double e = std::exp(x[i]);
      return e / ((1 + e) * (1 + e));
    });
  });
  return out;
}

TEST(SeveralVariables, EverydayIntegralsConverge) {
  for (const KnownIntegral& known : everyday()) {
    const Answer answer = answer_of(known);
    EXPECT_TRUE(answer.converged()) << known.id << ": " << reason_text(answer) << "; " << answer.why;
    if (answer.converged()) expect_right(known, answer);
    EXPECT_FALSE(answer.why.empty()) << known.id;
  }
}

// --- random members of families whose values are known ---

using Generator = std::mt19937_64;
double between(Generator& random, double lower, double upper) {
  return std::uniform_real_distribution<double>(lower, upper)(random);
}

// exp(-|A(x - m)|^2/2) over everything, A = widths times rotations.
KnownIntegral rotated_gaussian(Generator& random, int d) {
  const auto n = static_cast<std::size_t>(d);
  std::vector<double> a(n * n), m(n);
  double determinant = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const double width = between(random, 0.3, 3);
    determinant *= width;
    m[i] = between(random, -2, 2);
    a[i * n + i] = 1 / width;
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double angle = between(random, 0, std::numbers::pi), c = std::cos(angle), s = std::sin(angle);
      for (std::size_t row = 0; row < n; ++row) {
        const double x = a[row * n + i], y = a[row * n + j];
        a[row * n + i] = c * x - s * y;
        a[row * n + j] = s * x + c * y;
      }
    }
  return {"a rotated Gaussian",
          d,
          {-infinity, infinity},
          std::pow(2 * std::numbers::pi, d / 2.0) * determinant,
          [=](const double* x) {
            const double exponent = sum(d, [&](std::size_t row) {
              const double z = sum(d, [&](std::size_t k) { return a[row * n + k] * (x[k] - m[k]); });
              return z * z;
            });
            return std::exp(-exponent / 2);
          },
          1e-4};
}

// A factor for one axis: value and integral over [0, 1], with the parameters u and c.
struct Factor {
  const char* id;
  double (*f)(double x, double u, double c);
  double (*integral)(double u, double c);
};
const Factor factors[] = {
    {"product peak", [](double x, double u, double c) { return 1 / (1 / (c * c) + (x - u) * (x - u)); },
     [](double u, double c) { return c * (std::atan(c * (1 - u)) + std::atan(c * u)); }},
    {"Gaussian", [](double x, double u, double c) { return std::exp(-c * c * (x - u) * (x - u)); },
     [](double u, double c) {
       return std::sqrt(std::numbers::pi) / (2 * c) * (std::erf(c * (1 - u)) + std::erf(c * u));
     }},
    {"kink", [](double x, double u, double c) { return std::exp(-c * std::fabs(x - u)); },
     [](double u, double c) { return (2 - std::exp(-c * u) - std::exp(-c * (1 - u))) / c; }},
    {"jump", [](double x, double u, double c) { return x < u ? std::exp(c * x) : 0.0; },
     [](double u, double c) { return std::expm1(c * u) / c; }},
    {"power", [](double x, double u, double) { return std::pow(x, u - 0.5); },
     [](double u, double) { return 1 / (u + 0.5); }},
};

KnownIntegral of_factors(Generator& random, int d) {
  std::vector<const Factor*> chosen;
  std::vector<double> u, c;
  double exact = 1;
  std::string id = "a product of";
  const bool same = random() % 2 == 0;
  for (int i = 0; i < d; ++i) {
    chosen.push_back(same && i > 0 ? chosen[0] : &factors[random() % std::size(factors)]);
    u.push_back(between(random, 0.1, 0.9));
    c.push_back(between(random, 1, 12));
    exact *= chosen.back()->integral(u.back(), c.back());
    id += fmt::format(" {}({:.6g}, {:.6g})", chosen.back()->id, u.back(), c.back());
  }
  return {id,
          d,
          {0, 1},
          exact,
          [=](const double* x) {
            return product(d, [&](std::size_t i) { return chosen[i]->f(x[i], u[i], c[i]); });
          },
          1e-3};
}

KnownIntegral wave(Generator& random, int d) {
  std::vector<double> c;
  const double a = between(random, 0, 2 * std::numbers::pi);
  double phase = a, size = 1;
  for (int i = 0; i < d; ++i) {
    c.push_back(between(random, 0.5, 6));
    phase += c.back() / 2;
    size *= 2 * std::sin(c.back() / 2) / c.back();
  }
  return {"a wave",
          d,
          {0, 1},
          size * std::cos(phase),
          [=](const double* x) { return std::cos(a + sum(d, [&](std::size_t i) { return c[i] * x[i]; })); },
          1e-3};
}

double parity(int corner) { return __builtin_popcount(static_cast<unsigned>(corner)) % 2 != 0 ? -1 : 1; }

// (1 + c·x)^-(d+1), by a sum over the corners.
KnownIntegral corner_peak(Generator& random, int d) {
  std::vector<double> c;
  double all = 1, exact = 0;
  for (int i = 0; i < d; ++i) {
    c.push_back(between(random, 1, 8));
    all *= c.back() * (i + 1);
  }
  for (int corner = 0; corner < 1 << d; ++corner)
    exact += parity(corner) / (1 + sum(d, [&](std::size_t i) { return (corner >> i & 1) * c[i]; }));
  return {"a corner peak",
          d,
          {0, 1},
          exact / all,
          [=](const double* x) {
            return std::pow(1 + sum(d, [&](std::size_t i) { return c[i] * x[i]; }), -d - 1);
          },
          1e-3};
}

// The indicator of a ball inside the cube, plus a constant in half of the cases.
KnownIntegral ball(Generator& random, int d) {
  std::vector<double> m;
  const double r = between(random, 0.05, 0.4), ground = random() % 2 == 0 ? 0 : between(random, 0, 0.1);
  for (int i = 0; i < d; ++i) m.push_back(between(random, r, 1 - r));
  return {fmt::format("a ball of radius {:.6g}", r),
          d,
          {0, 1},
          ground + ball_of(d) * std::pow(r, d),
          [=](const double* x) {
            return ground +
                   (sum(d, [&](std::size_t i) { return (x[i] - m[i]) * (x[i] - m[i]); }) < r * r ? 1 : 0);
          },
          1e-3};
}

// |a·x - b|, by the integral of max(b - a·x, 0), a sum over the corners: |t| = 2·max(t, 0) - t.
KnownIntegral oblique_kink(Generator& random, int d) {
  std::vector<double> a;
  double b = 0, all = 1, middle = 0, inside = 0;
  for (int i = 0; i < d; ++i) {
    a.push_back(between(random, 0.3, 2));
    b += a.back() * between(random, 0, 1);
    all *= a.back() * (i + 1);
    middle += a.back() / 2;
  }
  for (int corner = 0; corner < 1 << d; ++corner) {
    const double at = b - sum(d, [&](std::size_t i) { return (corner >> i & 1) * a[i]; });
    if (at > 0) inside += parity(corner) * std::pow(at, d + 1) / (d + 1);
  }
  return {"an oblique kink",
          d,
          {0, 1},
          2 * inside / all + middle - b,
          [=](const double* x) { return std::fabs(sum(d, [&](std::size_t i) { return a[i] * x[i]; }) - b); },
          1e-5};
}

TEST(SeveralVariables, NoRandomIntegralConvergesToAWrongValue) {
  struct Family {
    const char* id;
    KnownIntegral (*of)(Generator& random, int d);
    int fewest, most;  // variables
    int count;
    double share;  // that converges
  };
  for (const Family& family : {Family{"rotated Gaussians", rotated_gaussian, 2, 4, 12, 0.6},
                               {"products", of_factors, 2, 6, 30, 0.85},
                               {"waves", wave, 2, 5, 16, 0.7},
                               {"corner peaks", corner_peak, 2, 6, 15, 0.9},
                               {"balls", ball, 2, 4, 15, 0.8},
                               {"oblique kinks", oblique_kink, 2, 4, 15, 0.5}}) {
    Generator random(2026);
    int converged = 0;
    for (int i = 0; i < family.count; ++i) {
      const int d = family.fewest + i % (family.most - family.fewest + 1);
      const KnownIntegral known = family.of(random, d);
      const Answer answer = answer_of(known, {.evaluations = 10'000'000, .seconds = 20, .regions = 1 << 20});
      if (!answer.converged()) continue;
      ++converged;
      expect_right(known, answer);
    }
    EXPECT_GE(converged, family.share * family.count) << family.id;
  }
}

TEST(SeveralVariables, ReportsTheRightReasons) {
  const auto reason = [](int d, Range range, std::function<double(const double*)> f) {
    return answer_of({"", d, range, 0, std::move(f)}, {.evaluations = 2'000'000}).reason;
  };
  EXPECT_NE(reason(2, {0, 1}, [](const double* x) { return 1 / (x[0] * x[1]); }), Reason::converged);
  EXPECT_NE(reason(2, {0, 1}, [](const double* x) { return 1 / squares(2, x); }), Reason::converged);
  EXPECT_EQ(reason(2, {-1, 1}, [](const double* x) { return std::log(x[0]) + x[1]; }), Reason::non_finite);
  EXPECT_EQ(reason(3, {0, 1}, [](const double*) { return 0.0; }), Reason::doubtful);
  EXPECT_EQ(reason(4, {0, 1}, [](const double* x) { return std::fabs(x[0] - 0.71233) < 1e-6 ? 1.0 : 0.0; }),
            Reason::doubtful);
  EXPECT_EQ(reason(2, {-1, 1}, [](const double* x) { return std::sin(x[0]) * (1 + x[1]); }),
            Reason::roundoff);
  EXPECT_EQ(reason(2, {0, 1e9}, [](const double* x) { return 1e300 * x[0]; }), Reason::too_large);
}

TEST(SeveralVariables, SkipsASinglePointWithoutAValue) {
  const Answer answer = answer_of({"sin(x-y)/(x-y)", 2, {0, 1}, 0, [](const double* x) {
                                     return std::sin(x[0] - x[1]) / (x[0] - x[1]);
                                   }});
  EXPECT_TRUE(answer.converged()) << reason_text(answer);
  EXPECT_NEAR(answer.value, 0.97277075, 1e-7);
}

TEST(SeveralVariables, RespectsCaps) {
  const KnownIntegral wild{"wild", 5, {0, 1}, 0, [](const double* x) {
                             return std::sin(1e6 * std::sin(1e6 * (x[0] + x[1] * x[2] + x[3] * x[4])));
                           }};
  const Answer few = answer_of(wild, {.evaluations = 200'000});
  EXPECT_FALSE(few.converged());
  EXPECT_LE(few.evaluations, 200'000);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(answer_of(wild, {.evaluations = 1'000'000'000'000, .seconds = 0.2}).converged());
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5);
}

TEST(SeveralVariables, GivesTheSameBitsForAnyNumberOfThreads) {
  const auto f = many(5, [](const double* x) {
    return std::exp(-sum(5, [x](std::size_t i) { return std::fabs(x[i] - 0.3); }));
  });
  for (const char* rule : {"genz_malik", "quasi_random", "auto"}) {
    const auto by = [&](int threads) {
      return integrate_several(rule, f, Box{std::vector<Range>(5)}, {.relative = 1e-4},
                               {.evaluations = 400'000, .seconds = 60}, {}, threads);
    };
    const Answer alone = by(1);
    for (const int threads : {2, 5}) {
      EXPECT_EQ(by(threads).value, alone.value) << rule;
      EXPECT_EQ(by(threads).truncation, alone.truncation) << rule;
    }
  }
}

TEST(SeveralVariables, RefusesInvalidOptions) {
  const auto f = many(2, [](const double* x) { return x[0]; });
  const auto of = [&f](const std::vector<Range>& axes, double relative = 1e-6, const char* rule = "auto") {
    return integrate_several(rule, f, Box{axes}, {.relative = relative});
  };
  const Range one{0, 1};
  EXPECT_THROW(of({}), Error);
  EXPECT_THROW(of(std::vector<Range>(40)), Error);
  EXPECT_THROW(of({{0, nan}, one}), Error);
  EXPECT_THROW(of({one, one}, -1), Error);
  EXPECT_THROW(of({one, one}, 1e-6, "simpson"), Error);
  EXPECT_THROW(of({one, one, one, one}, 1e-6, "tanh_sinh"), Error);
  EXPECT_EQ(of({one, {2, 2}}).value, 0);
  EXPECT_TRUE(near(of({{1, 0}, one}).value, -0.5, 1e-6));
}

TEST(SeveralVariables, SplitsAtBreaks) {
  const auto f = many(2, [](const double* x) { return (x[0] < 0.3 ? 1.0 : 2.0) * std::fabs(x[1] - 0.7); });
  const double exact = 1.7 * (0.7 * 0.7 + 0.3 * 0.3) / 2;
  for (const char* rule : {"genz_malik", "gauss_kronrod", "tanh_sinh", "auto"}) {
    const Answer answer =
        integrate_several(rule, f, Box{{{0, 1}, {0, 1}}, {{0.3}, {0.7}}}, {.relative = 1e-9});
    EXPECT_TRUE(answer.converged()) << rule << ": " << reason_text(answer);
    EXPECT_TRUE(near(answer.value, exact, 1e-9)) << rule;
  }
}

TEST(GenzMalik, IsExactForPolynomialsOfDegreeSeven) {
  for (const int d : {2, 3, 7}) {
    const auto f = many(d, [d](const double* x) {
      return std::pow(x[0], 4) * std::pow(x[1], 3) + std::pow(x[d - 1], 6) + x[0] * x[0] * x[1] * x[1];
    });
    const double exact = 1.0 / 20 + 1.0 / 7 + 1.0 / 9;
    const GenzMalik rule(d);
    EXPECT_EQ(rule.points(), (std::size_t{1} << d) + static_cast<std::size_t>(2 * d * d + 4 * d + 1));
    Region region{};
    for (int k = 0; k < d; ++k) region.centre[k] = region.half[k] = 0.5;
    std::vector<double> u(rule.points() * static_cast<std::size_t>(d)), y(rule.points());
    for (int k = 0; k < d; ++k)
      rule.place(region.centre[k], region.half[k], k, &u[static_cast<std::size_t>(k) * rule.points()]);
    f(u, rule.points(), y);
    const RegionResult result = rule.summarize(y.data(), region);
    EXPECT_NEAR(result.value, exact, 1e-13) << d;
    EXPECT_GT(result.error, 1e-6);  // the rule of degree five is not
  }
}

TEST(Sobol, EveryBlockFillsEveryInterval) {
  for (int axis = 0; axis < max_sobol_dimensions; ++axis)
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      int hits[64] = {};
      for (std::uint32_t i = 64; i < 128; ++i) ++hits[static_cast<int>(64 * sobol(i, axis, seed))];
      for (const int n : hits) ASSERT_EQ(n, 1) << axis;
    }
  // On the first two axes, each of 16 × 16 boxes holds one point.
  int hits[256] = {};
  for (std::uint32_t i = 0; i < 256; ++i)
    ++hits[static_cast<int>(16 * sobol(i, 0, 9)) * 16 + static_cast<int>(16 * sobol(i, 1, 9))];
  for (const int n : hits) ASSERT_EQ(n, 1);
}

}  // namespace
}  // namespace tessera::quadrature
