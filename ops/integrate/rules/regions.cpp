// SPDX-License-Identifier: Apache-2.0
// Regions on the processors, by Genz and Malik's rule or by products of Gauss-Kronrod pairs: rounds of all
// that are not good enough.
#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include "ops/integrate/rules/gauss_kronrod_product.hpp"
#include "ops/integrate/rules/genz_malik.hpp"
#include "ops/integrate/rules/region_bins.hpp"
#include "tessera/core/parallel.hpp"

namespace tessera::quadrature {
namespace {

constexpr std::size_t chunk_size = 1024;
using Histogram = std::array<std::uint32_t, integration::region_bins>;

// A list that grows without being moved or cleared: whoever writes a place first gets its memory, so that
// growing is not the work of one thread alone.
template <class T>
class Pieces {
 public:
  std::size_t size() const { return size_; }
  void resize(std::size_t size) {
    while (pieces_.size() * chunk_size < size)
      pieces_.push_back(std::make_unique_for_overwrite<T[]>(chunk_size));
    size_ = size;
  }
  T& operator[](std::size_t i) { return pieces_[i / chunk_size][i % chunk_size]; }
  const T& operator[](std::size_t i) const { return pieces_[i / chunk_size][i % chunk_size]; }

 private:
  std::vector<std::unique_ptr<T[]>> pieces_;
  std::size_t size_ = 0;
};

// Of some regions, or of all.
struct Totals {
  double value = 0, error = 0, magnitude = 0, weighed = 0, largest = 0;

  void join(const Totals& other) {
    value += other.value;
    error += other.error;
    magnitude += other.magnitude;
    weighed += other.weighed;
    if (!(other.largest <= largest)) largest = other.largest;
  }
};

template <class Rule>
class Cubature {
 public:
  Cubature(Cube& cube, const Tolerance& tolerance, int threads, double first_cut)
      : cube_(cube),
        tolerance_(tolerance),
        rule_(cube.dimensions()),
        first_cut_(first_cut),
        threads_(threads > 0 ? threads
                             : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))) {}

  Answer run();

 private:
  std::size_t chunks() const { return (regions_.size() + chunk_size - 1) / chunk_size; }
  template <class Work>
  void share(std::size_t pieces, const Work& work) const;
  std::vector<std::vector<double>> first_edges() const;
  void start();
  void measure(std::span<Region> regions, std::span<RegionResult> results) const;
  void add_up();
  bool choose();
  std::int64_t in_time_left() const;
  int first_split(const Histogram& all, std::int64_t room, bool& limited) const;
  void list(int first, double budget, const std::vector<Histogram>& histograms);
  void split();
  void halve(std::size_t from, std::size_t to, std::size_t new_ones);

  Cube& cube_;
  Tolerance tolerance_;
  Rule rule_;
  double first_cut_;
  int threads_;
  Pieces<Region> regions_;
  Pieces<RegionResult> results_;
  std::vector<std::size_t> chosen_;
  Totals all_;
  Reason reason_ = Reason::converged;
  Reason cap_ = Reason::converged;  // what kept some regions whole: then this round is the last
};

// Pieces of work, to whichever thread comes next; what each does depends on its number alone.
template <class Rule>
template <class Work>
void Cubature<Rule>::share(std::size_t pieces, const Work& work) const {
  std::atomic<std::size_t> next{0};
  const auto threads = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads_), pieces));
  if (threads == 0) return;
  parallel(threads, [&](int) {
    for (std::size_t k = next++; k < pieces; k = next++) work(k);
  });
}

// All points of some regions in one call.
template <class Rule>
void Cubature<Rule>::measure(std::span<Region> regions, std::span<RegionResult> results) const {
  thread_local std::vector<double> u, y;
  const std::size_t points = rule_.points(), count = regions.size() * points;
  const auto d = static_cast<std::size_t>(rule_.dimensions());
  if (u.size() < d * count) u.resize(d * count);
  if (y.size() < count) y.resize(count);
  for (std::size_t axis = 0; axis < d; ++axis) {
    const Axis& map = cube_.axes()[axis];
    const double lower = map.plain() ? map.range.lower : 0,
                 length = map.plain() ? map.range.upper - map.range.lower : 1;
    for (std::size_t i = 0; i < regions.size(); ++i)
      rule_.place(lower + length * regions[i].centre[axis], length * regions[i].half[axis],
                  static_cast<int>(axis), &u[axis * count + i * points]);
  }
  cube_.values_at(std::span(u).first(d * count), count, std::span(y).first(count), true);
  for (std::size_t i = 0; i < regions.size(); ++i) results[i] = rule_.conclude(&y[i * points], regions[i]);
}

