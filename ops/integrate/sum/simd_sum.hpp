// SPDX-License-Identifier: Apache-2.0
// The trapezoid sum with the CPU's vectors, and code shared by CPU rungs.
#pragma once
#include <cstdint>
#include "ops/integrate/integrate.hpp"
#include "tessera/formula/chain.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {

// Thirty-two sums side by side, for any instruction set: each lane adds strips of its own.

inline constexpr int kLanes = 32, kRows = 32;  // lanes and rows of a block of strips

// Lane j's next strips are first[j] + row[k], integers that T represents. If T represents every abscissa of
// the sum exactly, they are the abscissae themselves.
template <class T>
struct Lanes {
  alignas(64) T first[kLanes] = {};
  alignas(64) T high[kLanes] = {};
  alignas(64) T low[kLanes] = {};
  alignas(64) T row[kRows] = {};
  T a = 0, step = 1;
};

// Functions for the best instruction set of this CPU; the links' operand is a Lanes.
template <class T>
struct OnLanes {
  void (*abscissae)() = nullptr;    // a chain's head
  void (*as_they_are)() = nullptr;  // likewise, for lanes that hold abscissae
  void (*accumulate[5])() = {};     // a chain's tail, by Sum; plain and pairwise are the same, exact has none
  // Through memory: `write` stores a block's abscissae, `add` adds its samples to the sums.
  void (*write)(const Lanes<T>& lanes, bool as_they_are, T* x) = nullptr;
  void (*add)(Sum way, const T* y, Lanes<T>& lanes) = nullptr;
  // Advances the first strips in the vectors that read them, because a wide load would stall on earlier
  // narrow stores.
  void (*advance)(Lanes<T>& lanes, T by) = nullptr;
  void (*clear)(Lanes<T>& lanes) = nullptr;      // the sums
  T (*joined)(const Lanes<T>& lanes) = nullptr;  // plain and pairwise only: joins the lanes pairwise
};

OnLanes<float> on_lanes(float);
OnLanes<double> on_lanes(double);

template <class T>
T add_by_simd(const Problem<T>& p, int threads, formula::Roots roots);
extern template float add_by_simd(const Problem<float>&, int, formula::Roots);
extern template double add_by_simd(const Problem<double>&, int, formula::Roots);

// Returns a choice for the CPU that runs f(problem, device), which returns the sum.
template <class F>
Choice trapezoid_choice(F f, int max_threads) {
  Choice out;
  const auto bind = [&]<class T>(T) {
    out.prepare[element_of<T>] =
        without_plan([f, max_threads](const Arguments& arguments, const Tuning&, Run& run) {
          check_seconds(arguments, std::min(max_threads, run.device->threads));
          const Problem<T> p = Problem<T>::of(arguments);
          *p.result = f(p, *run.device);
        });
  };
  bind(double());
  bind(float());
  out.refuses = [](const Arguments& a, const Tuning&, const Device&) { return not_trapezoid(a); };
  return out;
}

}  // namespace tessera::integration
