// SPDX-License-Identifier: Apache-2.0
#include "asked.hpp"
#include "far_tail.hpp"
#include <unistd.h>
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include "option_use.hpp"
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/gauss_kronrod_product.hpp"
#include "ops/integrate/rules/extremes.hpp"
#include "ops/integrate/rules/hidden_regions.hpp"
#include "ops/integrate/rules/open_zones.hpp"
#include "ops/integrate/rules/small_heights.hpp"
#include "tessera/core/error.hpp"
#include "tessera/formula/program.hpp"

namespace tessera::integration {
namespace {

using quadrature::Answer;

// A number as a formula without variables; `otherwise` where nothing was written.
double number_or(const Arguments& arguments, const std::string& name, double otherwise) {
  const std::string& text = arguments.text(name);
  return text.empty() ? otherwise : number_of(text, "--" + name);
}

std::int64_t count_or(const Arguments& arguments, const std::string& name, std::int64_t otherwise) {
  const double value = number_or(arguments, name, static_cast<double>(otherwise));
  if (!(value >= 1 && value <= 1e18))
    throw Error("--" + name + " needs a number from 1 on, not " + arguments.text(name));
  return static_cast<std::int64_t>(value);
}

// An eighth of the memory that this machine has; a list that grows is there twice for a moment.
std::int64_t regions_in_memory() {
  constexpr std::int64_t of_one = sizeof(quadrature::Region) + sizeof(quadrature::RegionResult),
                         least = 1 << 20;
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || bytes <= 0) return least;
  return std::max<std::int64_t>(least, std::int64_t{pages} * bytes / 8 / of_one);
}

std::vector<double> points_of(const std::string& text) {
  std::vector<double> out;
  if (text.empty()) return out;
  for (const std::string& part : parts_of(text)) out.push_back(number_of(part, "--points"));
  return out;
}

// A break that lies nowhere in the range is a mistake of whoever typed it.
void check_points(const std::vector<double>& points, const quadrature::Range& range) {
  const double from = std::fmin(range.lower, range.upper), to = std::fmax(range.lower, range.upper);
  for (const double x : points)
    if (!(from <= x && x <= to) || std::isinf(x))
      throw Error(fmt::format("--points: {:g} lies outside of the range", x));
}

double rounded(double limit, Element element) {
  return element == Element::f32 ? static_cast<double>(static_cast<float>(limit)) : limit;
}

constexpr double usual_single = 1e-5;  // of a formula that is computed in f32
// Below it rules would follow the steps between its numbers.
constexpr double least_single = 2e-6;

// What was asked for is more than f32 has, though what rules see of it has converged.
Answer judged(Answer answer, const quadrature::Tolerance& asked) {
  if (answer.converged() && !(answer.error() <= asked.of(answer.value)))
    answer.reason = quadrature::Reason::roundoff;
  return answer;
}

}  // namespace

bool asks_for_rule(const Arguments& arguments) {
  if (has_samples(arguments)) return true;
  const std::string& rule = arguments.text("rule");
  return rule == "auto" ? arguments.text("strips").empty() : rule != "trapezoid";
}

quadrature::Tolerance tolerance_of(const Arguments& arguments, bool one_variable) {
  quadrature::Tolerance out = one_variable ? quadrature::Tolerance{} : quadrature::usual_cubature_tolerance;
  out.absolute = number_or(arguments, "absolute", out.absolute);
  // It is the scaled integral's.
  if (const double scale = arguments.real("scale"); scale != 0) out.absolute /= std::fabs(scale);
  if (arguments.element() == Element::f32) out.relative = usual_single;
  out.relative = number_or(arguments, "relative", out.relative);
  return out;
}

Asked asked_of(const Arguments& arguments) {
  Asked out;
  const Limits limits = read_limits(arguments.text("LIMITS"));
  out.rule = arguments.text("rule");
  out.element = arguments.element();
  check_bare_limits(arguments.text("FORMULA"), arguments.text("LIMITS"));
  out.formula = formula_with(arguments.text("FORMULA"), limits.fixed);
  for (const Range1& range : limits.ranges) {
    out.variables.push_back(range.variable);
    out.box.axes.push_back({rounded(range.from, out.element), rounded(range.to, out.element)});
    if (out.element == Element::f32) out.box.axes.back().rounding = 0x1p-24;
  }
  const bool one = out.variables.size() == 1 && out.rule != "vegas";
  check_options(arguments, one ? Way::one_variable : Way::several_variables);
  out.limits = one ? quadrature::Limits{} : quadrature::usual_cubature_limits;
  out.scale = arguments.real("scale");
  out.tolerance = tolerance_of(arguments, one);
  out.limits.evaluations = count_or(arguments, "most-evaluations", out.limits.evaluations);
  if (!one) out.limits.regions = regions_in_memory();
  out.limits.seconds = number_or(arguments, "most-seconds", out.limits.seconds);
  out.points = points_of(arguments.text("points"));
  if (one) check_points(out.points, out.box.axes[0]);
  out.seed = static_cast<std::uint64_t>(arguments.integer("random-seed"));
  return out;
}

