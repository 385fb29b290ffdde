// SPDX-License-Identifier: Apache-2.0
// The rule as CPUs, the executor and nvcc compile it; NVRTC receives the same files as text.
#pragma once
#include "ops/integrate/quadrature/integrand.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/formula/elementary.hpp"

#define BATCH_FN SIMT
#define BATCH_ROLLED SIMT_NO_UNROLL
namespace tessera::integrate_batch {
inline namespace TESSERA_UNIT {
constexpr bool middle_twice = false, may_be_endless = true;
SIMT double power(double a, double b) { return formula::elementary::pow(a, b); }
#include "rule-inl.h"
#include "cells-inl.h"

static_assert(converged == static_cast<int>(quadrature::Reason::converged) &&
              evaluations == static_cast<int>(quadrature::Reason::evaluations) &&
              memory == static_cast<int>(quadrature::Reason::memory) &&
              roundoff == static_cast<int>(quadrature::Reason::roundoff) &&
              singular == static_cast<int>(quadrature::Reason::singular) &&
              non_finite == static_cast<int>(quadrature::Reason::non_finite) &&
              doubtful == static_cast<int>(quadrature::Reason::doubtful));
}  // namespace TESSERA_UNIT

}  // namespace tessera::integrate_batch
#undef BATCH_FN
#undef BATCH_ROLLED
