// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/answer.hpp"
#include <fmt/format.h>

namespace tessera::quadrature {
namespace {

std::string name_of(const Answer& answer, std::size_t axis) {
  if (axis < answer.names.size()) return answer.names[axis];
  return answer.place.size() <= 3 ? std::string(1, "xyz"[axis]) : fmt::format("x{}", axis + 1);
}

std::string at(const Answer& answer, const char* text, const char* place) {
  if (!answer.place.empty()) {
    std::string out = fmt::format("{} {}", text, place);
    const std::size_t begun = out.size();
    for (std::size_t axis = 0; axis < answer.place.size(); ++axis)
      if (!std::isnan(answer.place[axis]))
        out += fmt::format("{} {} = {:.17g}", out.size() == begun ? "" : ",", name_of(answer, axis),
                           answer.place[axis]);
    return out;
  }
  if (std::isnan(answer.where)) return text;
  return fmt::format("{} {} x = {:.17g}", text, place, answer.where);
}

}  // namespace

std::string reason_text(const Answer& answer) {
  switch (answer.reason) {
    case Reason::converged:
      return "converged";
    case Reason::evaluations:
      return "cap reached: evaluations";
    case Reason::time:
      return "cap reached: time";
    case Reason::memory:
      return "cap reached: regions in memory";
    case Reason::roundoff:
      return "roundoff: rounding alone exceeds the tolerance";
    case Reason::singular:
      return at(answer, "endpoint singularity suspected", "at");
    case Reason::non_finite:
      return at(answer, "non-finite value", "at");
    case Reason::diverges:
      return at(answer, "diverges", "at");
    case Reason::may_diverge:
      return at(answer, "may diverge", "at");
    case Reason::unresolved:
      return "the rule's own limit was reached";
    case Reason::doubtful:
      return "doubtful: what was seen does not support a claim";
    case Reason::too_large:
      return "too large: the integral, or a sum on the way there, is beyond the largest number of its type";
    case Reason::as_requested:
      return "as asked: no tolerance was named";
  }
  return "";
}

void judge_size(Answer& answer) {
  if (!std::isinf(answer.value)) return;
  answer.truncation = infinity;
  if (!answer.without_limit() && answer.reason != Reason::non_finite) answer.reason = Reason::too_large;
}

}  // namespace tessera::quadrature
