// SPDX-License-Identifier: Apache-2.0
// Thirty-two sums side by side, free of instruction sets: each lane adds strips of its own.
#pragma once
#include <cstdint>
#include "sums.hpp"

namespace tessera::integration {

inline constexpr int kLanes = 32, kRows = 32;  // of a block of strips

// Lane j's next strips are first[j] + done, and `stride` apart: whole numbers that T holds.
template <class T>
struct Lanes {
  alignas(64) T first[kLanes] = {};
  alignas(64) T high[kLanes] = {};
  alignas(64) T low[kLanes] = {};
  T done = 0, stride = 1;
};

}  // namespace tessera::integration
