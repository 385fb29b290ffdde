// SPDX-License-Identifier: Apache-2.0
// What rungs state of how they read A and B.
#pragma once
#include "tessera/core/variant.hpp"

namespace tessera::matmul {

// Neighbours in memory are neighbours along k.
inline bool lies_along_k(const OperandLayout& order) { return (order.input == "A") != order.transposed; }

// Panels of B are copied, an element at a time, while they are needed.
inline LayoutHandling b_in_panels(Element, const OperandLayout& order) {
  return order.input == "B" ? LayoutHandling::transposed_on_load : LayoutHandling::direct;
}

// Hopper's TMA: lines along k as they lie; across k where the tensor cores take that; nothing at odd
// addresses.
inline LayoutHandling by_tma(const OperandLayout& order, bool turns) {
  if (order.unaligned) return LayoutHandling::packed_first;
  if (lies_along_k(order)) return LayoutHandling::direct;
  return turns ? LayoutHandling::transposed_on_load : LayoutHandling::packed_first;
}

// Whoever multiplies lines across k: what lies along k is transposed on its way to shared memory. Of f32,
// where products are large enough, a B along k and lines across k that lie no multiple of 16 bytes apart are
// copied before (`WarpCopies`); a B along k is taken as it lies where A has few rows (`takes_lines`).
inline LayoutHandling across_k(Element element, const OperandLayout& order) {
  if (lies_along_k(order))
    return element == Element::f32 && order.input == "B" ? LayoutHandling::mixed
                                                         : LayoutHandling::transposed_on_load;
  return element == Element::f32 && order.unaligned ? LayoutHandling::packed_if_large
                                                    : LayoutHandling::direct;
}

}  // namespace tessera::matmul
