// SPDX-License-Identifier: Apache-2.0
// The part of VEGAS that is bit-identical on every device: the places of points, the statistics of a cube's
// points, and the number of points that it gets next.
#pragma once
#include <cstdint>
#include <vector>
#include "ops/integrate/quadrature/scattered/vegas.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/formula/elementary.hpp"

#define VEGAS_FN SIMT
#define VEGAS_UNROLL
#define VEGAS_FROM_BITS formula::elementary::from_bits
namespace tessera::quadrature {
#include "ops/integrate/quadrature/scattered/vegas_types-inl.h"

// Statistics of a cube, as shares of the integral; for several cubes, their sums. Terms are scaled as in
// VegasSums.
struct VegasTotals {
  double value, variance, magnitude;
  double squares;  // the mean of the squared terms
  double wanted;   // the weight by which the cube gets points in the next iteration
  double spike;    // the largest contribution of one point beyond its cube's mean
  double largest;  // the largest |term|
};

inline namespace TESSERA_UNIT {
#include "ops/integrate/quadrature/scattered/vegas_point-inl.h"

SIMT void vegas_join(VegasTotals& to, const VegasTotals& from) {
  to.value += from.value;
  to.variance += from.variance;
  to.magnitude += from.magnitude;
  to.squares += from.squares;
  to.wanted += from.wanted;
  if (from.spike > to.spike) to.spike = from.spike;
  if (from.largest > to.largest) to.largest = from.largest;
}

SIMT void vegas_join(VegasSums& to, const VegasSums& from) {
  to.sum += from.sum;
  to.squares += from.squares;
  to.magnitude += from.magnitude;
  if (from.largest > to.largest) to.largest = from.largest;
}

// `sums` of `points` points; `part`: the cube's share of the volume. Cubes get points by their scatter to the
// power 0.75, because the scatter itself would follow chance too closely (Lepage).
SIMT VegasTotals vegas_summary(const VegasSums& sums, u32 points, double part) {
  namespace exact = formula::elementary;
  const double n = points, mean = sums.sum / n;
  double scatter = (sums.squares - sums.sum * mean) / (n - 1);
  if (!(sums.squares < 1e300)) scatter = 1e300;
  if (!(scatter > 0)) scatter = 0;
  const double quarter = exact::root(exact::root(scatter)), over = sums.largest - (mean < 0 ? -mean : mean);
  return {mean * part,
          scatter / n * part * part,
          sums.magnitude / n * part,
          sums.squares / n * part,
          quarter * exact::root(quarter),
          (over > 0 ? over : 0) / n * part,
          sums.largest};
}

// The allocation of points: at least two per cube, for a variance; the rest evenly, or by `wanted`.
struct VegasAllocation {
  double rate;
  bool even;
};

SIMT VegasAllocation vegas_allocation(double wanted, double points, u32 cubes) {
  const double spare = points > 2.0 * cubes ? points - 2.0 * cubes : 0;
  return wanted > 0 ? VegasAllocation{spare / wanted, false} : VegasAllocation{spare / cubes, true};
}

SIMT u32 vegas_points(double wanted, const VegasAllocation& deal) {
  return 2 + u32(deal.even ? deal.rate : wanted * deal.rate);
}

inline constexpr u32 vegas_run = 64;  // tasks of one cube that are added one after another

SIMT u32 vegas_task_count(u32 points) { return (points + vegas_task_points - 1) / vegas_task_points; }

// Returns the cube of the old partition that holds the middle of this cube of the new one, which inherits its
// `wanted`.
SIMT u32 vegas_parent(const VegasPlan& before, const VegasPlan& now, u32 cube) {
  u32 parent = 0, stride = 1;
  for (int axis = 0; axis < now.dimensions; ++axis) {
    const u32 strata = now.strata + (axis < now.finer ? 1u : 0u);
    const u32 old = before.strata + (axis < before.finer ? 1u : 0u);
    const u32 at = cube % strata;
    cube /= strata;
    parent += u32(u64(2 * at + 1) * old / (2 * u64(strata))) * stride;
    stride *= old;
  }
  return parent;
}

}  // namespace TESSERA_UNIT

// --- the layout of an iteration's points, and the refinement of the grid ---

inline constexpr std::int64_t max_vegas_cubes = std::int64_t{1} << 21;
inline constexpr std::int64_t max_vegas_points = std::int64_t{1} << 24;  // per iteration

inline IterationStats stats_of(const VegasTotals& of) {
  return {of.value, of.variance, of.magnitude, of.squares, of.spike, of.largest};
}

// Chooses the strata for so many points: about four points per cube, or more.
VegasPlan plan_of(int dimensions, const VegasIteration& requested);
std::uint32_t cubes_of(const VegasPlan& plan);

std::vector<double> even_edges(int dimensions);
// Moves the edges so that all bins have the same weight; `weights` as in IterationStats.
void refine(std::vector<double>& edges, const std::vector<std::uint64_t>& weights);

}  // namespace tessera::quadrature
#undef VEGAS_FN
#undef VEGAS_UNROLL
#undef VEGAS_FROM_BITS
