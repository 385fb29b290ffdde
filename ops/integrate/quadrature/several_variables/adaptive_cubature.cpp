// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/several_variables/adaptive_cubature.hpp"
#include <algorithm>
#include <utility>
#include "ops/integrate/quadrature/several_variables/genz_malik.hpp"
#include "ops/integrate/quadrature/several_variables/products.hpp"

namespace tessera::quadrature {
namespace {

#define REGION_FN inline
#include "ops/integrate/quadrature/several_variables/region_estimate-inl.h"
#undef REGION_FN

}  // namespace

template <class Rule>
void AdaptiveCubature<Rule>::Totals::join(const Totals& other) {
  value += other.value;
  error += other.error;
  magnitude += other.magnitude;
  weighed += other.weighed;
  if (!(other.largest <= largest)) largest = other.largest;
}

template <class Rule>
template <class Work>
void AdaptiveCubature<Rule>::each_of_chunk(std::size_t chunk, const Work& work) const {
  constexpr std::size_t size = GrowingList<Region>::chunk;
  for (std::size_t i = chunk * size; i < std::min(results_.size(), (chunk + 1) * size); ++i) work(i);
}

// Evaluates the points of several regions in one call.
template <class Rule>
void AdaptiveCubature<Rule>::measure(std::span<Region> regions, std::span<RegionResult> results) const {
  thread_local std::vector<double> u, y;
  const std::size_t points = rule_.points(), count = regions.size() * points;
  const auto d = static_cast<std::size_t>(rule_.dimensions());
  if (u.size() < d * count) u.resize(d * count);
  if (y.size() < count) y.resize(count);
  for (std::size_t axis = 0; axis < d; ++axis) {
    const Axis& map = cube_.axes()[axis];
    const double lower = map.linear() ? map.range.lower : 0,
                 length = map.linear() ? map.range.upper - map.range.lower : 1;
    for (std::size_t i = 0; i < regions.size(); ++i)
      rule_.place(lower + length * regions[i].centre[axis], length * regions[i].half[axis],
                  static_cast<int>(axis), &u[axis * count + i * points]);
  }
  cube_.values(std::span(u).first(d * count), count, std::span(y).first(count), true);
  for (std::size_t i = 0; i < regions.size(); ++i) results[i] = rule_.summarize(&y[i * points], regions[i]);
}

// Returns the first cuts of each axis: its breaks, and then halves until there are enough regions, because
// the error estimate of a single region is unreliable.
template <class Rule>
std::vector<std::vector<double>> AdaptiveCubature<Rule>::first_edges() const {
  const std::size_t most = rule_.max_first_regions();
  std::vector<std::vector<double>> out;
  std::size_t regions = 1;
  for (std::size_t axis = 0; axis < cube_.axes().size(); ++axis) {
    const std::vector<double>& edges = cube_.edges(axis);
    const std::size_t parts = edges.size() - 1;
    out.push_back(regions * parts <= most ? edges : std::vector<double>{0, 1});
    regions *= out.back().size() - 1;
  }
  const std::size_t wanted = std::clamp<std::size_t>(first_points_ / rule_.points(), 64, 4096);
  for (bool more = true; std::exchange(more, false);)
    for (std::vector<double>& edges : out) {
      const bool whole = edges.size() == 2 || first_points_ > 0;  // breaks are cuts enough
      if (!whole || 2 * regions > wanted) continue;
      for (std::size_t k = edges.size() - 1; k > 0; --k)
        edges.insert(edges.begin() + static_cast<std::ptrdiff_t>(k), (edges[k - 1] + edges[k]) / 2);
      regions *= 2;
      more = true;
    }
  return out;
}

template <class Rule>
void AdaptiveCubature<Rule>::start(const std::vector<std::vector<double>>& edges) {
  std::size_t count = 1;
  for (const auto& axis : edges) count *= axis.size() - 1;
  regions_.resize(count);
  results_.resize(count);
  for (std::size_t k = 0; k < count; ++k) {
    Region& region = regions_[k];
    region = {};
    std::size_t rest = k;
    for (std::size_t axis = 0; axis < edges.size(); rest /= edges[axis++].size() - 1) {
      const std::size_t at = rest % (edges[axis].size() - 1);
      region.half[axis] = (edges[axis][at + 1] - edges[axis][at]) / 2;
      region.centre[axis] = (edges[axis][at + 1] + edges[axis][at]) / 2;
    }
  }
  share_parts(threads_, regions_.size(), [&](std::size_t i) {
    measure({&regions_[i], 1}, {&results_[i], 1});
    results_[i].error = results_[i].unconfirmed;
  });
}

template <class Rule>
void AdaptiveCubature<Rule>::add_up() {
  std::vector<Totals> parts(chunks());
  share_parts(threads_, parts.size(), [&](std::size_t chunk) {
    each_of_chunk(chunk, [&](std::size_t i) {
      const RegionResult& r = results_[i];
      parts[chunk].join({r.value, r.error, r.magnitude, r.weighed, r.error});
    });
  });
  all_ = {};
  for (const Totals& part : parts) all_.join(part);
}

template <class Rule>
void AdaptiveCubature<Rule>::list(int first, double budget, const std::vector<Histogram>& histograms) {
  std::vector<std::size_t> begin(histograms.size() + 1);
  for (std::size_t chunk = 0; chunk < histograms.size(); ++chunk) {
    begin[chunk + 1] = begin[chunk];
    for (int bin = first; bin < integration::region_bins; ++bin)
      begin[chunk + 1] += histograms[chunk][static_cast<std::size_t>(bin)];
  }
  chosen_.resize(begin.back());
  share_parts(threads_, histograms.size(), [&](std::size_t chunk) {
    std::size_t to = begin[chunk];
    each_of_chunk(chunk, [&](std::size_t i) {
      if (integration::region_bin(results_[i].error, budget) >= first) chosen_[to++] = i;
    });
  });
}

// Returns the number of evaluations that the remaining time should allow; a round that takes longer is lost.
template <class Rule>
std::int64_t AdaptiveCubature<Rule>::in_time_left() const {
  const double left = cube_.seconds_left(), gone = cube_.limits().seconds - left;
  constexpr double share = 0.8;
  const double rate = gone > 0 ? static_cast<double>(cube_.evaluations()) / gone : 1e9;
  return static_cast<std::int64_t>(std::fmin(1e18, share * rate * left));
}

// Chooses the regions to halve next. Returns false if there are none: the integration has ended, or `until`
// evaluations leave no room for more.
template <class Rule>
bool AdaptiveCubature<Rule>::choose(std::int64_t until) {
  const double rounding = 8 * unit * all_.weighed, allowed = tolerance_.of(all_.value),
               aim = region_aim(allowed, rounding, tolerance_.relative, all_.magnitude, all_.error),
               budget = (aim - rounding) * integration::region_share;
  const auto stop = [&](Reason reason) {
    reason_ = reason;
    return false;
  };
  const bool finite = allowed - allowed == 0;  // an infinite bound would allow any error
  if (finite && all_.error + rounding <= allowed) return stop(Reason::converged);
  if (!finite || !(budget > 0) || all_.error + rounding <= aim || all_.largest <= 50 * unit * all_.weighed)
    return stop(Reason::roundoff);
  if (cube_.undefined()) return stop(Reason::non_finite);
  if (cap_ != Reason::converged) return stop(cap_);
  if (!(cube_.seconds_left() > 0)) return stop(Reason::time);
  std::vector<Histogram> histograms(chunks());
  share_parts(threads_, histograms.size(), [&](std::size_t chunk) {
    histograms[chunk].fill(0);
    each_of_chunk(chunk, [&](std::size_t i) {
      ++histograms[chunk][static_cast<std::size_t>(integration::region_bin(results_[i].error, budget))];
    });
  });
  Histogram all{};
  for (const Histogram& part : histograms)
    for (std::size_t bin = 0; bin < part.size(); ++bin) all[bin] += part[bin];
  // From the smallest errors up, bins of regions are left alone while their errors sum to at most the budget.
  int wanted = 0;
  for (double held = 0; wanted < integration::region_bins - 1; ++wanted) {
    held += all[static_cast<std::size_t>(wanted)] * integration::region_bin_end(wanted);
    if (!(held <= 1)) break;
  }
  // From the largest errors down, bins of regions are halved, as far as the caps on evaluations, memory and
  // time allow.
  const auto points = static_cast<std::int64_t>(rule_.points());
  const std::int64_t by_cap = (until - cube_.evaluations()) / (2 * points),
                     by_place = cube_.limits().regions - static_cast<std::int64_t>(regions_.size()),
                     by_time = in_time_left() / (2 * points), most = std::min({by_cap, by_place, by_time});
  const Reason cap = most == by_cap ? Reason::evaluations : most == by_place ? Reason::memory : Reason::time;
  int first = integration::region_bins;
  for (std::int64_t room = most; first > wanted; --first) {
    room -= all[static_cast<std::size_t>(first) - 1];
    if (room < 0) break;
  }
  const bool limited = first > wanted;
  list(first, budget, histograms);
  if (limited && !(cap == Reason::evaluations && until < cube_.limits().evaluations)) cap_ = cap;
  // No region has to be halved: the errors are small enough, but rounding is not.
  if (chosen_.empty()) return stop(limited ? cap : Reason::roundoff);
  return true;
}

// Halves some of the chosen regions: the lower half replaces the region, the upper half is appended.
template <class Rule>
void AdaptiveCubature<Rule>::halve(std::size_t from, std::size_t to, std::size_t new_ones) {
  thread_local std::vector<Region> halves;
  thread_local std::vector<RegionResult> results;
  halves.clear();
  for (std::size_t i = from; i < to; ++i)
    for (const double side : {-1.0, 1.0}) {
      Region half = regions_[chosen_[i]];
      half.half[half.axis] /= 2;
      half.centre[half.axis] += side * half.half[half.axis];
      halves.push_back(half);
    }
  results.resize(halves.size());
  measure(halves, results);
  for (std::size_t i = from; i < to; ++i) {
    RegionResult* const two = &results[2 * (i - from)];
    const double moved = std::fabs(results_[chosen_[i]].value - two[0].value - two[1].value);
    const double whole = results_[chosen_[i]].error, lower = rule_.believed(two[0], two[1], moved, whole),
                 upper = rule_.believed(two[1], two[0], moved, whole);
    two[0].error = lower;
    two[1].error = upper;
    regions_[chosen_[i]] = halves[2 * (i - from)];
    results_[chosen_[i]] = two[0];
    regions_[new_ones + i] = halves[2 * (i - from) + 1];
    results_[new_ones + i] = two[1];
  }
}

template <class Rule>
void AdaptiveCubature<Rule>::halve_chosen() {
  constexpr std::size_t together = 768;  // points, few enough for the first-level cache
  const std::size_t before = regions_.size(),
                    group = std::max<std::size_t>(1, together / (2 * rule_.points()));
  regions_.resize(before + chosen_.size());
  results_.resize(before + chosen_.size());
  share_parts(threads_, (chosen_.size() + group - 1) / group,
              [&](std::size_t k) { halve(k * group, std::min(chosen_.size(), (k + 1) * group), before); });
}

template <class Rule>
Answer AdaptiveCubature<Rule>::advance(std::int64_t evaluations) {
  const std::int64_t before = cube_.evaluations(), until = before + evaluations;
  Answer out;
  out.rule = rule_.name();
  const auto begun = [&] {
    if (regions_.size() > 0) return !cube_.exhausted();
    const std::vector<std::vector<double>> edges = first_edges();
    auto first = static_cast<std::int64_t>(rule_.points());
    for (const auto& axis : edges) first *= static_cast<std::int64_t>(axis.size() - 1);
    return first <= evaluations && cube_.allows(first) && cube_.within_caps([&] { start(edges); });
  };
  if (!begun()) {
    out.reason = cube_.cap();
    cube_.judge(out);
    return out;
  }
  for (add_up(); choose(until) && cube_.within_caps([&] { halve_chosen(); });) add_up();
  if (cube_.exhausted()) reason_ = cube_.cap();
  out.value = all_.value;
  out.truncation = all_.error;
  out.magnitude = all_.magnitude;
  out.rounding = 8 * unit * all_.weighed;
  out.evaluations = cube_.evaluations();
  out.reason = reason_;
  cube_.judge(out);
  return out;
}

template class AdaptiveCubature<GenzMalik>;
template class AdaptiveCubature<KronrodProduct>;

}  // namespace tessera::quadrature
