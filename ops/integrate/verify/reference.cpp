// SPDX-License-Identifier: Apache-2.0
// The reference for a rule's answer: the tanh-sinh sum in long double, with the formula's value in long
// double, too, and twice its step for the error. Two and three variables: Gauss-Legendre points on each axis,
// and fewer of them for the error. The reference shares no point with the rules, and cuts at the formula's
// breakpoints and where a scan of the range sees something narrow.
#include "reference.hpp"
#include <boost/math/special_functions/legendre.hpp>
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <numbers>
#include <optional>
#include <vector>
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "ops/integrate/quadrature/formula/linear_zeros.hpp"
#include "tessera/core/text/error.hpp"
#include "ops/integrate/integrate.hpp"
#include "ops/integrate/sum/trapezoid_error.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/formula/evaluate.hpp"

namespace tessera::integration {
namespace {

using Real = long double;

constexpr Real half_pi = std::numbers::pi_v<Real> / 2;

struct TermSum {
  Real value = 0, sizes = 0;
};

// x and dx/dt of the double exponential variable between two limits, one of which may be infinite.
struct Point {
  Real x, weight;
};

Point point(Real a, Real b, Real t) {
  const Real u = half_pi * std::sinh(t), slope = half_pi * std::cosh(t);
  if (std::isinf(a) || std::isinf(b)) {
    const Real away = std::exp(u);
    return {std::isinf(b) ? a + away : b - away, away * slope};
  }
  const Real e = std::exp(-2 * std::fabs(u)), distance = (b - a) * e / (1 + e);
  return {t < 0 ? a + distance : b - distance, (b - a) * 2 * slope * e / ((1 + e) * (1 + e))};
}

// Moves the points off those of the rules, which lie at multiples of a power of two.
constexpr Real shift = 0.03819660112501051518L;

// Returns the largest |t|, up to 1e2764 for integrands that fall hardly faster than the inverse distance.
int reach_of(Real a, Real b) {
  if (std::isinf(b - a)) return 9;
  return b - a > 1e40L ? 7 : 5;
}

// Returns the value at t, times dx/dt; none: x is an end, or the value is not finite.
std::optional<Real> term_at(const formula::Program<double>& f, Real a, Real b, Real t) {
  const Point p = point(a, b, t + shift);
  if (p.x == a || p.x == b || p.weight == 0) return {};
  const Real term = p.weight * bounded(f, {p.x, 0}).value;
  if (!std::isfinite(term)) return {};
  return term;
}

// Adds the points of one step; `odd_only`: those that a coarser step lacks.
void add(const formula::Program<double>& f, Real a, Real b, int steps, bool odd_only, TermSum& sum) {
  const int reach = reach_of(a, b) * steps;
  for (int j = -reach; j <= reach; ++j) {
    if (odd_only && j % 2 == 0) continue;
    const Real term = term_at(f, a, b, Real(j) / Real(steps)).value_or(0);
    sum.value += term;
    sum.sizes += std::fabs(term);
  }
}

// Returns the integral beyond the outermost points with a value. Terms fall faster than a geometric series.
Real behind(const formula::Program<double>& f, Real a, Real b, int steps) {
  Real out = 0;
  const int reach = reach_of(a, b) * steps;
  for (const int side : {-1, 1}) {
    const auto size = [&](int j) {
      const auto term = term_at(f, a, b, Real(side * j) / Real(steps));
      return term ? std::fabs(*term) : Real(-1);
    };
    int j = reach;
    while (j > 0 && size(j) < 0) --j;
    const Real last = size(j), before = size(j - 1);
    // Beside an end other than 0 the last points are rounded by about their distance from it.
    const Real end = side < 0 ? a : b, rounded = end != 0 && std::isfinite(end) ? 4 : 1;
    if (last > 0) out += last < before ? rounded * last / (before / last - 1) / Real(steps) : INFINITY;
  }
  return out;
}

}  // namespace

namespace {

Error too_hard() {
  return Error("this integral is too hard for the check: the rule's answer carries its own error and reason");
}

// Returns places to cut at: those of values far from the line between the ends of their block of neighbouring
// points. Such a block holds a feature that is narrower than the block.
std::vector<Real> narrow_features(const formula::Program<double>& f, Real a, Real b, int samples) {
  constexpr std::size_t block = 128, most = 24;
  constexpr double telling = 1e-9;
  const bool finite = !std::isinf(b - a);
  constexpr Real reach = 3.2L;
  std::vector<double> x(static_cast<std::size_t>(samples)), weight(x.size()), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Real share = (static_cast<Real>(i) + 10 * shift) / samples;
    const Point p = finite ? Point{a + (b - a) * share, b - a} : point(a, b, reach * (2 * share - 1));
    x[i] = static_cast<double>(p.x);
    weight[i] = static_cast<double>(p.weight);
  }
  const formula::Input<double> input{x.data()};
  formula::evaluate_many<double>(f, {&input, 1}, x.size(), y.data());
  double all = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] *= weight[i];
    if (std::isfinite(y[i])) all += std::fabs(y[i]);
  }
  std::vector<std::tuple<std::ptrdiff_t, double, double>> found;  // block, size, place
  for (std::size_t from = 0; from + block < x.size(); from += block) {
    double largest = 0, at = 0;
    for (std::size_t i = 1; i < block; ++i) {
      const double share = static_cast<double>(i) / block;
      const double off = std::fabs(y[from + i] - (1 - share) * y[from] - share * y[from + block]);
      if (off > largest) largest = off, at = x[from + i];
    }
    if (largest * block > telling * all && Real(at) > a && Real(at) < b)
      found.emplace_back(static_cast<std::ptrdiff_t>(from / block), largest, at);
  }
  // A feature is a maximum among the blocks. More of them than can be cut out are not looked at.
  std::vector<Real> out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [at_block, size, at] = found[i];
    const auto is_larger = [&](std::size_t other, std::ptrdiff_t step) {
      return other < found.size() && std::get<0>(found[other]) == at_block + step &&
             std::get<1>(found[other]) > size;
    };
    if (!is_larger(i - 1, -1) && !is_larger(i + 1, 1)) out.push_back(at);
  }
  if (out.size() > most) throw too_hard();
  return out;
}

