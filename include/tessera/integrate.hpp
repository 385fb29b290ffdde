// SPDX-License-Identifier: Apache-2.0
// Included by programs: integrate(f, a, b) is the integral of a callable, by a rule that estimates its
// error, or as a trapezoid sum.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include "ops/integrate/quadrature/scattered/box.hpp"
#include "ops/integrate/sum/partials.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/device/parallel.hpp"

namespace tessera {
namespace integration {

struct Options {
  std::optional<double> relative = {};  // allowed relative error; 1e-10, several variables: 1e-6
  double absolute = 0;                  // allowed absolute error
  std::optional<std::int64_t> most_evaluations = {};  // 4e6, several variables: 1e8
  std::optional<double> most_seconds = {};            // none
  std::string rule = "auto";                          // a name of the command's --rule
  std::vector<double> points = {};                    // abscissae of the integrand's known breaks
  std::int64_t strips = 0;  // > 0: a trapezoid sum of so many strips instead of a rule
  Sum sum = Sum::pairwise;  // the way of adding the samples
  int threads = 0;          // 0: all of this machine
};

// --- trapezoid sums on the CPU, bitwise identical to the command's rungs ---

inline namespace TESSERA_UNIT {

template <class T, class F>
struct CallableTrapezoid : Trapezoid<T, CallableTrapezoid<T, F>> {
  F f;

  explicit CallableTrapezoid(const F& callable) : f(callable) {}

#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // the code that launches knows if the callable has device code
#endif
  SIMT T sample(T x) const { return static_cast<T>(f(x)); }
};

// Adds thirty-two leaves side by side: compilers vectorize over leaves, and the order within each stays.
template <class T, class Self>
Pair<T> add_leaves(const Trapezoid<T, Self>& p, std::int64_t first) {
  constexpr int leaf = pairwise_leaf;
  T sum[leaf] = {}, offset[leaf];
  for (int j = 0; j < leaf; ++j) offset[j] = static_cast<T>(j * leaf);
  for (int k = 0; k < leaf; ++k) {
    const T from = static_cast<T>(first + k);
    for (int j = 0; j < leaf; ++j) sum[j] += p.term(p.a + (from + offset[j]) * p.step);
  }
  Tree<T> tree(p.sum);
  for (const T each : sum) tree.add({each, 0});
  return tree.sum();
}

template <class T, class Self>
Pair<T> add_subtree(const Trapezoid<T, Self>& p, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t together = pairwise_leaf * pairwise_leaf;
  Tree<T> tree(p.sum);
  for (; last - first >= together; first += together) tree.add(add_leaves(p, first));
  // The remainder, smaller than the subtrees before it, is the last leaf of the tree.
  if (first < last) {
    Tree<T> rest(p.sum);
    for (; first < last; first += pairwise_leaf)
      rest.add(p.add_strips(first, std::min(first + pairwise_leaf, last)));
    tree.add(rest.sum());
  }
  return tree.sum();
}

// Sums with a fixed order use all threads; plain and Kahan sums are added in strip order by one.
template <class T, class Self>
T add_on_processors(const Trapezoid<T, Self>& p, int threads) {
  if (!has_fixed_order(p.sum)) return add_everything(p);
  constexpr std::int64_t indices = std::int64_t{1} << std::numeric_limits<T>::digits;
  const bool side_by_side = p.sum == Sum::pairwise && !p.accumulated && p.strips <= indices;
  constexpr std::int64_t subtree = std::int64_t{1} << 15;
  const Runs runs = side_by_side ? Runs{(p.strips + subtree - 1) / subtree, subtree} : p.runs(1);
  std::vector<Pair<T>> sums(p.sum == Sum::exact ? 0 : static_cast<std::size_t>(runs.count));
  const int parts = static_cast<int>(std::min<std::int64_t>(threads, runs.count));
  std::vector<Exact<T>> exact(p.sum == Sum::exact ? static_cast<std::size_t>(parts) : 0);
  parallel(parts, [&](int part) {
    for (std::int64_t run = runs.count * part / parts; run < runs.count * (part + 1) / parts; ++run) {
      const std::int64_t first = runs.first(run, p.strips), last = runs.first(run + 1, p.strips);
      if (p.sum == Sum::exact) p.add_exactly(exact[static_cast<std::size_t>(part)], first, last);
      else
        sums[static_cast<std::size_t>(run)] =
            side_by_side ? add_subtree(p, first, last) : p.add_run(first, last);
    }
  });
  if (p.sum != Sum::exact) return total_of(p, sums.data(), runs.count);
  std::vector<std::int64_t> stored(exact.size() * Exact<T>::words);
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i].store(stored.data() + i * Exact<T>::words);
  return total_of(p, stored.data(), static_cast<std::int64_t>(exact.size()));
}

}  // namespace TESSERA_UNIT

void check_trapezoid(double a, double b, const Options& options);
// Returns the sum with its error, reason and why. `sum_of`: the sum of other strip counts over the same
// range.
quadrature::Answer trapezoid_answer_of(double value, double a, double b, bool single, const Options& options,
                                       const std::function<double(double)>& sample,
                                       const std::function<double(std::int64_t)>& sum_of);

inline namespace TESSERA_UNIT {

// `add`: returns the sum of a CallableTrapezoid, which holds a copy of f.
template <class T, class F, class Add>
quadrature::Answer by_trapezoid(const F& f, double a, double b, const Options& options, const Add& add) {
  check_trapezoid(a, b, options);
  CallableTrapezoid<T, F> p(f);
  p.set_range(static_cast<T>(a), static_cast<T>(b), options.strips);
  p.sum = options.sum;
  const T value = add(p);
  const auto sample = [&f](double x) { return static_cast<double>(f(static_cast<T>(x))); };
  const auto another = [&](std::int64_t strips) {
    CallableTrapezoid<T, F> q(f);
    q.set_range(p.a, p.b, strips);
    q.sum = Sum::double_float;
    return static_cast<double>(add_on_processors(q, 1));
  };
  return trapezoid_answer_of(static_cast<double>(value), p.a, p.b, std::is_same_v<T, float>, options, sample,
                             another);
}

}  // namespace TESSERA_UNIT

// --- rules ---

// Integrates by a rule with the options' tolerances, caps and breaks.
quadrature::Answer by_rule(const quadrature::Integrand& f, const quadrature::Range& range,
                           const Options& options);
quadrature::Answer by_rule(const quadrature::BatchIntegrand& f, const quadrature::Box& box,
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

// The largest numbers of variables that are tried as separate arguments and as an array.
inline constexpr std::size_t max_separate = 8, max_in_array = 32;

template <std::size_t D, class F>
quadrature::BatchIntegrand many_of(const F& f, std::size_t dimensions) {
  if constexpr (D > max_in_array) {
    throw Error("the integrand does not take " + std::to_string(dimensions) + " variables");
  } else {
    if constexpr (takes_array<D, F> || (D <= max_separate && takes_separate<D, F>))
      if (D == dimensions)
        return [&f](std::span<const double> points, std::size_t count, std::span<double> y) {
          values_at<F, D>(f, points, count, y);
        };
    return many_of<D + 1, F>(f, dimensions);
  }
}

template <class F>
quadrature::BatchIntegrand batch_integrand_of(const F& f, std::size_t dimensions) {
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

// Returns the integral of f from a to b, each of which may be infinite; if a > b, the negative of the
// integral from b to a.
//
// f is called with x, or with x and its distance d to the nearer limit: d >= 0 above the lower limit, d < 0
// below the upper one, 0 if both are infinite. Near 1, only d has the digits that (1-x)^-0.8 needs.
//
// The Answer's `reason` says if its error is within the tolerance; its `why`, how it was found. T is the type
// of a trapezoid sum, which calls f from several threads at once; rules compute in double. Throws Error for
// invalid limits, tolerances and counts, and whatever f throws.
template <class T = double, class F>
requires(integration::detail::takes_x<T, F> || integration::detail::takes_distance<T, F>) quadrature::Answer
    integrate(const F& f, double a, double b, const integration::Options& options = {}) {
  static_assert(std::is_same_v<T, double> || std::is_same_v<T, float>, "integrals are of double or float");
  if (options.strips == 0)
    return integration::by_rule(integration::detail::integrand_of<T>(f), {a, b}, options);
  if constexpr (!integration::detail::takes_x<T, F>)
    throw Error("a trapezoid sum takes a function of x alone");
  else
    return integration::by_trapezoid<T>(std::cref(f), a, b, options, [&](const auto& sum) {
      return add_on_processors(sum, options.threads > 0 ? options.threads : host_threads());
    });
}

// Returns the integral of f over a box: f is called with std::span<const double>, with std::array<double, D>,
// or with up to eight numbers, from several threads at once unless `threads` is 1.
template <class F>
quadrature::Answer integrate(const F& f, const std::vector<quadrature::Range>& box,
                             const integration::Options& options = {}) {
  if (options.strips != 0) throw Error("a trapezoid sum takes one variable");
  return integration::by_rule(integration::detail::batch_integrand_of(f, box.size()), quadrature::Box{box},
                              options);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera
