// SPDX-License-Identifier: Apache-2.0
// How accurate each arithmetic of f32 is, and which one an asked-for accuracy leads to.
#pragma once
#include <string>
#include "ops/matmul/gemm/mixed_problem.hpp"

namespace tessera::matmul {

// How far an element of C may be from the exact one, relative to the sum of magnitudes Σ|a·b|.
struct ErrorBounds {
  // But for a probability of 10⁻⁶ for the whole product, where roundings are independent with mean zero. Cuts
  // of tensor cores, and what a split leaves out, count in full: they need not be independent.
  double likely = 0;
  double always = 0;
};
ErrorBounds error_bounds(Compute compute, const Arguments& arguments);  // of f32 and, strict, f64

// --compute or, with --accuracy, the cheapest arithmetic whose likely bound is within what is asked: of a
// type, that of its strict product at this k. Strict sums serve whatever is asked, so nothing smaller than
// their own bound is offered. Throws Error where less is asked.
Compute compute_of(const Arguments& arguments);

// What --accuracy led to, in words; empty: it was not given.
std::string accuracy_text(const Arguments& arguments);

// Throws Error where the word is neither a type nor a number, or goes with neither `a` nor `compute`.
void check_accuracy(const std::string& word, Element a, const std::string& compute);

}  // namespace tessera::matmul