LongIntegral between_cuts(const formula::Program<double>& f, Real a, Real b, int fewest_steps) {
  TermSum sum;
  int steps = 8;
  add(f, a, b, steps, false, sum);
  Real before = sum.value / Real(steps), error = INFINITY;
  while (steps < 2048) {
    steps *= 2;
    add(f, a, b, steps, true, sum);
    const Real now = sum.value / Real(steps);
    error = std::fabs(now - before) + 64 * 0x1p-64L * sum.sizes / Real(steps);
    before = now;
    if (steps >= fewest_steps && error <= 1e-15L * sum.sizes / Real(steps)) break;
  }
  // Nothing is known if only zeros were seen.
  if (sum.sizes == 0) error = INFINITY;
  return {before, error + behind(f, a, b, steps), sum.sizes / Real(steps), (2 * reach_of(a, b) * steps + 1)};
}

}  // namespace

LongIntegral integral_between(const formula::Program<double>& f, Real a, Real b, int fewest_steps,
                              int samples) {
  LongIntegral out;
  out.points = samples;
  Real from = a;
  std::vector<Real> ends = narrow_features(f, a, b, samples);
  ends.push_back(b);
  for (const Real to : ends) {
    const LongIntegral part = between_cuts(f, std::exchange(from, to), to, fewest_steps);
    // A stretch of zeros among others is one; if only zeros were seen, nothing is known.
    if (part.sizes == 0 && ends.size() > 1) continue;
    out = {out.value + part.value, out.error + part.error, out.sizes + part.sizes, out.points + part.points};
  }
  if (out.sizes == 0) out.error = INFINITY;
  return out;
}

