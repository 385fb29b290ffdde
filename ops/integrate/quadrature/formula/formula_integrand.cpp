// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include <boost/math/tools/minima.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include "ops/integrate/quadrature/formula/linear_zeros.hpp"
#include "ops/integrate/quadrature/one_variable/tanh_sinh.hpp"
#include "tessera/formula/interpret.hpp"
#include "tessera/formula/distance.hpp"
#include "tessera/formula/evaluate.hpp"
#include "tessera/formula/running_error.hpp"

namespace tessera::quadrature {

bool breaks_where_arguments_meet(formula::Op op) {
  using formula::Op;
  return formula::is_one_of(
      op, {Op::less, Op::less_equal, Op::equal, Op::not_equal, Op::min, Op::max, Op::fmin, Op::fmax});
}

namespace {

using formula::Node;
using formula::Op;

// A watched quantity: the value of a node, or the difference of two.
struct MonitoredQuantity {
  std::int32_t first = -1, second = -1;
  bool jumps = false;  // the value is a step function: any change counts, not only that of the sign
  bool kink = true;    // f has a kink or jump there; false: it may have a pole or a branch point
};

// A quantity that changes smoothly where the integrand has a sharp peak or step.
struct PeakQuantity {
  enum Kind { exponent, divisor, argument };
  std::int32_t node = -1;
  Kind kind = exponent;
};

class BreakpointFinder {
 public:
  BreakpointFinder(const formula::Tree& tree, const std::string& variable);

  std::vector<double> run(const Range& range);
  // Returns the peaks and steps between the cuts.
  std::vector<double> peaks(const Range& range, const std::vector<double>& cuts);

 private:
  bool depends(std::int32_t node) const { return node >= 0 && depends_[static_cast<std::size_t>(node)]; }
  double value(const MonitoredQuantity& w, double x);
  static bool differ(const MonitoredQuantity& w, double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return false;
    return w.jumps ? a != b : (a < 0) != (b < 0);
  }
  void watch_peak(const Node& node);
  void peaks_between(const PeakQuantity& peak, const std::vector<double>& x);
  double locate(const MonitoredQuantity& w, double from, double to, double before);
  void between(const MonitoredQuantity& w, double from, double to, double before, double after);
  void dip(const MonitoredQuantity& w, double from, double to, double beside);
  void look(const MonitoredQuantity& w, const std::vector<double>& x);