std::optional<std::int64_t> patience_of(const Asked& asked, const Run& run) {
  constexpr double fewest_seconds = 2;  // else the processors' share would be missed
  const bool one = asked.variables.size() == 1 && asked.rule != "vegas";
  // There many digits come from products of Gauss-Kronrod pairs, which GPUs have not.
  const bool by_products = asked.rule == "auto" && asked.tolerance.relative <= quadrature::kronrod_relative &&
                           asked.box.dimensions() <= quadrature::most_kronrod_dimensions;
  if (one || by_products || asked.limits.seconds < fewest_seconds || !std::isfinite(run.patience))
    return std::nullopt;
  const auto steps = formula::compile<double>(asked.formula, asked.variables).step_count;
  return static_cast<std::int64_t>(run.patience / (1 + steps));
}

void take_over(Asked& asked, const Run& run) {
  if (run.spent_seconds <= 0) return;
  asked.limits.seconds = std::fmax(asked.limits.seconds - run.spent_seconds, 0.01 * asked.limits.seconds);
}

void tell_taken_over(Answer& answer, const Run& run) {
  if (run.spent_seconds <= 0) return;
  answer.why += fmt::format(
      "{}a GPU had started by the time that the processors had spent on it, {:.2g} s beside its own, and has "
      "taken over",
      answer.why.empty() ? "" : "; ", run.spent_seconds);
}

