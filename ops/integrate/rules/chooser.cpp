// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/chooser.hpp"
#include <algorithm>
#include <fmt/format.h>
#include "ops/integrate/rules/equidistant.hpp"
#include "ops/integrate/rules/value_errors.hpp"

namespace tessera::quadrature {
namespace {

constexpr int levels = 6;  // of halving: oscillations beyond it are met by bisection
constexpr int most_mended = 12;

std::string count(std::int64_t n, const char* what) { return fmt::format("{} {}", n, what); }

// α where |f| goes as the distance to the power -α on one side of x; NaN where no power fits.
double power_near(Sampler& sampler, double x, double sign, double scale) {
  double previous = nothing, alpha = nothing;
  std::vector<double> slopes;
  for (int k = 0; k < 8; ++k) {
    const double d = scale * std::exp2(-3.0 * k);
    const double y = std::fabs(sampler.at(x + sign * d));
    if (!std::isfinite(y) || y == 0) return nothing;
    if (!std::isnan(previous)) slopes.push_back(std::log2(y / previous) / 3);
    previous = y;
  }
  alpha = slopes[4];  // nearer, the rounding of x and its distance from the very place tell
  for (const double slope : {slopes[5], slopes[6]})
    if (!(std::fabs(slope - alpha) < 0.1)) return nothing;
  return alpha;
}

// Whether |f| falls to half on both sides, nearer than most rules would look.
bool is_narrow(Sampler& sampler, double x) {
  const Range& range = sampler.range();
  const double away =
      range.finite() ? 0.02 * (range.upper - range.lower) : 0.3 * std::fmax(std::fabs(x), 0.03);
  const double top = std::fabs(sampler.at(x));
  for (const double sign : {-1.0, 1.0}) {
    const double there = x + sign * away;
    if (!(range.lower < there && there < range.upper)) continue;
    if (!(std::fabs(sampler.at(there)) < top / 2)) return false;
  }
  return true;
}

}  // namespace

Chooser::Chooser(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                 std::span<const double> points)
    : sampler_(f, range, limits), tolerance_(tolerance), limits_(limits) {
  for (const double x : points)
    if (range.lower < x && x < range.upper) points_.push_back(x);
  if (points_.size() < points.size())
    say(count(static_cast<std::int64_t>(points.size() - points_.size()),
              "of the known breaks lie outside of the range"));
  if (!points_.empty()) say(count(static_cast<std::int64_t>(points_.size()), "known breaks"));
  if (!f.features) return;
  Features found = f.features(range);
  if (!found.breaks.empty())
    say(fmt::format("the formula is not smooth at {}x = {:.6g}: cut there",
                    found.breaks.size() == 1 ? "" : "some places, such as ", found.breaks.front()));
  points_.insert(points_.end(), found.breaks.begin(), found.breaks.end());
  if (!found.needles.empty())
    say(fmt::format("the formula shows {} at x = {:.6g}: cut there",
                    found.needles.size() == 1 ? "a narrow peak"
                                              : fmt::format("{} narrow peaks, such as", found.needles.size()),
                    found.needles.front()));
  points_.insert(points_.end(), found.needles.begin(), found.needles.end());
  for (std::size_t i = 0; i < found.needles.size(); ++i)
    needles_.push_back({found.needles[i] - found.widths[i], found.needles[i] + found.widths[i]});
  crowded_ = found.crowded;
  if (crowded_) say("the formula shows more narrow peaks than can be looked at: nothing is claimed");
  centres_ = std::move(found.centres);
}

void Chooser::say(const std::string& text) {
  if (!why_.empty()) why_ += "; ";
  why_ += text;
}

Answer Chooser::run() {
  const bool done = look_around();
  const std::int64_t looked = sampler_.evaluations();
  if (!done)
    while (!attempt()) {
    }
  if (sampler_.integrand().in_double && answer_.reason == Reason::roundoff)
    say("f changes between neighbouring numbers of f32, or is rounded there: --element f64 may resolve it");
  say(fmt::format("before, {} points looked for peaks, breaks and holes", looked));
  if (!charged_) {
    const bool converged = answer_.converged();
    charge(answer_, error_of_values(sampler_.integrand(), sampler_.range(), pieces(), answer_.magnitude),
           tolerance_);
    if (converged && !answer_.converged()) say("rounding inside the formula leaves fewer digits");
  }
  if (crowded_) judge_crowded();
  answer_.evaluations = sampler_.evaluations();
  answer_.why = why_;
  return answer_;
}

// Between the needles that were looked at lie others: whatever the rules saw, they are none the wiser.
void Chooser::judge_crowded() {
  if (answer_.reason == Reason::diverges) answer_.reason = Reason::may_diverge;
  else if (answer_.converged()) answer_.reason = Reason::doubtful;
  else if (answer_.reason == Reason::singular) answer_.reason = Reason::unresolved;
  answer_.truncation = infinity;
}

double Chooser::largest() const {
  double out = 0;
  for (const double y : seen_.y)
    if (std::isfinite(y)) out = std::fmax(out, std::fabs(y));
  return out;
}

bool Chooser::give_up(Answer answer, Reason reason, double where) {
  answer_ = std::move(answer);
  answer_.reason = reason;
  answer_.where = where;
  return true;
}

bool Chooser::look_around() {
  const Integrand& f = sampler_.integrand();
  const bool told = f.features || f.errors || f.constant;  // by a text
  const bool dense = !told && !sampler_.range().finite();
  seen_ = look(sampler_, centres_, {.denser = dense ? denser_without_text : Scales{}.denser});
  if (seen_.x.empty()) return give_up({}, sampler_.cap(), nothing);
  if (!std::isnan(seen_.hole)) return give_up({}, Reason::non_finite, seen_.hole);
  if (seen_.zeros_only && points_.empty()) {
    Answer zero;
    zero.value = 0;
    say(fmt::format("all {} values seen are 0: a peak may hide between them (give its place by --points)",
                    seen_.x.size()));
    return give_up(zero, Reason::doubtful, nothing);
  }
  std::erase_if(seen_.peaks, [this](double x) {
    return std::any_of(needles_.begin(), needles_.end(),
                       [x](const Range& needle) { return needle.lower <= x && x <= needle.upper; });
  });
  // Beside a pole climbing ends at the numbers next to it, and what lies between two of these no rule sees.
  std::erase_if(seen_.peaks, [this](double x) {
    return std::any_of(points_.begin(), points_.end(),
                       [x](double at) { return std::fabs(x - at) <= 1024 * unit * std::fabs(at); });
  });
  std::vector<double> narrow;  // others are cut at, too, which harms nothing
  for (const double x : seen_.peaks)
    if (is_narrow(sampler_, x)) narrow.push_back(x);
  if (!narrow.empty())
    say(fmt::format("{} found near x = {:.6g}: cut there",
                    narrow.size() == 1 ? "a narrow peak was" : "narrow peaks were", narrow.front()));
  points_.insert(points_.end(), seen_.peaks.begin(), seen_.peaks.end());
  cut_scales();
  return false;
}

void Chooser::cut_scales() {
  const std::vector<double> scales = scale_cuts(sampler_.range(), points_);
  if (!scales.empty()) say("the range has many scales: cut between them");
  points_.insert(points_.end(), scales.begin(), scales.end());
}

// One round; false: something was mended, and the next round may do better.
bool Chooser::attempt() {
  const std::vector<Piece> parts = pieces();
  const std::int64_t before = sampler_.evaluations();
  const Answer first = double_exponential(sampler_, parts, tolerance_, levels);
  first_points_ = sampler_.evaluations() - before;
  if (sampler_.exhausted()) return give_up(first, sampler_.cap(), nothing);
  if (first.reason == Reason::non_finite)
    return !mend_hole(first.where) && give_up(first, Reason::non_finite, first.where);
  if (first.without_limit() && mend_top(first.where)) return false;
  if (first.reason == Reason::diverges)
    return give_up(first, ends_in_top(first.where) ? Reason::may_diverge : Reason::diverges, first.where);
  return by_bisection(first);
}

// A value that is not finite at one abscissa alone is cut out; true: try again.
bool Chooser::mend_hole(double x) {
  if (++mended_ > most_mended || !(sampler_.range().lower < x && x < sampler_.range().upper)) return false;
  if (std::find(points_.begin(), points_.end(), x) != points_.end()) return false;
  const double scale = std::fmax(std::fabs(x), 1e-3) * 1e-7;
  for (const double sign : {-1.0, 1.0})
    if (!std::isfinite(sampler_.at(x + sign * scale))) return false;
  say(fmt::format("no finite value at x = {:.6g}: cut there", x));
  points_.push_back(x);
  return true;
}

// How far from x |f| falls to half of its height there; 0 where too few numbers lie before.
double Chooser::top_width(double x, double sign, double top) {
  const Range& range = sampler_.range();
  double width = std::fmax(1e-3, std::fabs(x));
  for (;;) {
    width /= 16;
    const double at = x + sign * width;
    if (at == x || width <= 512 * unit * std::fabs(x)) return 0;
    if (!(range.lower <= at && at <= range.upper)) continue;
    const double y = std::fabs(sampler_.at(at));
    if (!(y < infinity)) return 0;
    if (y >= top / 2) return width;
  }
}

// What grows like the inverse distance, and more, up to a height that is a number: cut where that begins.
bool Chooser::mend_top(double x) {
  const Range& range = sampler_.range();
  if (++mended_ > most_mended || !std::isfinite(x)) return false;
  const double top = std::fabs(sampler_.at(x));
  if (!(top > 0 && top < infinity)) return false;
  bool cut_there = false;
  for (const double sign : {-1.0, 1.0}) {
    const double at = x + sign * top_width(x, sign, top);
    if (at == x || !(range.lower < at && at < range.upper)) continue;
    if (std::find(points_.begin(), points_.end(), at) != points_.end()) continue;
    points_.push_back(at);
    cut_there = true;
  }
  if (!cut_there) return false;
  say(fmt::format("|f| grows towards x = {:.6g}, up to {:.3g}: cut beside it", x, top));
  cut_scales();
  return true;
}

// Whether the height at x is a number far beyond those at the nearest abscissae: nobody knows what lies
// between.
bool Chooser::ends_in_top(double x) {
  constexpr double far_beyond = 1e4;
  if (!std::isfinite(x)) return false;
  const double top = std::fabs(sampler_.at(x));
  for (const double towards : {-infinity, infinity}) {
    const double at = std::nextafter(x, towards);
    if (!(sampler_.range().lower <= at && at <= sampler_.range().upper)) continue;
    if (!(top > far_beyond * std::fabs(sampler_.at(at)))) return false;
  }
  return top < infinity;
}

// Bisection ran into one abscissa: what f does there decides.
bool Chooser::mend_stuck(double x) {
  if (++mended_ > most_mended || !std::isfinite(x)) return false;
  for (const double sign : {-1.0, 1.0}) {
    const double scale = 1e-5 * std::fmax(std::fabs(x), 1e-3);
    const double alpha = power_near(sampler_, x, sign, scale);
    if (!(alpha > 0.995)) continue;
    say(fmt::format("|f| grows as the distance to x = {:.6g} to the power -{:.3g}", x, alpha));
    constexpr double told = 4e-7;  // how well a power is known from so few digits of x
    answer_.reason = alpha > 1 - told ? Reason::diverges : Reason::may_diverge;
    answer_.where = x;
    answer_.value = nothing;
    return true;
  }
  if (std::find(points_.begin(), points_.end(), x) != points_.end()) return false;
  points_.push_back(x);
  say(fmt::format("bisection ran into x = {:.6g}: cut there", x));
  return true;
}

std::string Chooser::shape_words() const {
  const Range& range = sampler_.range();
  if (!range.finite())
    return fmt::format("the range is infinite: exp-sinh or sinh-sinh, {} points on one core", first_points_);
  Sampler quiet(sampler_.integrand(), range, {.evaluations = 200});
  Trapezoid sums(quiet);
  for (int i = 0; i < 8 && sums.refine(); ++i) {
  }
  const std::vector<double>& s = sums.sums();
  double p = nothing;
  bool settled = false;  // before any power shows
  if (s.size() == 8) {
    p = exponent(s[5], s[6], s[7]);
    if (!(std::fabs(p - exponent(s[4], s[5], s[6])) < 0.1)) p = nothing;
    settled = std::fmax(std::fabs(s[7] - s[6]), std::fabs(s[6] - s[5])) <= 1e-9 * std::fabs(s[7]);
  }
  if (p < 1.9)
    return fmt::format(
        "endpoint error of the trapezoid sum falls as h^{:.2g}: tanh-sinh, {} points on one core", p,
        first_points_);
  if (std::isnan(p) && !settled && s.size() == 8)
    return fmt::format("trapezoid sums of few strips show no order{}: tanh-sinh, {} points on one core",
                       points_.empty() ? "" : " across the cuts", first_points_);
  return fmt::format("smooth: tanh-sinh, {} points on one core", first_points_);
}

}  // namespace tessera::quadrature