  const formula::Tree& tree_;
  const std::string& variable_;
  const std::vector<Node>& nodes_;
  std::vector<bool> depends_;  // on this variable alone
  std::vector<double> values_;
  std::vector<MonitoredQuantity> watched_;
  std::vector<PeakQuantity> peaks_;
  std::vector<double> found_;
};

constexpr int bits = 26;  // precision of the place of a smooth minimum

bool whole_number(const Node& node) { return node.op == Op::number && node.value == std::trunc(node.value); }

BreakpointFinder::BreakpointFinder(const formula::Tree& tree, const std::string& variable)
    : tree_(tree), variable_(variable), nodes_(tree.nodes()), values_(tree.nodes().size()) {
  std::vector<bool> other(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    bool own = false;
    if (node.op == Op::variable) {
      own = tree.names()[static_cast<std::size_t>(node.name)] == variable;
      other[i] = !own;
    }
    for (const auto child : node.child)
      if (child >= 0) {
        own = own || depends_[static_cast<std::size_t>(child)];
        other[i] = other[i] || other[static_cast<std::size_t>(child)];
      }
    depends_.push_back(own);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) depends_[i] = depends_[i] && !other[i];
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    watch_peak(node);
    MonitoredQuantity w;
    switch (node.op) {
      case Op::abs:
      case Op::sign:
        w = {node.child[0]};
        break;
      case Op::log:
      case Op::sqrt:
      case Op::cbrt:
        w = {node.child[0], -1, false, false};
        break;
      case Op::div:
        w = {node.child[1], -1, false, false};
        break;
      case Op::pow:
        if (!whole_number(nodes_[static_cast<std::size_t>(node.child[1])]) ||
            nodes_[static_cast<std::size_t>(node.child[1])].value < 0)
          w = {node.child[0], -1, false, false};
        break;
      case Op::floor:
      case Op::ceil:
      case Op::trunc:
      case Op::round:
        w = {static_cast<std::int32_t>(i), -1, true};
        break;
      case Op::fmod:  // watches the integer quotient, which jumps where the value does
        w = {static_cast<std::int32_t>(i), node.child[0], true};
        break;
      default:
        if (breaks_where_arguments_meet(node.op)) w = {node.child[0], node.child[1]};
        break;
    }
    if (w.first < 0) continue;
    if (depends(w.first) || (depends(w.second) && w.second >= 0)) watched_.push_back(w);
  }
}

double BreakpointFinder::value(const MonitoredQuantity& w, double x) {
  const auto last = static_cast<std::size_t>(std::max(w.first, w.second));
  const auto child = [&](const Node& node, int k) {
    return node.child[k] < 0 ? 0 : values_[static_cast<std::size_t>(node.child[k])];
  };
  for (std::size_t i = 0; i <= last; ++i) {
    const Node& node = nodes_[i];
    if (node.op == Op::number) values_[i] = node.value;
    else if (node.op == Op::variable) values_[i] = x;
    else values_[i] = formula::apply<double>(node.op, child(node, 0), child(node, 1), child(node, 2));
  }
  const double first = values_[static_cast<std::size_t>(w.first)];
  if (w.second < 0) return first;
  const double second = values_[static_cast<std::size_t>(w.second)];
  if (!w.jumps) return first - second;
  const Node& node = nodes_[static_cast<std::size_t>(w.first)];  // fmod
  return std::round((second - first) / values_[static_cast<std::size_t>(node.child[1])]);
}

// Bisects until `from` and `to` are adjacent numbers. Returns `to`, unless the value is 0 at `from`.
double BreakpointFinder::locate(const MonitoredQuantity& w, double from, double to, double before) {
  for (int i = 0; i < 1100; ++i) {
    const double middle = from + (to - from) / 2;
    if (!(from < middle && middle < to)) break;
    const double at_middle = value(w, middle);
    if (!w.jumps && at_middle == 0) return middle;
    (differ(w, before, at_middle) ? to : from) = middle;
  }
  return !w.jumps && value(w, from) == 0 ? from : to;
}

// Finds every change between two points with different values.
void BreakpointFinder::between(const MonitoredQuantity& w, double from, double to, double before,
                               double after) {
  while (differ(w, before, after) && found_.size() <= max_breakpoints) {
    from = locate(w, from, to, before);
    found_.push_back(from);
    if (!w.jumps || !(from < to)) return;
    before = value(w, from);
  }
}

// Searches the smallest |value|, because between two points of equal sign the value may cross 0 twice.
void BreakpointFinder::dip(const MonitoredQuantity& w, double from, double to, double beside) {
  const double sign = beside < 0 ? -1 : 1;
  const auto size = [&](double x) { return sign * value(w, x); };
  const double at = boost::math::tools::brent_find_minima(size, from, to, bits).first, least = value(w, at);
  if (!differ(w, beside, least)) return;
  found_.push_back(locate(w, from, at, beside));
  found_.push_back(locate(w, at, to, least));
}

void BreakpointFinder::look(const MonitoredQuantity& w, const std::vector<double>& x) {
  double before = nan, last = nan;  // the values at the last two points
  for (std::size_t i = 0; i < x.size() && found_.size() <= max_breakpoints; ++i) {
    const double now = value(w, x[i]);
    if (i > 0 && differ(w, last, now)) between(w, x[i - 1], x[i], last, now);
    else if (i > 1 && !w.jumps && last == 0 && before != 0 && now != 0) found_.push_back(x[i - 1]);
    else if (i > 1 && !w.jumps && std::fabs(last) < std::fabs(before) && std::fabs(last) < std::fabs(now) &&
             (before < 0) == (now < 0) && (last < 0) == (now < 0))
      dip(w, x[i - 2], x[i], last);
    before = last;
    last = now;
  }
}

// Returns points spaced evenly in x on a finite range, in the double exponential variable on others.
std::vector<double> probes(const Range& range, int count) {
  std::vector<double> out;
  if (range.finite()) {
    for (int i = 0; i <= count; ++i)
      out.push_back(range.lower + (range.upper - range.lower) * (i + 0.4 * (i % 2)) / (count + 0.4));
    if (range.contains(0)) out.push_back(0);
  } else {
    constexpr double reach = 3;  // largest |t|: distances from 1e-7 to 1e7
    const bool both = std::isinf(range.lower) && std::isinf(range.upper);
    for (int i = 0; i <= count; ++i) {
      const double t = both ? reach * i / count : reach * (2.0 * i / count - 1);
      const double d = double_exponential_node(both ? Shape::everywhere : Shape::half, t).distance;
      if (std::isinf(range.upper)) out.push_back(both ? d : range.lower + d);
      if (std::isinf(range.lower)) out.push_back(both ? -d : range.upper - d);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void BreakpointFinder::watch_peak(const Node& node) {
  PeakQuantity peak;
  if (node.op == Op::exp) peak = {node.child[0], PeakQuantity::exponent};
  else if (node.op == Op::div) peak = {node.child[1], PeakQuantity::divisor};
  else if (node.op == Op::pow && depends(node.child[1])) peak = {node.child[1], PeakQuantity::exponent};
  else if (node.op == Op::pow && value({node.child[1]}, 1) < 0) peak = {node.child[0], PeakQuantity::divisor};
  else if (formula::is_one_of(node.op,
                              {Op::sinh, Op::cosh, Op::tanh, Op::atan, Op::asinh, Op::erf, Op::erfc}))
    peak = {node.child[0], PeakQuantity::argument};
  if (depends(peak.node)) peaks_.push_back(peak);
}

// Finds the largest exponents, and the smallest divisors and arguments, if they change so much between two
// points that the integrand may have a peak or step there that points so far apart do not show.
void BreakpointFinder::peaks_between(const PeakQuantity& peak, const std::vector<double>& x) {
  const auto program = formula::compile<double>(formula::part(tree_, peak.node), {variable_});
  std::vector<double> sizes(x.size());
  const formula::Input<double> input{x.data()};
  formula::evaluate_many<double>(program, {&input, 1}, x.size(), sizes.data());
  const auto size_of = [&](double value) {
    return peak.kind == PeakQuantity::exponent ? -value : std::fabs(value);
  };
  for (double& size : sizes) size = size_of(size);
  for (std::size_t i = 1; i + 1 < x.size(); ++i) {
    const double beside = std::fmax(sizes[i - 1], sizes[i + 1]);
    if (!(sizes[i] <= sizes[i - 1] && sizes[i] <= sizes[i + 1] && sizes[i] < beside)) continue;
    const auto [at, least] = boost::math::tools::brent_find_minima(
        [&](double place) { return size_of(formula::interpret(program, &place)); }, x[i - 1], x[i + 1], bits);
    const bool sharp = peak.kind == PeakQuantity::exponent  ? beside - least > 1
                       : peak.kind == PeakQuantity::divisor ? beside > 4 * least
                                                            : beside > 1 && least < 1;
    if (sharp) found_.push_back(at);
  }
}

std::vector<double> BreakpointFinder::peaks(const Range& range, const std::vector<double>& cuts) {
  constexpr int few = 96;
  constexpr std::size_t max_peaks = 64, max_parts = 16;  // the rules see some of more
  if (peaks_.empty() || cuts.size() >= max_parts) return {};
  found_.clear();
  for (const Range& part : cut(range, cuts)) {
    std::vector<double> x = probes(part, few);
    if (part.finite()) {
      for (int i = 0; i <= few; ++i) {  // crowded at the ends
        const double t = 3 * (2.0 * i / few - 1);
        const double d = double_exponential_node(Shape::between, t).distance * (part.upper - part.lower);
        x.push_back(t < 0 ? part.lower + d : part.upper - d);
      }
      std::sort(x.begin(), x.end());
    }
    x.erase(std::unique(x.begin(), x.end()), x.end());
    std::erase_if(x, [&](double at) { return !part.contains(at); });
    for (const PeakQuantity& peak : peaks_) peaks_between(peak, x);
  }
  return found_.size() <= max_peaks ? found_ : std::vector<double>{};
}

std::vector<double> BreakpointFinder::run(const Range& range) {
  if (watched_.empty()) return {};
  constexpr int max_passes = 4, many = 1024, few = 128;
  const bool kinks =
      std::any_of(watched_.begin(), watched_.end(), [](const MonitoredQuantity& w) { return w.kink; });
  std::vector<double> x = probes(range, kinks ? many : few), known;
  // Points found in one pass reveal others: abs(abs(x-0.3)-1e-5) has two kinks beside the inner one.
  for (int pass = 0; pass < max_passes; ++pass) {
    found_.clear();
    for (const MonitoredQuantity& w : watched_) look(w, x);
    if (found_.size() > max_breakpoints) return {};
    const auto near = [](double a, double b) {
      return std::isfinite(b) && std::fabs(a - b) <= 16 * unit * std::fmax(std::fabs(a), std::fabs(b));
    };
    std::erase_if(found_, [&](double x_of) {
      return !range.contains(x_of) || near(x_of, range.lower) || near(x_of, range.upper);
    });
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end(), near), found_.end());
    const bool more = found_.size() > known.size();
    known = found_;
    if (!more || watched_.size() < 2) break;
    x.insert(x.end(), known.begin(), known.end());
    std::sort(x.begin(), x.end());
  }
  return known;
}

}  // namespace

std::vector<double> breakpoints(const formula::Tree& tree, const std::string& variable, const Range& range) {
  return BreakpointFinder(tree, variable).run(range);
}

namespace {

// True if f changes beside x on a smaller scale than that of its range: the first differences of a smooth f
// fall by 2 with their step, the second ones by 4.
bool is_narrow(const formula::Program<double>& f, double x, const Range& range) {
  constexpr int halvings = 24;
  constexpr double rounding = 1e-11;
  const double scale = range.finite() ? (range.upper - range.lower) / 4 : std::fmax(1, std::fabs(x));
  double step = std::fmin(scale, std::fmin(x - range.lower, range.upper - x)), odd = infinity,
         even = infinity;
  const double middle = formula::interpret(f, &x);
  if (!std::isfinite(middle)) return true;
  for (int k = 0; k < halvings; ++k, step /= 2) {
    const double sides[2] = {x - step, x + step};
    const double left = formula::interpret(f, sides), right = formula::interpret(f, sides + 1);
    const double noise = rounding * (std::fabs(left) + std::fabs(middle) + std::fabs(right));
    const double first = std::fabs(right - left), second = std::fabs(right - 2 * middle + left);
    if (!(first <= std::fmax(noise, 0.8 * odd) && second <= std::fmax(noise, 0.6 * even))) return true;
    odd = first;
    even = second;
  }
  return false;
}

}  // namespace

std::vector<double> cuts_of(const formula::Tree& tree, const std::string& variable, const Range& range) {
  BreakpointFinder finder(tree, variable);
  const auto program = formula::compile<double>(tree, {variable});
  std::vector<double> out = finder.run(range), places;
  const auto add = [&](double x, double apart) {
    if (range.contains(x) && std::ranges::none_of(out, [&](double known) {
          return std::fabs(known - x) <= apart * std::fmax(std::fabs(known), std::fabs(x));
        }))
      out.push_back(x);
  };
  for (const formula::Tree& place : linear_zeros(tree, variable, max_breakpoints).places) {
    if (!place.names().empty()) continue;
    const double x =
        formula::interpret(formula::compile<double>(place, {}), static_cast<const double*>(nullptr));
    if (!range.contains(x)) continue;
    places.push_back(x);
    if (is_narrow(program, x, range)) add(x, 64 * unit);
  }
  places.insert(places.end(), out.begin(), out.end());
  for (const double x : finder.peaks(range, places)) add(x, 1e-6);
  // Seen from a cut far away, anything on an infinite range is narrow.
  if (!range.finite() && !out.empty())
    for (const double x : places) add(x, 64 * unit);
  return out;
}

namespace {

using formula::Program;

// The programs for the formula, and for the forms of it that are used near each end.
struct Programs {
  Program<double> plain, lower, upper;
  Program<double> followed[3];  // the same, with the rounding of constants
  bool lower_exact = false, upper_exact = false;
  // The distances up to which `lower` and `upper` are used; infinite for an end other than 0.
  double lower_reach = infinity, upper_reach = infinity;
  double lower_end = 0, upper_end = 0;
  struct Single {
    Program<float> plain, lower, upper;
  };
  std::optional<Single> single;  // set if values are computed in f32

