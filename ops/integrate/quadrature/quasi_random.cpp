// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/quasi_random.hpp"
#include <algorithm>
#include <functional>
#include <utility>
#include "ops/integrate/quadrature/sobol.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

constexpr int repetitions = 16;
constexpr std::uint32_t chunk = 512;  // points that one thread does at a time
constexpr double student = 4.1;       // of 16 repetitions: one in a thousand is further off
constexpr int bins = 96;

// v in (0, 1) to u, piece by piece; each piece is hit equally often.
class Grid {
 public:
  Grid() {
    for (int i = 0; i <= bins; ++i) edge_[i] = static_cast<double>(i) / bins;
  }

  int bin(double v) const { return std::min(bins - 1, static_cast<int>(v * bins)); }
  double map(double v, double& slope) const {
    const int i = bin(v);
    const double width = edge_[i + 1] - edge_[i];
    slope = width * bins;
    return edge_[i] + width * (v * bins - i);
  }

  // Moves the edges until all pieces weigh the same; `weights`: sums of squares that fell on each piece. Such
  // a share of the points stays evenly spread: where a step cuts a piece, what was hardly ever seen may
  // count.
  void refine(const double* weights, double even) {
    double smooth[bins], total = 0;
    for (int i = 0; i < bins; ++i) {
      smooth[i] = (weights[std::max(0, i - 1)] + 6 * weights[i] + weights[std::min(bins - 1, i + 1)]) / 8;
      total += smooth[i];
    }
    if (!(total > 0) || !std::isfinite(total)) return;
    double sum = 0;
    for (double& w : smooth) {
      const double share = std::fmax(w / total, 1e-30);
      w = share >= 1 ? 1
                     : std::pow((share - 1) / std::log(share), 0.75) +
                           1e-3 / bins;  // slower than the shares ask: they are noisy
      sum += w;
    }
    double next[bins + 1] = {0}, in_hand = 0;
    int from = 0;
    for (int i = 1; i < bins; ++i) {
      while (in_hand < sum / bins * i && from < bins) in_hand += smooth[from++];
      const double over = (in_hand - sum / bins * i) / smooth[from - 1];
      next[i] = edge_[from] - over * (edge_[from] - edge_[from - 1]);
    }
    next[bins] = 1;
    spread(next, even);
  }

 private:
  void spread(const double* edge, double even) {
    const auto share = [&](int i) {
      return (1 - even) * i / bins + even * edge[i];
    };  // of the points below it
    for (int i = 1, piece = 0; i < bins; ++i) {
      const double wanted = static_cast<double>(i) / bins;
      while (piece + 1 < bins && share(piece + 1) < wanted) ++piece;
      const double within = (wanted - share(piece)) / (share(piece + 1) - share(piece));
      edge_[i] = edge[piece] + within * (edge[piece + 1] - edge[piece]);
    }
  }

  double edge_[bins + 1];
};

struct Sums {
  double value = 0, magnitude = 0, largest = 0;  // the largest size of one term
};

// The terms so large that one of a chunk at most is, largest first; they tell how sizes thin out.
constexpr std::size_t most_kept = 64;

// Of the sum, what terms larger than those that were met would have brought. Where sizes beyond t are as
// frequent as t^-a (Hill's estimate of a from the largest ones), the scatter has no limit from a = 2 down and
// tells little, and the mean beyond the largest is a/(a - 1) of it.
double beyond_largest(const std::vector<double>& largest) {
  constexpr std::size_t fewest = 16;
  constexpr double has_scatter = 2, has_mean = 0.85, nearly = 0.05, twice = 2;
  const std::size_t count = largest.empty() ? 0 : largest.size() - 1;
  if (count < fewest || !(largest[count] > 0)) return 0;
  double logarithms = 0;
  for (std::size_t i = 0; i < count; ++i) logarithms += std::log(largest[i] / largest[count]);
  const double a = static_cast<double>(count) / logarithms;
  if (!(a < has_scatter)) return 0;
  if (a < has_mean) return infinity;
  const double usual_largest = largest[count] * std::pow(static_cast<double>(count), 1 / a);
  return twice * std::fmax(largest[0], usual_largest) * a / std::fmax(a - 1, nearly);
}

}  // namespace

