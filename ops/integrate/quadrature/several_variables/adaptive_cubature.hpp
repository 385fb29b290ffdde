// SPDX-License-Identifier: Apache-2.0
// Adaptive cubature: regions of the cube, each with a rule's value and error, are halved where the errors are
// large. All regions are kept. Each round halves the regions with the largest errors until the errors of the
// others sum to at most three quarters of the allowed error. An algorithm that always takes the worst region
// would halve all of them, too, but this one gives all cores work and sorts nothing. The choice does not
// depend on the number of cores.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>
#include "tessera/core/device/thread.hpp"
#include "ops/integrate/quadrature/scattered/box.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

// A histogram of errors replaces sorting: it decides which regions are split, and its integer counts do not
// depend on the order or the number of threads.

// The share of the allowed error that is left to the regions that are not halved; the rest is for the halves.
inline constexpr double region_share = 0.75;
inline constexpr int region_bins = 256, budget_bin = 176;

// Returns the bin of an error in units of the budget: four bins per octave, by the exponent and the first two
// bits of the mantissa.
SIMT int region_bin(double error, double budget) {
  const double share = error / budget;
  if (!(share > 0)) return 0;
  const auto bits = __builtin_bit_cast(std::uint64_t, share);
  const std::int64_t quarter = static_cast<std::int64_t>(bits >> 50) - (std::int64_t{1023} << 2);
  const std::int64_t bin = quarter + budget_bin;
  return static_cast<int>(bin < 0 ? 0 : bin >= region_bins ? region_bins - 1 : bin);
}
// Returns the upper bound of a bin's errors in units of the budget; the last bin has none.
SIMT double region_bin_end(int bin) {
  const int quarter = bin + 1 - budget_bin, octave = (quarter + 1024) / 4 - 256;
  const std::uint64_t bits = static_cast<std::uint64_t>(octave + 1023) << 52 |
                             static_cast<std::uint64_t>((quarter + 1024) % 4) << 50;
  return __builtin_bit_cast(double, bits);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration

namespace tessera::quadrature {

struct Region {
  double centre[12], half[12];
  int axis;  // the axis along which it is split
};

struct RegionResult {
  double value, error;
  double magnitude;    // the integral of |f|
  double weighed;      // the sum with |weights|, some of which are negative; rounding grows with it
  double unconfirmed;  // the error if no other region's value confirms it
};

// A list that grows in chunks. It neither moves nor clears elements, which one thread alone would have to do.
template <class T>
class GrowingList {
 public:
  static constexpr std::size_t chunk = 1024;

  std::size_t size() const { return size_; }
  void resize(std::size_t size) {
    while (chunks_.size() * chunk < size) chunks_.push_back(std::make_unique_for_overwrite<T[]>(chunk));
    size_ = size;
  }
  T& operator[](std::size_t i) { return chunks_[i / chunk][i % chunk]; }
  const T& operator[](std::size_t i) const { return chunks_[i / chunk][i % chunk]; }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

// The points of a rule, in units of half a region's width: the base of rules.
class RegionPoints {
 public:
  int dimensions() const { return dimensions_; }
  std::size_t points() const { return points_; }
  // Writes one coordinate of all points of a region.
  void place(double centre, double half, int axis, double* u) const {
    const double* const offsets = &offsets_[static_cast<std::size_t>(axis) * points_];
    for (std::size_t p = 0; p < points_; ++p) u[p] = centre + half * offsets[p];
  }

 protected:
  explicit RegionPoints(int dimensions) : dimensions_(dimensions) {}

  int dimensions_;
  std::size_t points_ = 0;
  std::vector<double> offsets_;  // axis by axis
};

// Rule: GenzMalik or KronrodProduct.
template <class Rule>
class AdaptiveCubature {
 public:
  // `first_points`: points to spend on the first regions, or on 64 regions if that is more.
  AdaptiveCubature(UnitCube& cube, const Tolerance& tolerance, int threads, std::size_t first_points = 0)
      : cube_(cube),
        tolerance_(tolerance),
        rule_(cube.dimensions()),
        threads_(threads),
        first_points_(first_points) {}

  // Continues with at most so many more evaluations. Reason::evaluations: more of them would help.
  Answer advance(std::int64_t evaluations);

 private:
  using Histogram = std::array<std::uint32_t, integration::region_bins>;
  // Sums over some regions or all.
  struct Totals {
    double value = 0, error = 0, magnitude = 0, weighed = 0, largest = 0;
    void join(const Totals& other);
  };

  std::size_t chunks() const {
    return (regions_.size() + GrowingList<Region>::chunk - 1) / GrowingList<Region>::chunk;
  }
  template <class Work>
  void each_of_chunk(std::size_t chunk, const Work& work) const;
  std::vector<std::vector<double>> first_edges() const;
  void start(const std::vector<std::vector<double>>& edges);
  void measure(std::span<Region> regions, std::span<RegionResult> results) const;
  void add_up();
  bool choose(std::int64_t until);
  std::int64_t in_time_left() const;
  void list(int first, double budget, const std::vector<Histogram>& histograms);
  void halve_chosen();
  void halve(std::size_t from, std::size_t to, std::size_t new_ones);

  UnitCube& cube_;
  Tolerance tolerance_;
  Rule rule_;
  int threads_;
  std::size_t first_points_;
  GrowingList<Region> regions_;
  GrowingList<RegionResult> results_;
  std::vector<std::size_t> chosen_;
  Totals all_;
  Reason reason_ = Reason::converged;
  Reason cap_ = Reason::converged;  // the cap that left some regions unhalved: this round is then the last
};

}  // namespace tessera::quadrature