  const Program<float>& single_of(const Program<double>& program) const {
    return &program == &lower ? single->lower : &program == &upper ? single->upper : single->plain;
  }
  const Program<double>& followed_of(const Program<double>& program) const {
    return followed[&program == &lower ? 1 : &program == &upper ? 2 : 0];
  }
  // True if the distance is measured from the lower end. A distance of 0 may be either end's.
  bool above(double x, double distance) const { return distance > 0 || (distance == 0 && x != upper_end); }
  const Program<double>& at(double x, double distance) const {
    if (above(x, distance)) {
      if (lower_exact && distance <= lower_reach) return lower;
      // The distance from an end at 0 is x itself.
      return upper_exact && upper_end == 0 && -x <= upper_reach ? upper : plain;
    }
    if (upper_exact && -distance <= upper_reach) return upper;
    return lower_exact && lower_end == 0 && x <= lower_reach ? lower : plain;
  }
  double away(const Program<double>& program, double x, double distance) const {
    const bool other = above(x, distance) ? &program == &upper : &program == &lower;
    return std::fabs(other ? x : distance);
  }
  void away(const Program<double>& program, std::span<const double> x, std::span<const double> distance,
            double* out) const {
    if (by_sign())
      for (std::size_t i = 0; i < x.size(); ++i) out[i] = std::fabs(distance[i]);
    else
      for (std::size_t i = 0; i < x.size(); ++i) out[i] = away(program, x[i], distance[i]);
  }
  bool all_plain() const { return !lower_exact && !upper_exact; }
  // True if the sign of the distance alone selects the program.
  bool by_sign() const {
    return (!lower_exact || (lower_reach == infinity && lower_end != 0)) &&
           (!upper_exact || (upper_reach == infinity && upper_end != 0));
  }
  // Returns the number of points, counted from the first, that have the first one's program; at most `most`.
  std::size_t run_length(std::span<const double> x, std::span<const double> distance,
                         std::size_t most) const {
    const std::size_t end = std::min(most, x.size());
    std::size_t to = 1;
    if (by_sign()) {
      const bool first = above(x[0], distance[0]);
      while (to < end && above(x[to], distance[to]) == first) ++to;
      return to;
    }
    const Program<double>& first = at(x[0], distance[0]);
    while (to < end && &at(x[to], distance[to]) == &first) ++to;
    return to;
  }
};

// True if the value depends on the last bit of x although the distance is given, and so on the rounding of x.
bool depends_on_x(const Program<double>& program, double at, formula::End end, double length) {
  for (const double share : {1.3e-5, 1.7e-8, 1.1e-11, 1.9e-14}) {
    const double d = share * length, x = end == formula::End::lower ? at + d : at - d;
    const double apart[2] = {x, std::nextafter(x, x - (end == formula::End::lower ? -length : length))};
    const double distance[2] = {d, d};
    double y[2];
    const formula::Input<double> inputs[2] = {{apart}, {distance}};
    formula::evaluate_many<double>(program, inputs, 2, y);
    if (std::isfinite(y[0]) && !(std::fabs(y[1] - y[0]) <= 256 * unit * std::fabs(y[0]))) return true;
  }
  return false;
}

// Returns the distance from an end at 0 up to which the program has less roundoff than the original formula;
// 0: the gain is small, and the formula is used unchanged.
double reach_of(const Program<double>& program, const Program<double>& plain, double side, double length) {
  constexpr int halvings = 44;
  // A number of many digits: 1 + d is exact for a power of two, and hides what other distances lose.
  constexpr double odd = 0.8472135954999579;
  double out = 0, gain = 1;
  for (int k = halvings; k >= 0; --k) {
    const double d = std::ldexp(odd * length, -k), inputs[2] = {side * d, d};
    const double near_error = formula::running_error(program, inputs).error;
    const double far_error = formula::running_error(plain, {inputs, 1}).error;
    if (!(near_error <= far_error)) break;
    gain = std::fmax(gain, far_error / near_error);
    out = k == 0 ? length : d;
  }
  return gain > 16 ? out : 0;
}

std::shared_ptr<Programs> compile(const formula::Tree& tree, const std::string& variable,
                                  const Range& range) {
  const auto out = std::make_shared<Programs>();
  out->plain = formula::compile<double>(tree, {variable});
  out->followed[0] = formula::compile_unfolded(tree, {variable});
  out->lower_end = range.lower;
  out->upper_end = range.upper;
  const double length = std::isfinite(range.upper - range.lower) ? range.upper - range.lower : 1;
  const std::vector<std::string> both{variable, std::string(formula::distance_name)};
  const auto near = [&](formula::End end, double at, Program<double>& program, double& reach) {
    const formula::AtEnd found = formula::with_distance(tree, variable, end, at);
    if (!found.exact || (at == 0 && !found.saves)) return false;  // there x is the distance
    program = formula::compile<double>(found.tree, both);
    out->followed[end == formula::End::lower ? 1 : 2] = formula::compile_unfolded(found.tree, both);
    if (at != 0) return !depends_on_x(program, at, end, length);
    reach = reach_of(program, out->plain, end == formula::End::lower ? 1 : -1, std::fmin(1, length));
    return reach > 0;
  };
  out->lower_exact = near(formula::End::lower, range.lower, out->lower, out->lower_reach);
  out->upper_exact = near(formula::End::upper, range.upper, out->upper, out->upper_reach);
  if (!range.single()) return out;
  const auto in_single = [&](formula::End end, double at) {
    return formula::compile<float>(formula::with_distance(tree, variable, end, at).tree, both);
  };
  out->single.emplace();
  out->single->plain = formula::compile<float>(tree, {variable});
  if (out->lower_exact) out->single->lower = in_single(formula::End::lower, range.lower);
  if (out->upper_exact) out->single->upper = in_single(formula::End::upper, range.upper);
  return out;
}

// Converts x to f32. Far out on an infinite range it exceeds f32's range and is clamped to its largest
// number.
float single_of(double x) {
  constexpr double most = std::numeric_limits<float>::max();
  return static_cast<float>(std::isinf(x) ? x : std::clamp(x, -most, most));
}

void evaluate_single(const Program<float>& program, std::span<const std::span<const double>> inputs,
                     std::span<double> y) {
  constexpr std::size_t chunk = 256;
  std::vector<float> rounded(inputs.size() * chunk);
  float out[chunk];
  formula::Input<float> taken[formula::max_inputs];
  for (std::size_t done = 0; done < y.size(); done += chunk) {
    const std::size_t count = std::min(chunk, y.size() - done);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      for (std::size_t i = 0; i < count; ++i) rounded[k * chunk + i] = single_of(inputs[k][done + i]);
      taken[k] = {&rounded[k * chunk]};
    }
    formula::evaluate_many<float>(program, {taken, inputs.size()}, count, out);
    for (std::size_t i = 0; i < count; ++i) y[done + i] = static_cast<double>(out[i]);
  }
}

void evaluate(const Programs& programs, std::span<const double> x, std::span<const double> distance,
              std::span<double> y) {
  constexpr std::size_t chunk = 256;
  double away[chunk];
  for (std::size_t from = 0, to = 0; from < x.size(); from = to) {
    // Takes consecutive points with the same program.
    const Program<double>& program = programs.at(x[from], distance[from]);
    to = from + programs.run_length(x.subspan(from), distance.subspan(from), chunk);
    const std::size_t taken = &program == &programs.plain ? 1 : 2;
    if (taken == 2) programs.away(program, x.subspan(from, to - from), distance.subspan(from), away);
    const formula::Input<double> inputs[2] = {{&x[from]}, {away}};
    if (programs.single) {
      const std::span<const double> both[2] = {x.subspan(from, to - from), {away, to - from}};
      evaluate_single(programs.single_of(program), {both, taken}, y.subspan(from, to - from));
      continue;
    }
    formula::evaluate_many<double>(program, {inputs, taken}, to - from, &y[from]);
  }
}

// Calls `answer_at` with the program and its inputs at each point.
template <class F>
void follow(const Programs& programs, std::span<const double> x, std::span<const double> distance,
            std::span<double> out, const F& answer_at) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Program<double>& program = programs.at(x[i], distance[i]);
    const double inputs[2] = {x[i], programs.away(program, x[i], distance[i])};
    const std::span<const double> taken{inputs, &program == &programs.plain ? 1U : 2U};
    out[i] = programs.single ? answer_at(programs.single_of(program), taken)
                             : answer_at(programs.followed_of(program), taken);
  }
}

