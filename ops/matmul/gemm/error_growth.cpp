// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/gemm/error_growth.hpp"
#include <algorithm>
#include <limits>

namespace tessera::matmul {

double growth_always(const Arguments& arguments, double u) {
  const double k = static_cast<double>(arguments.dim("k")), count = k + 3;
  const double gamma = count * u < 1 ? count * u / (1 - count * u) : std::numeric_limits<double>::infinity();
  const double sum = (k + 1) * u;
  return std::min(gamma, sum + (1 + sum) * (1.01 * 3 * u));
}

double lambda_of(double elements, double roundings) {
  constexpr double chance = 1e-6;
  return std::sqrt(2 * std::log(2 * elements * roundings / chance));
}

double rounding_growth(const Arguments& arguments, double unit_roundoff, Data data) {
  const double always = growth_always(arguments, unit_roundoff);
  if (data == Data::any) return always;
  const double count = static_cast<double>(arguments.dim("k")) + 3, u = unit_roundoff;
  const double elements =
      std::max(1.0, static_cast<double>(arguments.dim("m")) * static_cast<double>(arguments.dim("n")));
  const double lambda = lambda_of(elements, count) / (1 - u);
  return std::min(always, std::expm1(lambda * std::sqrt(count) * u + count * u * u / (1 - u)));
}

double lost_in_emulation(Compute compute) {
  if (compute == Compute::bf16x6) return 0x1.03p-23;
  return is_emulated_fp32(compute) ? 0x1.81p-21 : 0;
}

}  // namespace tessera::matmul
