// SPDX-License-Identifier: Apache-2.0
// A light field seen from a place between its cameras: the nearest views, each shifted by its distance times
// the slope of the plane on which they meet.
#pragma once
#include "ops/imaging/light_field.hpp"

namespace tessera::viewpoint {

// Throws Error for options that cannot be computed.
lightfield::LightFieldPlan plan_of(const Arguments& arguments);

inline namespace TESSERA_UNIT {

template <class T>
struct Problem : lightfield::Gather<T> {
  using Elements = Types<std::uint8_t, std::uint16_t, float>;
  static Problem of(const Arguments& arguments) {
    return Problem::template made<Problem>(arguments, "seen", plan_of(arguments));
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::viewpoint
