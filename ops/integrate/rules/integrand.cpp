// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/integrand.hpp"

namespace tessera::quadrature {

bool Sampler::operator()(std::span<const double> x, std::span<const double> distance, std::span<double> y) {
  const auto count = static_cast<std::int64_t>(x.size());
  if (exhausted_) return false;
  if (evaluations_ + count > limits_.evaluations) {
    exhausted_ = true;
    cap_ = Reason::evaluations;
    return false;
  }
  if (evaluations_ + count > next_look_) {
    const auto now = std::chrono::steady_clock::now();
    const bool first = start_ == decltype(start_){};
    if (first) start_ = now;  // few evaluations take no time to speak of
    next_look_ = first ? 4096 : evaluations_ + count + 1024;
    const std::chrono::duration<double> spent = now - start_;
    if (spent.count() > limits_.seconds) {
      exhausted_ = true;
      cap_ = Reason::time;
      return false;
    }
  }
  f_.values(x, distance, y);
  evaluations_ += count;
  return true;
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
