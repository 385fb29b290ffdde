// SPDX-License-Identifier: Apache-2.0
// The instruction sets for which Highway compiles vectors that are stored in arrays and structs: not those
// whose vector length is known only at run time, nor SSSE3, which is no current processor's best. Included
// before <hwy/foreach_target.h>.
#pragma once
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)
