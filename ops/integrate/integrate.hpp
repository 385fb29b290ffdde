// SPDX-License-Identifier: Apache-2.0
// The trapezoid sum of a formula.
#pragma once
#include <cstdint>
#include "kernels/program_evaluation.hpp"
#include "integrate_options.hpp"
#include "sum/trapezoid.hpp"
#include "tessera/core/operation/arguments.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

template <class T>
struct Problem : Trapezoid<T, Problem<T>> {
  using Elements = Types<double, float>;

  formula::Program<T> integrand;

  SIMT T sample(T x) const { return evaluate(integrand, x); }

  static std::optional<std::string> unsupported_arguments(const Arguments& arguments) {
    return not_trapezoid(arguments);
  }

  static Problem of(const Arguments& arguments) {
    const TrapezoidOptions options = trapezoid_options_of(arguments);
    Problem p;
    p.integrand = program_of<T>(arguments);
    p.set_range(static_cast<T>(options.a), static_cast<T>(options.b), options.strips);
    p.scale = static_cast<T>(options.scale);
    p.sum = options.sum;
    p.accumulated = options.accumulated;
    p.scale_terms = options.scale_terms;
    p.result = static_cast<T*>(arguments.array("integral").data);
    return p;
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
