// SPDX-License-Identifier: Apache-2.0
// The operators on blocks of f64, for each set of instructions; the best is chosen when the program runs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/formula/vectors_f64.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include "tessera/formula/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::formula {
namespace HWY_NAMESPACE {
const OnBlock<double>* table_f64() { return table<double>(); }
}  // namespace HWY_NAMESPACE
}  // namespace tessera::formula
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::formula {
HWY_EXPORT(table_f64);
const OnBlock<double>* on_blocks_f64() { return HWY_DYNAMIC_DISPATCH(table_f64)(); }
}  // namespace tessera::formula
#endif
