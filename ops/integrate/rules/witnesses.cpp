// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/witnesses.hpp"
#include <algorithm>
#include <array>
#include "ops/integrate/rules/kronrod_nodes.hpp"

namespace tessera::quadrature {
namespace {

// Barycentric weights: the polynomial through values at the nodes is a quotient of two sums.
template <std::size_t half>
struct Interpolation {
  static constexpr std::size_t count = 2 * half - 1;
  std::array<double, count> z{}, weight{};

  explicit Interpolation(const KronrodNodes<half>& nodes) {
    for (std::size_t i = 0; i < half; ++i) {
      z[i] = -nodes.x[i];
      z[count - 1 - i] = nodes.x[i];
    }
    for (std::size_t i = 0; i < count; ++i) {
      double product = 1;
      for (std::size_t j = 0; j < count; ++j)
        if (j != i) product *= 2 * (z[i] - z[j]);
      weight[i] = 1 / product;
    }
  }
  static const Interpolation& of(const KronrodNodes<half>& nodes) {
    static const Interpolation out(nodes);
    return out;
  }
};

template <std::size_t half>
const Interpolation<half>& interpolation();
template <>
const Interpolation<8>& interpolation<8>() {
  return Interpolation<8>::of(kronrod15);
}
template <>
const Interpolation<11>& interpolation<11>() {
  return Interpolation<11>::of(kronrod21);
}

constexpr std::size_t lanes = 4;  // places side by side, for a division takes long
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;

// The polynomial's values at these places.
template <std::size_t half>
void expect(const Interpolation<half>& nodes, const double* term, const double (&z)[lanes],
            double (&out)[lanes]) {
  Lanes at, above{}, below{};
  for (std::size_t lane = 0; lane < lanes; ++lane) at[lane] = z[lane];
  for (std::size_t k = 0; k < Interpolation<half>::count; ++k) {
    const Lanes share = nodes.weight[k] / (at - nodes.z[k]);
    above += share * term[k];
    below += share;
  }
  const Lanes expected = above / below;
  for (std::size_t lane = 0; lane < lanes; ++lane) out[lane] = expected[lane];
}

}  // namespace

Witnesses::Witnesses(const Look& seen, std::span<const Track> tracks) : of_(tracks.size()) {
  for (std::size_t k = 0; k < tracks.size(); ++k) {
    const Piece& piece = tracks[k].piece;
    const auto first = std::upper_bound(seen.x.begin(), seen.x.end(), piece.lower);
    const auto last = std::lower_bound(first, seen.x.end(), piece.upper);
    std::vector<Witness>& out = of_[k];
    out.reserve(static_cast<std::size_t>(last - first));
    for (auto i = first; i < last; ++i) {
      double weight = 0;
      const double t = tracks[k].place_of(*i, weight),
                   y = seen.y[static_cast<std::size_t>(i - seen.x.begin())];
      if (std::isfinite(t) && std::isfinite(y * weight)) out.push_back({t, y * weight});
    }
    if (out.size() > 1 && out.front().t > out.back().t) std::reverse(out.begin(), out.end());
  }
}

template <std::size_t half>
double Witnesses::missed(std::size_t track, double from, double to, const double* term) const {
  const std::vector<Witness>& all = of_[track];
  const Interpolation<half>& nodes = interpolation<half>();
  const double middle = 0.5 * (from + to), radius = 0.5 * (to - from);
  double sum = 0, most = 0;
  auto i = static_cast<std::size_t>(
      std::upper_bound(all.begin(), all.end(), from, [](double t, const Witness& w) { return t < w.t; }) -
      all.begin());
  while (i < all.size() && all[i].t < to) {
    const std::size_t count = std::min(lanes, all.size() - i);
    double z[lanes], expected[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane)
      z[lane] = (all[i + std::min(lane, count - 1)].t - middle) / radius;
    expect(nodes, term, z, expected);
    for (std::size_t lane = 0; lane < count && all[i].t < to; ++lane, ++i) {
      const double apart = all[i].term - expected[lane];
      if (!std::isfinite(apart)) continue;  // at a node
      const double left = i > 0 ? std::fmax(from, 0.5 * (all[i - 1].t + all[i].t)) : from;
      const double right = i + 1 < all.size() ? std::fmin(to, 0.5 * (all[i].t + all[i + 1].t)) : to;
      sum += apart * (right - left);
      most = std::fmax(most, std::fabs(apart) * (right - left));
    }
  }
  return 3 * (std::fabs(sum) + most);
}

double Witnesses::outermost(std::size_t track, int side, double least) const {
  const std::vector<Witness>& all = of_[track];
  const std::size_t count = all.size();
  for (std::size_t k = 0; k + 1 < count; ++k) {
    const std::size_t i = side == 0 ? k : count - 1 - k, inner = side == 0 ? i + 1 : i - 1;
    if (std::fabs(all[i].term * (all[inner].t - all[i].t)) > least) return std::fabs(all[i].t);
  }
  return 0;
}

template double Witnesses::missed<8>(std::size_t, double, double, const double*) const;
template double Witnesses::missed<11>(std::size_t, double, double, const double*) const;

}  // namespace tessera::quadrature
