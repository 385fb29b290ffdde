// SPDX-License-Identifier: Apache-2.0
// For which sets of instructions Highway compiles vectors, where these lie in arrays and structs: not where
// their length is known at run time alone, nor for SSSE3, which no current processor has as its best.
// Included before <hwy/foreach_target.h>.
#pragma once
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)
