// SPDX-License-Identifier: Apache-2.0
// Growth of rounding errors in a product, by which `--accuracy` chooses an arithmetic and verification bounds
// results.
#pragma once
#include <cmath>
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/core/device/thread.hpp"

namespace tessera::matmul {

// Returns γ such that the error of a correct rung stays below γ·(|α|·|A|·|B| + |β|·|C0|), element by element.
//
// An element of C is a sum of k + 1 terms α·a·b and β·c0, each of which passes through at most k + 3
// roundings in whatever order and association a rung sums. Always γ ≤ (k+3)u / (1 - (k+3)u), and, a sum's
// error being at most (k+1)u·Σ|terms| for any k (C.-P. Jeannerod and S. M. Rump, "Improved error bounds for
// inner products in floating-point arithmetic", SIAM J. Matrix Anal. Appl. 34(2), 2013), γ ≤ (1+(k+1)u)(1+u)³
// - 1. For random data, roundings behave like independent variables with mean zero, and then γ ≤
// exp(λ√(k+3)·u + (k+3)u²/(1-u)) - 1 except with probability 2·exp(-λ²(1-u)²/2) for each of the roundings
// (N. J. Higham and T. Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput.
// 41(5), 2019, theorems 2.4 and 3.1). λ is such that no element of a whole product exceeds the bound except
// with probability 10⁻⁶. Other data do not satisfy this: equal terms, for example, are all rounded alike.
double rounding_growth(const Arguments& arguments, double unit_roundoff, Data data);

// Returns the λ for which any of `roundings` roundings in each of `elements` elements exceeds its bound with
// probability 10⁻⁶.
double lambda_of(double elements, double roundings);

// Returns the bound for data of any kind.
double growth_always(const Arguments& arguments, double unit_roundoff);

// Bounds the products of parts that are left out and the bits beyond the last part, relative to |a·b|. Two
// parts of 11 bits lose lo·lo and the roundoff of lo, 2⁻²² each; three parts of 8 bits have no roundoff and
// lose the two largest products that are left out, 2⁻²⁴ each.
double lost_in_emulation(Compute compute);

inline namespace TESSERA_UNIT {

// Elements along k of a chunk: f16x3 has a scale for each. At most a chunk's sum is promoted to f32 at once.
constexpr int emulation_chunk = 64;

// Returns the largest loss to the limited range of the parts, relative to Σ|a·b|, for which tf32x3 and bf16x6
// are used; f16x3 may lose half of it. It is small beside the λ√k·u that verify grants strict f32 (λ > 8).
SIMT double range_allowance(double k) { return std::sqrt(k) * 0x1p-24; }

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