class QuasiRandom::Sampling {
 public:
  Sampling(Cube& cube, const Tolerance& tolerance, int threads, std::uint64_t seed)
      : cube_(cube),
        tolerance_(tolerance),
        threads_(threads),
        seed_(seed),
        grids_(static_cast<std::size_t>(cube.dimensions())) {}

  Answer advance(std::int64_t evaluations);

 private:
  // Points first … first + count of one repetition; squares along the axes, in units of the largest, go to
  // `weights`, if given.
  Sums sample(std::uint64_t seed, std::uint32_t first, std::uint32_t count, double* weights) const;
  void learn();
  bool extend(std::uint32_t to);
  Answer answer() const;

  Cube& cube_;
  Tolerance tolerance_;
  int threads_;
  std::uint64_t seed_;
  std::vector<Grid> grids_;
  std::int64_t until_ = 0;                         // evaluations of the cube, in this call
  std::uint32_t points_ = 0;                       // of each repetition
  double pace_ = 0;                                // seconds for a point
  double scatter_ = infinity, before_ = infinity;  // of the repetitions; with half as many points
  bool learnt_ = false;
  Sums sums_[repetitions];
  std::vector<double> largest_;
  Reason reason_ = Reason::converged;
};

Sums QuasiRandom::Sampling::sample(std::uint64_t seed, std::uint32_t first, std::uint32_t count,
                                   double* weights) const {
  const std::size_t d = grids_.size();
  thread_local std::vector<double> u, y, slope;
  thread_local std::vector<int> bin;
  u.resize(d * count);
  bin.resize(d * count);
  y.resize(count);
  slope.assign(count, 1);
  for (std::size_t axis = 0; axis < d; ++axis) {
    double* const at = &u[axis * count];
    sobol(first, count, static_cast<int>(axis), seed, at);
    for (std::uint32_t i = 0; i < count; ++i) {
      double s = 0;
      bin[axis * count + i] = grids_[axis].bin(at[i]);
      at[i] = grids_[axis].map(at[i], s);
      slope[i] *= s;
    }
  }
  cube_.values(u, count, y);
  Sums out;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double term = y[i] *= slope[i];
    out.value += term;
    out.magnitude += std::fabs(term);
    out.largest = std::fmax(out.largest, std::fabs(term));
  }
  if (weights == nullptr || !(out.largest > 0)) return out;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double share = y[i] / out.largest;  // so that no square vanishes
    for (std::size_t axis = 0; axis < d; ++axis)
      weights[axis * bins + static_cast<std::size_t>(bin[axis * count + i])] += share * share;
  }
  return out;
}

// The grids learn from points that are thrown away.
void QuasiRandom::Sampling::learn() {
  constexpr int rounds = 10;
  constexpr std::size_t parts = 32;
  const std::size_t size = grids_.size() * bins;
  for (int round = 0; round < rounds; ++round) {
    // Most is left for the sum itself.
    const double left = cube_.seconds_left();
    const auto points = static_cast<std::int64_t>(parts * chunk);
    if (8 * points > until_ - cube_.evaluations() || 4 * static_cast<double>(points) * pace_ > left) return;
    std::vector<double> weights(parts * size, 0), largest(parts);
    share_parts(threads_, parts, [&](std::size_t k) {
      largest[k] = sample(seed_ * 1000 + 500 + static_cast<std::uint64_t>(round),
                          static_cast<std::uint32_t>(k) * chunk, chunk, &weights[k * size])
                       .largest;
    });
    const double all = *std::max_element(largest.begin(), largest.end());
    if (!(all > 0)) return;
    cube_.count(points);
    pace_ = (left - cube_.seconds_left()) / static_cast<double>(points);
    for (std::size_t axis = 0; axis < grids_.size(); ++axis) {
      double along[bins] = {};
      for (std::size_t k = 0; k < parts; ++k)
        for (int i = 0; i < bins; ++i)
          along[i] += weights[k * size + axis * bins + static_cast<std::size_t>(i)] * (largest[k] / all) *
                      (largest[k] / all);
      grids_[axis].refine(along, std::fmin(0.1, 0.5 / static_cast<double>(grids_.size())));
    }
  }
}