// Where each axis is cut at first: at its parts, and in halves while that gives few regions, for one alone is
// too easily mistaken.
template <class Rule>
std::vector<std::vector<double>> Cubature<Rule>::first_edges() const {
  const std::size_t most = rule_.most_first_regions();
  std::vector<std::vector<double>> out;
  std::size_t regions = 1;
  bool whole = true;
  for (const Axis& axis : cube_.axes()) {
    const std::size_t parts = regions * axis.count() <= most ? axis.count() : 1;
    regions *= parts;
    whole = whole && axis.count() == 1;
    out.push_back({0});
    for (std::size_t k = 1; k <= parts; ++k)
      out.back().push_back(static_cast<double>(k) / static_cast<double>(parts));
  }
  const std::size_t halved = whole ? 64 : 512;
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    std::vector<double>& edges = out[axis];
    const bool other = first_cut_ != 0.5;  // what the parts' own edges show was seen in the run before
    if ((edges.size() > 2 && !other) || 2 * regions > halved) continue;
    regions *= 2;
    for (std::size_t k = edges.size() - 1; k > 0; --k)
      edges.insert(edges.begin() + static_cast<std::ptrdiff_t>(k),
                   edges[k - 1] + first_cut_ * (edges[k] - edges[k - 1]));
  }
  return out;
}

template <class Rule>
void Cubature<Rule>::start() {
  const std::vector<std::vector<double>> edges = first_edges();
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
  share(regions_.size(), [&](std::size_t i) {
    measure({&regions_[i], 1}, {&results_[i], 1});
    results_[i].error = results_[i].unconfirmed;
  });
  cube_.count(static_cast<std::int64_t>(regions_.size() * rule_.points()));
}

template <class Rule>
void Cubature<Rule>::add_up() {
  std::vector<Totals> parts(chunks());
  share(parts.size(), [&](std::size_t chunk) {
    const std::size_t end = std::min(results_.size(), (chunk + 1) * chunk_size);
    for (std::size_t i = chunk * chunk_size; i < end; ++i) {
      const RegionResult& r = results_[i];
      parts[chunk].join({r.value, r.error, r.magnitude, r.weighed, r.error});
    }
  });
  all_ = {};
  for (const Totals& part : parts) all_.join(part);
}

// The first bin whose regions are split: from below, those stay whole whose errors are together within the
// budget; from above, as many are split as there is room for.
template <class Rule>
int Cubature<Rule>::first_split(const Histogram& all, std::int64_t room, bool& limited) const {
  double held = 0;
  int wanted = 0;
  for (; wanted < integration::region_bins - 1; ++wanted) {
    held += all[static_cast<std::size_t>(wanted)] * integration::region_bin_end(wanted);
    if (!(held <= 1)) break;
  }
  int first = integration::region_bins;
  while (first > wanted) {
    const std::int64_t more = all[static_cast<std::size_t>(first) - 1];
    if (more > room) break;
    room -= more;
    --first;
  }
  limited = first > wanted;
  return first;
}

template <class Rule>
void Cubature<Rule>::list(int first, double budget, const std::vector<Histogram>& histograms) {
  std::vector<std::size_t> begin(histograms.size() + 1);
  for (std::size_t chunk = 0; chunk < histograms.size(); ++chunk) {
    begin[chunk + 1] = begin[chunk];
    for (int bin = first; bin < integration::region_bins; ++bin)
      begin[chunk + 1] += histograms[chunk][static_cast<std::size_t>(bin)];
  }
  chosen_.resize(begin.back());
  share(histograms.size(), [&](std::size_t chunk) {
    const std::size_t end = std::min(results_.size(), (chunk + 1) * chunk_size);
    std::size_t to = begin[chunk];
    for (std::size_t i = chunk * chunk_size; i < end; ++i)
      if (integration::region_bin(results_[i].error, budget) >= first) chosen_[to++] = i;
  });
}

// Evaluations that surely take little longer than the time that is left: a round is not interrupted.
template <class Rule>
std::int64_t Cubature<Rule>::in_time_left() const {
  const double left = cube_.seconds_left(), gone = cube_.limits().seconds - left;
  constexpr double slack = 2, little = 1e6;  // and what the first rounds took tells nothing
  const double rate = gone > 0 ? static_cast<double>(cube_.evaluations()) / gone : 1e9;
  return static_cast<std::int64_t>(std::fmin(1e18, slack * rate * left + little));
}

