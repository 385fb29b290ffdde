// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/genz_malik.hpp"
#include <algorithm>
#include <thread>
#include "tessera/core/error.hpp"
#include "tessera/core/parallel.hpp"

namespace tessera::quadrature {
namespace {

const double near_offset = std::sqrt(9.0 / 70), far_offset = std::sqrt(9.0 / 10),
             corner_offset = std::sqrt(9.0 / 19);

}  // namespace

// Order: the centre; ±near and ±far on each axis; ±far on each pair of axes; the corners.
GenzMalik::GenzMalik(int dimensions) : dimensions_(dimensions) {
  if (dimensions < 2 || dimensions > most_cubature_dimensions)
    throw Error("Genz and Malik's rule takes 2 to 12 variables");
  const auto d = static_cast<std::size_t>(dimensions);
  const double n = dimensions;
  weight_[0] = (12824 - 9120 * n + 400 * n * n) / 19683;
  weight_[1] = 980.0 / 6561;
  weight_[2] = (1820 - 400 * n) / 19683;
  weight_[3] = 200.0 / 19683;
  weight_[4] = 6859.0 / 19683 / std::exp2(n);
  embedded_[0] = (729 - 950 * n + 50 * n * n) / 729;
  embedded_[1] = 245.0 / 486;
  embedded_[2] = (265 - 100 * n) / 1458;
  embedded_[3] = 25.0 / 729;
  std::vector<double> point(d, 0);
  const auto add = [&] { offsets_.insert(offsets_.end(), point.begin(), point.end()); };
  add();
  for (std::size_t i = 0; i < d; ++i) {
    for (const double offset : {-near_offset, near_offset, -far_offset, far_offset}) {
      point[i] = offset;
      add();
    }
    point[i] = 0;
  }
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = i + 1; j < d; ++j) {
      for (const double first : {-far_offset, far_offset})
        for (const double second : {-far_offset, far_offset}) {
          point[i] = first;
          point[j] = second;
          add();
        }
      point[i] = point[j] = 0;
    }
  for (std::size_t corner = 0; corner < std::size_t{1} << d; ++corner) {
    for (std::size_t i = 0; i < d; ++i) point[i] = (corner >> i & 1) != 0 ? corner_offset : -corner_offset;
    add();
  }
}

void GenzMalik::place(const Region& region, std::span<double> u, std::size_t count, std::size_t first) const {
  const auto d = static_cast<std::size_t>(dimensions_);
  for (std::size_t p = 0; p < points(); ++p)
    for (std::size_t axis = 0; axis < d; ++axis)
      u[axis * count + first + p] = region.centre[axis] + region.half[axis] * offsets_[p * d + axis];
}

void GenzMalik::conclude(std::span<const double> y, Region& region) const {
  const auto d = static_cast<std::size_t>(dimensions_);
  constexpr double ratio = (9.0 / 70) / (9.0 / 10);
  double sums[5] = {y[0], 0, 0, 0, 0}, sizes[5] = {std::fabs(y[0]), 0, 0, 0, 0}, bend = -1, volume = 1;
  for (std::size_t axis = 0; axis < d; ++axis) {
    const double* at = &y[1 + 4 * axis];
    const double near = at[0] + at[1], far = at[2] + at[3];
    sums[1] += near;
    sums[2] += far;
    sizes[1] += std::fabs(at[0]) + std::fabs(at[1]);
    sizes[2] += std::fabs(at[2]) + std::fabs(at[3]);
    const double fourth = std::fabs(near - 2 * y[0] - ratio * (far - 2 * y[0]));
    // Where no axis bends, the widest is split.
    const double measure = fourth + 1e-14 * std::fabs(y[0]) * region.half[axis];
    volume *= 2 * region.half[axis];
    if (measure > bend || (measure == bend && region.half[axis] > region.half[region.axis])) {
      bend = measure;
      region.axis = static_cast<int>(axis);
    }
  }
  const std::size_t pairs = 1 + 4 * d, corners = pairs + 2 * d * (d - 1);
  for (std::size_t p = pairs; p < corners; ++p) {
    sums[3] += y[p];
    sizes[3] += std::fabs(y[p]);
  }
  for (std::size_t p = corners; p < y.size(); ++p) {
    sums[4] += y[p];
    sizes[4] += std::fabs(y[p]);
  }
  double seven = 0, five = 0, size = 0, weighed = 0;
  for (int k = 0; k < 5; ++k) {
    seven += weight_[k] * sums[k];
    size += weight_[k] * sizes[k];
    weighed += std::fabs(weight_[k]) * sizes[k];
  }
  for (int k = 0; k < 4; ++k) five += embedded_[k] * sums[k];
  region.value = volume * seven;
  region.error = volume * std::fabs(seven - five);
  region.magnitude = volume * size;
  region.weighed = volume * weighed;
}

namespace {

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
  void start();
  void measure(std::span<Region> regions);
  bool split_worst();
  void add_up();

  Cube& cube_;
  Tolerance tolerance_;
  GenzMalik rule_;
  double first_cut_;
  int threads_;
  std::vector<Region> regions_;
  double value_ = 0, error_ = 0, magnitude_ = 0, weighed_ = 0;
  Reason reason_ = Reason::converged;
};

