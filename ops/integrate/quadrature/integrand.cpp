// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/integrand.hpp"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::quadrature {
namespace {

std::string name_of(const Answer& answer, std::size_t axis) {
  if (axis < answer.names.size()) return answer.names[axis];
  return answer.place.size() <= 3 ? std::string(1, "xyz"[axis]) : fmt::format("x{}", axis + 1);
}

std::string at(const Answer& answer, const char* text) {
  if (!answer.place.empty()) {
    std::string out = fmt::format("{} at", text);
    const std::size_t begun = out.size();
    for (std::size_t axis = 0; axis < answer.place.size(); ++axis)
      if (!std::isnan(answer.place[axis]))
        out += fmt::format("{} {} = {:.17g}", out.size() == begun ? "" : ",", name_of(answer, axis),
                           answer.place[axis]);
    return out;
  }
  if (std::isnan(answer.where)) return text;
  return fmt::format("{} at x = {:.17g}", text, answer.where);
}

}  // namespace

std::string reason_text(const Answer& answer) {
  switch (answer.reason) {
    case Reason::converged:
      return "converged";
    case Reason::evaluations:
      return "cap reached: evaluations";
    case Reason::time:
      return "cap reached: time (another run may end elsewhere)";
    case Reason::memory:
      return "cap reached: regions in memory";
    case Reason::roundoff:
      return "roundoff: rounding alone exceeds the tolerance";
    case Reason::singular:
      return at(answer, "endpoint singularity suspected");
    case Reason::non_finite:
      return at(answer, "non-finite value");
    case Reason::diverges:
      return at(answer, "diverges");
    case Reason::may_diverge:
      return at(answer, "may diverge");
    case Reason::unresolved:
      return "the rule's own limit was reached";
    case Reason::doubtful:
      return "doubtful: the rules disagree, or all samples were 0";
    case Reason::too_large:
      return "too large: the integral, or an intermediate sum, is beyond the largest number of its type";
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

Part::Part(const Integrand& f, const Range& whole, const Range& part) : f_(&f), range_(part) {
  const bool same[2] = {part.lower == whole.lower, part.upper == whole.upper};
  if (same[0] && same[1]) return;
  if (f.within) {
    own_ = f.within(part);
    return;
  }
  if (!f.knows[0] && !f.knows[1]) return;  // distances are ignored
  own_ = f;
  own_->knows[0] = f.knows[0] && same[0];
  own_->knows[1] = f.knows[1] && same[1];
  const auto with_old_distance = [&f, whole, same](Integrand::Values Integrand::*which) {
    return [&f, whole, same, which](std::span<const double> x, std::span<const double> distance,
                                    std::span<double> y) {
      std::vector<double> old(x.size());
      for (std::size_t i = 0; i < x.size(); ++i)
        old[i] = same[distance[i] < 0 ? 1 : 0] ? distance[i] : whole.distance(x[i]);
      (f.*which)(x, old, y);
    };
  };
  own_->values = with_old_distance(&Integrand::values);
  if (f.errors) own_->errors = with_old_distance(&Integrand::errors);
}

std::vector<Range> cut(const Range& range, std::span<const double> points) {
  std::vector<double> inside;
  for (const double x : points)
    if (range.contains(x)) inside.push_back(x);
  std::sort(inside.begin(), inside.end());
  inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  std::vector<Range> out;
  double from = range.lower;
  for (const double x : inside) out.push_back({std::exchange(from, x), x, range.rounding});
  out.push_back({from, range.upper, range.rounding});
  return out;
}

bool Sampler::values(const Integrand& f, std::span<const double> x, std::span<const double> distance,
                     std::span<double> y) {
  const auto count = static_cast<std::int64_t>(x.size());
  if (exhausted_) return false;
  if (evaluations_ + count > limits_.evaluations) {
    exhausted_ = true;
    cap_ = Reason::evaluations;
    return false;
  }
  if (evaluations_ + count > next_look_ && late(count)) {
    exhausted_ = true;
    cap_ = Reason::time;
    return false;
  }
  f.values(x, distance, y);
  evaluations_ += count;
  return true;
}

// Reads the clock, and chooses the count at which to read it again: a hundredth of the time later at the
// present pace.
bool Sampler::late(std::int64_t next) {
  constexpr std::int64_t soon = 32, often = 1024;
  constexpr double share = 0.01;
  const auto now = std::chrono::steady_clock::now();
  if (start_ == decltype(start_){}) {
    start_ = now;
    untimed_ = evaluations_;
    next_look_ = evaluations_ + next + soon;
    return false;
  }
  const double spent = std::chrono::duration<double>(now - start_).count();
  const double pace = spent / static_cast<double>(std::max<std::int64_t>(1, evaluations_ - untimed_));
  const double until =
      std::fmin(static_cast<double>(often), share * limits_.seconds / std::fmax(pace, 1e-12));
  next_look_ = evaluations_ + next + static_cast<std::int64_t>(until);
  return spent + pace * static_cast<double>(untimed_) > limits_.seconds;
}

bool Sampler::values(const Part& part, std::span<const double> x, std::span<double> y) {
  return with_distances(part.range(), x, [&](std::size_t from, auto some, auto distance) {
    return values(part.f(), some, distance, y.subspan(from, some.size()));
  });
}

double Sampler::value(const Part& part, double x) {
  double y = nan;
  return values(part, {&x, 1}, {&y, 1}) ? y : nan;
}

}  // namespace tessera::quadrature
