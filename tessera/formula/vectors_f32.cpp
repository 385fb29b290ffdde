// SPDX-License-Identifier: Apache-2.0
// The operators on blocks of f32, for each set of instructions; the best is chosen when the program runs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/formula/vectors_f32.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include "tessera/formula/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::formula {
namespace HWY_NAMESPACE {
const OnBlock<float>* table_f32() { return table<float>(); }
}  // namespace HWY_NAMESPACE
}  // namespace tessera::formula
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::formula {
HWY_EXPORT(table_f32);
const OnBlock<float>* on_blocks_f32() { return HWY_DYNAMIC_DISPATCH(table_f32)(); }
}  // namespace tessera::formula
#endif
