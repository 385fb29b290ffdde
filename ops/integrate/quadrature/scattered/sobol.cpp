// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/scattered/sobol.hpp"
#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include "ops/integrate/quadrature/scattered/vegas_point.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::quadrature {
namespace {

// A primitive polynomial over GF(2), its inner coefficients as bits, and the first odd direction numbers.
struct DirectionNumbers {
  int degree;
  std::uint32_t inner;
  std::uint32_t first[7];
};

// Joe and Kuo's choice for good projections onto two axes.
constexpr DirectionNumbers starts[max_sobol_dimensions - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
};

using Directions = std::array<std::uint32_t, 32>;

constexpr Directions directions_of(int axis) {
  Directions out{};
  if (axis == 0) {
    for (int b = 0; b < 32; ++b) out[static_cast<std::size_t>(b)] = 1u << (31 - b);
    return out;
  }
  const DirectionNumbers& start = starts[axis - 1];
  for (int b = 0; b < 32; ++b) {
    const auto at = static_cast<std::size_t>(b);
    if (b < start.degree) {
      out[at] = start.first[b] << (31 - b);
      continue;
    }
    const auto back = static_cast<std::size_t>(b - start.degree);
    out[at] = out[back] ^ (out[back] >> start.degree);
    for (int k = 1; k < start.degree; ++k)
      if ((start.inner >> (start.degree - 1 - k) & 1) != 0) out[at] ^= out[static_cast<std::size_t>(b - k)];
  }
  return out;
}

constexpr auto all_directions() {
  std::array<Directions, max_sobol_dimensions> out{};
  for (int axis = 0; axis < max_sobol_dimensions; ++axis)
    out[static_cast<std::size_t>(axis)] = directions_of(axis);
  return out;
}

constexpr auto directions = all_directions();

std::uint32_t reversed(std::uint32_t x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}

std::uint32_t hashed(std::uint64_t seed, std::uint32_t axis) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + (axis + 1) * 0xd1b54a32d192ed03u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>(z >> 32 ^ z);
}

// Nested (Owen) scrambling: each bit is flipped or not depending on the bits above it, by a hash whose bits
// depend on lower bits alone, applied to the reversed bits.
std::uint32_t scrambled(std::uint32_t x, std::uint32_t seed) {
  x = reversed(x);
  x ^= x * 0x3d20adeau;
  x += seed;
  x *= (seed >> 16) | 1;
  x ^= x * 0x05526c56u;
  x ^= x * 0x53a22864u;
  return reversed(x);
}

}  // namespace

// From one index to the next, all bits up to the lowest 0 bit flip.
void sobol(std::uint32_t first, std::size_t count, int axis, std::uint64_t seed, double* out) {
  const Directions& v = directions[static_cast<std::size_t>(axis)];
  const std::uint32_t scramble = hashed(seed, static_cast<std::uint32_t>(axis));
  std::uint32_t bits = 0, up_to[32];
  for (std::size_t b = 0; b < 32; ++b) {
    if ((first >> b & 1) != 0) bits ^= v[b];
    up_to[b] = b == 0 ? v[0] : up_to[b - 1] ^ v[b];
  }
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = (scrambled(bits, scramble) + 0.5) * 0x1p-32;
    if (++first != 0) bits ^= up_to[__builtin_ctz(first)];
  }
}

double sobol(std::uint32_t index, int axis, std::uint64_t seed) {
  double out = 0;
  sobol(index, 1, axis, seed, &out);
  return out;
}

namespace {

constexpr int repetitions = 16;
constexpr std::uint32_t chunk = 512;  // points that one thread does at a time
constexpr double student = 4.1;       // Student's t for 16 repetitions: one in a thousand is further off
constexpr std::size_t bins = vegas_bins;

// The number of largest terms to keep, one of a chunk at most; they show how the frequency of sizes falls.
constexpr std::size_t max_kept = 64;

// Returns the contribution of terms larger than any seen. If sizes beyond t have the frequency t^-a (Hill's
// estimate of a from the largest ones), the variance is infinite for a ≤ 2, where the scatter says little;
// the mean of the terms beyond the largest is a/(a - 1) times the largest.
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
  Sampling(UnitCube& cube, const Tolerance& tolerance, int threads, std::uint64_t seed)
      : cube_(cube),
        tolerance_(tolerance),
        threads_(threads),
        seed_(seed),
        edges_(even_edges(cube.dimensions())) {}

  Answer advance(std::int64_t evaluations);

 private:
  struct Sums {
    double value = 0, magnitude = 0, largest = 0;  // the largest size of one term
  };

  // Samples points first … first + count of one repetition; adds squares along the axes, in units of the
  // largest, to `weights`, if given.
  Sums sample(std::uint64_t seed, std::uint32_t first, std::uint32_t count, double* weights) const;
  void learn();
  bool extend(std::uint32_t to);
  Answer answer() const;

  UnitCube& cube_;
  Tolerance tolerance_;
  int threads_;
  std::uint64_t seed_;
  std::vector<double> edges_;                      // edges of each axis' bins
  std::int64_t until_ = 0;                         // the cube's evaluations that end this call
  std::uint32_t points_ = 0;                       // per repetition
  double pace_ = 0;                                // seconds per point
  double scatter_ = infinity, before_ = infinity;  // scatter of the sums; before_: with half as many points
  bool learnt_ = false;
  Sums sums_[repetitions];
  std::vector<double> largest_;
  Reason reason_ = Reason::converged;
};