namespace {

// Returns points in (-1, 1) and weights.
std::vector<std::pair<Real, Real>> gauss_legendre(int count) {
  std::vector<std::pair<Real, Real>> out;
  for (const Real x : boost::math::legendre_p_zeros<Real>(count)) {
    const Real slope = boost::math::legendre_p_prime(count, x), weight = 2 / ((1 - x * x) * slope * slope);
    out.emplace_back(x, weight);
    if (x != 0) out.emplace_back(-x, weight);
  }
  return out;
}

void add_product(const formula::Program<double>& f, const quadrature::Box& box, int count, Real& sum,
                 Real& sizes) {
  const auto points = gauss_legendre(count);
  const auto axes = static_cast<std::size_t>(box.dimensions());
  std::vector<std::size_t> at(axes);
  std::vector<Bounded> x(axes);
  for (std::size_t axis = 0; axis < axes;) {
    Real weight = 1;
    for (std::size_t k = 0; k < axes; ++k) {
      const Real half = (Real(box.axes[k].upper) - box.axes[k].lower) / 2;
      x[k].value = box.axes[k].lower + half * (1 + points[at[k]].first);
      weight *= half * points[at[k]].second;
    }
    const Real term = weight * bounded(f, std::span<const Bounded>(x)).value;
    sum += term;
    sizes += std::fabs(term);
    for (axis = 0; axis < axes && ++at[axis] == points.size(); ++axis) at[axis] = 0;
  }
}

RuleReference bounded_by(const RuleOptions& options, Element element, Real value, Real apart, Real sizes,
                         std::string how) {
  const Real allowed = options.tolerance.of(static_cast<double>(value));
  if (!(apart <= allowed)) throw too_hard();
  const Real u = element == Element::f32 ? 0x1p-24L : 0x1p-53L, scale = std::fabs(options.scale);
  const Real bound = (apart + allowed + 64 * u * sizes + u * std::fabs(value)) * scale * 1.001L;
  return {{value * options.scale, bound}, std::move(how)};
}

// Returns the parts between the limits, the known breaks and the places that the formula marks.
std::vector<quadrature::Range> parts_of(const RuleOptions& options, std::size_t axis,
                                        const quadrature::Range& range) {
  std::vector<double> cuts = options.points;
  for (const double x : quadrature::breakpoints(options.formula, options.variables[axis], range))
    cuts.push_back(x);
  for (const formula::Tree& place :
       quadrature::linear_zeros(options.formula, options.variables[axis], quadrature::max_breakpoints).places)
    if (place.names().empty())
      cuts.push_back(
          formula::interpret(formula::compile<double>(place, {}), static_cast<const double*>(nullptr)));
  if (std::isinf(range.lower) && std::isinf(range.upper)) cuts.push_back(0);  // one end of a part is finite
  std::sort(cuts.begin(), cuts.end());
  std::vector<quadrature::Range> out;
  double from = range.lower;
  for (const double x : cuts) {
    if (!(from < x && x < range.upper) || x - from <= 1024 * quadrature::unit * std::fabs(x)) continue;
    out.push_back({from, x});
    from = x;
  }
  out.push_back({from, range.upper});
  return out;
}

RuleReference product_reference(const RuleOptions& options, Element element) {
  const auto program = formula::compile_unfolded(options.formula, options.variables);
  std::vector<quadrature::Box> boxes{options.box};
  for (std::size_t axis = 0; axis < options.variables.size(); ++axis)
    for (const quadrature::Box& box : std::exchange(boxes, {}))
      for (const quadrature::Range& part : parts_of(options, axis, box.axes[axis])) {
        boxes.push_back(box);
        boxes.back().axes[axis] = part;
      }
  if (boxes.size() > 27) boxes = {options.box};
  Real fine = 0, sizes = 0, apart = 0;
  for (const quadrature::Box& box : boxes) add_product(program, box, 40, fine, sizes);
  // At kinks and jumps along oblique lines two counts may agree by chance.
  for (const int count : {39, 36, 31, 28}) {
    Real coarse = 0, unused = 0;
    for (const quadrature::Box& box : boxes) add_product(program, box, count, coarse, unused);
    apart = std::max(apart, 2 * std::fabs(fine - coarse));
  }
  return bounded_by(options, element, fine, apart, sizes,
                    "40 other points on each axis: no feature wider than 1/12 of a range was missed");
}

}  // namespace