// More points of each repetition; every chunk's sum has its place, whoever computed it.
bool QuasiRandom::Sampling::extend(std::uint32_t to) {
  const std::uint32_t each = std::min(chunk, to - points_);
  const std::size_t chunks = (to - points_) / each;
  const auto more = static_cast<std::int64_t>(repetitions * chunks * each);
  const double left = cube_.seconds_left();
  const bool in_time = left > 0 && static_cast<double>(more) * pace_ <= left;
  if (!in_time || cube_.evaluations() + more > until_) {  // what takes too long is not begun
    reason_ = in_time ? Reason::evaluations : Reason::time;
    return false;
  }
  std::vector<Sums> parts(repetitions * chunks);
  share_parts(threads_, parts.size(), [&](std::size_t k) {
    const std::size_t repetition = k / chunks, at = k % chunks;
    parts[k] =
        sample(seed_ * 1000 + repetition, points_ + static_cast<std::uint32_t>(at) * each, each, nullptr);
  });
  for (std::size_t k = 0; k < parts.size(); ++k) {
    sums_[k / chunks].value += parts[k].value;
    sums_[k / chunks].magnitude += parts[k].magnitude;
    largest_.push_back(parts[k].largest);
  }
  std::sort(largest_.begin(), largest_.end(), std::greater<>());
  if (largest_.size() > most_kept) largest_.resize(most_kept);
  points_ = to;
  double mean = 0, squares = 0;
  for (const Sums& sum : sums_) mean += sum.value / points_ / repetitions;
  for (const Sums& sum : sums_) squares += (sum.value / points_ - mean) * (sum.value / points_ - mean);
  before_ = std::exchange(scatter_, student * std::sqrt(squares / (repetitions - 1) / repetitions));
  cube_.count(more);
  pace_ = (left - cube_.seconds_left()) / static_cast<double>(more);
  return true;
}

Answer QuasiRandom::Sampling::answer() const {
  Answer out;
  out.rule = "quasi-random";
  out.evaluations = cube_.evaluations();
  if (points_ == 0) return out;
  out.value = 0;
  for (const Sums& sum : sums_) {
    out.value += sum.value / points_ / repetitions;
    out.magnitude += sum.magnitude / points_ / repetitions;
  }
  // Of many looks at the scatter the first that is small enough would be the luckiest.
  out.truncation = std::fmax(scatter_, before_ / 2) +
                   beyond_largest(largest_) / (static_cast<double>(points_) * repetitions);
  out.rounding = 16 * unit * out.magnitude;
  return out;
}

Answer QuasiRandom::Sampling::advance(std::int64_t evaluations) {
  constexpr std::uint32_t most = 1u << 28, least = 16;
  until_ = std::min(cube_.evaluations() + evaluations, cube_.limits().evaluations);
  reason_ = Reason::converged;
  if (!std::exchange(learnt_, true)) learn();
  std::uint32_t next = points_ > 0 ? 2 * points_ : 2 * chunk;
  if (points_ == 0)  // so few are allowed
    while (next > least && 2 * repetitions * std::int64_t{next} > until_ - cube_.evaluations()) next /= 2;
  for (; next <= most && !cube_.undefined(); next *= 2) {
    if (!extend(next)) break;
    Answer out = answer();
    if (cube_.undefined()) break;
    if (out.error() <= tolerance_.of(out.value)) {
      out.reason = Reason::converged;
      return out;
    }
  }
  Answer out = answer();
  out.reason = reason_ == Reason::converged ? Reason::unresolved : reason_;
  cube_.judge(out);
  return out;
}

QuasiRandom::QuasiRandom(Cube& cube, const Tolerance& tolerance, int threads, std::uint64_t seed) {
  if (cube.dimensions() > most_sobol_dimensions)
    throw Error("quasi-random integration takes up to 21 variables");
  sampling_ = std::make_unique<Sampling>(cube, tolerance, threads, seed);
}
QuasiRandom::~QuasiRandom() = default;

Answer QuasiRandom::advance(std::int64_t evaluations) { return sampling_->advance(evaluations); }

Answer quasi_random(Cube& cube, const Tolerance& tolerance, int threads, std::uint64_t seed) {
  return QuasiRandom(cube, tolerance, threads, seed).advance(cube.evaluations_left());
}

}  // namespace tessera::quadrature
