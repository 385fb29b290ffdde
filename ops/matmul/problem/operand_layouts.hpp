// SPDX-License-Identifier: Apache-2.0
// What rungs state of how they read A and B.
#pragma once
#include "tessera/core/intake.hpp"

namespace tessera::matmul {

// Neighbours in memory are neighbours along k.
inline bool lies_along_k(const InputOrder& order) { return (order.input == "A") != order.transposed; }

// Panels of B are copied, an element at a time, while they are needed.
inline Intake b_in_panels(Element, const InputOrder& order) {
  return order.input == "B" ? Intake::turned_in_loading : Intake::as_it_lies;
}

// Hopper's copy engine: lines along k as they lie; across k where the tensor cores take that; nothing at odd
// addresses.
inline Intake by_copy_engine(const InputOrder& order, bool turns) {
  if (order.odd) return Intake::packed_before;
  if (lies_along_k(order)) return Intake::as_it_lies;
  return turns ? Intake::turned_in_loading : Intake::packed_before;
}

// Whoever multiplies lines across k: what lies along k is turned on its way to shared memory. Of f32, where
// products are large enough, a B along k and lines across k that lie no multiple of 16 bytes apart are copied
// before (`WarpCopies`); a B along k is taken as it lies where A has few rows (`takes_lines`).
inline Intake across_k(Element element, const InputOrder& order) {
  if (lies_along_k(order))
    return element == Element::f32 && order.input == "B" ? Intake::turned_packed_or_lying
                                                         : Intake::turned_in_loading;
  return element == Element::f32 && order.odd ? Intake::packed_if_large : Intake::as_it_lies;
}

}  // namespace tessera::matmul