namespace {

// f, until it has been computed at so many points.
quadrature::ManyValues until_out_of(std::int64_t patience, const quadrature::ManyValues& f) {
  return [f, left = std::make_shared<std::atomic<std::int64_t>>(patience)](
             std::span<const double> points, std::size_t count, std::span<double> y) {
    const auto wanted = static_cast<std::int64_t>(count);
    if (left->fetch_sub(wanted, std::memory_order_relaxed) < wanted) throw OutOfPatience{};
    f(points, count, y);
  };
}

// What the formula's own rounding moves its jumps by; whichever device integrates, it is told here.
double lost_at_jumps(const Asked& asked, const quadrature::ManyValues& f) {
  const quadrature::ManyValues open = asked.element == Element::f32
                                          ? quadrature::many_single_open_of(asked.formula, asked.variables)
                                          : quadrature::many_open_of(asked.formula, asked.variables);
  if (!open) return 0;
  return quadrature::open_beside_breaks(f, open, asked.box,
                                        quadrature::features_of(asked.formula, asked.variables, asked.box));
}

quadrature::Box upwards(quadrature::Box box) {
  for (quadrature::Range& range : box.axes)
    if (range.lower > range.upper) std::swap(range.lower, range.upper);
  return box;
}

// What the text shows of the box, which takes up to a tenth of a second and is the same whenever it is asked:
// kept for as many texts as a program may take in turn. False: the time was over.
bool look_at_text(const Asked& asked, const quadrature::Deadline& until, quadrature::Box& box) {
  struct Shown {
    std::vector<quadrature::Features> features;
    std::vector<quadrature::HiddenRegion> hidden;
  };
  constexpr std::size_t most = 64;
  static std::mutex one_at_a_time;
  static std::map<std::string, Shown> known;
  std::string key = formula::to_text(asked.formula);
  for (std::size_t k = 0; k < box.axes.size(); ++k)
    key += fmt::format("; {} {:a} {:a} {:a}", asked.variables[k], box.axes[k].lower, box.axes[k].upper,
                       box.axes[k].rounding);
  {
    const std::lock_guard lock(one_at_a_time);
    if (const auto found = known.find(key); found != known.end()) {
      box.features = found->second.features;
      box.hidden = found->second.hidden;
      return true;
    }
  }
  box.features = quadrature::features_of(asked.formula, asked.variables, box);
  box.hidden = quadrature::hidden_regions(asked.formula, asked.variables, box, until);
  if (until.passed()) return false;
  const std::lock_guard lock(one_at_a_time);
  if (known.size() >= most) known.clear();
  known.emplace(key, Shown{box.features, box.hidden});
  return true;
}

Answer answer_over_box(const Asked& asked, const quadrature::Tolerance& tolerance, int threads,
                       const quadrature::ByRegions& by_regions, const quadrature::VegasEngineFor& engine,
                       std::optional<std::int64_t> patience) {
  const bool single = asked.element == Element::f32;
  quadrature::Box box = asked.box;
  // What the text shows is looked for within a share of the time: else nothing is claimed.
  constexpr double share = 0.3;
  const quadrature::Deadline until(share * asked.limits.seconds);
  const bool hurried = !look_at_text(asked, until, box);
  const quadrature::ManyValues f = single ? quadrature::many_single_values_of(asked.formula, asked.variables)
                                          : quadrature::many_values_of(asked.formula, asked.variables);
  // Heights that must be divided before they are added stay where that is done.
  const bool waits = patience && quadrature::excess_of(f, upwards(asked.box)) == 0;
  const quadrature::ManyValues patiently = waits ? until_out_of(*patience, f) : f;
  quadrature::Limits limits = asked.limits;
  limits.seconds = std::fmax(limits.seconds - until.spent(), (1 - share) / 2 * limits.seconds);
  Answer out = quadrature::by_name(asked.rule, patiently, box, tolerance, limits, asked.points, threads,
                                   asked.seed, by_regions, engine);
  out.names = asked.variables;
  if (hurried && out.converged()) out.reason = quadrature::Reason::time;
  if (out.converged())
    if (std::vector<double> there = in_infinite_part(f, asked.box); !there.empty()) {
      out.reason = quadrature::Reason::non_finite;
      out.truncation = quadrature::infinity;
      out.place = std::move(there);
    }
  if (!std::isfinite(out.value) || out.evaluations < 1) return out;
  out.rounding += lost_at_jumps(asked, f);
  if (single)
    out.rounding += quadrature::scattered_error(
        quadrature::many_single_errors_of(asked.formula, asked.variables), asked.box);
  else if (quadrature::heights_are_small(out, quadrature::volume_of(asked.box)))
    out.rounding +=
        quadrature::lost_in_small(quadrature::many_errors_of(asked.formula, asked.variables), asked.box);
  return out;
}

}  // namespace

Answer answer_to(const Asked& asked, int threads, const quadrature::ByRegions& by_regions,
                 const quadrature::VegasEngineFor& engine, std::optional<std::int64_t> patience) {
  quadrature::check(asked.tolerance);
  quadrature::Tolerance tolerance = asked.tolerance;
  if (asked.element == Element::f32 && (tolerance.relative > 0 || tolerance.absolute > 0))
    tolerance.relative = std::fmax(tolerance.relative, least_single);
  if (asked.variables.size() != 1 || asked.rule == "vegas")
    return judged(answer_over_box(asked, tolerance, threads, by_regions, engine, patience), asked.tolerance);
  quadrature::Range range = asked.box.axes[0];
  if (range.lower > range.upper) std::swap(range.lower, range.upper);
  const quadrature::Integrand f = quadrature::integrand_of(asked.formula, asked.variables[0], range);
  Answer out = quadrature::by_name(asked.rule, f, asked.box.axes[0], tolerance, asked.limits, asked.points);
  charge_hidden_tails(out, asked.formula, asked.variables[0], f, range, tolerance);
  return judged(std::move(out), asked.tolerance);
}

Values told_of(const Answer& answer, double scale) {
  const double factor = std::fabs(scale);
  Values out;
  // What may be off by anything is not made certain by a factor of 0.
  const auto scaled = [factor](double error) { return std::isinf(error) ? error : error * factor; };
  out["error"] = scaled(answer.error());
  out["truncation"] = scaled(answer.truncation);
  out["rounding"] = scaled(answer.rounding);
  out["condition"] = answer.condition();
  out["evaluations"] = answer.evaluations;
  out["reason"] = quadrature::words(answer);
  out["by"] = std::string(answer.rule);
  if (!answer.why.empty()) out["why"] = answer.why;
  if (!std::isnan(answer.exponent)) out["exponent"] = answer.exponent;
  return out;
}

}  // namespace tessera::integration
