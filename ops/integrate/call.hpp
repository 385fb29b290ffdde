// SPDX-License-Identifier: Apache-2.0
// The integral for programs: of any callable, by the rule that it needs, or as a sum of strips.
// Installed: for programs.
#pragma once
#include <array>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include "call_strips.hpp"
#include "rules/domain.hpp"
#include "tessera/core/error.hpp"

namespace tessera {
namespace integration {

// A rule with the tolerances, caps, breaks that the options name.
quadrature::Answer by_rule(const quadrature::Integrand& f, const quadrature::Range& range,
                           const Options& options);
quadrature::Answer by_rule(const quadrature::ManyValues& f, const quadrature::Box& box,
                           const Options& options);

namespace detail {

template <class T, class F>
inline constexpr bool takes_x = std::is_invocable_r_v<double, const F&, T>;
template <class T, class F>
inline constexpr bool takes_distance = std::is_invocable_r_v<double, const F&, T, T>;

template <class T, class F>
quadrature::Integrand integrand_of(const F& f) {
  const auto given = [](double x) { return static_cast<T>(x); };
  if constexpr (takes_x<T, F>)
    return quadrature::plain([&f, given](double x) { return static_cast<double>(f(given(x))); });
  else
    return quadrature::with_distance(
        [&f, given](double x, double d) { return static_cast<double>(f(given(x), given(d))); });
}

template <std::size_t D, class F>
constexpr bool takes_array = std::is_invocable_r_v<double, const F&, const std::array<double, D>&>;

template <std::size_t>
struct Number {
  using Type = double;
};
template <class F, std::size_t... I>
constexpr bool takes_numbers(std::index_sequence<I...>) {
  return std::is_invocable_r_v<double, const F&, typename Number<I>::Type...>;
}
template <std::size_t D, class F>
constexpr bool takes_separate = takes_numbers<F>(std::make_index_sequence<D>{});

template <class F, std::size_t D>
double called(const F& f, const std::array<double, D>& x) {
  if constexpr (takes_array<D, F>) return static_cast<double>(f(x));
  else return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return static_cast<double>(f(x[I]...));
    }
  (std::make_index_sequence<D>{});
}

template <class F, std::size_t D>
void values_at(const F& f, std::span<const double> points, std::size_t count, std::span<double> y) {
  std::array<double, D> x{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t axis = 0; axis < D; ++axis) x[axis] = points[axis * count + i];
    y[i] = called(f, x);
  }
}

// The numbers of variables that arrays and separate arguments are tried for.
inline constexpr std::size_t most_separate = 8, most_in_array = 32;

template <std::size_t D, class F>
quadrature::ManyValues many_of(const F& f, std::size_t dimensions) {
  if constexpr (D > most_in_array) {
    throw Error("the integrand does not take " + std::to_string(dimensions) + " variables");
  } else {
    if constexpr (takes_array<D, F> || (D <= most_separate && takes_separate<D, F>))
      if (D == dimensions)
        return [&f](std::span<const double> points, std::size_t count, std::span<double> y) {
          values_at<F, D>(f, points, count, y);
        };
    return many_of<D + 1, F>(f, dimensions);
  }
}

template <class F>
quadrature::ManyValues many_values_of(const F& f, std::size_t dimensions) {
  if constexpr (std::is_invocable_r_v<double, const F&, std::span<const double>>)
    return [&f, dimensions](std::span<const double> points, std::size_t count, std::span<double> y) {
      std::vector<double> x(dimensions);
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t axis = 0; axis < dimensions; ++axis) x[axis] = points[axis * count + i];
        y[i] = static_cast<double>(f(std::span<const double>(x)));
      }
    };
  else return many_of<1, F>(f, dimensions);
}

}  // namespace detail
}  // namespace integration

inline namespace TESSERA_UNIT {

// The integral of f from a to b, each of which may be infinite; where a > b, minus the one from b to a.
//
// f is called with x, or with x and its distance to the nearer limit: d >= 0 above the lower one, d < 0 below
// the upper one, 0 where both are infinite. (1-x)^-0.8 has digits near 1 only in d.
//
// The Answer's reason says whether its error is within the tolerance; its `why`, how it was found. T is what
// a sum of strips is computed in, which calls f from several threads at once; rules compute in double. Throws
// Error for limits, tolerances and counts without sense, and whatever f throws.
template <class T = double, class F>
requires(integration::detail::takes_x<T, F> || integration::detail::takes_distance<T, F>) quadrature::Answer
    integrate(const F& f, double a, double b, const integration::Options& options = {}) {
  static_assert(std::is_same_v<T, double> || std::is_same_v<T, float>, "integrals are of double or float");
  if (options.strips == 0)
    return integration::by_rule(integration::detail::integrand_of<T>(f), {a, b}, options);
  if constexpr (!integration::detail::takes_x<T, F>)
    throw Error("a sum of strips takes a function of x alone");
  else
    return integration::by_strips<T>(std::cref(f), a, b, options, [&](const auto& strips) {
      return add_on_processors(strips, options.threads > 0 ? options.threads : host_threads());
    });
}

// The same over a box: f is called with std::span<const double>, with std::array<double, D>, or with up to
// eight numbers, from several threads at once unless `threads` is 1.
template <class F>
quadrature::Answer integrate(const F& f, const std::vector<quadrature::Range>& box,
                             const integration::Options& options = {}) {
  if (options.strips != 0) throw Error("a sum of strips takes one variable");
  return integration::by_rule(integration::detail::many_values_of(f, box.size()), quadrature::Box{box},
                              options);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera
