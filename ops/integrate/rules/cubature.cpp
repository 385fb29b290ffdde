// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/cubature.hpp"
#include <fmt/format.h>
#include <memory>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/comparing.hpp"
#include "ops/integrate/rules/gauss_kronrod_product.hpp"
#include "ops/integrate/rules/extremes.hpp"
#include "ops/integrate/rules/met_regions.hpp"
#include "ops/integrate/rules/product.hpp"
#include "ops/integrate/rules/quasi_random.hpp"
#include "ops/integrate/rules/sobol.hpp"
#include "ops/integrate/rules/vegas.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

class Choice {
 public:
  Choice(const ManyValues& f, const Box& box, const Tolerance& tolerance, const Limits& limits, int threads,
         const ByRegions& regions, int depth = 0)
      : f_(f),
        box_(box),
        told_regions_(std::make_unique<MetRegions>(f_, box_)),
        tolerance_(tolerance),
        limits_(limits),
        threads_(threads),
        regions_(regions),
        depth_(depth),
        start_(std::chrono::steady_clock::now()) {}

  Answer run();

 private:
  Cube cube(double share) { return cube(share, seen_.axes); }
  Cube cube(double share, const std::vector<Axis>& axes);
  // Of a rule that has had its cube. `elsewhere`: its points were not computed here.
  Answer counted(Answer answer, bool elsewhere = false) {
    spent_ += answer.evaluations;
    if (answer.reason == Reason::evaluations || answer.reason == Reason::time ||
        answer.reason == Reason::memory)
      cap_ = answer.reason;
    told_regions_->doubt(answer, tolerance_, elsewhere ? &seen_.whole : nullptr);
    // Where an axis is cut, points come as near as numbers lie there.
    charge_ends(answer, cuts_, product_reach, tolerance_.of(answer.value), seen_.axes.size());
    if (std::isfinite(answer.error())) told_.push_back(answer);
    return answer;
  }
  // With what lies nearer to the ends than its points come.
  Answer with_ends(Answer answer, double reach) const {
    charge_ends(answer, ends_, reach, tolerance_.of(answer.value), seen_.axes.size());
    return answer;
  }
  // Regions close in on an end by themselves; but where they met a value that is none, they came no nearer.
  Answer with_ends_of_regions(Answer answer) const {
    return by_product_ || answer.reason == Reason::non_finite ? with_ends(std::move(answer), product_reach)
                                                              : answer;
  }
  void say(const std::string& text) { why_ += (why_.empty() ? "" : "; ") + text; }
  Answer regions_from(double first_cut, bool products);
  Answer by_regions(bool products);
  Answer by_chance();
  bool settles(Answer& answer);
  Answer with_few(Reason cap);
  double typical() const;
  void watch_peaks();
  const Standing* to_cut_out() const;
  Answer around(const Standing& peak);
  const Answer& check(double absolute = 0);
  Answer finished(Answer answer) const;

  const ManyValues& f_;
  Box box_;
  std::unique_ptr<MetRegions> told_regions_;  // of the box
  Tolerance tolerance_;
  Limits limits_;
  int threads_;
  const ByRegions& regions_;
  int depth_;  // of boxes cut out of boxes
  std::chrono::steady_clock::time_point start_;
  std::int64_t spent_ = 0;
  Explored seen_;
  std::vector<End> ends_, cuts_;
  double safety_ = 1;        // how many times more than regions tell they may have missed
  bool by_product_ = false;  // the product rule saw them
  Answer check_;
  bool checked_ = false;
  std::vector<Answer> told_;  // by each rule, whether it converged or not
  std::string why_;
  Reason cap_ = Reason::converged;  // that stopped one of the rules
  std::vector<Box> parts_;          // of the box, where a peak was cut out
};

// What is left of the caps, or a share of it.
Cube Choice::cube(double share, const std::vector<Axis>& axes) {
  Limits limits = limits_;
  const double gone = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  limits.evaluations = static_cast<std::int64_t>(share * static_cast<double>(limits_.evaluations - spent_));
  limits.seconds = std::fmax(0, share * (limits_.seconds - gone));
  told_regions_->forget();
  return {told_regions_->values(), axes, limits};
}

// Quasi-random points know nothing of the others': what these missed, they may have met.
const Answer& Choice::check(double absolute) {
  if (checked_) return check_;
  checked_ = true;
  Cube points = cube(0.3);
  const Tolerance coarse{std::fmax(tolerance_.relative / 3, 1e-4),
                         std::fmax(tolerance_.absolute / 3, absolute)};
  check_ = counted(quasi_random(points, coarse, {.seed = 3, .threads = threads_, .tails = false}));
  if (by_product_) check_.truncation += beyond(ends_, scattered_reach(check_));
  return check_;
}

Answer Choice::regions_from(double first_cut, bool products) {
  const bool elsewhere = !products && regions_.rule;
  Cube points = cube(products ? 0.05 : 0.4, elsewhere ? seen_.whole : seen_.axes);
  const Tolerance of{tolerance_.relative / safety_, tolerance_.absolute / safety_};
  Answer out = products    ? gauss_kronrod_product(points, of, threads_, first_cut)
               : elsewhere ? regions_.rule(points, of, first_cut)
                           : genz_malik(points, of, threads_, first_cut);
  out.truncation *= safety_ > 1 ? 0.99 * safety_ : 1;
  return counted(std::move(out), elsewhere);
}

// Two runs from different regions: at a jump the rule's own error can be too small.
Answer Choice::by_regions(bool products) {
  Answer out = regions_from(0.5, products);
  if (!out.converged()) return out;
  const Answer other = regions_from(0.4619, products);
  out.evaluations += other.evaluations;
  out.truncation = std::fmax(out.truncation, std::fabs(out.value - other.value));
  if (!other.converged()) out.reason = other.reason;
  else if (!(out.error() <= tolerance_.of(out.value))) out.reason = Reason::doubtful;
  return out;
}

// Two runs of VEGAS that learn from different points and, where axes are drawn together, in different
// variables.
Answer Choice::by_chance() {
  Cube points = cube(0.6);
  Answer out = counted(vegas(points, tolerance_, {.seed = 11, .threads = threads_}));
  if (!out.converged()) return out;
  Cube others = cube(0.95, less_drawn_together(seen_.axes, !box_.features.empty() || !seen_.far.empty()));
  const Tolerance coarse{.relative = std::fmax(tolerance_.relative, 1e-3), .absolute = tolerance_.absolute};
  const Answer other = counted(vegas(others, coarse, {.seed = 12, .threads = threads_}));
  out.evaluations += other.evaluations;
  const auto differs = [&out](const Answer& from) {
    return std::fabs(out.value - from.value) > 1.5 * (out.error() + from.error());
  };
  if (!other.converged() || differs(other) || (checked_ && differs(check_))) out.reason = Reason::doubtful;
  return out;
}

bool Choice::settles(Answer& answer) {
  if (!answer.converged()) return false;
  const Answer& other = check();
  const double apart = std::fabs(answer.value - other.value), scatter = 1.5 * other.error();
  // Steps may agree by chance, at kinks and jumps that lie obliquely: then the other points tell what they do
  // not.
  if (apart > scatter + answer.error()) answer.truncation = apart + scatter;
  // The scatter must be small enough to tell something.
  const bool telling = other.truncation <= 0.1 * std::fmax(std::fabs(answer.value), other.magnitude * 1e-2);
  return telling && answer.error() <= tolerance_.of(answer.value);
}

Answer Choice::finished(Answer answer) const {
  // Where rules contradict each other, the one that tells the smallest error need not be right.
  if (!answer.converged())
    for (const Answer& other : told_) {
      const double apart = std::fabs(answer.value - other.value);
      if (apart > answer.error() + other.error()) answer.truncation = apart;
    }
  told_regions_->widen(answer, tolerance_);
  const double gone = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (answer.reason == Reason::unresolved && cap_ != Reason::converged) answer.reason = cap_;
  if (answer.reason == Reason::unresolved && gone >= limits_.seconds) answer.reason = Reason::time;
  if (seen_.hurried && answer.converged())
    answer.reason = gone > limits_.seconds / 10 ? Reason::time : Reason::evaluations;
  answer.evaluations = spent_;
  answer.why = why_;
  return answer;
}

// So few that nothing can be looked at before: one rule, and what it tells.
Answer Choice::with_few(Reason cap) {
  for (const Range& range : box_.axes) seen_.axes.push_back(Axis::of(range));
  Cube points = cube(1);
  Answer out = points.dimensions() <= most_cubature_dimensions
                   ? counted(genz_malik(points, tolerance_, threads_))
                   : counted(vegas(points, tolerance_, {.seed = 11, .threads = threads_}));
  if (out.converged() || out.reason == Reason::doubtful) out.reason = cap;
  say("too little is allowed to look at f first");
  return finished(out);
}

// What the integral of |f| would be without peaks.
double Choice::typical() const {
  double out = seen_.typical;
  for (const Axis& axis : seen_.axes) out *= axis.range.upper - axis.range.lower;
  return out;
}

// The heaviest peak, where rules for the whole box would either miss it or what it stands on.
const Standing* Choice::to_cut_out() const {
  constexpr int deepest = 3, most_axes = 6;
  constexpr double counts = 1e-3;
  const std::size_t d = seen_.axes.size();
  if (seen_.standing.empty() || depth_ >= deepest || d > most_axes) return nullptr;
  if (seen_.drawn && d <= most_product_dimensions) return nullptr;
  for (const Features& of : box_.features)
    if (!of.breaks.empty()) return nullptr;
  const double below = typical();
  for (const Standing& peak : seen_.standing) {
    const double allowed = tolerance_.of(below + peak.mass);
    // What falls slowly has no end at which it could be cut out.
    if (peak.mass > counts * allowed && below > counts * allowed && peak.around <= 4 * seen_.typical)
      return &peak;
  }
  return nullptr;
}

// The part around the peak by itself, and the others, which may have peaks of their own.
Answer Choice::around(const Standing& peak) {
  std::vector<Standing> others = seen_.standing;
  std::erase_if(others, [&](const Standing& other) { return peak.holds(other.centre); });
  parts_ = parts_around(box_, peak, std::move(others));
  std::string place;
  for (const double x : peak.centre) place += fmt::format("{}{:.6g}", place.empty() ? "" : ", ", x);
  say(fmt::format("a peak stands out at ({}): its surroundings are cut out", place));
  const Tolerance tolerance{tolerance_.relative / 2,
                            tolerance_.of(peak.mass + typical()) / (4.0 * double(parts_.size()))};
  Answer out;
  out.value = out.truncation = 0;
  out.reason = Reason::converged;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Limits limits = limits_;
    limits.evaluations -= spent_;
    limits.seconds -= std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (limits.evaluations < 1 || !(limits.seconds > 0)) {
      out.truncation = infinity;
      out.reason = limits.evaluations < 1 ? Reason::evaluations : Reason::time;
      break;
    }
    const Answer of =
        Choice(f_, parts_[i], tolerance, limits, threads_, regions_, i == 0 ? 1000 : depth_ + 1).run();
    spent_ += of.evaluations;
    out.value += of.value;
    out.truncation += of.truncation;
    out.rounding += of.rounding;
    out.magnitude += of.magnitude;
    if (i == 0 || !of.converged()) out.rule = of.rule;
    if (out.converged() && !of.converged()) {
      out.reason = of.reason;
      out.place = of.place;
    }
    if (i == 0 || !of.converged())
      say((i == 0 ? "there: " : "beside it: ") + (of.why.empty() ? words(of) : of.why));
  }
  if (out.converged() && !(out.error() <= tolerance_.of(out.value))) out.reason = Reason::unresolved;
  return out;
}

// A rule must have met each of them: what all rules overlook, they agree about.
void Choice::watch_peaks() {
  const std::size_t before = box_.hidden.size();
  for (const FarPeak& peak : seen_.far) box_.hidden.push_back(region_of(peak, box_));
  for (const Standing& peak : seen_.standing)
    if (std::none_of(box_.hidden.begin(), box_.hidden.end(),
                     [&](const HiddenRegion& known) { return known.holds(peak.centre.data()); }))
      box_.hidden.push_back(region_of(peak, box_));
  if (box_.hidden.size() > before) told_regions_ = std::make_unique<MetRegions>(f_, box_);
}

Answer Choice::run() {
  const int d = box_.dimensions();
  constexpr std::int64_t fewest = 20'000;  // the first look alone may take half of them
  if (limits_.evaluations < fewest) return with_few(Reason::evaluations);
  if (limits_.seconds < fewest * seconds_each(f_, box_)) return with_few(Reason::time);
  if (d <= most_sobol_dimensions) seen_ = explore(f_, box_, limits_, spent_);
  else
    for (const Range& range : box_.axes) seen_.axes.push_back(Axis::of(range));
  if (!seen_.words.empty()) say(seen_.words);
  watch_peaks();
  Answer out;
  if (!seen_.gap.empty()) {
    out.reason = Reason::non_finite;
    out.place = seen_.gap;
    return finished(out);
  }
  if (seen_.zeros_only) {
    say(fmt::format("all {} values seen are 0: a peak may hide between them", spent_));
    out.value = 0;
    out.reason = Reason::doubtful;
    return finished(out);
  }
  if (const Standing* const peak = to_cut_out(); peak != nullptr) return finished(around(*peak));
  Answer best;
  const auto consider = [&](Answer answer, const std::string& words) {
    const bool settled = settles(answer);
    if (settled)
      say(fmt::format("{}, {} points; quasi-random points agree to {:.1g}", words, answer.evaluations,
                      std::fabs(answer.value - check_.value)));
    else if (answer.converged()) answer.reason = Reason::doubtful;
    const bool digits = only_rounding_left(answer) && agrees(answer, check(telling_of(answer)));
    const bool final = answer.without_limit() || answer.reason == Reason::singular || digits;
    if (settled || final || tells_more(answer, best)) best = answer;
    if (answer.undefined() || check_.undefined()) best = answer.undefined() ? answer : check_;
    if (digits) say(fmt::format("{}, {} points: nothing but rounding is left", words, answer.evaluations));
    return settled || digits || best.undefined();
  };
  Cube beside_cuts = cube(1);
  cuts_ = cuts_by_chance(beside_cuts);
  spent_ += beside_cuts.evaluations();
  by_product_ = d <= most_product_dimensions;
  if (by_product_) {
    Cube points = cube(0.25);
    if (consider(counted(product_rule(points, tolerance_, threads_, &ends_)),
                 fmt::format("{} variables: tanh-sinh on each axis", d)))
      return finished(best);
    // Other rules end where this one does.
    if (best.without_limit() || best.reason == Reason::singular) {
      if (best.reason == Reason::diverges) say("|f| grows towards an end like its inverse distance, or more");
      return finished(best);
    }
  }
  Cube beside_ends = cube(1);
  std::vector<End> with_corners = ends_by_chance(beside_ends);
  add_corners(beside_ends, with_corners);
  spent_ += beside_ends.evaluations();
  safety_ = missed_by_regions(with_corners, !seen_.far.empty());
  if (!by_product_) ends_ = std::move(with_corners);
  if (!by_product_ && may_diverge(ends_, seen_.axes.size(), best)) {
    say("|f| grows towards an end, or a corner, about as fast as leaves no integral");
    return finished(best);
  }
  // Where f is smooth, many digits take fewer points of a high degree; elsewhere these give up soon.
  const bool digits =
      d <= most_kronrod_dimensions && !regions_.rule && tolerance_.relative <= kronrod_relative;
  for (const bool products : {true, false})
    if ((products ? digits : d <= most_cubature_dimensions) &&
        consider(with_ends_of_regions(by_regions(products)),
                 fmt::format("{} variables: {} by regions{}, twice", d,
                             products ? products_name : "Genz-Malik", regions_.where)))
      return finished(best);
  if (d <= most_sobol_dimensions) {
    Cube points = cube(0.5);
    out = counted(quasi_random(points, tolerance_, {.seed = 1, .threads = threads_}));
    out = with_ends(out, scattered_reach(out));
    if (out.converged() && checked_ &&
        std::fabs(out.value - check_.value) > 1.5 * (out.error() + check_.error()))
      out.reason = Reason::doubtful;
    if (out.converged() || tells_more(out, best)) {
      say(fmt::format("{} variables: quasi-random points, {} in 16 repetitions", d, out.evaluations));
      best = out;
    }
    if (out.undefined()) return finished(out);
    if (out.converged()) return finished(best);
  }
  out = by_chance();
  out = with_ends(out, scattered_reach(out));
  if (out.undefined()) return finished(out);
  if (out.converged() || tells_more(out, best)) {
    say(fmt::format("{} variables: VEGAS{}, {} points", d, out.converged() ? ", twice" : "",
                    out.evaluations));
    best = out;
  }
  return finished(best);
}

}  // namespace

Answer automatic_cubature(const ManyValues& f, const Box& box, const Tolerance& tolerance,
                          const Limits& limits, int threads, const ByRegions& by_regions) {
  if (box.axes.empty()) throw Error("an integral needs a variable with limits");
  if (box.dimensions() > most_dimensions)
    throw Error(fmt::format("{} variables are too many: {} can be integrated over", box.dimensions(),
                            most_dimensions));
  Box upwards = box;
  double sign = 1;
  bool empty = false;
  for (Range& range : upwards.axes) {
    quadrature::check(range, tolerance, limits);
    if (range.lower > range.upper) {
      std::swap(range.lower, range.upper);
      sign = -sign;
    }
    empty = empty || range.lower == range.upper;
  }
  if (empty) return between_same_limits(f, upwards);
  if (const int excess = by_regions.rule ? 0 : excess_of(f, upwards); excess > 0) {
    Answer out = automatic_cubature(scaled(f, excess), box, scaled(tolerance, excess), limits, threads);
    scale_back(out, excess);
    judge_size(out);
    return out;
  }
  Answer out = Choice(f, upwards, tolerance, limits, threads, by_regions).run();
  look_far_out(out, f, upwards, limits);
  judge_size(out);
  out.value *= sign;
  return out;
}

}  // namespace tessera::quadrature
