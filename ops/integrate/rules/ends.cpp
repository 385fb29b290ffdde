// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/ends.hpp"
#include <algorithm>
#include "ops/integrate/rules/domain.hpp"
#include "ops/integrate/rules/fading.hpp"

namespace tessera::quadrature {

End end_of(std::size_t axis, double x, const double (&u)[3], const double (&share)[3], double one_sign,
           double all) {
  End out{axis, x, u[2], share[2], nothing, nothing, true, one_sign > 0.5};
  if (!(share[2] > 1e-18 * all) || !(share[1] > 0) || !(share[0] > 0)) {
    out.share = share[2] > 1e-18 * all ? share[2] : 0;
    return out;
  }
  const double before = std::log(share[1] / share[0]) / std::log(u[1] / u[0]),
               last = std::log(share[2] / share[1]) / std::log(u[2] / u[1]);
  const double apart = std::fabs(last - before);
  out.steady = apart <= (last <= 0.01 ? 0.01 : 0.02 * last);
  out.slope = std::fmin(before, last);
  // One that grows stronger is what it is at last; one that weakens may leave more than any power.
  if (!out.steady) out.slope = last;
  if (!out.steady && last < before) out.lasting = lasting_slope(before, last, std::log(u[0] / u[2]) / 2);
  return out;
}

double End::beyond(double distance) const {
  if (share == 0 || std::isnan(slope)) return share;
  if (slope <= (steady ? least_slope : 10 * least_slope) || lasting <= 0) return infinity;
  distance = std::fmax(distance, finest);
  // A power, or one that weakens as the logarithm grows: 1/(u·log(u)²), say.
  const double weakened = steady ? 1 : std::fmin(1, std::log(u) / std::log(distance)),
               there = slope * weakened;
  const double factor = steady ? 1.5 : 3, mean = (slope + there) / 2;
  const double left = std::isnan(lasting) ? there : std::fmin(there, lasting * weakened);
  return factor * share * std::pow(distance / u, mean) / left;
}

double beyond(const std::vector<End>& ends, double distance) {
  double out = 0;
  for (const End& end : ends) out += end.beyond(distance);
  return out;
}

std::vector<double> place_of(const std::vector<End>& ends, double distance, std::size_t axes) {
  std::vector<double> out(axes, nothing);
  const auto most = std::max_element(ends.begin(), ends.end(), [&](const End& a, const End& b) {
    return a.beyond(distance) < b.beyond(distance);
  });
  if (most == ends.end()) return out;
  if (most->also.empty()) out[most->axis] = most->x;
  for (const End::Place& at : most->also) out[at.axis] = at.x;
  return out;
}

namespace {

constexpr std::size_t scattered = 128, places = 3, each = scattered * places;  // of each end

// A place on an axis that points near, and from which side.
struct Edge {
  std::size_t axis;
  double u, inwards;
  double scale = 1;  // of the distances
};

constexpr double distances[places] = {1e-5, 1e-7, 1e-9};

// Points at these distances from the edge, scattered over the other axes.
void scatter(const Edge& edge, std::size_t axes, std::vector<double>& u) {
  constexpr double golden = 0.6180339887498949;
  for (std::size_t k = 0; k < axes; ++k) {
    // A step for each axis that has nothing in common with the others'.
    const double step = std::sqrt(static_cast<double>(k) + 2.0) * golden;
    for (std::size_t i = 0; i < each; ++i) {
      const double at = step * (static_cast<double>(i % scattered) + 0.5);
      u[k * each + i] = k == edge.axis ? edge.u + edge.inwards * edge.scale * distances[i / scattered]
                                       : at - std::floor(at);
    }
  }
}

// How far x is from an edge at its nearest distance.
double nearest_x(const Axis& axis, const Edge& edge) {
  double x = 0, there = 0, slope = 0;
  axis.map(edge.u, x, slope);
  axis.map(edge.u + edge.inwards * edge.scale * distances[places - 1], there, slope);
  return std::fabs(there - x);
}

bool within(const Edge& edge) { return edge.u > 0 && edge.u < 1; }

// Distances within which x has numbers.
void keep_apart(const Axis& axis, Edge& edge) {
  constexpr double many = 64, furthest = 1e4;
  double x = 0, slope = 0;
  axis.map(edge.u, x, slope);
  while (edge.scale < furthest && nearest_x(axis, edge) < many * 2 * unit * std::fabs(x)) edge.scale *= 10;
}

// Within a range x comes no nearer to a place than its numbers lie there: points that are meant to be nearer
// have the height of the next one.
double finest_beside(const Axis& axis, const Edge& edge, double x) {
  if (!within(edge)) return 0;
  const double away = edge.scale * distances[places - 1], moved = nearest_x(axis, edge);
  return moved > 0 ? std::fmin(away, away * 2 * unit * std::fabs(x) / moved) : away;
}

std::vector<End> seen_by_chance(Cube& cube, std::vector<Edge> edges) {
  const std::size_t d = cube.axes().size();
  std::vector<double> u(d * each), y(each);
  struct Seen {
    double share[places], one_sign = 0;
  };
  std::vector<Seen> seen(edges.size());
  double all = 0;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (within(edges[e])) keep_apart(cube.axes()[edges[e].axis], edges[e]);
    scatter(edges[e], d, u);
    cube.values(u, each, y);
    cube.count(static_cast<std::int64_t>(each));
    for (std::size_t place = 0; place < places; ++place) {
      double sum = 0, magnitude = 0;
      for (std::size_t i = place * scattered; i < (place + 1) * scattered; ++i) {
        sum += y[i];
        magnitude += std::fabs(y[i]);
      }
      seen[e].share[place] = edges[e].scale * distances[place] * magnitude / scattered;
      seen[e].one_sign = std::fabs(sum) / magnitude;
      all = std::fmax(all, magnitude / scattered);
    }
  }
  std::vector<End> out;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    double x = 0, slope = 0;
    cube.axes()[edges[e].axis].map(edges[e].u, x, slope);
    const Range& range = cube.axes()[edges[e].axis].range;
    if (edges[e].u == 0 || edges[e].u == 1) x = edges[e].u == 0 ? range.lower : range.upper;
    double away[places];
    for (std::size_t place = 0; place < places; ++place) away[place] = edges[e].scale * distances[place];
    out.push_back(end_of(edges[e].axis, x, away, seen[e].share, seen[e].one_sign, 1e-9 * all));
    out.back().finest = finest_beside(cube.axes()[edges[e].axis], edges[e], x);
  }
  return out;
}

}  // namespace

