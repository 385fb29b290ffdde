// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/split.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace tessera::dist {
namespace {

std::int64_t granules_of(std::int64_t extent, std::int64_t granule) {
  return (extent + granule - 1) / granule;
}

// From the granules that each gets.
std::vector<Interval> consecutive(const std::vector<std::int64_t>& counts, std::int64_t extent,
                                  std::int64_t granule) {
  std::vector<Interval> out;
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    const std::int64_t last = std::min(extent, first + count * granule);
    out.push_back({first, last});
    first = last;
  }
  return out;
}

// The most granules with which the device is done at `deadline`.
std::int64_t most_within(const Seconds& seconds, std::size_t device, double deadline, std::int64_t granule,
                         std::int64_t extent) {
  std::int64_t can = 0, cannot = granules_of(extent, granule) + 1;
  while (cannot - can > 1) {
    const std::int64_t middle = can + (cannot - can) / 2;
    (seconds(device, std::min(extent, middle * granule)) <= deadline ? can : cannot) = middle;
  }
  return can;
}

}  // namespace

std::vector<Interval> split_by_shares(std::int64_t extent, std::int64_t granule,
                                      std::span<const double> shares) {
  for (const double share : shares)
    if (!(share >= 0) || !std::isfinite(share))
      throw Error("a share of " + std::to_string(share) + " is none");
  const double largest = shares.empty() ? 0 : *std::ranges::max_element(shares);
  if (!(largest > 0)) throw Error("a split needs a share that is not 0");
  // Of the largest, lest their sum be no number.
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0,
                                     [&](double all, double share) { return all + share / largest; });
  const std::int64_t all = granules_of(extent, granule);
  std::vector<std::int64_t> counts;
  std::int64_t given = 0;
  double upto = 0;
  for (const double share : shares) {
    upto += share / largest;
    const auto ends = std::clamp(std::llround(upto / sum * static_cast<double>(all)),
                                 static_cast<long long>(given), static_cast<long long>(all));
    counts.push_back(ends - given);
    given = ends;
  }
  return consecutive(counts, extent, granule);
}

std::vector<Interval> split_by_time(std::int64_t extent, std::int64_t granule, std::size_t devices,
                                    const Seconds& seconds) {
  if (devices == 0) throw Error("a split needs a device");
  const std::int64_t all = granules_of(extent, granule);
  const auto counts_within = [&](double deadline) {
    std::vector<std::int64_t> counts;
    for (std::size_t d = 0; d < devices; ++d)
      counts.push_back(most_within(seconds, d, deadline, granule, extent));
    return counts;
  };
  const auto sum = [](const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  // One device could do everything within `late`; the tightest deadline that suffices lies below it.
  double early = 0, late = 0;
  for (std::size_t d = 0; d < devices; ++d)
    if (const double alone = seconds(d, extent); std::isfinite(alone) && (late == 0 || alone < late))
      late = alone;
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = early + (late - early) / 2;
    (sum(counts_within(middle)) >= all ? late : early) = middle;
  }
  auto counts = counts_within(late);
  if (sum(counts) < all) throw Error("no device can take a share");
  // What is over goes from those who would finish last.
  for (std::int64_t over = sum(counts) - all; over > 0; --over) {
    std::size_t last = devices;
    double latest = -1;
    for (std::size_t d = 0; d < devices; ++d)
      if (counts[d] > 0)
        if (const double ends = seconds(d, counts[d] * granule); ends > latest) latest = ends, last = d;
    if (last == devices) break;
    --counts[last];
  }
  return consecutive(counts, extent, granule);
}

std::vector<Interval> even_parts(Interval whole, std::int64_t most, std::int64_t granule) {
  if (most < 1 || granule < 1) throw Error(Error::Kind::internal, "parts of nothing");
  const std::int64_t size = whole.size();
  if (size <= 0) return {};
  const std::int64_t largest = std::max(granule, most / granule * granule);
  const std::int64_t parts = (size + largest - 1) / largest;
  const std::int64_t part = granules_of((size + parts - 1) / parts, granule) * granule;
  std::vector<Interval> out;
  for (std::int64_t first = whole.first; first < whole.last; first += part)
    out.push_back({first, std::min(first + part, whole.last)});
  return out;
}

}  // namespace tessera::dist