void Cubature::measure(std::span<Region> regions) {
  const auto chunk = std::max<std::size_t>(1, 2048 / rule_.points());
  const std::size_t chunks = (regions.size() + chunk - 1) / chunk;
  std::atomic<std::size_t> next{0};
  const auto work = [&](int) {
    std::vector<double> u, y;
    for (std::size_t k = next++; k < chunks; k = next++) {
      const std::span<Region> mine = regions.subspan(k * chunk, std::min(chunk, regions.size() - k * chunk));
      const std::size_t count = mine.size() * rule_.points();
      u.resize(count * static_cast<std::size_t>(rule_.dimensions()));
      y.resize(count);
      for (std::size_t i = 0; i < mine.size(); ++i) rule_.place(mine[i], u, count, i * rule_.points());
      cube_.values(u, count, y);
      for (std::size_t i = 0; i < mine.size(); ++i)
        rule_.conclude(std::span(y).subspan(i * rule_.points(), rule_.points()), mine[i]);
    }
  };
  parallel(static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads_), chunks)), work);
  cube_.count(static_cast<std::int64_t>(regions.size() * rule_.points()));
}

// Halves of every axis while that gives few regions: one alone is too easily mistaken.
void Cubature::start() {
  const int d = cube_.dimensions(), cut = std::min(d, 6);
  for (int k = 0; k < 1 << cut; ++k) {
    Region region{};
    for (int axis = 0; axis < d; ++axis) {
      const bool upper = (k >> axis & 1) != 0;
      const double from = axis < cut && upper ? first_cut_ : 0, to = axis < cut && !upper ? first_cut_ : 1;
      region.half[axis] = (to - from) / 2;
      region.centre[axis] = (to + from) / 2;
    }
    regions_.push_back(region);
  }
  measure(regions_);
  add_up();
}

void Cubature::add_up() {
  value_ = error_ = magnitude_ = weighed_ = 0;
  for (const Region& region : regions_) {
    value_ += region.value;
    error_ += region.error;
    magnitude_ += region.magnitude;
    weighed_ += region.weighed;
  }
}

bool Cubature::split_worst() {
  const auto points = static_cast<std::int64_t>(rule_.points());
  std::int64_t room = std::min((cube_.limits().evaluations - cube_.evaluations()) / (2 * points),
                               cube_.limits().regions - static_cast<std::int64_t>(regions_.size()));
  const bool out_of_memory = room < 1 && cube_.limits().regions <= static_cast<std::int64_t>(regions_.size());
  if (room < 1 || !cube_.allows(2 * points)) {
    reason_ = out_of_memory ? Reason::memory : cube_.cap();
    return false;
  }
  // The largest errors, as many as hold most of the whole.
  room = std::min(room, std::max<std::int64_t>(1, static_cast<std::int64_t>(regions_.size()) / 4));
  const auto worst = static_cast<std::size_t>(room);
  const auto larger = [](const Region& a, const Region& b) { return a.error > b.error; };
  std::partial_sort(regions_.begin(), regions_.begin() + room, regions_.end(), larger);
  if (regions_.front().error <= 50 * unit * weighed_) {
    reason_ = Reason::roundoff;
    return false;
  }
  std::vector<Region> parents(regions_.begin(), regions_.begin() + room), halves;
  for (const Region& parent : parents)
    for (const double side : {-1.0, 1.0}) {
      Region child = parent;
      child.half[parent.axis] /= 2;
      child.centre[parent.axis] += side * child.half[parent.axis];
      halves.push_back(child);
    }
  measure(halves);
  for (std::size_t i = 0; i < worst; ++i) {
    // A value that moved further than its error claimed: the halves are not believed either.
    const double moved = std::fabs(parents[i].value - halves[2 * i].value - halves[2 * i + 1].value);
    for (std::size_t k = 2 * i; k < 2 * i + 2; ++k)
      if (moved > halves[2 * i].error + halves[2 * i + 1].error)
        halves[k].error = std::fmax(halves[k].error, moved / 4);
    regions_[i] = halves[2 * i];
    regions_.push_back(halves[2 * i + 1]);
  }
  add_up();
  return true;
}

Answer Cubature::run() {
  Answer out;
  out.rule = "genz-malik";
  const auto first = static_cast<std::int64_t>(rule_.points() << std::min(cube_.dimensions(), 6));
  if (!cube_.allows(first)) {
    out.reason = cube_.cap();
    return out;
  }
  start();
  while (!(error_ <= tolerance_.of(value_)) && split_worst()) {
  }
  out.value = value_;
  out.truncation = error_;
  out.magnitude = magnitude_;
  out.rounding = 8 * unit * weighed_;
  out.evaluations = cube_.evaluations();
  out.reason = reason_;
  if (reason_ == Reason::converged && !(out.error() <= tolerance_.of(value_))) out.reason = Reason::roundoff;
  return out;
}

}  // namespace

Answer genz_malik(Cube& cube, const Tolerance& tolerance, int threads, double first_cut) {
  return Cubature(cube, tolerance, threads, first_cut).run();
}

}  // namespace tessera::quadrature
