// SPDX-License-Identifier: Apache-2.0
// How far rounding takes a product: what `--accuracy` chooses an arithmetic by, and verification bounds a
// result by.
#pragma once
#include <cmath>
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/core/thread.hpp"

namespace tessera::matmul {

// γ such that an honest rung's error stays below γ·(|α|·|A|·|B| + |β|·|C0|), element by element.
//
// An element of C is a sum of k + 1 terms α·a·b and β·c0, each of which passes through at most k + 3
// roundings in whatever order and association a rung sums. Always γ ≤ (k+3)u / (1 - (k+3)u), and, a sum's
// error being at most (k+1)u·Σ|terms| for any k (C.-P. Jeannerod and S. M. Rump, "Improved error bounds for
// inner products in floating-point arithmetic", SIAM J. Matrix Anal. Appl. 34(2), 2013), γ ≤ (1+(k+1)u)(1+u)³
// - 1. Of random data roundings are as if independent with mean zero, and then γ ≤ exp(λ√(k+3)·u +
// (k+3)u²/(1-u)) - 1 but for a probability of 2·exp(-λ²(1-u)²/2) for each of the roundings (N. J. Higham and
// T. Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019,
// theorems 2.4 and 3.1). λ is such that no element of a whole product exceeds it but for a probability of
// 10⁻⁶. Of other data this cannot be asked: equal terms, for one, are all rounded the same way.
double rounding_growth(const Arguments& arguments, double unit_roundoff, Data data);

// The λ with which so many roundings in each of so many elements exceed their bound with a probability of
// 10⁻⁶.
double lambda_of(double elements, double roundings);

// The bound for data of any kind.
double growth_always(const Arguments& arguments, double unit_roundoff);

// What products of parts that are left out, and bits beyond the last part, come to, as a share of |a·b|.
// Into two parts of 11 bits: lo·lo and what lo rounds off, 2⁻²² each. Into three of 8 bits, nothing is
// rounded off: 2⁻²⁴ each of the two largest products that are left out.
double lost_in_emulation(Compute compute);

inline namespace TESSERA_UNIT {

// Along k, what is promoted together, and has a scale of its own.
constexpr int emulation_chunk = 64;

// As a share of Σ|a·b|, what may be lost to the range of the parts before strict f32 is taken instead: small
// beside the λ√k·u that verify grants strict f32 (λ > 8).
SIMT double range_allowance(double k) { return std::sqrt(k) * 0x1p-24; }

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
