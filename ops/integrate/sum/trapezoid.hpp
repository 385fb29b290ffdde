// SPDX-License-Identifier: Apache-2.0
// The trapezoid sum of a formula or a callable over strips of equal width, added by one of several methods.
// Each strip contributes the sample at its left end; finished() subtracts half of the first sample and adds
// half of that at the last strip's right end.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include "sums.hpp"

namespace tessera::integration {

// Returns (b - a) / strips rounded towards zero, so that no index times it leads beyond b, however products
// and sums are rounded.
template <class T>
T step_of(T a, T b, std::int64_t strips) {
  // If any index is rounded up, so is the last one.
  long double count = static_cast<long double>(strips);
  if (const auto rounded = static_cast<long double>(static_cast<T>(strips)); rounded > count) count = rounded;
  const long double exact = (static_cast<long double>(b) - a) / count;
  const T step = static_cast<T>(exact);
  return std::fabs(static_cast<long double>(step)) > std::fabs(exact) ? std::nextafter(step, T(0)) : step;
}

// True if a + i·step is exact up to i = strips: both are multiples of some unit, small enough for T to
// represent.
template <class T>
bool steps_are_exact(T a, T step, std::int64_t strips) {
  if (!std::isfinite(a) || !std::isfinite(step)) return false;
  if (step == 0) return true;
  const auto lowest_digit = [](T value) {
    int exponent = 0;
    T rest = std::frexp(std::fabs(value), &exponent);
    for (; rest != std::floor(rest); rest *= 2) --exponent;
    return exponent;
  };
  const int exponent = a == 0 ? lowest_digit(step) : std::min(lowest_digit(a), lowest_digit(step));
  const T unit = std::ldexp(T(1), exponent), most = std::ldexp(T(1), std::numeric_limits<T>::digits);
  const T range = static_cast<T>(strips) * std::fabs(step);
  return unit >= std::numeric_limits<T>::min() && std::fabs(a) / unit + range / unit <= most;
}

inline namespace TESSERA_UNIT {

// Consecutive strips that one thread adds one after another.
struct Runs {
  std::int64_t count, strips;  // strips: per run; the last runs may have fewer, or none

  SIMT std::int64_t first(std::int64_t run, std::int64_t all) const { return std::min(run * strips, all); }
};

// Self has `SIMT T sample(T x) const`.
template <class T, class Self>
struct Trapezoid {
  T a = 0, b = 0;
  T step = 0;   // from an abscissa to the next, rounded so that none lies beyond b
  T width = 0;  // a strip's width, rounded to nearest: a factor of the sum
  T scale = 1;
  std::int64_t strips = 1;
  Sum sum = Sum::pairwise;
  bool accumulated = false;  // abscissae by adding steps, not from their index
  bool scale_terms = false;  // each value is multiplied by the width, not their sum
  T* result = nullptr;
  void* workspace = nullptr;

  void set_range(T from, T to, std::int64_t count) {
    a = from;
    b = to;
    strips = count;
    step = step_of(a, b, strips);
    width = static_cast<T>((static_cast<long double>(b) - a) / static_cast<long double>(strips));
  }

  SIMT T value(T x) const { return static_cast<const Self&>(*this).sample(x); }
  SIMT T term(T x) const { return scale_terms ? value(x) * width : value(x); }
  SIMT T abscissa(std::int64_t strip) const { return a + T(strip) * step; }
  // Returns x + by, clamped: adding steps may lead beyond the limit, where there may be no value.
  SIMT T advanced(T x, T by) const {
    const T next = x + by;
    return (by > 0 ? next > b : next < b) ? b : next;
  }

  // Adds strips `first`, first + stride, … before `last`, in this order.
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

  static constexpr int leaf = pairwise_leaf;

  // Adds a run by any method but the exact one.
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
      if ((i - first + 1) % Exact<T>::max_additions == 0) out.carry();
    }
    out.carry();
  }

  // Returns the runs for `workers` threads. With a fixed order they do not depend on `workers`: there are
  // enough for the largest GPU, each an entire subtree.
  SIMT Runs runs(std::int64_t workers) const {
    if (sum == Sum::exact) return cut(4096, 1);
    if (!has_fixed_order(sum)) return cut(workers, 1);
    std::int64_t each = leaf;
    while (each < (strips + max_runs - 1) / max_runs) each *= 2;
    return cut((strips + each - 1) / each, each);
  }

  SIMT T finished(Pair<T> total) const {
    total = plus(sum, plus(sum, total, T(0.5) * term(b)), T(-0.5) * term(a));
    return scaled(total.high);
  }
  SIMT T finished(Exact<T>& total) const {
    total.add(T(0.5) * term(b));
    total.add(T(-0.5) * term(a));
    return scaled(total.rounded());
  }
  SIMT T scaled(T total) const {
    if (a == b) return 0;  // the value may be infinite there
    return (scale_terms ? total : total * width) * scale;
  }

 private:
  static constexpr std::int64_t max_runs = 1 << 18;

  SIMT Runs cut(std::int64_t count, std::int64_t least) const {
    const std::int64_t each = std::max(least, (strips + count - 1) / count);
    return {count, each};
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
