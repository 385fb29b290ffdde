// SPDX-License-Identifier: Apache-2.0
// What is told of a trapezoid sum beside its value: how far it may be from the integral, and from what cause.
#pragma once
#include <functional>
#include "bounded.hpp"
#include "ops/integrate/rules/answer.hpp"
#include "sums.hpp"

namespace tessera::integration {

// A sum as it was computed, not scaled.
struct Summed {
  double value = 0, a = 0, b = 1;
  std::int64_t strips = 1;
  Sum sum = Sum::pairwise;
  bool accumulated = false;
  double unit = quadrature::unit;  // of rounding, in the type that added
  double height_unit = 0x1p-64;    // what is lost of the heights that are told here
};

// A height, and how far it may be off for whoever computed the sum.
using Height = std::function<Bounded(long double x)>;
// Another sum over the same range.
using SumOf = std::function<long double(std::int64_t strips)>;

// The error is what sums of few strips show to fall like a power of the width; where they do not, or where
// the value is not what they lead to expect, the changes from a sixteenth, an eighth … of the strips to all.
// `tolerance`: without one the reason is that so many strips were asked for. `rule`: the integral by a rule
// that knows the formula's text: sums agree about what stands between the strips of all of them, and about
// waves in step with these.
quadrature::Answer strips_answer(const Summed& summed, const Height& height, const SumOf& sum_of,
                                 const quadrature::Tolerance* tolerance,
                                 const quadrature::Answer* rule = nullptr);

// Of the sum of absolute heights, how much adding n numbers in this way may lose, in a type that rounds by u.
long double lost_by(Sum sum, long double n, long double u);

}  // namespace tessera::integration