std::int64_t ends_evaluations(std::size_t axes) { return static_cast<std::int64_t>(2 * axes * each); }

std::vector<End> ends_by_chance(Cube& cube) {
  std::vector<Edge> edges;
  for (std::size_t axis = 0; axis < cube.axes().size(); ++axis)
    for (const double u : {0.0, 1.0}) edges.push_back({axis, u, 1 - 2 * u});
  return seen_by_chance(cube, edges);
}

std::vector<End> cuts_by_chance(Cube& cube) {
  constexpr std::size_t most = 64;
  std::vector<Edge> edges;
  for (std::size_t axis = 0; axis < cube.axes().size(); ++axis) {
    const std::size_t parts = cube.axes()[axis].count();
    for (std::size_t k = 1; k < parts && edges.size() < most; ++k)
      for (const double side : {-1.0, 1.0})
        edges.push_back({axis, static_cast<double>(k) / static_cast<double>(parts), side});
  }
  return seen_by_chance(cube, edges);
}

double scattered_reach(const Answer& answer) {
  return 1e-2 / static_cast<double>(std::max<std::int64_t>(1, answer.evaluations));
}

void charge_ends(Answer& answer, const std::vector<End>& ends, double reach, double allowed,
                 std::size_t axes) {
  answer.truncation += beyond(ends, reach);
  if (!answer.converged() || answer.error() <= allowed) return;
  answer.reason = Reason::singular;
  answer.place = place_of(ends, reach, axes);
}

// Factors measured of powers of sums, of roots and of squares, also with unlike weights, and rounded up: at
// the ends of one axis and of two the rule's own points on the edges see enough.
double missed_by_regions(const std::vector<End>& ends, bool bells) {
  constexpr double of_bells = 2.5;
  double out = bells ? of_bells : 1;
  for (const End& end : ends) {
    if (!(end.share > 0 && end.slope > 0)) continue;
    const std::size_t together = std::max<std::size_t>(1, end.also.size());
    constexpr double steepest = 2.7;
    const double of_slope = together < 3 ? 0.04 : end.slope > steepest ? 0 : together < 5 ? 12 : 5;
    out = std::fmax(out, of_slope / end.slope);
  }
  return out;
}

bool may_diverge(const std::vector<End>& ends, std::size_t axes, Answer& answer) {
  if (std::ranges::none_of(ends, &End::may_diverge)) return false;
  if (answer.rule[0] == '\0') answer.rule = "none";
  answer.reason = Reason::may_diverge;
  answer.truncation = infinity;
  answer.place = place_of(ends, 1e-16, axes);
  return true;
}

}  // namespace tessera::quadrature