RuleReference rule_reference(const RuleOptions& options, Element element) {
  const bool finite = std::all_of(options.box.axes.begin(), options.box.axes.end(),
                                  [](const quadrature::Range& range) { return range.finite(); });
  if (options.variables.size() > 3 || (options.variables.size() > 1 && !finite))
    throw Error(
        "of several variables, only integrals of two or three over finite ranges are checked: a rule's "
        "answer carries its "
        "own error and reason");
  if (options.variables.size() > 1) return product_reference(options, element);
  const quadrature::Range given = options.box.axes[0];
  const quadrature::Range range{std::fmin(given.lower, given.upper), std::fmax(given.lower, given.upper)};
  const auto program = formula::compile_unfolded(options.formula, options.variables);
  constexpr int samples = 1 << 17;
  constexpr double gaps = 2;  // a feature so wide holds a sample, and most of it
  LongIntegral sum;
  std::int64_t points = 0;
  double longest = 0;
  for (const quadrature::Range& part : parts_of(options, 0, range)) {
    const LongIntegral one = integral_between(program, part.lower, part.upper, 512, samples);
    if (one.sizes > 0) sum = {sum.value + one.value, sum.error + one.error, sum.sizes + one.sizes};
    points += one.points;
    longest = std::fmax(longest, part.upper - part.lower);
  }
  if (sum.sizes == 0) throw too_hard();
  const Real sign = given.lower > given.upper ? -1 : 1;
  // The step in t of the scan, times dx/dt at 1e6 as a share of the distance.
  const std::string width =
      std::isinf(longest)
          ? fmt::format("{:.2g} of its distance from a cut, finite limit or 0", gaps * 13.9 * 6.4 / samples)
          : fmt::format("{:.2g}", gaps * longest / samples);
  return bounded_by(
      options, element, sign * sum.value, sum.error, sum.sizes,
      fmt::format("{} other points, in long double: no feature wider than {} was missed", points, width));
}

namespace {

// Sums of one thread's samples in higher precision.
struct Samples {
  Pair<Real> sum{};       // with its own rounding error
  Real sizes = 0;         // sum of absolute values, errors included
  Real errors = 0;        // sum of errors of the elements' type
  bool infinite = false;  // a sample is no number, or too large for the type

