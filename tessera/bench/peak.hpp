// SPDX-License-Identifier: Apache-2.0
// What the arithmetic of this machine's processors can do at most, measured: multiply-adds from
// registers to registers, fused for floating point, as many at a time as the widest vectors hold.
#pragma once
#include "tessera/core/element.hpp"
#include "tessera/bench/reached.hpp"

namespace tessera::bench {

// Counts a multiply-add as two. Element::f32, f64 or i32; takes a few milliseconds.
Reached fma_reached(Element element, int threads);
double fma_flops_per_second(Element element, int threads);

}  // namespace tessera::bench
