// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/double_exponential.hpp"
#include <array>
#include <atomic>
#include <cfloat>
#include <mutex>
#include <numbers>
#include "ops/integrate/quadrature/kronrod_nodes.hpp"

namespace tessera::quadrature {
namespace {

constexpr double pi = std::numbers::pi;
constexpr int shapes = 3;

double reach_of(Shape shape) { return shape == Shape::between ? 6.0 : 6.5; }

// A table for each key, made when it is first needed, by whichever thread needs it.
template <class T, int keys>
class Kept {
 public:
  template <class Make>
  const T& get(int key, const Make& make) {
    Entry& entry = all_[static_cast<std::size_t>(key)];
    if (entry.made.load(std::memory_order_acquire)) return entry.value;
    const std::lock_guard lock(making_);
    if (!entry.made.load(std::memory_order_relaxed)) {
      entry.value = make();
      entry.made.store(true, std::memory_order_release);
    }
    return entry.value;
  }

 private:
  struct Entry {
    std::atomic<bool> made = false;
    T value{};
  };
  std::array<Entry, keys> all_;
  std::mutex making_;
};

}  // namespace

Node double_exponential_node(Shape shape, double t) {
  const double e = std::exp(std::fabs(t)), du = pi / 4 * (e + 1 / e);
  const double u = (std::fabs(t) < 0.5 ? pi / 2 * std::sinh(std::fabs(t)) : pi / 4 * (e - 1 / e));
  switch (shape) {
    case Shape::between: {
      const double q = std::exp(-2 * u);
      return {q / (1 + q), 2 * du * q / ((1 + q) * (1 + q))};
    }
    case Shape::half: {
      const double d = std::exp(t < 0 ? -u : u);
      return {d, du * d};
    }
    case Shape::everywhere: {
      const double q = std::exp(u);
      return {u < 0.5 ? std::sinh(u) : (q - 1 / q) / 2, du * (q + 1 / q) / 2};
    }
  }
  return {};
}

DoubleExponential::DoubleExponential(const Part& part) : range_(part.range()) {
  const bool below = std::isinf(range_.lower), above = std::isinf(range_.upper);
  shape_ = below && above ? Shape::everywhere : below || above ? Shape::half : Shape::between;
  if (shape_ == Shape::between) length_ = range_.upper - range_.lower;
  end_of_side_[0] = shape_ == Shape::half && below ? 1 : 0;
  end_of_side_[1] = 1 - end_of_side_[0];
  // exp(π/2·sinh t) is the largest number of f32 a little further out than that.
  constexpr double last_single = 4.5;
  for (const int side : {0, 1}) {
    const double at = end(side);
    reach_[side] = reach_of(shape_);
    if (std::isinf(at) && range_.single()) reach_[side] = last_single;
    blind_[side] =
        std::isinf(at) || part.f().knows[end_of_side_[side]] ? 0 : 2 * range_.rounding * std::fabs(at);
    const double inwards = end_of_side_[side] == 0 ? infinity : -infinity;
    nearest_[side] =
        range_.single()
            ? static_cast<double>(std::nextafter(static_cast<float>(at), static_cast<float>(inwards)))
            : std::nextafter(at, inwards);
  }
}

const char* DoubleExponential::name() const {
  return shape_ == Shape::between ? "tanh-sinh" : shape_ == Shape::half ? "exp-sinh" : "sinh-sinh";
}

double DoubleExponential::end(int side) const {
  return end_of_side_[side] == 0 ? range_.lower : range_.upper;
}

void DoubleExponential::place(int side, std::span<const double> unit_distance, std::span<double> x,
                              std::span<double> distance) const {
  const std::size_t count = x.size();
  if (shape_ == Shape::everywhere) {
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = side == 0 ? -unit_distance[i] : unit_distance[i];
      distance[i] = 0;
    }
    return;
  }
  const int from = shape_ == Shape::half ? 0 : side;  // the side that distances are measured from
  const double at = end(from), length = end_of_side_[from] == 0 ? length_ : -length_;
  for (std::size_t i = 0; i < count; ++i) {
    distance[i] = length * unit_distance[i];
    x[i] = at + distance[i];
  }
  if (blind_[from] == 0) return;
  // Never the end itself, where f may have no value.
  if (end_of_side_[from] == 0)
    for (std::size_t i = 0; i < count; ++i) x[i] = std::fmax(x[i], nearest_[from]);
  else
    for (std::size_t i = 0; i < count; ++i) x[i] = std::fmin(x[i], nearest_[from]);
}

const Nodes& level_nodes(Shape shape, int side, int level) {
  static Kept<Nodes, shapes * 2 * (deepest_level + 1)> all;
  return all.get((static_cast<int>(shape) * 2 + side) * (deepest_level + 1) + level, [&] {
    Nodes out;
    const double step = level == 0 ? first_step : std::ldexp(2 * first_step, -level);
    const double first = level == 0 ? first_step : step / 2, sign = side == 0 ? -1 : 1;
    for (int j = 0; first + j * step <= reach_of(shape); ++j) {
      const Node node = double_exponential_node(shape, sign * (first + j * step));
      out.distance.push_back(node.distance);
      out.weight.push_back(node.weight);
    }
    return out;
  });
}

const CellNodes& cell_nodes(Shape shape, int k) {
  constexpr int cells = 13;  // on each side
  static Kept<CellNodes, shapes * 2 * cells> all;
  return all.get(static_cast<int>(shape) * 2 * cells + k + cells, [&] {
    CellNodes out;
    for (int i = 0; i < 21; ++i) {
      const auto j = static_cast<std::size_t>(i < 11 ? i : 20 - i);
      const double offset = i < 11 ? -kronrod21.x[j] : kronrod21.x[j];
      const Node node = double_exponential_node(shape, first_cell * (k + (1 + offset) / 2));
      out.distance[i] = node.distance;
      out.weight[i] = node.weight;
    }
    return out;
  });
}

}  // namespace tessera::quadrature