// False: there is nothing more to be done.
template <class Rule>
bool Cubature<Rule>::choose() {
  const double rounding = 8 * unit * all_.weighed, allowed = tolerance_.of(all_.value),
               aim = aim_of(allowed, rounding, tolerance_.relative, all_.magnitude, all_.error),
               budget = (aim - rounding) * integration::region_share;
  const auto stop = [&](Reason reason) {
    reason_ = reason;
    return false;
  };
  const bool finite = allowed - allowed == 0;  // what is infinite allows everything
  if (finite && all_.error + rounding <= allowed) return stop(Reason::converged);
  if (!finite || !(budget > 0) || all_.error + rounding <= aim || all_.largest <= 50 * unit * all_.weighed)
    return stop(Reason::roundoff);
  if (cube_.undefined()) return stop(Reason::non_finite);
  if (cap_ != Reason::converged) return stop(cap_);
  if (!(cube_.seconds_left() > 0)) return stop(Reason::time);
  std::vector<Histogram> histograms(chunks());
  share(histograms.size(), [&](std::size_t chunk) {
    const std::size_t end = std::min(results_.size(), (chunk + 1) * chunk_size);
    histograms[chunk].fill(0);
    for (std::size_t i = chunk * chunk_size; i < end; ++i)
      ++histograms[chunk][static_cast<std::size_t>(integration::region_bin(results_[i].error, budget))];
  });
  Histogram all{};
  for (const Histogram& part : histograms)
    for (std::size_t bin = 0; bin < part.size(); ++bin) all[bin] += part[bin];
  const auto points = static_cast<std::int64_t>(rule_.points());
  const std::int64_t by_cap = (cube_.limits().evaluations - cube_.evaluations()) / (2 * points),
                     by_place = cube_.limits().regions - static_cast<std::int64_t>(regions_.size()),
                     by_time = in_time_left() / (2 * points), room = std::min({by_cap, by_place, by_time});
  bool limited = false;
  list(first_split(all, room, limited), budget, histograms);
  const Reason cap = room == by_cap ? Reason::evaluations : room == by_place ? Reason::memory : Reason::time;
  if (limited) cap_ = cap;
  // Nothing wanted: the errors are small enough, and it is rounding that is not.
  if (chosen_.empty()) return stop(limited ? cap : Reason::roundoff);
  return true;
}

// Some of the chosen regions: the lower half takes the whole's place, the upper one a new one.
template <class Rule>
void Cubature<Rule>::halve(std::size_t from, std::size_t to, std::size_t new_ones) {
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
void Cubature<Rule>::split() {
  constexpr std::size_t together = 768;  // points, whose numbers stay in the nearest cache
  const std::size_t before = regions_.size(),
                    group = std::max<std::size_t>(1, together / (2 * rule_.points()));
  regions_.resize(before + chosen_.size());
  results_.resize(before + chosen_.size());
  share((chosen_.size() + group - 1) / group,
        [&](std::size_t k) { halve(k * group, std::min(chosen_.size(), (k + 1) * group), before); });
  cube_.count(static_cast<std::int64_t>(2 * chosen_.size() * rule_.points()));
}

template <class Rule>
Answer Cubature<Rule>::run() {
  Answer out;
  out.rule = rule_.name();
  double first = static_cast<double>(rule_.points());
  for (const auto& axis : first_edges()) first *= static_cast<double>(axis.size() - 1);
  if (!cube_.allows(static_cast<std::int64_t>(first))) {
    out.reason = cube_.cap();
    return out;
  }
  start();
  for (add_up(); choose(); add_up()) split();
  out.value = all_.value;
  out.truncation = all_.error;
  out.magnitude = all_.magnitude;
  out.rounding = 8 * unit * all_.weighed;
  out.evaluations = cube_.evaluations();
  out.reason = reason_;
  // Points without a value count as 0, which is nobody's.
  if (cube_.holes() == 0) return out;
  cube_.look_for_holes();
  cube_.judge(out, out.converged());
  return out;
}

}  // namespace

Answer genz_malik(Cube& cube, const Tolerance& tolerance, int threads, double first_cut) {
  return Cubature<GenzMalik>(cube, tolerance, threads, first_cut).run();
}

Answer gauss_kronrod_product(Cube& cube, const Tolerance& tolerance, int threads, double first_cut) {
  return Cubature<KronrodProduct>(cube, tolerance, threads, first_cut).run();
}

}  // namespace tessera::quadrature
