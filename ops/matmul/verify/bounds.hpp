// SPDX-License-Identifier: Apache-2.0
// What an element of C may be. A Bound gives the exact value and how far any honest computation may stray
// from it: for plain products (Bound), mixed-precision ones (MixedBound), and for what a bias and an
// activation do to f64 and i32 (EpilogueBound). Where a sum may overflow, Reach says which infinities and NaN
// are allowed.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/gemm/error_growth.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
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
  // The product with a factor; of a number between lower and upper.
  Reach times(double factor, double lower, double upper) const;
  Reach after(const PostOp& post_op) const;

  std::uint8_t beyond() const;  // Expected::AllowedNonFinite's, added up
  // Appends an element: its numbers between lower and upper, which may be infinite, but none beyond ±most.
  void append(double lower, double upper, double most, Expected& expected) const;
};

// How far rounding may take an element of C, and what becomes of it where a sum overflows.

// double holds a product of floats, and of anything shorter, exactly; long double also holds what overflows
// double.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;
static_assert(std::numeric_limits<long double>::digits >= 64 &&
              std::numeric_limits<long double>::max_exponent >= 16384);

template <class T>
bool is_whole(T value) {
  return std::fabs(value) <= static_cast<T>(0x1p53) &&
         static_cast<T>(static_cast<std::int64_t>(value)) == value;
}

// What one element of C may be. T: float or double.
template <class T>
class Bound {
 public:
  Bound(const Arguments& arguments, const Problem<T>& p, Data data);

  // Element (i, j). `sum` is that of its products, `product` that of their magnitudes; `whole`: its row
  // of A, its column of B and its c0 are whole numbers.
  void append(std::int64_t i, std::int64_t j, Wide<T> sum, double product, bool whole,
              Expected& expected) const;

 private:
  using limits = std::numeric_limits<T>;
  struct WideTerms;

  WideTerms terms_of(std::int64_t i, std::int64_t j) const;
  void append_overflowing(const WideTerms& terms, Expected& expected) const;

  static constexpr double unit_ = static_cast<double>(limits::epsilon()) / 2;
  Problem<T> p_;
  double growth_, always_;  // γ for this data, and for any
  double count_;            // of roundings that a term may pass through
  double alpha_, beta_;     // their magnitudes
  bool scales_whole_;
};

extern template class Bound<float>;
extern template class Bound<double>;

// What an element of a product of mixed precision may be: the exact value, how far sums in f32 or in the
// tensor cores' registers may stray from it, and what C's element makes of that interval.

// The element's number nearest to x, ties to even: floats escape to infinity, i8 saturates.
double rounded_to(Element element, double x);

double applied_exactly(const PostOp& post_op, double x);

// ε such that the sum of products strays at most ε·Σ|a·b| from the exact one. docs/decisions/0007
// derives it.
double sum_growth(const MixedProblem& p, const Arguments& arguments, Data data);

class MixedBound {
 public:
  MixedBound(const MixedProblem& p, const Arguments& arguments, Data data);

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

  MixedProblem p_;
  double growth_, always_, own_;  // growth for this data, and for any
  double exact_within_;           // sums of whole numbers up to here are exact
};

// What a bias and an activation make of an element of f64 or i32, and of how far it may be off.

// T: double or std::int32_t. With z = v + bias of the exact v, where rungs have some v' with |v' - v| ≤ E:
// the sum z' is rounded once, so |z' - z| ≤ E + u·(|z| + E); a slope of at most 1.13
// (docs/products.md) makes that 1.13·|z' - z| of the activation's value, and its functions are good to
// 2⁻⁴⁹·|z|. Whole numbers of which nothing is rounded, and i32, have one right answer.
template <class T>
class EpilogueBound {
 public:
  explicit EpilogueBound(const Arguments& arguments);

  // Of element (i, j), which `expected` ends with as it was before them.
  void apply(std::int64_t i, std::int64_t j, Expected& expected) const;

 private:
  std::optional<EpilogueProblem<T>> after_;  // nothing: neither is there
};

}  // namespace tessera::matmul
