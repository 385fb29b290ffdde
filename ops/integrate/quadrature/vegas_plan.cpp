// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/vegas_plan.hpp"
#include <algorithm>
#include <span>
#include "tessera/formula/elementary.hpp"

namespace tessera::quadrature {
namespace {

// strata^(d - finer) · (strata + 1)^finer, or 0 where that is more than `most`.
std::int64_t cubes_within(int dimensions, std::int64_t strata, int finer, std::int64_t most) {
  std::int64_t out = 1;
  for (int axis = 0; axis < dimensions; ++axis) {
    out *= strata + (axis < finer ? 1 : 0);
    if (out > most) return 0;
  }
  return out;
}

// Bins grow by half a width from one to the next at most: else the one across a jump to nothing would be so
// wide that its part with something is hardly ever hit. Returns the new sum of the weights.
double soften(std::span<const double> edges, double* weights, double sum) {
  constexpr double growth = 0.5;
  double wide[vegas_bins];  // a new bin's width there
  const auto width = [&](int i) {
    return edges[static_cast<std::size_t>(i) + 1] - edges[static_cast<std::size_t>(i)];
  };
  for (int i = 0; i < vegas_bins; ++i) wide[i] = width(i) * (sum / vegas_bins) / weights[i];
  const auto limit = [&](int i, int beside) {
    wide[i] = std::fmin(wide[i], wide[beside] + growth * (width(i) + width(beside)) / 2);
  };
  for (int i = 1; i < vegas_bins; ++i) limit(i, i - 1);
  for (int i = vegas_bins - 2; i >= 0; --i) limit(i, i + 1);
  double out = 0;
  for (int i = 0; i < vegas_bins; ++i) {
    weights[i] = std::fmax(weights[i], width(i) * (sum / vegas_bins) / wide[i]);
    out += weights[i];
  }
  return out;
}

void refine_axis(std::span<double> edges, std::span<const std::uint64_t> weights) {
  double smooth[vegas_bins], total = 0;
  for (int i = 0; i < vegas_bins; ++i) {
    const auto at = [&](int k) {
      return static_cast<double>(weights[static_cast<std::size_t>(std::clamp(k, 0, vegas_bins - 1))]);
    };
    smooth[i] = (at(i - 1) + 6 * at(i) + at(i + 1)) / 8;
    total += smooth[i];
  }
  if (!(total > 0)) return;
  double sum = 0;
  for (double& w : smooth) {
    // Slower than the shares ask: they are noisy. No bin is given up.
    const double share = std::fmax(w / total, 1e-30);
    w = share >= 1 ? 1 : (share - 1) / formula::elementary::log(share) + 1e-4 / vegas_bins;
    sum += w;
  }
  sum = soften(edges, smooth, sum);
  double next[vegas_bins + 1] = {0}, in_hand = 0;
  int from = 0;
  for (int i = 1; i < vegas_bins; ++i) {
    const double wanted = sum * i / vegas_bins;
    while (in_hand < wanted && from < vegas_bins) in_hand += smooth[from++];
    const auto right = static_cast<std::size_t>(from);
    next[i] = edges[right] - (in_hand - wanted) / smooth[from - 1] * (edges[right] - edges[right - 1]);
    next[i] = std::clamp(next[i], next[i - 1], 1.0);
  }
  next[vegas_bins] = 1;
  std::copy(next, next + vegas_bins + 1, edges.begin());
}

}  // namespace

VegasPlan plan_of(int dimensions, const VegasIteration& requested) {
  const std::int64_t most = std::clamp<std::int64_t>(requested.points / 4, 1, most_vegas_cubes);
  std::int64_t strata = 1;
  while (cubes_within(dimensions, strata + 1, 0, most) != 0) ++strata;
  int finer = 0;
  while (finer + 1 < dimensions && cubes_within(dimensions, strata, finer + 1, most) != 0) ++finer;
  VegasPlan out{};
  out.dimensions = dimensions;
  out.finer = finer;
  out.strata = static_cast<std::uint32_t>(strata);
  out.wide = 1.0 / static_cast<double>(strata);
  out.narrow = 1.0 / static_cast<double>(strata + 1);
  out.iteration = requested.number;
  out.seed_low = static_cast<std::uint32_t>(requested.seed);
  out.seed_high = static_cast<std::uint32_t>(requested.seed >> 32);
  out.scale = requested.scale;
  out.most_weight = std::floor(0x1p62 / static_cast<double>(2 * requested.points));
  if (requested.typical > 0) {
    // A typical square counts 2^20 in the mean of its cube's points.
    const double cubes = cubes_of(out);
    out.weight = 0x1p20 / requested.typical * (static_cast<double>(requested.points) / cubes);
    if (!std::isfinite(out.weight)) out.weight = 0;
  }
  return out;
}

std::uint32_t cubes_of(const VegasPlan& plan) {
  return static_cast<std::uint32_t>(cubes_within(plan.dimensions, plan.strata, plan.finer, most_vegas_cubes));
}

std::vector<double> even_edges(int dimensions) {
  std::vector<double> out;
  for (int axis = 0; axis < dimensions; ++axis)
    for (int i = 0; i <= vegas_bins; ++i) out.push_back(static_cast<double>(i) / vegas_bins);
  return out;
}

void refine(std::vector<double>& edges, const std::vector<std::uint64_t>& weights) {
  constexpr std::size_t bins = vegas_bins;
  for (std::size_t axis = 0; axis * bins < weights.size(); ++axis)
    refine_axis(std::span(edges).subspan(axis * (bins + 1), bins + 1),
                std::span(weights).subspan(axis * bins, bins));
}

}  // namespace tessera::quadrature
