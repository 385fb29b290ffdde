// SPDX-License-Identifier: Apache-2.0
// The trapezoid sum of a formula.
// Installed: for whoever writes a rung.
#pragma once
#include <cstdint>
#include "evaluate.hpp"
#include "setting.hpp"
#include "strips.hpp"
#include "tessera/core/arguments.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

template <class T>
struct Problem : Strips<T, Problem<T>> {
  using Elements = Types<double, float>;

  formula::Program<T> integrand;

  SIMT T height(T x) const { return evaluate(integrand, x); }

  static std::optional<std::string> cannot_hold(const Arguments& arguments) {
    return not_of_strips(arguments);
  }

  static Problem of(const Arguments& arguments) {
    const Setting setting = setting_of(arguments);
    Problem p;
    p.integrand = program_of<T>(setting);
    p.set_range(static_cast<T>(setting.a), static_cast<T>(setting.b), setting.strips);
    p.scale = static_cast<T>(setting.scale);
    p.sum = setting.sum;
    p.accumulated = setting.accumulated;
    p.scale_terms = setting.scale_terms;
    p.result = static_cast<T*>(arguments.array("integral").data);
    return p;
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
