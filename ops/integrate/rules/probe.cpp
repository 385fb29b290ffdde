// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/probe.hpp"
#include <algorithm>

namespace tessera::quadrature {
namespace {

constexpr double golden = 0.6180339887498949;

void spread(const Range& range, int count, std::vector<double>& out) {
  const double length = range.upper - range.lower;
  double shift = golden;  // no period of f can fall in step with the points
  for (int i = 0; i < count; ++i) {
    shift += golden;
    shift -= std::floor(shift);
    out.push_back(range.lower + length * ((i + 0.05 + 0.9 * shift) / count));
  }
}

// Points at distances nearest … furthest from `centre`, `per_decade` to each factor of ten.
void ring(double centre, double sign, double nearest, double furthest, int per_decade,
          std::vector<double>& out) {
  const double factor = std::pow(10.0, 1.0 / per_decade);
  // Among the smallest numbers a factor may change nothing.
  for (double d = std::fmax(nearest, 1e-300) * (1 + 0.1 * golden); d < furthest; d *= factor)
    out.push_back(centre + sign * d);
}

// Where the peaks of an infinite range mostly lie.
void ring_of_peaks(double about, double sign, double far, const Scales& scales, std::vector<double>& out) {
  constexpr double nearest = 0.1, near = 1, furthest = 1e4, end = 1e5;
  if (scales.denser == scales.dense)
    return ring(about, sign, nearest, std::fmin(end, far), scales.dense, out);
  ring(about, sign, nearest, std::fmin(near, far), scales.dense, out);
  ring(about, sign, near, std::fmin(furthest, far), scales.denser, out);
  ring(about, sign, furthest, std::fmin(end, far), scales.dense, out);
}

}  // namespace

std::vector<double> probe_places(const Range& range, const Scales& scales, std::span<const double> centres) {
  std::vector<double> even, out;
  const double length = range.upper - range.lower;
  if (range.finite()) {
    spread(range, scales.even, even);
    ring(range.lower, 1, length * 1e-14, length / 2, scales.per_decade, out);
    ring(range.upper, -1, length * 1e-14, length / 2, scales.per_decade, out);
  }
  const double centre = std::isfinite(range.lower)   ? range.lower
                        : std::isfinite(range.upper) ? range.upper
                                                     : 0;
  for (const double about : {centre, 0.0}) {
    if (range.finite() && about != 0) continue;
    if (about != centre && !(range.lower < 0 && 0 < range.upper)) continue;
    for (const double sign : {-1.0, 1.0}) {
      const double end = sign < 0 ? about - range.lower : range.upper - about;
      if (!(end > 0)) continue;
      const double far = std::fmin(end, 1e9);
      ring(about, sign, std::fmin(1e-9, far * 1e-14), 1e-3 * std::fmin(1, far), 6, out);
      ring(about, sign, 1e-3 * std::fmin(1, far), std::fmin(0.1, far), scales.per_decade, out);
      ring_of_peaks(about, sign, far, scales, out);
      ring(about, sign, 1e5, far, 2 * scales.per_decade, out);
      if (std::isinf(end)) ring(about, sign, far, 1e60, 4, out);
    }
    if (centre == 0) break;
  }
  for (const double about : centres) {
    const double reach = range.finite() ? length / 2 : std::fmax(1, std::fabs(about));
    for (const double sign : {-1.0, 1.0}) ring(about, sign, 1e-14 * reach, reach, 8, out);
  }
  std::erase_if(out, [&](double x) { return !(range.lower < x && x < range.upper); });
  std::erase_if(even, [&](double x) { return !(range.lower < x && x < range.upper); });
  std::sort(out.begin(), out.end());
  const auto rings = static_cast<std::ptrdiff_t>(out.size());
  out.insert(out.end(), even.begin(), even.end());  // ordered as they are
  std::inplace_merge(out.begin(), out.begin() + rings, out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

namespace {

struct Peak {
  double x, height, width;
  double lower, upper;  // the probes on both sides
};

// Golden section for the largest |f| between the neighbours of a probe.
void climb(Sampler& sampler, Peak& peak) {
  double from = peak.lower, to = peak.upper;
  for (int i = 0; i < 48 && to - from > 4 * unit * std::fabs(peak.x); ++i) {
    const bool right = to - peak.x > peak.x - from;
    const double x = right ? peak.x + (1 - golden) * (to - peak.x) : peak.x - (1 - golden) * (peak.x - from);
    const double height = std::fabs(sampler.at(x));
    if (!std::isfinite(height)) return;
    if (height > peak.height) {
      (right ? from : to) = peak.x;
      peak.x = x;
      peak.height = height;
    } else {
      (right ? to : from) = x;
    }
  }
}

// The distance at which |f| has fallen to half, on the side where that comes first.
double half_width(Sampler& sampler, const Peak& peak) {
  const double span = peak.upper - peak.lower;
  double out = 4 * span;
  for (const double sign : {-1.0, 1.0}) {
    std::vector<double> x, y;
    for (double d = span; d > 8 * unit * std::fabs(peak.x) && d > 1e-14 * span; d /= 4)
      if (const double p = peak.x + sign * d; sampler.range().lower < p && p < sampler.range().upper)
        x.push_back(p);
    y.resize(x.size());
    if (!sampler(x, y)) return out;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (std::fabs(y[i]) < peak.height / 2) out = std::fmin(out, std::fabs(x[i] - peak.x));
  }
  return out;
}

bool narrow(const Range& range, const Peak& peak) {
  if (range.finite() && peak.width < 0.02 * (range.upper - range.lower)) return true;
  double away = std::fabs(peak.x);
  if (std::isfinite(range.lower)) away = std::fmin(away, peak.x - range.lower);
  if (std::isfinite(range.upper)) away = std::fmin(away, range.upper - peak.x);
  return !range.finite() && (peak.width < 0.3 * away || peak.width < 0.01);
}

std::vector<Peak> tops(const Sampler& sampler, const Look& seen) {
  constexpr double furthest = 1e9;  // beyond it the probes lie too far apart to show one
  std::vector<Peak> out;
  const std::size_t count = seen.x.size();
  for (std::size_t i = 1, to = 1; i + 1 < count; i = to + 1) {
    const double y = std::fabs(seen.y[i]);
    // Values that rounding alone tells apart are one top.
    for (to = i; to + 2 < count && std::fabs(std::fabs(seen.y[to + 1]) - y) <= 64 * unit * y;) ++to;
    const double left = std::fabs(seen.y[i - 1]), right = std::fabs(seen.y[to + 1]);
    if (!(y > left && y > right) || !std::isfinite(y)) continue;
    if (!sampler.range().finite() && std::fabs(seen.x[i]) > furthest) continue;
    const std::size_t middle = i + (to - i) / 2;
    out.push_back({seen.x[middle], y, 0, seen.x[i - 1], seen.x[to + 1]});
  }
  return out;
}

}  // namespace

double least_magnitude(const Look& seen) {
  double sum = 0;
  for (std::size_t i = 1; i < seen.x.size(); ++i) {
    const double term =
        std::fmin(std::fabs(seen.y[i]), std::fabs(seen.y[i - 1])) * (seen.x[i] - seen.x[i - 1]);
    if (std::isfinite(term)) sum += term;
  }
  return sum;
}

namespace {

void find_peaks(Sampler& sampler, Look& seen) {
  constexpr std::size_t most = 24;  // beyond it f swings, and a list of peaks helps no rule
  std::vector<Peak> peaks = tops(sampler, seen);
  if (peaks.size() > most) {
    // Those that stand out from both neighbours first: a needle does, a wave does not.
    const auto prominence = [&](const Peak& p) {
      const auto i =
          static_cast<std::size_t>(std::lower_bound(seen.x.begin(), seen.x.end(), p.x) - seen.x.begin());
      return std::fmax(std::fabs(seen.y[i - 1]), std::fabs(seen.y[i + 1])) / p.height;
    };
    std::sort(peaks.begin(), peaks.end(),
              [&](const Peak& a, const Peak& b) { return prominence(a) < prominence(b); });
    peaks.resize(most);
  }
  double sum = least_magnitude(seen);
  for (Peak& peak : peaks) {
    climb(sampler, peak);
    peak.width = half_width(sampler, peak);
    sum += peak.height * peak.width;
  }
  std::erase_if(peaks, [&](const Peak& p) {
    return !narrow(sampler.range(), p) || !(p.height * p.width > 1e-14 * sum);
  });
  if (peaks.size() > most / 2) return;
  for (const Peak& peak : peaks) seen.peaks.push_back(peak.x);
}

void find_holes(const Range& range, Look& seen) {
  const std::size_t count = seen.x.size();
  std::size_t from = 0, to = count;
  // Far out inf·0 gives no value where nothing is left to integrate.
  while (std::isinf(range.lower) && from < to && !std::isfinite(seen.y[from])) ++from;
  while (std::isinf(range.upper) && from < to && !std::isfinite(seen.y[to - 1])) --to;
  if (from > 0 && from < to && seen.y[from] != 0) from = 0;
  if (to < count && from < to && seen.y[to - 1] != 0) to = count;
  int run = 0;
  for (std::size_t i = from; i < to; ++i) {
    run = std::isfinite(seen.y[i]) ? 0 : run + 1;
    if (run == 3 && std::isnan(seen.hole)) seen.hole = seen.x[i - 2];
  }
}

}  // namespace

Look look(Sampler& sampler, std::span<const double> centres, const Scales& scales) {
  Look out;
  out.x = probe_places(sampler.range(), scales, centres);
  out.y.resize(out.x.size());
  if (!sampler(out.x, out.y)) {
    out.x.clear();
    out.y.clear();
    return out;
  }
  out.zeros_only = std::all_of(out.y.begin(), out.y.end(), [](double y) { return y == 0; });
  double before = 0;
  for (const double y : out.y) {
    if (!std::isfinite(y) || y == 0) continue;
    if (before != 0 && (y < 0) != (before < 0)) ++out.sign_changes;
    before = y;
  }
  find_holes(sampler.range(), out);
  if (!out.zeros_only) find_peaks(sampler, out);
  return out;
}

}  // namespace tessera::quadrature
