// SPDX-License-Identifier: Apache-2.0
// Sums of strips of a callable of C++, by the processors. The same bits as the command's rungs give, where
// the heights have the same bits.
// Installed: for programs.
#pragma once
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>
#include "call_options.hpp"
#include "partials.hpp"
#include "rules/answer.hpp"
#include "tessera/core/parallel.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

template <class T, class F>
struct CallableStrips : Strips<T, CallableStrips<T, F>> {
  F f;

  explicit CallableStrips(const F& callable) : f(callable) {}

#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // whether the callable is the device's too is known to who launches
#endif
  SIMT T height(T x) const { return static_cast<T>(f(x)); }
};

// Thirty-two leaves side by side: compilers make vectors of them, and the order within each stays.
template <class T, class Self>
Pair<T> add_leaves(const Strips<T, Self>& p, std::int64_t first) {
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
Pair<T> add_subtree(const Strips<T, Self>& p, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t together = pairwise_leaf * pairwise_leaf;
  Tree<T> tree(p.sum);
  for (; last - first >= together; first += together) tree.add(add_leaves(p, first));
  // A rest is the last thing in the tree: less than one of the subtrees before it.
  if (first < last) {
    Tree<T> rest(p.sum);
    for (; first < last; first += pairwise_leaf)
      rest.add(p.add_strips(first, std::min(first + pairwise_leaf, last)));
    tree.add(rest.sum());
  }
  return tree.sum();
}

// Runs in a fixed order by all threads, sums in the caller's order by one.
template <class T, class Self>
T add_on_processors(const Strips<T, Self>& p, int threads) {
  if (!has_fixed_order(p.sum)) return add_everything(p);
  constexpr std::int64_t indices = std::int64_t{1} << std::numeric_limits<T>::digits;
  const bool side_by_side = p.sum == Sum::pairwise && p.strips <= indices;
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

void check_strips(double a, double b, const Options& options);
// The sum with its error, its reason and why. `sum_of`: others over the same range.
quadrature::Answer answer_of_strips(double value, double a, double b, bool single, const Options& options,
                                    const std::function<double(double)>& height,
                                    const std::function<double(std::int64_t)>& sum_of);

inline namespace TESSERA_UNIT {

// `add`: from strips to their sum. F is copied into them.
template <class T, class F, class Add>
quadrature::Answer by_strips(const F& f, double a, double b, const Options& options, const Add& add) {
  check_strips(a, b, options);
  CallableStrips<T, F> p(f);
  p.set_range(static_cast<T>(a), static_cast<T>(b), options.strips);
  p.sum = options.sum;
  const T value = add(p);
  const auto height = [&f](double x) { return static_cast<double>(f(static_cast<T>(x))); };
  const auto another = [&](std::int64_t strips) {
    CallableStrips<T, F> q(f);
    q.set_range(p.a, p.b, strips);
    q.sum = Sum::double_float;
    return static_cast<double>(add_on_processors(q, 1));
  };
  return answer_of_strips(static_cast<double>(value), p.a, p.b, std::is_same_v<T, float>, options, height,
                          another);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