constexpr auto error_at = [](const auto& program, std::span<const double> inputs) {
  return formula::running_error(program, inputs).error;
};
constexpr auto defect_at = [](const auto& program, std::span<const double> inputs) {
  using Defect = Integrand::Defect;
  const formula::Running at = formula::running_error(program, inputs);
  return static_cast<double>(at.outside      ? Defect::undefined
                             : at.overflowed ? Defect::overflow
                                             : Defect::none);
};
}  // namespace

Integrand integrand_of(const formula::Tree& tree, const std::string& variable, const Range& range) {
  const auto programs = compile(tree, variable, range);
  Integrand out;
  if (tree.names().empty()) {
    const double anywhere = 0;
    const formula::Input<double> input{&anywhere};
    double value = 0;
    formula::evaluate_many<double>(programs->plain, {&input, 1}, 1, &value);
    if (programs->single) evaluate(*programs, {&anywhere, 1}, {&anywhere, 1}, {&value, 1});
    out.constant = value;
  }
  if (programs->all_plain() && !programs->single) {
    out.values = [programs](std::span<const double> x, std::span<const double>, std::span<double> y) {
      const formula::Input<double> input{x.data()};
      formula::evaluate_many<double>(programs->plain, {&input, 1}, x.size(), y.data());
    };
  } else {
    out.values = [programs](std::span<const double> x, std::span<const double> distance,
                            std::span<double> y) { evaluate(*programs, x, distance, y); };
  }
  out.errors = [programs](std::span<const double> x, std::span<const double> distance,
                          std::span<double> error) { follow(*programs, x, distance, error, error_at); };
  out.knows[0] = programs->lower_exact;
  out.knows[1] = programs->upper_exact;
  out.defect = [programs](double x, double distance) {
    double defect = 0;
    follow(*programs, {&x, 1}, {&distance, 1}, {&defect, 1}, defect_at);
    return static_cast<Integrand::Defect>(defect);
  };
  out.breaks = [tree, variable](const Range& of) { return cuts_of(tree, variable, of); };
  out.within = [tree, variable](const Range& part) { return integrand_of(tree, variable, part); };
  return out;
}

BatchIntegrand batch_integrand_of(const formula::Tree& tree, const std::vector<std::string>& variables) {
  const auto program = std::make_shared<Program<double>>(formula::compile<double>(tree, variables));
  return [program](std::span<const double> points, std::size_t count, std::span<double> y) {
    formula::Input<double> inputs[formula::max_inputs];
    const std::size_t axes = points.size() / std::max<std::size_t>(count, 1);
    for (std::size_t axis = 0; axis < axes; ++axis) inputs[axis] = {&points[axis * count]};
    formula::evaluate_many<double>(*program, {inputs, axes}, count, y.data());
  };
}

BatchIntegrand many_single_values_of(const formula::Tree& tree, const std::vector<std::string>& variables) {
  const auto program = std::make_shared<Program<float>>(formula::compile<float>(tree, variables));
  return [program](std::span<const double> points, std::size_t count, std::span<double> y) {
    std::span<const double> inputs[formula::max_inputs];
    const std::size_t axes = points.size() / std::max<std::size_t>(count, 1);
    for (std::size_t axis = 0; axis < axes; ++axis) inputs[axis] = points.subspan(axis * count, count);
    evaluate_single(*program, {inputs, axes}, y.first(count));
  };
}

}  // namespace tessera::quadrature
