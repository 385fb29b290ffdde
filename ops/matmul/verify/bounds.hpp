// SPDX-License-Identifier: Apache-2.0
// The values that an element of C may have: the exact value and a bound on the error of any correct
// computation, for plain products (Bound), mixed-precision ones (MixedBound), and bias and activation of f64
// and i32 (EpilogueBound). If a sum may overflow, Reach gives the infinities and NaN that are allowed.
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
#include "ops/matmul/operation/matmul_operation.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera::matmul {

// The finite terms of a sum: the sums of magnitudes above and below 0, and the largest magnitude.
struct Terms {
  double above = 0, below = 0, largest = 0;
  bool plus = false, minus = false;  // true: a term is an infinity of that sign
};

struct Reach {
  bool number = true;  // finite
  bool plus = false, minus = false, nan = false;
  bool nought = false;  // 0, from an infinity

  static Reach nothing_but_nan() { return {false, false, false, true}; }

  // `rises`: in some order a partial sum of finite terms exceeds the largest number; `falls`: … is below the
  // lowest.
  Reach overflowing(bool rises, bool falls) const;
  // Returns the sum with x, infinite or NaN; a finite x changes nothing.
  Reach with(double x) const;
  // Returns the product with a factor; the finite number is between lower and upper.
  Reach times(double factor, double lower, double upper) const;
  Reach after(const PostOp& post_op) const;

  std::uint8_t beyond() const;  // flags of Expected::AllowedNonFinite
  // Appends an element: numbers between lower and upper, which may be infinite, but none beyond ±most.
  void append(double lower, double upper, double most, Expected& expected) const;
};

// Bounds on rounding errors of an element of C, and its values if a sum overflows.

// double holds products of floats, and of shorter elements, exactly; long double also holds products that
// overflow double.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;
static_assert(std::numeric_limits<long double>::digits >= 64 &&
              std::numeric_limits<long double>::max_exponent >= 16384);

template <class T>
bool is_whole(T value) {
  return std::fabs(value) <= static_cast<T>(0x1p53) &&
         static_cast<T>(static_cast<std::int64_t>(value)) == value;
}

// The allowed values of one element of C. T: float or double.
template <class T>
class Bound {
 public:
  Bound(const Arguments& arguments, const Problem<T>& p, Data data, const Slack& slack = {});

  // Appends element (i, j). `sum`: of its products, `product`: of their magnitudes; `whole`: its row of A and
  // its column of B are integers.
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
  double floor_;            // the error that every element may have
  double count_;            // the most roundings that a term passes through
  double alpha_, beta_;     // their magnitudes
  bool scales_whole_;
};

extern template class Bound<float>;
extern template class Bound<double>;

// The allowed values of an element of a mixed-precision product: the exact value, a bound on the error of
// sums in f32 or in the tensor cores' registers, and the conversion of that interval to C's element.

// Rounds x to nearest in the element's type, ties to even: floats overflow to infinity, i8 saturates.
double rounded_to(Element element, double x);

double applied_exactly(const PostOp& post_op, double x);

// Returns ε such that the error of the sum of products is at most ε·Σ|a·b|. docs/decisions/0007 derives it.
double sum_growth(const MixedProblem& p, const Arguments& arguments, Data data);

class MixedBound {
 public:
  MixedBound(const MixedProblem& p, const Arguments& arguments, Data data, const Slack& slack = {});

  // Appends element (i, j). `sum`: of its products, `magnitude`: of their magnitudes; `whole`: its row of A
  // and its column of B are integers.
  void append(std::int64_t i, std::int64_t j, double sum, double magnitude, bool whole,
              Expected& expected) const;

  // The factor and the addends of α·s_a·s_b·sum + β·c0 + bias, for element (i, j).
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
  double exact_within_;           // sums of integers up to here are exact
  Slack slack_;
};

// Applies a bias and an activation to an element of f64 or i32 and to its error bound.

// T: double or std::int32_t. Let z = v + bias for the exact v, where rungs have some v' with |v' - v| ≤ E.
// The sum z' is rounded once, so |z' - z| ≤ E + u·(|z| + E); a slope of at most 1.13 (docs/products.md)
// bounds the error of the activation's value by 1.13·|z' - z|, and its functions are accurate to 2⁻⁴⁹·|z|.
// Integers without roundings, and i32, have one correct result.
template <class T>
class EpilogueBound {
 public:
  explicit EpilogueBound(const Arguments& arguments);

  // Replaces the last element of `expected`, element (i, j) before bias and activation.
  void apply(std::int64_t i, std::int64_t j, Expected& expected) const;

 private:
  std::optional<EpilogueProblem<T>> after_;  // nullopt: there is neither
};

}  // namespace tessera::matmul