QuasiRandom::Sampling::Sums QuasiRandom::Sampling::sample(std::uint64_t seed, std::uint32_t first,
                                                          std::uint32_t count, double* weights) const {
  const auto d = static_cast<std::size_t>(cube_.dimensions());
  thread_local std::vector<double> u, y, slope;
  thread_local std::vector<int> bin;
  u.resize(d * count);
  bin.resize(d * count);
  y.resize(count);
  slope.assign(count, 1);
  for (std::size_t axis = 0; axis < d; ++axis) {
    double* const at = &u[axis * count];
    sobol(first, count, static_cast<int>(axis), seed, at);
    for (std::uint32_t i = 0; i < count; ++i)
      at[i] = vegas_stretch(&edges_[axis * (bins + 1)], at[i], &slope[i], &bin[axis * count + i]);
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
    const double share = y[i] / out.largest;  // keeps squares from underflow
    for (std::size_t axis = 0; axis < d; ++axis)
      weights[axis * bins + static_cast<std::size_t>(bin[axis * count + i])] += share * share;
  }
  return out;
}

// Refines the grids with points that are then discarded.
void QuasiRandom::Sampling::learn() {
  constexpr int rounds = 10;
  constexpr std::size_t parts = 32;
  const std::size_t size = static_cast<std::size_t>(cube_.dimensions()) * bins;
  for (int round = 0; round < rounds; ++round) {
    // Keeps most evaluations for the sum itself.
    const double left = cube_.seconds_left();
    const auto points = static_cast<std::int64_t>(parts * chunk);
    if (8 * points > until_ - cube_.evaluations() || 4 * static_cast<double>(points) * pace_ > left) return;
    std::vector<double> weights(parts * size, 0), largest(parts);
    const bool done = cube_.within_caps([&] {
      share_parts(threads_, parts, [&](std::size_t k) {
        largest[k] = sample(seed_ * 1000 + 500 + static_cast<std::uint64_t>(round),
                            static_cast<std::uint32_t>(k) * chunk, chunk, &weights[k * size])
                         .largest;
      });
    });
    if (!done) return;
    const double all = *std::max_element(largest.begin(), largest.end());
    if (!(all > 0)) return;
    pace_ = (left - cube_.seconds_left()) / static_cast<double>(points);
    std::vector<double> along(size, 0);
    for (std::size_t k = 0; k < parts; ++k)
      for (std::size_t i = 0; i < size; ++i)
        along[i] += weights[k * size + i] * (largest[k] / all) * (largest[k] / all);
    const double most = *std::max_element(along.begin(), along.end());
    std::vector<std::uint64_t> whole(size);
    for (std::size_t i = 0; i < size; ++i) whole[i] = static_cast<std::uint64_t>(along[i] / most * 0x1p40);
    refine(edges_, whole);
  }
}

// Adds points to each repetition. The order of the chunks' sums is fixed, whichever threads compute them.
bool QuasiRandom::Sampling::extend(std::uint32_t to) {
  const std::uint32_t each = std::min(chunk, to - points_);
  const std::size_t chunks = (to - points_) / each;
  const auto more = static_cast<std::int64_t>(repetitions * chunks * each);
  const double left = cube_.seconds_left();
  const bool in_time = left > 0 && static_cast<double>(more) * pace_ <= left;
  if (!in_time || cube_.evaluations() + more > until_) {  // a step that takes too long is not started
    reason_ = in_time ? Reason::evaluations : Reason::time;
    return false;
  }
  std::vector<Sums> parts(repetitions * chunks);
  const bool done = cube_.within_caps([&] {
    share_parts(threads_, parts.size(), [&](std::size_t k) {
      const std::size_t repetition = k / chunks, at = k % chunks;
      parts[k] =
          sample(seed_ * 1000 + repetition, points_ + static_cast<std::uint32_t>(at) * each, each, nullptr);
    });
  });
  if (!done) {
    reason_ = cube_.cap();
    return false;
  }
  for (std::size_t k = 0; k < parts.size(); ++k) {
    sums_[k / chunks].value += parts[k].value;
    sums_[k / chunks].magnitude += parts[k].magnitude;
    largest_.push_back(parts[k].largest);
  }
  std::sort(largest_.begin(), largest_.end(), std::greater<>());
  if (largest_.size() > max_kept) largest_.resize(max_kept);
  points_ = to;
  double mean = 0, squares = 0;
  for (const Sums& sum : sums_) mean += sum.value / points_ / repetitions;
  for (const Sums& sum : sums_) squares += (sum.value / points_ - mean) * (sum.value / points_ - mean);
  before_ = std::exchange(scatter_, student * std::sqrt(squares / (repetitions - 1) / repetitions));
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
  // Stopping at the first small scatter favours chance, so the previous one counts, too.
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
  if (points_ == 0)  // fewer points are allowed
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

QuasiRandom::QuasiRandom(UnitCube& cube, const Tolerance& tolerance, int threads, std::uint64_t seed) {
  if (cube.dimensions() > max_sobol_dimensions)
    throw Error("quasi-random integration takes up to 21 variables");
  sampling_ = std::make_unique<Sampling>(cube, tolerance, threads, seed);
}
QuasiRandom::~QuasiRandom() = default;

Answer QuasiRandom::advance(std::int64_t evaluations) { return sampling_->advance(evaluations); }

}  // namespace tessera::quadrature
