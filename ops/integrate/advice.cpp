// SPDX-License-Identifier: Apache-2.0
#include "advice.hpp"
#include <fmt/format.h>
#include <cmath>

namespace tessera::integration {
namespace {

using quadrature::Answer;
using quadrature::Reason;

// Two digits, rounded up: a tolerance that the error meets.
double above(double error) {
  const double step = std::pow(10.0, std::floor(std::log10(error)) - 1);
  return std::ceil(error / step * 1.05) * step;
}

std::string of_roundoff(const Answer& answer, double scale) {
  const double error = answer.error() * std::fabs(scale);
  if (!(error > 0) || !std::isfinite(error)) return "more digits than f64 has would be needed";
  if (answer.condition() > 1e6)
    return fmt::format("the integral is nearly 0 against that of |f|: --absolute {:.2g} would be met",
                       above(error));
  return fmt::format("--relative {:.2g} would be met", above(answer.error() / std::fabs(answer.value)));
}

}  // namespace

std::string advice(const Answer& answer, double scale) {
  const std::string breaks = ", or --points where f is sharp or breaks";
  switch (answer.reason) {
    case Reason::roundoff:
      return of_roundoff(answer, scale);
    case Reason::evaluations:
      return "more --most-evaluations may help" + breaks;
    case Reason::time:
      return "more --most-seconds may help" + breaks;
    case Reason::memory:
      return "a larger --relative, or another --rule, may help";
    case Reason::singular:
      return "what lies beyond the outermost points is too much to be left out: substitute, so that the "
             "singularity lies at 0, or subtract it";
    case Reason::non_finite:
      return "a single such place may be given by --points; else take limits that leave it out";
    case Reason::diverges:
      return std::isfinite(answer.where)
                 ? "|f| grows towards it as 1/distance or faster, which no integral has"
                 : "f does not fade fast enough to have an integral up to there";
    case Reason::may_diverge:
      return std::isfinite(answer.where) && answer.where != 0
                 ? "too few digits are left beside it: substitute, so that it lies at 0"
                 : "whether f falls fast enough there is not seen: substitute x = exp(t), or integrate its "
                   "parts one by one";
    case Reason::unresolved:
      return "another --rule may serve" + breaks;
    case Reason::doubtful:
      return "a larger --relative may be met" + breaks + "; --rule shows what each rule has to say";
    case Reason::too_large:
      return "--element f64, or a smaller --scale, may hold it";
    case Reason::converged:
    case Reason::as_asked:
      break;
  }
  return "";
}

}  // namespace tessera::integration
