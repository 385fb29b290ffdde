// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/tail.hpp"
#include <algorithm>
#include <numbers>
#include "ops/integrate/rules/drift.hpp"
#include "ops/integrate/rules/epsilon.hpp"
#include "ops/integrate/rules/gauss_kronrod.hpp"

namespace tessera::quadrature {
namespace {

// One stretch, s from … to.
Answer stretch(Sampler& sampler, const Tail& tail, double from, double to, double allowed) {
  double a = tail.start + tail.direction * from, b = tail.start + tail.direction * to;
  if (a > b) std::swap(a, b);
  const Track track = Track::direct({a, b});
  return adaptive(sampler, {&track, 1}, {.relative = 1e-15, .absolute = allowed}, {});
}

struct Series {
  Sampler& sampler;
  const Tail& tail;
  double allowed;
  Answer out = {};
  std::vector<double> terms = {};

  // The stretches between these distances, with their limit.
  Answer sum(const std::vector<double>& cuts, double head) {
    Epsilon limit;
    double partial = head;
    limit.add(partial);
    out.truncation = 0;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const Answer part = stretch(sampler, tail, cuts[i], cuts[i + 1], allowed / 100);
      if (sampler.exhausted() || part.reason == Reason::non_finite) return fail(part);
      out.truncation += std::fmin(part.truncation, std::fabs(part.value));
      out.rounding += part.rounding;
      out.magnitude += part.magnitude;
      terms.push_back(part.value);
      limit.add(partial += part.value);
    }
    out.value = limit.limit();
    out.truncation += limit.error();
    out.reason = out.error() <= allowed ? Reason::converged : Reason::unresolved;
    out.evaluations = sampler.evaluations();
    return out;
  }

  Answer fail(const Answer& part) {
    out.truncation = infinity;
    out.reason = sampler.exhausted() ? sampler.cap() : part.reason;
    out.where = part.where;
    return out;
  }
};

enum class Swing { fades, stays, unclear };

// The distance between zeros where it is nearly the same; else NaN.
double usual_gap(const Tail& tail) {
  const std::vector<double>& z = tail.zeros;
  const double mean = z.back() / static_cast<double>(z.size() - 1);
  for (std::size_t i = 1; i < z.size(); ++i)
    if (!(std::fabs(z[i] - z[i - 1] - mean) < 0.02 * mean)) return nothing;
  return mean;
}

// The size of the swings from a distance on.
double size_far_out(Sampler& sampler, const Tail& tail, double far, double gap, double allowed) {
  const Answer there = stretch(sampler, tail, far, far + gap, allowed);
  const Answer back = stretch(sampler, tail, far - gap / 2, far + gap / 2, allowed);
  return std::fmax(std::fabs(there.value), std::fabs(back.value));
}

// Whether the swings fade: a series that does not is summed by the epsilon algorithm all the same.
Swing swing_of(Sampler& sampler, const Tail& tail, const std::vector<double>& terms) {
  constexpr double as_large = 1 - 1e-6, much_smaller = 0.8;
  const std::size_t last = terms.size() - 1;
  const double size = std::fabs(terms[last]), before = std::fabs(terms[last / 2]);
  for (std::size_t i = 1; i < terms.size(); ++i)
    if ((terms[i] < 0) == (terms[i - 1] < 0)) return Swing::unclear;
  if (size < 1e-12 * std::fabs(terms[0])) return Swing::fades;
  const double gap = usual_gap(tail);
  if (std::isnan(gap))
    return size < 0.9 * before ? Swing::fades : size < as_large * before ? Swing::unclear : Swing::stays;
  // Far out, where only the trend is left.
  const double far = size_far_out(sampler, tail, 4e4 * gap, gap, size),
               further = size_far_out(sampler, tail, 4e8 * gap, gap, size);
  if (!std::isfinite(further)) return far < much_smaller * size ? Swing::fades : Swing::unclear;
  if (further <= much_smaller * far && further < much_smaller * size) return Swing::fades;
  // What still falls there may fall for ever, or to a size that stays.
  return further < 0.999 * far ? Swing::unclear : Swing::stays;
}

// Ooura and Mori's phi(t) = t / (1 - E(t)) and its derivative.
struct Phi {
  static constexpr double beta = 0.25;
  double alpha;

