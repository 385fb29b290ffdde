// SPDX-License-Identifier: Apache-2.0
// Refocuses a light field on one plane or on many: the mean of the views, each shifted by its position in the
// grid times the plane's slope.
#pragma once
#include "ops/imaging/light_field.hpp"

namespace tessera::refocus {

// Throws Error for options that cannot be computed.
lightfield::LightFieldPlan plan_of(const Arguments& arguments);

inline namespace TESSERA_UNIT {

template <class T>
struct Problem : lightfield::Gather<T> {
  using Elements = Types<std::uint8_t, std::uint16_t, float>;
  static Problem of(const Arguments& arguments) {
    return Problem::template made<Problem>(arguments, "refocused", plan_of(arguments));
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::refocus