  void add(Bounded sample, Real factor, Real most) {
    const Real value = sample.value * factor;
    if (!(std::fabs(value) + sample.error <= most)) infinite = true;
    const Pair<Real> exact = two_sum(sum.high, value);
    sum = {exact.high, sum.low + exact.low};
    sizes += std::fabs(value) + sample.error * std::fabs(factor);
    errors += sample.error * std::fabs(factor);
  }
  void add(const Samples& other) {
    const Pair<Real> exact = two_sum(sum.high, other.sum.high);
    sum = {exact.high, sum.low + exact.low + other.sum.low};
    sizes += other.sizes;
    errors += other.errors;
    infinite = infinite || other.infinite;
  }
};

// Returns an abscissa and its error: 0 if it comes from the index, because the reference starts from the same
// number; if steps are added, each of them may round.
template <class T>
Bounded abscissa(const Problem<T>& p, std::int64_t strip) {
  if (!p.accumulated) return {p.abscissa(strip), 0};
  constexpr Real u = std::numeric_limits<T>::epsilon() / 2;
  const Real largest = std::max(std::fabs(Real(p.a)), std::fabs(Real(p.b)));
  return {Real(p.a) + Real(strip) * Real(p.step), (Real(strip) + 2) * u * 2 * largest};
}

template <class T>
Samples samples_of(const Problem<T>& p, int root) {
  constexpr std::int64_t worth_a_thread = 4096;
  constexpr Real most = std::numeric_limits<T>::max();
  const auto parts = static_cast<int>(std::clamp<std::int64_t>(p.strips / worth_a_thread, 1, host_threads()));
  std::vector<Samples> pieces(static_cast<std::size_t>(parts));
  parallel(parts, [&](int part) {
    Samples& mine = pieces[static_cast<std::size_t>(part)];
    const std::int64_t each = p.strips / parts, rest = p.strips % parts;
    const std::int64_t first = part * each + std::min<std::int64_t>(part, rest),
                       last = first + each + (part < rest);
    for (std::int64_t i = first; i < last; ++i) mine.add(bounded(p.integrand, abscissa(p, i), root), 1, most);
  });
  Samples out;
  for (const Samples& piece : pieces) out.add(piece);
  out.add(bounded(p.integrand, {p.a, 0}, root), -0.5L, most);
  out.add(bounded(p.integrand, {p.b, 0}, root), 0.5L, most);
  return out;
}

struct Result {
  double value, bound;
  bool infinite;
  std::string how = "";
};

template <class T>
Result result_of(const Problem<T>& p, int root) {
  constexpr Real u = std::numeric_limits<T>::epsilon() / 2, least = std::numeric_limits<T>::denorm_min();
  const Samples samples = samples_of(p, root);
  const Real factor = std::fabs((Real(p.b) - Real(p.a)) / Real(p.strips) * Real(p.scale));
  const Real sum = samples.sum.high + samples.sum.low, n = Real(p.strips) + 2;
  // Rounding of the width and two products; with scale_terms, also of a product per sample, which may
  // underflow.
  const Real lost = lost_by(p.sum, n, u) + (p.scale_terms ? u : 0);
  const Real error = samples.errors + lost * samples.sizes + 3.01L * u * (std::fabs(sum) + samples.errors);
  const Real underflow =
      least * (std::fabs(Real(p.scale)) * (p.scale_terms ? n : 1) + 2) + n * least * factor;
  const Real value = sum * (Real(p.b) - Real(p.a)) / Real(p.strips) * Real(p.scale);
  const Real largest = std::max(samples.sizes, samples.sizes * factor);
  return {static_cast<double>(value), static_cast<double>(error * factor * 1.001L + underflow),
          samples.infinite || !(largest <= std::numeric_limits<T>::max() / 2)};
}

Result result_of(const RuleOptions& options, Element element) {
  RuleReference out = rule_reference(options, element);
  return {static_cast<double>(out.integral.value), static_cast<double>(out.integral.error), false,
          std::move(out.how)};
}

std::string key_of(const Arguments& arguments) {
  std::string key(name_of(arguments.element()));
  for (const auto& [name, word] : arguments.words()) key += "\n" + name + "=" + word;
  return key;
}

// Keeps results, because sweeps request the same strips again and again.
Result known_result_of(const Arguments& arguments) {
  if (has_samples(arguments))
    throw Error("integrals of samples are not checked: nothing else is known of them");
  static std::mutex mutex;
  static std::map<std::string, Result> known;
  constexpr std::size_t most = 256;
  const std::string key = key_of(arguments);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  const int root = arguments.text("roots") == "fast" ? 10 : 1;  // 5 units of the last place, or half of one
  const Result result = asks_for_rule(arguments) ? result_of(rule_options_of(arguments), arguments.element())
                        : arguments.element() == Element::f32
                            ? result_of(Problem<float>::of(arguments), root)
                            : result_of(Problem<double>::of(arguments), root);
  const std::lock_guard lock(mutex);
  if (known.size() >= most) known.clear();
  known.emplace(key, result);
  return result;
}

}  // namespace

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Result result = known_result_of(arguments);
    out.value.push_back(result.value);
    out.bound.push_back(result.bound);
    out.how = result.how;
    const auto anything = Expected::infinity | Expected::minus_infinity | Expected::not_a_number;
    out.beyond.push_back(static_cast<std::uint8_t>(result.infinite ? anything : Expected::nothing));
  }
}

}  // namespace tessera::integration
