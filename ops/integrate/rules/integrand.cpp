// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/integrand.hpp"
#include <algorithm>

namespace tessera::quadrature {

bool Sampler::operator()(std::span<const double> x, std::span<const double> distance, std::span<double> y) {
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
  f_.values(x, distance, y);
  evaluations_ += count;
  return true;
}

// Looks at the clock, and says when to look again: while a hundredth of the time passes, as fast as it went
// so far.
bool Sampler::late(std::int64_t next) {
  constexpr std::int64_t soon = 32, often = 1024;
  constexpr double share = 0.01;
  const auto now = std::chrono::steady_clock::now();
  if (start_ == decltype(start_){}) {
    start_ = now;
    uncounted_ = evaluations_;
    next_look_ = evaluations_ + next + soon;
    return false;
  }
  const double spent = std::chrono::duration<double>(now - start_).count();
  const double pace = spent / static_cast<double>(std::max<std::int64_t>(1, evaluations_ - uncounted_));
  const double until =
      std::fmin(static_cast<double>(often), share * limits_.seconds / std::fmax(pace, 1e-12));
  next_look_ = evaluations_ + next + static_cast<std::int64_t>(until);
  return spent + pace * static_cast<double>(uncounted_) > limits_.seconds;
}

bool Sampler::operator()(std::span<const double> x, std::span<double> y) {
  constexpr std::size_t chunk = 256;
  double distance[chunk];
  for (std::size_t done = 0; done < x.size(); done += chunk) {
    const std::size_t count = std::min(chunk, x.size() - done);
    for (std::size_t i = 0; i < count; ++i) distance[i] = range_.distance(x[done + i]);
    if (!(*this)(x.subspan(done, count), {distance, count}, y.subspan(done, count))) return false;
  }
  return true;
}

double Sampler::at(double x) {
  double y = nothing;
  return (*this)({&x, 1}, {&y, 1}) ? y : nothing;
}

}  // namespace tessera::quadrature
