// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/later_peaks.hpp"
#include <algorithm>

namespace tessera::quadrature {
namespace {

// The tail alone, from its start outwards.
struct Outwards {
  std::vector<double> distance, size;

  Outwards(const Tried& tried, double start, int direction) {
    for (std::size_t i = 0; i < tried.x.size(); ++i) {
      const double away = direction * (tried.x[i] - start);
      if (!(away > 0)) continue;
      distance.push_back(away);
      size.push_back(std::isfinite(tried.y[i]) ? std::fabs(tried.y[i]) : 0);
    }
    if (direction > 0) return;
    std::reverse(distance.begin(), distance.end());
    std::reverse(size.begin(), size.end());
  }

  // The largest size between two distances; infinite where too few were tried to tell.
  double largest(double from, double to) const {
    constexpr std::ptrdiff_t fewest = 4;
    const auto first = std::lower_bound(distance.begin(), distance.end(), from),
               last = std::upper_bound(distance.begin(), distance.end(), to);
    if (last - first < fewest) return infinity;
    return *std::max_element(size.begin() + (first - distance.begin()),
                             size.begin() + (last - distance.begin()));
  }
};

// How far out what stands out there is over; NaN where nothing does. A block of swings three times as long as
// it is near shows at least one of their tops.
double end_of_peak(const Outwards& tail, std::size_t i) {
  constexpr double stands_out = 3, shares[] = {0.03, 0.09, 0.27};
  for (const double share : shares) {
    const double at = tail.distance[i], gap = share * at, limit = tail.size[i] / stands_out;
    if (tail.largest(at - 3 * gap, at - gap) < limit && tail.largest(at + gap, at + 3 * gap) < limit)
      return at + 3 * gap;
  }
  return nothing;
}

}  // namespace

double behind_later_peaks(const Tried& tried, double start, int direction, double seen) {
  constexpr double stands_out = 2;
  constexpr std::size_t seen_after = 24, further = 3;
  const Outwards tail(tried, start, direction);
  const std::size_t count = tail.size.size();
  double usual = 0, behind = 0;
  std::size_t last = count;
  for (std::size_t i = 0; i < count; ++i) {
    if (tail.distance[i] <= seen) {
      usual = std::fmax(usual, tail.size[i]);
      continue;
    }
    if (tail.size[i] > stands_out * usual) last = i;
    const bool top =
        i > 0 && i + 1 < count && tail.size[i] >= tail.size[i - 1] && tail.size[i] >= tail.size[i + 1];
    if (const double end = top ? end_of_peak(tail, i) : nothing; end > behind) behind = end;
  }
  // What grows as far as anybody sees is no peak.
  if (last + seen_after < count) behind = std::fmax(behind, tail.distance[last + further]);
  return behind > 0 ? start + direction * behind : nothing;
}

Tail quiet_tail(Sampler& sampler, const Tried& tried, double from, int direction) {
  constexpr int most = 4;
  Tail out = tail_of(sampler, from, direction);
  for (int i = 0; i < most && !out.zeros.empty(); ++i) {
    const double behind = behind_later_peaks(tried, out.start, direction, out.zeros.back());
    if (std::isnan(behind)) break;
    out = tail_of(sampler, behind, direction);
  }
  return out;
}

}  // namespace tessera::quadrature
