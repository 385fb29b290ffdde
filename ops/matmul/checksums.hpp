// SPDX-License-Identifier: Apache-2.0
// Checksums of a part of a product, after K.-H. Huang and J. A. Abraham, "Algorithm-based fault tolerance for
// matrix operations", IEEE Trans. Comput. C-33(6), 1984, with random weights: for v and w,
//
//   C·v  must be  α·A·(B·v) + β·C0·v,      wᵀ·C  must be  α·(wᵀ·A)·B + β·wᵀ·C0.
//
// A wrong element shows in its row and in its column. Weights that were all 1 would see no two columns that
// changed places. Sums are doubles, whatever the elements; B·v and wᵀ·A are made once for all parts that
// share the columns or the rows.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include "ops/matmul/checksums_norms.hpp"
#include "ops/matmul/problem/mixed_problem.hpp"
#include "tessera/core/checksums.hpp"
#include "tessera/core/thread.hpp"

namespace tessera::matmul {

// The product that is checked; the factors as the operation sees them, op applied.
struct Checked {
  Operand a, b, c0, c;
  std::int64_t m = 0, n = 0, k = 0;  // k = 0 where α = 0
  double alpha = 1, beta = 0;

  // As sums; no checksums see through what bends, scales or clips them, and those of whole numbers want
  // arithmetic of their own.
  static bool serves(const Arguments& arguments);
  static Checked of(const Arguments& arguments);
};

// What the residual of a row or a column may be in an honest product: `deviations` times the standard
// deviation of what rounding does to it.
//
// An error of each element, with which a partial sum S_l is rounded, is as if independent with a standard
// deviation of u/√3·|S_l| (N. J. Higham and T. Mary, SIAM J. Sci. Comput. 41(5), 2019), and S_l grows to the
// element c as a random walk of the terms does, Σ_l S_l² ≈ k·(Σ(a·b)²/2 + c²/3). Over a row, with weights v,
// these variances add up to norms that take one pass: Σ_j v_j²·Σ_l (a_l·b_lj)² = Σ_l a_l²·Σ_j (b_lj·v_j)²,
// and Σ_j (v_j·c_j)². Thresholds from variances, rather than from the worst case, are those of V-ABFT
// (arXiv:2602.08043); the worst case lies beyond most errors that matter. Data whose roundings are all alike
// may exceed it: who looks must compute again, or look more closely, before he believes it.
struct Tolerance {
  double sum = 0;     // standard deviation of a sum's rounding, of the norms of its terms and of itself
  double result = 0;  // of the rounding of C's own element, of C's norm
  double own = 0;     // of the checksums' own, of all norms
  double tiny = 0;    // what underflow adds, whatever the norms
  double limit = 0;   // a sum of magnitudes up to here cannot overflow
  double root_k = 0;  // √k
  double alpha = 1, beta = 0;

  static constexpr double deviations = 8;
};

// The weights' magnitudes are from `least_weight` to `most_weight`.
Tolerance tolerance_of(const Arguments& arguments, const Checked& p, double least_weight, double most_weight);

// Of one row or column: its checksum in C, that of A·B, that of C0, and the norms of what they add up.
struct Line {
  double got = 0, got_norm = 0, product = 0, product_norm = 0, added = 0, added_norm = 0;
};

// The residual, of what it may be; infinite where C holds what cannot be; NaN where none of this can tell.
SIMT double residual_ratio(const Tolerance& t, const Line& line) {
  const double terms = line.product_norm, added = std::fabs(t.beta) * line.added_norm;
  const double product = std::fabs(t.alpha) * terms, got = line.got_norm;
  const double wanted = t.alpha * line.product + t.beta * line.added;
  constexpr double beyond = std::numeric_limits<double>::infinity(),
                   untold = std::numeric_limits<double>::quiet_NaN();
  if (!is_number(terms + product + added + wanted)) return untold;
  // Norms bound each element: Σ|a·b| ≤ √k·√Σ(a·b)².
  if (!is_number(line.got) || !is_number(got))
    return t.root_k * std::fmax(terms, product) + added < t.limit ? beyond : untold;
  const double deviation =
      t.sum * (0.71 * product + 0.58 * (got + added)) + t.result * got + t.own * (product + got + added);
  const double residual = std::fabs(line.got - wanted);
  return residual == 0 ? 0 : residual / (Tolerance::deviations * deviation + t.tiny);
}

// Row sums of a matrix, with weights: sums[i] = Σ_j x[i][j]·weights[j], and norms[i] = √Σ_j
// (x[i][j]·sizes[j])², also where a square is no double. Column sums are those of the matrix with its strides
// exchanged.
struct Pass {
  Operand matrix;
  std::int64_t rows = 0, cols = 0;
  const double *weights = nullptr, *sizes = nullptr;  // aligned to 16 bytes
  double *sums = nullptr, *norms = nullptr;
};

// The rows' or the columns' lines, a vector for each member; no `added`: β = 0.
struct Lines {
  std::int64_t count = 0;
  const double *got = nullptr, *got_norm = nullptr, *product = nullptr, *product_norm = nullptr;
  const double *added = nullptr, *added_norm = nullptr;

  SIMT Line at(std::int64_t i) const {
    Line out{got[i], got_norm[i], product[i], product_norm[i], 0, 0};
    if (added != nullptr) out.added = added[i], out.added_norm = added_norm[i];
    return out;
  }
};

struct Tally {
  std::int64_t beyond = 0, untold = 0;  // lines beyond what they may be, and of which nothing can be told

  SIMT void add(double ratio) {
    if (!(ratio <= 1)) ++(ratio > 1 ? beyond : untold);
  }
};

// What looks at memory of a kind of device. `run` and `count` may only enqueue.
class Summing {
 public:
  virtual ~Summing() = default;
  // So many passes over one matrix, each with weights of its own, take little longer than one.
  virtual std::size_t at_once() const { return 1; }
  virtual void run(std::span<const Pass> passes, const Run& run) = 0;
  virtual void count(const Lines& lines, const Tolerance& tolerance, const Run& run) = 0;
  virtual Tally counted(const Run& run) = 0;  // what was counted last; waits for it
};

std::unique_ptr<Checksums> make_checksums(const Arguments& whole, const Device& device,
                                          std::unique_ptr<Summing> summing);

}  // namespace tessera::matmul
