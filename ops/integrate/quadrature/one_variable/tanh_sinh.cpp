// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/one_variable/tanh_sinh.hpp"
#include <algorithm>
#include <array>
#include <atomic>
#include <cfloat>
#include <mutex>
#include <numbers>
#include "ops/integrate/quadrature/one_variable/kronrod_nodes.hpp"
#include "ops/integrate/quadrature/norm.hpp"

namespace tessera::quadrature {
namespace {

constexpr double pi = std::numbers::pi;
constexpr int shapes = 3;

double reach_of(Shape shape) { return shape == Shape::between ? 6.0 : 6.5; }

// Holds one table for each key, made at its first use.
template <class T, int keys>
class PerKeyTable {
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
  // exp(π/2·sinh t) exceeds f32 a little further out than that.
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
  // Avoids the end itself, where f may have no value.
  if (end_of_side_[from] == 0)
    for (std::size_t i = 0; i < count; ++i) x[i] = std::fmax(x[i], nearest_[from]);
  else
    for (std::size_t i = 0; i < count; ++i) x[i] = std::fmin(x[i], nearest_[from]);
}

const Nodes& level_nodes(Shape shape, int side, int level) {
  static PerKeyTable<Nodes, shapes * 2 * (deepest_level + 1)> all;
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
  static PerKeyTable<CellNodes, shapes * 2 * cells> all;
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

namespace {

constexpr std::size_t chunk = 256;
constexpr double negligible = 1e-2 * unit;  // times the integral of |f|: a term that changes no sum
constexpr double resolved = 8;  // times the resolution of x: some digits of the distance are right

struct Sums {
  double value = 0, magnitude = 0;
};

// Adds in four independent sums, because a single chain of additions would be limited by latency.
Sums weigh(std::span<const double> weight, std::span<const double> y) {
  double s[4] = {0, 0, 0, 0}, a[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= y.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) {
      const double term = weight[i + lane] * y[i + lane];
      s[lane] += term;
      a[lane] += std::fabs(term);
    }
  for (; i < y.size(); ++i) {
    s[0] += weight[i] * y[i];
    a[0] += std::fabs(weight[i] * y[i]);
  }
  return {(s[0] + s[1]) + (s[2] + s[3]), (a[0] + a[1]) + (a[2] + a[3])};
}

// If g falls as exp(-∫m), m its logarithmic slope, the integral beyond a place is g/m; but if m itself falls
// as p/s, g falls as s^-p only, and the integral is g/m·p/(p-1). Returns the slope of a power with the same
// integral; 0: the integral may be arbitrarily large, because p is so near 1 that 1/(s·log(s)), which
// diverges, looks like it. `before` and `slope` are the slopes at two places that lie `apart`.
double lasting_slope(double before, double slope, double apart) {
  constexpr double least = 1.5;
  if (!(slope > 0)) return 0;
  if (!(before > slope * (1 + 1e-6))) return slope;
  const double p = apart / (1 / slope - 1 / before);
  return p >= least ? slope * (p - 1) / p : 0;
}

}  // namespace

// The points of both sides for the first step size, and the point between the sides.
struct TanhSinh::First {
  static constexpr std::size_t most = 64;
  double x[most], distance[most], weight[most], y[most], term[most];
  std::size_t from[2], size[2], middle, all;
};

double abscissa_error(double steps, double squares) {
  return squares_hold(squares) ? std::fmin(2 * steps, 6 * std::sqrt(squares)) : 2 * steps;
}

TanhSinh::TanhSinh(Sampler& sampler, const Part& part) : sampler_(sampler), part_(&part), variable_(part) {
  first_level();
}

void TanhSinh::give_up(Reason reason, double where) {
  if (trouble_ == Reason::non_finite) return;  // takes precedence over the trouble of the other side
  trouble_ = reason;
  where_ = where;
}

void TanhSinh::first_level() {
  First first;
  const double length = variable_.length();
  std::size_t count = 0;
  for (const int side : {0, 1}) {
    const Nodes& nodes = level_nodes(variable_.shape(), side, 0);
    const std::size_t from = first.from[side] = count,
                      size = first.size[side] =
                          std::min(nodes.distance.size(),
                                   static_cast<std::size_t>(variable_.reach(side) / first_step));
    variable_.place(side, {nodes.distance.data(), size}, {first.x + from, size},
                    {first.distance + from, size});
    for (std::size_t j = 0; j < size; ++j) first.weight[from + j] = nodes.weight[j] * length;
    count += size;
    if (side == 1) continue;
    const Node middle = double_exponential_node(variable_.shape(), 0);
    variable_.place(0, {&middle.distance, 1}, {first.x + count, 1}, {first.distance + count, 1});
    first.weight[count] = middle.weight * length;
    first.middle = count++;
  }
  first.all = count;
  if (!sampler_.values(part_->f(), {first.x, count}, {first.distance, count}, {first.y, count}))
    return give_up(sampler_.cap(), nan);
  points_ = static_cast<std::int64_t>(count);
  if (!std::isfinite(first.y[first.middle])) return give_up(Reason::non_finite, first.x[first.middle]);
  for (std::size_t i = 0; i < count; ++i) {
    first.term[i] = first.weight[i] * first.y[i];
    if (std::isfinite(first.term[i])) sum_abs_ += std::fabs(first.term[i]);
  }
  sum_ = first.term[first.middle];
  double coarse = sum_;  // with every second point
  for (const int side : {0, 1}) {
    settle(side, first, sum_abs_);
    const double* const term = first.term + first.from[side];
    for (std::size_t j = 0; j < first.size[side] && first_step * double(j + 1) <= reach_[side]; ++j)
      if (std::isfinite(term[j])) {
        sum_ += term[j];
        if (j % 2 == 1) coarse += term[j];
      }
  }
  change_ = std::fabs(step_ * sum_ - 2 * step_ * coarse);
}

// True if the terms that are not finite, from `numbers` on, may be left out; terms from `last` on are
// negligible. A NaN may come from an intermediate overflow. It may be left out after values that have
// vanished or, if the formula itself reports the overflow, where a power of the distance gives the omitted
// part; so may an infinite value. Points within rounding of the end are ignored.
bool TanhSinh::accounted(int side, const First& first, std::size_t last, std::size_t numbers) const {
  const Integrand& f = part_->f();
  const double end = variable_.end(side);
  const double unresolved =
      std::isinf(end) ? 0 : std::fmax(DBL_MIN, 2 * resolved * part_->range().rounding * std::fabs(end));
  const bool faded = numbers > last, extrapolated = !faded && last > 3 && variable_.blind(side) == 0;
  for (std::size_t i = first.from[side] + numbers; i < first.from[side] + first.size[side]; ++i) {
    if (std::isfinite(first.term[i]) || std::fabs(first.distance[i]) < unresolved) continue;
    const bool overflow =
        !std::isnan(first.y[i]) ||
        (f.defect ? f.defect(first.x[i], first.distance[i]) != Integrand::Defect::undefined : faded);
    if (!overflow || !(extrapolated || faded)) return false;
  }
  return true;
}

// True if the outermost values fall no faster than 1/x on an infinite range, however small they are.
bool TanhSinh::lasts(int side, const First& first) const {
  if (!std::isinf(variable_.end(side)) || first.size[side] < 2) return false;
  const std::size_t end = first.from[side] + first.size[side] - 1;
  const double y = first.y[end], before = first.y[end - 1],
               share = std::fabs(first.x[end] / first.x[end - 1]);
  const double least = part_->range().single() ? double{FLT_MIN} : DBL_MIN;
  return std::fabs(y) > least && std::signbit(y) == std::signbit(before) &&
         std::fabs(y) * share >= std::fabs(before) * (1 - 1e-12);
}

// Finds the reach of a side, beyond which terms are negligible, and the integral beyond it.
void TanhSinh::settle(int side, const First& first, double magnitude) {
  const double* const term = first.term + first.from[side];
  const std::size_t size = first.size[side];
  std::size_t last = size;  // one past the outermost term that counts
  while (last > 0 && !(std::isfinite(term[last - 1]) && std::fabs(term[last - 1]) > negligible * magnitude))
    --last;
  std::size_t numbers = 0;  // terms from the middle outwards that are finite
  while (numbers < size && std::isfinite(term[numbers])) ++numbers;
  if (numbers < size && (numbers < last || !accounted(side, first, last, numbers))) {
    const std::size_t at = first.from[side] + numbers;
    const bool grows = std::isinf(variable_.end(side)) && std::isinf(first.y[at]);
    return give_up(grows ? Reason::may_diverge : Reason::non_finite,
                   grows ? variable_.end(side) : first.x[at]);
  }
  // Far out a formula may overflow, to NaN or to 0, although its integral has not ended.
  constexpr double far_out = 1e30;
  const auto overflows_to_zero = [&] {
    const std::size_t at = first.from[side] + last;
    const auto& defect = part_->f().defect;
    return term[last] == 0 && std::isinf(variable_.end(side)) &&
           (std::fabs(first.x[at]) > far_out ||
            (defect && defect(first.x[at], first.distance[at]) == Integrand::Defect::overflow));
  };
  const bool overflows = last > 0 && last < size && (numbers == last || overflows_to_zero());
  const bool to_the_end = last == size || overflows;
  constexpr double most_x = 3;  // there x is 1e7, or 1e-14 of a finite range from its end
  looks_[side] = std::fmin(most_x, first_step * static_cast<double>(numbers));
  // If no term counts, smaller steps may find one anywhere.
  reach_[side] = first_step * double(last == 0 ? numbers : to_the_end ? last : last + 1);
  if (numbers == size && (last == size || last == 0)) reach_[side] = variable_.reach(side);
  if (last < size && numbers == size && lasts(side, first))
    return give_up(Reason::diverges, variable_.end(side));
  if (variable_.blind(side) > 0) find_blind(side, first);
  else if (to_the_end && last > 3) find_beyond(side, first, last - 1);
}

// Estimates the integral beyond the outermost point from the power of the distance that fits the last points.
void TanhSinh::find_beyond(int side, const First& first, std::size_t last) {
  const Nodes& nodes = level_nodes(variable_.shape(), side, 0);
  const double length = variable_.length();
  const double* const y = first.y + first.from[side];
  const auto distance = [&](std::size_t j) { return nodes.distance[j] * length; };
  const bool outwards = std::isinf(variable_.end(side));
  int changes = 0;
  for (std::size_t j = last > 16 ? last - 16 : 1; j <= last; ++j) changes += (y[j] < 0) != (y[j - 1] < 0);
  if (changes > 1) {
    beyond_[side] = std::fabs(y[last]) * distance(last);
    if (outwards) give_up(Reason::unresolved, variable_.end(side));
    return;
  }
  // The margin of f's exponent from that of 1/d, at which the integral ceases to exist.
  const auto margin = [&](std::size_t j) {
    const double power = std::log(std::fabs(y[j] / y[j - 1])) / std::log(distance(j) / distance(j - 1));
    return outwards ? -(power + 1) : power + 1;
  };
  const auto logarithm = [&](std::size_t j) {
    return std::fabs(std::log(distance(j)) + std::log(distance(j - 1))) / 2;
  };
  const double m = margin(last);
  // The rounding of m: nearer to 0 it may as well be 0, as that of 1/d is.
  const double noise = 8 * unit * (2 + std::fabs(std::log(std::fabs(y[last])))) /
                       std::fabs(std::log(distance(last) / distance(last - 1)));
  if (std::isnan(m)) return;
  if (m < noise) return give_up(Reason::diverges, variable_.end(side));
  if (m < 1e-7) return give_up(Reason::may_diverge, variable_.end(side));
  // Compares with the slope where the logarithm is half as large: nearer slopes differ by rounding alone.
  std::size_t j = last - 1;
  while (j > 1 && logarithm(j) > logarithm(last) / 2) --j;
  const double lasting = lasting_slope(margin(j), m, std::fabs(logarithm(last) - logarithm(j)));
  if (!(lasting > 0)) return give_up(Reason::may_diverge, variable_.end(side));
  beyond_[side] = std::fabs(y[last]) * distance(last) / lasting;
}

// Estimates the error from points nearer to the end than the resolution of x, at which f was computed at the
// number next to the end. Uses the power that fits f at the points before them.
void TanhSinh::find_blind(int side, const First& first) {
  const Nodes& nodes = level_nodes(variable_.shape(), side, 0);
  const double* const y = first.y + first.from[side];
  const double blind = variable_.blind(side);
  const auto distance = [&](std::size_t j) { return nodes.distance[j] * variable_.length(); };
  std::size_t last = first.size[side];
  while (last > 0 && !(distance(last - 1) >= resolved * blind)) --last;
  if (last < 2) return;
  --last;
  const double power =
      std::log(std::fabs(y[last] / y[last - 1])) / std::log(distance(last) / distance(last - 1));
  if (!std::isfinite(power)) {
    beyond_[side] = std::fabs(y[last]) * blind;
    return;
  }
  const double margin = power + 1;
  const double value_at_blind = std::fabs(y[last]) * std::pow(blind / distance(last), power);
  // A value beside the end that is smaller is that of a narrow peak.
  if (margin < 0.02 && std::fabs(y[first.size[side] - 1]) < value_at_blind / 2)
    return give_up(Reason::unresolved, nan);
  if (margin < -0.2) return give_up(Reason::diverges, variable_.end(side));
  if (margin < 0.02) return give_up(Reason::may_diverge, variable_.end(side));
  beyond_[side] = 4 * value_at_blind * blind * std::fabs(power) / margin;
}

bool TanhSinh::add(std::span<const double> x, std::span<const double> distance,
                   std::span<const double> weight, std::span<double> y, std::size_t first_side) {
  const std::size_t n = x.size();
  if (!sampler_.values(part_->f(), x, distance, y)) {
    give_up(sampler_.cap(), nan);
    return false;
  }
  points_ += static_cast<std::int64_t>(n);
  const Sums sums = weigh(weight, y);
  if (std::isfinite(sums.value)) {
    sum_ += sums.value;
    sum_abs_ += sums.magnitude;
    vary(0, x.first(first_side), distance.first(first_side), y.first(first_side));
    vary(1, x.subspan(first_side), distance.subspan(first_side), y.subspan(first_side));
    return true;
  }
  give_up(Reason::too_large, nan);
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isfinite(weight[i] * y[i])) give_up(Reason::non_finite, x[i]);
  return false;
}

// Adds the changes of f from point to point, times x, for the error of rounded abscissae.
void TanhSinh::vary(int side, std::span<const double> x, std::span<const double> distance,
                    std::span<const double> y) {
  if (x.size() < 2) return;
  const double* const place =
      variable_.blind(side) == 0 && variable_.shape() != Shape::everywhere ? distance.data() : x.data();
  double moved[chunk];
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double step_in = std::fabs(place[i + 1]), step_out = std::fabs(place[i]);
    moved[i] = std::fabs(y[i + 1] - y[i]) * (step_in < step_out ? step_in : step_out);
  }
  const std::size_t n = x.size() - 1;
  double steps[4] = {0, 0, 0, 0}, squares[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) {
      steps[lane] += moved[i + lane];
      squares[lane] += moved[i + lane] * moved[i + lane];
    }
  for (; i < n; ++i) {
    steps[0] += moved[i];
    squares[0] += moved[i] * moved[i];
  }
  variation_ += (steps[0] + steps[1]) + (steps[2] + steps[3]);
  squares_ += (squares[0] + squares[1]) + (squares[2] + squares[3]);
}

double TanhSinh::rounding() const {
  const double of = part_->range().rounding;
  return 16 * unit * magnitude() + (of > unit ? of * magnitude() : 0) +
         of * abscissa_error(variation_, squares_);
}

double TanhSinh::expected_change() const {
  // Twenty times the change of the next halving if it gains only as much as the last one did. Sums that still
  // differ by much may agree by chance at the next step.
  constexpr double much = 1e-2, least = 2e-3;
  if (!(change_ > 0)) return 0;
  const double gained = change_ * std::fmin(1, std::fmax(least, 20 * change_ / change_before_));
  const bool may_be_chance = change_before_ > much * magnitude() && change_before_ < infinity;
  return may_be_chance ? std::fmax(gained, 0.1 * change_before_) : gained;
}

bool TanhSinh::refine() {
  if (trouble_ != Reason::converged || level_ == deepest_level) return false;
  const double before = value();
  ++level_;
  variation_ = squares_ = 0;
  const Nodes* nodes[2];
  std::size_t count[2], done[2] = {0, 0};
  const double step = std::ldexp(2 * first_step, -level_);
  for (const int side : {0, 1}) {
    nodes[side] = &level_nodes(variable_.shape(), side, level_);
    const double reach = level_ <= last_look ? std::fmax(reach_[side], looks_[side]) : reach_[side];
    count[side] =
        std::min(nodes[side]->distance.size(), static_cast<std::size_t>(std::ceil(reach / step - 0.5)));
  }
  double x[chunk], distance[chunk], weight[chunk], y[chunk];
  while (done[0] < count[0] || done[1] < count[1]) {  // both sides in one call, if they fit
    std::size_t used = 0, of_first = 0;
    for (const int side : {0, 1}) {
      const std::size_t n = std::min(chunk - used, count[side] - done[side]);
      variable_.place(side, {nodes[side]->distance.data() + done[side], n}, {x + used, n},
                      {distance + used, n});
      for (std::size_t i = 0; i < n; ++i)
        weight[used + i] = nodes[side]->weight[done[side] + i] * variable_.length();
      done[side] += n;
      used += n;
      if (side == 0) of_first = n;
    }
    if (!add({x, used}, {distance, used}, {weight, used}, {y, used}, of_first)) return false;
    // Something lies beyond the reach that the first level has found.
    for (std::size_t i = 0; i < used; ++i) {
      const int side = i < of_first ? 0 : 1;
      const std::size_t n = side == 0 ? of_first : used - of_first, k = side == 0 ? i : i - of_first;
      const double t = (static_cast<double>(done[side] - n + k) + 0.5) * step;
      if (t > reach_[side] && std::fabs(weight[i] * y[i]) > negligible * sum_abs_)
        reach_[side] = std::fmin(looks_[side], t + 2 * first_step);
    }
  }
  step_ /= 2;
  change_before_ = std::exchange(change_, std::fabs(value() - before));
  return true;
}

double TanhSinh::gap() const {
  // At distance 1e6, t is 2.87 and the distance grows by 13.9 of itself in a step of 1.
  const bool whole = reach_[0] >= looks_[0] && reach_[1] >= looks_[1];
  const double step = std::ldexp(first_step, -(whole ? level_ : std::min(level_, last_look)));
  return step * (variable_.shape() == Shape::between ? pi / 4 * variable_.length() : 13.9);
}

double TanhSinh::error_of_values() {
  const Integrand& f = part_->f();
  if (!f.errors) return 0;
  constexpr double enough = 0.7;  // share of the integral of |f| that the points of a level must show
  double out = 0;
  for (int level = 0; level <= level_; ++level) {
    const double step = level == 0 ? first_step : std::ldexp(2 * first_step, -level);
    double seen = 0, lost = 0;
    for (const int side : {0, 1}) {
      const Nodes& nodes = level_nodes(variable_.shape(), side, level);
      const std::size_t size =
          std::min(nodes.distance.size(), static_cast<std::size_t>(std::ceil(reach_[side] / step)));
      std::vector<double> x(size), distance(size), y(size), errors(size);
      variable_.place(side, {nodes.distance.data(), size}, x, distance);
      if (!sampler_.values(f, x, distance, y)) return out;
      f.errors(x, distance, errors);
      // Finds the outermost value with some right digits: further out f is assumed to grow no faster than its
      // integral allows.
      double right = 0, right_at = 0;
      for (std::size_t j = 0; j < size; ++j) {
        const double value = std::fabs(y[j]), at = nodes.distance[j],
                     weight = step * nodes.weight[j] * variable_.length();
        double error = errors[j];
        if (!std::isfinite(value) || std::isnan(error)) continue;
        if (error <= value / 4 || right_at == 0) {
          right = std::fmax(value, error);
          right_at = at;
        } else {
          const double ratio = at / right_at;
          error =
              std::fmin(error, value + right * (ratio < 1 ? 1 / std::sqrt(ratio) : std::pow(ratio, -1.5)));
        }
        if (!std::isfinite(weight * error)) continue;
        lost += weight * error;
        seen += weight * value;
      }
    }
    out = std::fmax(out, lost);
    if (seen >= enough * magnitude()) break;
  }
  return out;
}

namespace {

// Sets the reason why no smaller step size is tried.
void explain(Answer& answer, std::span<TanhSinh> parts, const Tolerance& tolerance) {
  const double allowed = tolerance.of(answer.value);
  // The sum lacks a side that was given up, unless the omitted part is known.
  const bool complete = std::ranges::none_of(parts, [](const TanhSinh& part) {
    return part.trouble() != Reason::converged && part.trouble() != Reason::unresolved;
  });
  if (complete && answer.error() <= allowed) {
    answer.reason = Reason::converged;
    return;
  }
  answer.reason = answer.error() <= 64 * unit * answer.magnitude ||
                          (answer.rounding > allowed / 2 && answer.truncation <= 8 * answer.rounding)
                      ? Reason::roundoff
                      : Reason::unresolved;
  double most = allowed / 8;
  for (const TanhSinh& part : parts)
    for (const int side : {0, 1})
      if (part.beyond(side) > most) {
        most = part.beyond(side);
        answer.reason = Reason::singular;
        answer.where = part.variable().end(side);
      }
  for (const TanhSinh& part : parts)
    if (part.trouble() != Reason::converged) {
      answer.reason = part.trouble();
      answer.where = part.where();
      answer.truncation = infinity;
      return;
    }
}

}  // namespace

Answer refine(std::span<TanhSinh> parts, const Tolerance& tolerance, int least, int deepest,
              const Answer& known) {
  Answer out;
  out.rule = "tanh-sinh";
  while (true) {
    out.value = known.value;
    out.truncation = known.truncation;
    out.rounding = known.rounding;
    out.magnitude = known.magnitude;
    TanhSinh* worst = nullptr;
    bool trouble = false, unseen = true;
    double largest = 0, change = 0, beyond = 0;
    for (TanhSinh& part : parts) {
      out.value += part.value();
      out.truncation += part.truncation();
      out.rounding += part.rounding();
      out.magnitude += part.magnitude();
      change += part.expected_change();
      beyond += part.beyond(0) + part.beyond(1);
      trouble = trouble || part.trouble() != Reason::converged;
      unseen = unseen && part.magnitude() == 0;
      if (part.level() >= deepest && !(part.magnitude() == 0 && part.level() < deepest_level)) continue;
      const double urgency = part.level() < least                          ? infinity
                             : part.change() > 4 * unit * part.magnitude() ? part.expected_change()
                                                                           : 0;
      if (urgency > largest) {
        largest = urgency;
        worst = &part;
      }
    }
    // If only zeros are seen, smaller steps may find something between them.
    if (unseen && known.magnitude == 0)
      for (TanhSinh& part : parts)
        if (part.level() < deepest_level) worst = &part;
    const bool met = out.error() <= tolerance.of(out.value) && !(unseen && known.magnitude == 0);
    if (trouble || worst == nullptr || (met && largest < infinity)) break;
    if (largest < infinity && !unseen && !(change > 0.1 * beyond)) break;
    worst->refine();
  }
  explain(out, parts, tolerance);
  return out;
}

Answer tanh_sinh(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                 std::span<const double> points) {
  constexpr int least = 2;  // on coarser levels two sums may agree by chance
  Sampler sampler(limits);
  std::vector<Part> parts;
  for (const Range& part : cut(range, points)) parts.emplace_back(f, range, part);
  std::vector<TanhSinh> rules;
  rules.reserve(parts.size());
  for (const Part& part : parts) rules.emplace_back(sampler, part);
  Answer out = refine(rules, tolerance, least, deepest_level - 1);
  out.evaluations = sampler.evaluations();
  if (rules.size() == 1) out.rule = rules[0].variable().name();
  return out;
}

}  // namespace tessera::quadrature
