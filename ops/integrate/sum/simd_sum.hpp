// SPDX-License-Identifier: Apache-2.0
// The trapezoid sum by the processors' vectors, and what rungs of the processors share.
#pragma once
#include "ops/integrate/integrate.hpp"
#include "tessera/formula/chain.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {

template <class T>
T add_by_simd(const Problem<T>& p, int threads, formula::Roots roots);
extern template float add_by_simd(const Problem<float>&, int, formula::Roots);
extern template double add_by_simd(const Problem<double>&, int, formula::Roots);

// A choice of the processors that runs f(problem, device), which returns the sum.
template <class F>
Choice trapezoid_choice(F f, int most_threads) {
  Choice out;
  const auto bind = [&]<class T>(T) {
    out.run[element_of<T>] = [f, most_threads](const Arguments& arguments, const Tuning&, Run& run) {
      check_seconds(arguments, std::min(most_threads, run.device->threads));
      const Problem<T> p = Problem<T>::of(arguments);
      *p.result = f(p, *run.device);
    };
  };
  bind(double());
  bind(float());
  out.refuses = [](const Arguments& a, const Tuning&, const Device&) { return not_trapezoid(a); };
  return out;
}

}  // namespace tessera::integration
