// SPDX-License-Identifier: Apache-2.0
// What an honest computation may reach where a sum overflows or an input is no finite number: which kinds of
// values, carried from the sum through all that follows it.
#pragma once
#include <cstdint>
#include "low_precision.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::matmul {

// The finite terms of a sum: the magnitudes of those above and below 0 added up, and the largest one.
struct Terms {
  double above = 0, below = 0, largest = 0;
  bool plus = false, minus = false;  // whether any is an infinity of that sign
};

struct Reach {
  bool number = true;  // a finite one
  bool plus = false, minus = false, nan = false;
  bool nought = false;  // 0, from an infinity

  static Reach nothing_but_nan() { return {false, false, false, true}; }

  // `rises`: in some order a partial sum of finite terms is beyond the largest number; `falls`: … below the
  // least.
  Reach overflowing(bool rises, bool falls) const;
  // The sum with x, infinite or no number: a finite one changes nothing.
  Reach with(double x) const;
  // The product with a factor; of a number between low and high.
  Reach times(double factor, double low, double high) const;
  Reach activated(Activation activation) const;

  std::uint8_t beyond() const;  // Expected::Beyond's, added up
  // Appends an element: its numbers between low and high, which may be infinite, but none beyond ±most.
  void append(double low, double high, double most, Expected& expected) const;
};

}  // namespace tessera::matmul
