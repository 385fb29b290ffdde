// SPDX-License-Identifier: Apache-2.0
// Error estimates of a trapezoid sum: by its order of convergence, found from sums of few strips, else by
// comparison with other sums; and a bound of its rounding error.
#pragma once
#include <functional>
#include <optional>
#include <vector>
#include "ops/integrate/quadrature/integrand.hpp"
#include "bounded.hpp"
#include "sums.hpp"

namespace tessera::integration {

// error = factor · width^exponent, smaller terms left out; `limit` is the sum without error.
struct Convergence {
  double exponent, factor;
  long double limit;
};

// Sums of 1, 2, 4 … 2^finest strips, each with the abscissae of the one before and those between them.
std::vector<long double> doubled_sums(const std::function<long double(long double x)>& f, long double a,
                                      long double b, int finest);

// Returns the convergence of such sums, those of 16 strips and more, of samples with a relative error of
// `unit`. Nothing: the error does not fall like a power.
std::optional<Convergence> convergence_of(const std::vector<long double>& sums, long double length,
                                          long double unit);

// A sum as it was computed, not scaled.
struct TrapezoidSum {
  double value = 0, a = 0, b = 1;
  std::int64_t strips = 1;
  Sum sum = Sum::pairwise;
  bool accumulated = false;
  double unit = quadrature::unit;  // unit roundoff of the type that added
  double sample_unit = 0x1p-64;    // relative error of the samples that `sample` returns
};

using SampleAt = std::function<Bounded(long double x)>;
// Another sum over the same range.
using SumOf = std::function<long double(std::int64_t strips)>;

// `tolerance`: null if only the sum was requested, which is then the reason.
quadrature::Answer trapezoid_answer(const TrapezoidSum& sum, const SampleAt& sample, const SumOf& sum_of,
                                    const quadrature::Tolerance* tolerance);

// Returns the error bound of adding n numbers by this method, relative to Σ|sample|; u: unit roundoff.
long double lost_by(Sum sum, long double n, long double u);

}  // namespace tessera::integration
