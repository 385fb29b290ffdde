// SPDX-License-Identifier: Apache-2.0
// Error bounds of each arithmetic of f32, and the choice of one for a requested accuracy.
#pragma once
#include <string>
#include "ops/matmul/gemm/mixed_problem.hpp"

namespace tessera::matmul {

// Bounds on the error of an element of C, relative to the sum of magnitudes Σ|a·b|.
struct ErrorBounds {
  // Holds for the whole product except with probability 10⁻⁶ if roundings are independent with mean zero. The
  // truncations of tensor cores and the terms that a split leaves out count in full: they need not be
  // independent.
  double likely = 0;
  double always = 0;
};
ErrorBounds error_bounds(Compute compute, const Arguments& arguments);  // f32; f64 if `compute` is strict

// Returns --compute or, with --accuracy, the cheapest arithmetic whose likely bound is within the requested
// one. A type requests the bound of its strict product at this k. Throws Error if the requested bound is
// smaller than that of the strict sums, the most accurate on offer.
Compute compute_of(const Arguments& arguments);

// Describes the arithmetic that --accuracy selected; empty: it was not given.
std::string accuracy_text(const Arguments& arguments);

// Throws Error if the word is neither a type nor a number, or does not fit `a` or `compute`.
void check_accuracy(const std::string& word, Element a, const std::string& compute);

}  // namespace tessera::matmul