  explicit Phi(double m) : alpha(beta / std::sqrt(1 + m * std::log1p(m) / (4 * std::numbers::pi))) {}

  void at(double t, double& value, double& slope) const {
    if (t == 0) {
      const double c = 2 + alpha + beta, d = (beta - alpha) / 2;
      value = 1 / c;
      slope = (c * c / 2 - d) / (c * c);
      return;
    }
    const double exponent = -2 * t + alpha * std::expm1(-t) - beta * std::expm1(t);
    value = slope = 0;
    if (exponent > 600) return;
    const double e = std::exp(exponent), rest = -std::expm1(exponent);
    value = t / rest;
    slope = (rest + t * e * (-2 - alpha * std::exp(-t) - beta * std::exp(t))) / (rest * rest);
  }
};

}  // namespace

Answer between_zeros(Sampler& sampler, const Tail& tail, double allowed, double* drifted) {
  Series series{sampler, tail, allowed};
  Answer out = series.sum(tail.zeros, 0);
  out.rule = "epsilon";
  if (series.terms.size() + 1 != tail.zeros.size()) return out;
  const Swing swing = swing_of(sampler, tail, series.terms);
  const double drift = drift_behind(series.terms);
  out.truncation += drift;
  if (drifted != nullptr) *drifted = drift;
  if (!(out.error() <= allowed)) out.reason = Reason::unresolved;
  if (swing == Swing::fades && std::isfinite(drift)) return out;
  // Of swings that drift their size alone tells little.
  const bool stays = swing == Swing::stays && std::isfinite(drift);
  if (!stays) out.value = nothing;
  out.reason = stays ? Reason::diverges : Reason::may_diverge;
  out.where = tail.direction * infinity;
  out.truncation = infinity;
  return out;
}

Answer between_middles(Sampler& sampler, const Tail& tail, double allowed) {
  std::vector<double> cuts;
  for (std::size_t i = 0; i + 1 < tail.zeros.size(); ++i)
    cuts.push_back(0.5 * (tail.zeros[i] + tail.zeros[i + 1]));
  const Answer head = stretch(sampler, tail, 0, cuts.front(), allowed / 100);
  Series series{sampler, tail, allowed};
  return series.sum(cuts, head.value);
}

Answer ooura_mori(Sampler& sampler, const Tail& tail, double allowed) {
  constexpr double reach = 8;
  Answer out;
  out.rule = "ooura-mori";
  out.truncation = infinity;
  double before = nothing;
  for (double h = 0.25; h > 0.25 / 64 && !(out.error() <= allowed); h /= 2) {
    const Phi phi(std::numbers::pi / h);
    std::vector<double> x, y, weight;
    for (double n = -std::ceil(reach / h); n * h <= reach; ++n) {
      double value = 0, slope = 0;
      phi.at(n * h, value, slope);
      const double s = value * tail.gap / h;  // M/ω of the paper: zeros are a gap apart
      if (!(s > 0) || slope == 0) continue;
      x.push_back(tail.start + tail.direction * s);
      weight.push_back(slope * tail.gap);
    }
    y.resize(x.size());
    if (!sampler(x, y)) {
      out.reason = sampler.cap();
      return out;
    }
    double sum = 0, magnitude = 0, spoiled = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += weight[i] * y[i];
      magnitude += std::fabs(weight[i] * y[i]);
      if (i > 0) spoiled += std::fabs(y[i] - y[i - 1]) * std::fmin(std::fabs(x[i]), std::fabs(x[i - 1]));
    }
    out.value = sum;
    out.magnitude = magnitude;
    out.rounding = 2 * unit * magnitude + unit * spoiled;
    out.truncation = std::isnan(before) ? infinity : std::fabs(sum - before);
    before = sum;
  }
  out.evaluations = sampler.evaluations();
  out.reason = out.error() <= allowed ? Reason::converged : Reason::unresolved;
  return out;
}

}  // namespace tessera::quadrature
