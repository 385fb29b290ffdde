// SPDX-License-Identifier: Apache-2.0
// What the arithmetic of this machine's processors can do at most, measured: fused multiply-adds from
// registers to registers, as many at a time as the widest vectors hold.
#pragma once
#include "tessera/core/element.hpp"

namespace tessera::lab {

// Counts a multiply-add as two. Element::f32 or f64; takes a few milliseconds.
double fma_flops_per_second(Element element, int threads);

}  // namespace tessera::lab
