// SPDX-License-Identifier: Apache-2.0
// The trapezoid sum of a formula: strips of one width between two limits, added in one of several ways.
// Each strip brings the value at its left end; whoever finishes takes off half of the first one's and adds
// half of the last one's right end.
#pragma once
#include <algorithm>
#include <cstdint>
#include "evaluate.hpp"
#include "exact.hpp"
#include "setting.hpp"
#include "sums.hpp"
#include "tessera/core/arguments.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

// Consecutive strips that are added one after another by whoever has them.
struct Runs {
  std::int64_t count, strips;  // of each run; the last ones may have fewer, or none

  SIMT std::int64_t first(std::int64_t run, std::int64_t all) const { return std::min(run * strips, all); }
};

template <class T>
struct Problem {
  using Elements = Types<double, float>;

  formula::Program<T> integrand;
  T a = 0, b = 0;
  T step = 0;   // from an abscissa to the next, rounded so that none lies beyond b
  T width = 0;  // of a strip, rounded to nearest: what the sum is multiplied by
  T scale = 1;
  std::int64_t strips = 1;
  Sum sum = Sum::pairwise;
  bool accumulated = false;  // abscissae by adding steps, not from their index
  bool scale_terms = false;  // each value is multiplied by the width, not their sum
  T* result = nullptr;
  void* workspace = nullptr;

  SIMT T value(T x) const { return evaluate(integrand, x); }
  SIMT T term(T x) const { return scale_terms ? value(x) * width : value(x); }
  SIMT T abscissa(std::int64_t strip) const { return a + T(strip) * step; }
  // Adding steps may lead beyond the limit, where there may be no value.
  SIMT T advanced(T x, T by) const {
    const T next = x + by;
    return (by > 0 ? next > b : next < b) ? b : next;
  }

  // Strips `first`, first + stride, … before `last`, in this order.
  SIMT Pair<T> add_strips(std::int64_t first, std::int64_t last, std::int64_t stride = 1) const {
    Pair<T> out{};
    T x = abscissa(first);
    for (std::int64_t i = first; i < last; i += stride) {
      if (!accumulated) x = abscissa(i);
      out = plus(sum, out, term(x));
      if (accumulated) x = advanced(x, T(stride) * step);
    }
    return out;
  }

  static constexpr int leaf = 32;

  // A run in the way asked for, but the exact one.
  SIMT Pair<T> add_run(std::int64_t first, std::int64_t last) const {
    if (sum != Sum::pairwise || last - first <= leaf) return add_strips(first, last);
    Tree<T> tree(sum);
    for (; first < last; first += leaf) tree.add(add_strips(first, std::min(first + leaf, last)));
    return tree.sum();
  }

  SIMT void add_exactly(Exact<T>& out, std::int64_t first, std::int64_t last) const {
    T x = abscissa(first);
    for (std::int64_t i = first; i < last; ++i) {
      if (!accumulated) x = abscissa(i);
      out.add(term(x));
      if (accumulated) x = advanced(x, step);
      if ((i - first + 1) % Exact<T>::most_additions == 0) out.carry();
    }
    out.carry();
  }

  // How `workers` threads share the strips. Where the order is fixed it knows nothing of them: enough runs
  // for the largest GPU, each a whole subtree.
  SIMT Runs runs(std::int64_t workers) const {
    if (sum == Sum::exact) return cut(4096, 1);
    if (!has_fixed_order(sum)) return cut(workers, 1);
    std::int64_t each = leaf;
    while (each < (strips + most_runs - 1) / most_runs) each *= 2;
    return cut((strips + each - 1) / each, each);
  }

  SIMT T concluded(Pair<T> total) const {
    total = plus(sum, plus(sum, total, T(0.5) * term(b)), T(-0.5) * term(a));
    return scaled(total.high);
  }
  SIMT T concluded(Exact<T>& total) const {
    total.add(T(0.5) * term(b));
    total.add(T(-0.5) * term(a));
    return scaled(total.rounded());
  }
  SIMT T scaled(T total) const { return (scale_terms ? total : total * width) * scale; }

  static Problem of(const Arguments& arguments) {
    const Setting setting = setting_of(arguments);
    Problem p;
    p.integrand = program_of<T>(setting);
    p.a = static_cast<T>(setting.a);
    p.b = static_cast<T>(setting.b);
    p.strips = setting.strips;
    p.step = step_of(p.a, p.b, p.strips);
    p.width = static_cast<T>((static_cast<long double>(p.b) - p.a) / static_cast<long double>(p.strips));
    p.scale = static_cast<T>(setting.scale);
    p.sum = setting.sum;
    p.accumulated = setting.accumulated;
    p.scale_terms = setting.scale_terms;
    p.result = static_cast<T*>(arguments.array("integral").data);
    return p;
  }

 private:
  static constexpr std::int64_t most_runs = 1 << 18;

  SIMT Runs cut(std::int64_t count, std::int64_t least) const {
    const std::int64_t each = std::max(least, (strips + count - 1) / count);
    return {count, each};
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
