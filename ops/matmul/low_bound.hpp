// SPDX-License-Identifier: Apache-2.0
// What an element of a product of few bits may be: the exact value, how far sums in f32 or in the tensor
// cores' registers may stray from it, and what C's element makes of that interval.
#pragma once
#include <cstdint>
#include "low_precision.hpp"
#include "reach.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::matmul {

// The element's number nearest to x, ties to even: floats escape to infinity, i8 saturates.
double rounded_to(Element element, double x);

double activated_exactly(Activation activation, double x);

// ε such that the sum of products strays at most ε·Σ|a·b| from the exact one. docs/low-precision.md derives
// it.
double sum_growth(const LowProblem& p, const Arguments& arguments, Data data);

class LowBound {
 public:
  LowBound(const LowProblem& p, const Arguments& arguments, Data data);

  // Element (i, j). `sum` is that of its products, `magnitude` that of their magnitudes; `whole`: its row of
  // A and its column of B are whole numbers.
  void append(std::int64_t i, std::int64_t j, double sum, double magnitude, bool whole,
              Expected& expected) const;

  // Of α·s_a·s_b·sum + β·c0 + bias what follows the sum, for element (i, j).
  struct After {
    double factor = 1, added = 0, bias = 0;  // added: β·c0
  };
  After after(std::int64_t i, std::int64_t j) const;

 private:
  Terms terms_of(std::int64_t i, std::int64_t j, double sum, double magnitude) const;
  Reach reach_of(const Terms& terms, const After& after, double sum, double strays) const;
  bool is_exact(double magnitude, bool whole) const;
  double stray_of_sum(double sum, double magnitude, const Terms* found) const;
  double stray(const After& after, double sum, double magnitude, bool whole, const Terms* found) const;
  void append_whole(const After& after, double sum, Expected& expected) const;
  void append_reached(const Reach& reach, double before, double strays, Expected& expected) const;

  LowProblem p_;
  double growth_, always_, own_;  // growth for this data, and for any
  double exact_within_;           // sums of whole numbers up to here are exact
};

}  // namespace tessera::matmul
