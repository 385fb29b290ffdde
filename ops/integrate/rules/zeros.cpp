// SPDX-License-Identifier: Apache-2.0
// The zeros of a swinging tail, and whether they keep a fixed distance.
#include <algorithm>
#include "ops/integrate/rules/tail.hpp"

namespace tessera::quadrature {
namespace {

// Illinois: the secant, with a weight that keeps it from clinging to one side.
double zero_between(Sampler& sampler, double a, double fa, double b, double fb) {
  for (int i = 0; i < 60; ++i) {
    double x = (a * fb - b * fa) / (fb - fa);
    if (!(std::fmin(a, b) < x && x < std::fmax(a, b))) x = 0.5 * (a + b);
    if (x == a || x == b) return x;
    const double y = sampler.at(x);
    if (y == 0 || !std::isfinite(y)) return x;
    if (std::fabs(b - a) <= 4 * unit * std::fabs(x)) return x;
    if ((y < 0) == (fb < 0)) {
      fa /= 2;
    } else {
      a = b;
      fa = fb;
    }
    b = x;
    fb = y;
  }
  return 0.5 * (a + b);
}

// Walks outwards: by a twentieth of the way at first, then by fractions of the distance between zeros.
class Walk {
 public:
  Walk(Sampler& sampler, double from, int direction)
      : sampler_(sampler), from_(from), direction_(direction), distance_(1e-3), value_(at(distance_)) {}

  // The next distance at which f changes sign; NaN where none is near.
  double next() {
    for (int step = 0; step < 600; ++step) {
      const double to = distance_ + stride();
      const double y = at(to);
      if (!std::isfinite(y)) return nothing;
      const bool change = value_ != 0 && y != 0 && (y < 0) != (value_ < 0);
      const double zero = change ? zero_between(sampler_, place(distance_), value_, place(to), y) : nothing;
      distance_ = to;
      if (y != 0) value_ = y;
      if (!change) continue;
      const double found = direction_ * (zero - from_);
      if (!std::isnan(last_)) gap_ = found - last_;
      last_ = found;
      return found;
    }
    return nothing;
  }

 private:
  double place(double distance) const { return from_ + direction_ * distance; }
  double at(double distance) { return sampler_.at(place(distance)); }
  double stride() const {
    if (std::isnan(gap_)) return 0.05 * distance_;
    const double since = distance_ - last_;
    return since < 3 * gap_ ? gap_ / 8 : gap_;
  }

  Sampler& sampler_;
  double from_;
  int direction_;
  double distance_, value_, last_ = nothing, gap_ = nothing;
};

}  // namespace

std::vector<double> find_zeros(Sampler& sampler, double from, int direction, std::size_t count) {
  std::vector<double> out;
  Walk walk(sampler, from, direction);
  while (out.size() < count) {
    const double zero = walk.next();
    if (std::isnan(zero)) break;
    out.push_back(zero);
  }
  return out;
}

Tail tail_of(Sampler& sampler, double from, int direction) {
  constexpr std::size_t wanted = 84, skipped = 4, fewest = 40;
  Tail out;
  out.direction = direction;
  const std::vector<double> zeros = find_zeros(sampler, from, direction, wanted);
  if (zeros.size() < fewest) return out;
  out.start = from + direction * zeros[skipped];
  for (std::size_t i = skipped; i < zeros.size(); ++i) out.zeros.push_back(zeros[i] - zeros[skipped]);
  const std::size_t last = out.zeros.size() - 1;
  const double gap = out.zeros[last] / static_cast<double>(last);
  for (std::size_t i = 0; i <= last; ++i)
    if (std::fabs(out.zeros[i] - gap * static_cast<double>(i)) > 1e-9 * gap * static_cast<double>(last))
      return out;
  out.gap = gap;
  return out;
}

}  // namespace tessera::quadrature
