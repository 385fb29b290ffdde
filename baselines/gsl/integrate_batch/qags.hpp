// SPDX-License-Identifier: Apache-2.0
// GSL's adaptive rules on every core: each thread takes the next integral from one counter.
#pragma once
#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include "ops/integrate_batch/integrate_batch.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/baseline.hpp"

namespace tessera::integrate_batch {

inline int why_of(int status) {
  switch (status) {
    case GSL_SUCCESS:
      return converged;
    case GSL_EMAXITER:
      return evaluations;
    case GSL_EROUND:
      return roundoff;
    case GSL_EDIVERGE:
      return static_cast<int>(quadrature::Reason::diverges);
    default:
      return singular;
  }
}

// F is called with the abscissa; `count` is how often.
template <class F>
struct Counted {
  F f;
  int count = 0;

  static double call(double x, void* self) {
    auto* const me = static_cast<Counted*>(self);
    ++me->count;
    return me->f(x);
  }
};

// qags between finite limits, else qagi and its kin.
template <class F>
IntegralResult by_gsl(F f, double a, double b, const ErrorTolerance& tolerance,
                      gsl_integration_workspace* space) {
  if (std::isnan(a) || std::isnan(b)) return {NAN, INFINITY, 0, non_finite};
  const double sign = a > b ? -1 : 1;
  if (a > b) std::swap(a, b);
  Counted<F> counted{f};
  gsl_function function{Counted<F>::call, &counted};
  double value = 0, error = 0;
  const std::size_t limit = space->limit;
  const int status = std::isinf(a) && std::isinf(b)
                         ? gsl_integration_qagi(&function, tolerance.absolute, tolerance.relative, limit,
                                                space, &value, &error)
                     : std::isinf(b) ? gsl_integration_qagiu(&function, a, tolerance.absolute,
                                                             tolerance.relative, limit, space, &value, &error)
                     : std::isinf(a) ? gsl_integration_qagil(&function, b, tolerance.absolute,
                                                             tolerance.relative, limit, space, &value, &error)
                                     : gsl_integration_qags(&function, a, b, tolerance.absolute,
                                                            tolerance.relative, limit, space, &value, &error);
  if (!std::isfinite(value)) return {NAN, INFINITY, counted.count, non_finite};
  return {sign * value, error, counted.count, why_of(status)};
}

// f_of(i): the integrand of one integral.
template <class IntegrandOf>
void all_by_gsl(const Problem<double>& p, const Run& run, IntegrandOf f_of) {
  gsl_set_error_handler_off();
  std::atomic<std::int64_t> next{0};
  parallel(run.device->threads, [&](int) {
    const std::unique_ptr<gsl_integration_workspace, void (*)(gsl_integration_workspace*)> space(
        gsl_integration_workspace_alloc(static_cast<std::size_t>(p.work.tolerance.most / pair_cost) + 1),
        gsl_integration_workspace_free);
    for (std::int64_t i = 0; (i = next.fetch_add(1, std::memory_order_relaxed)) < p.work.count;) {
      Formula ends = p.formula_of(p.end, i);
      store(p.work, i, by_gsl(f_of(i), ends(0), ends(1), tolerance_of_row(p.work, i), space.get()));
    }
  });
}

}  // namespace tessera::integrate_batch
