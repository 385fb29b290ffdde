// SPDX-License-Identifier: Apache-2.0
// What the tests of calls integrate on every device: the same functor for g++ and nvcc.
#pragma once
#include "call_device.hpp"

namespace tessera::integration {

// Nothing in it is rounded otherwise than products, sums and quotients: every device has the same bits.
struct Witch {
  double k = 1;

  SIMT double operator()(double x) const { return k / (1 + x * x); }
};

struct SingleWitch {
  SIMT float operator()(float x) const { return 4 / (1 + x * x); }
};

inline constexpr Sum every_sum[] = {Sum::pairwise, Sum::plain, Sum::kahan, Sum::double_float, Sum::exact};

}  // namespace tessera::integration
