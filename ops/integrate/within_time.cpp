// SPDX-License-Identifier: Apache-2.0
#include "within_time.hpp"
#include <algorithm>
#include <fmt/format.h>
#include "tessera/core/error.hpp"

namespace tessera::integration {

void check_time(const Setting& setting, int operators, int threads) {
  // About what a core's vectors do; where somebody said how long it may take, only what no core can do is
  // refused beforehand.
  constexpr double core_per_second = 2e9, no_core_per_second = 1e10;
  const double rate = setting.most_seconds ? no_core_per_second : core_per_second;
  const double all = static_cast<double>(setting.strips) * operators;
  const double seconds = all / (rate * std::max(1, threads));
  const double most = setting.most_seconds.value_or(quadrature::Limits{}.seconds);
  if (seconds <= most) return;
  throw Error(
      fmt::format("{} strips would take {} {:.2g} s on {} threads, more than {:g}: fewer --strips, or more "
                  "--most-seconds",
                  setting.strips, setting.most_seconds ? "at least" : "about", seconds, threads, most));
}

Values told_of_unfinished() {
  quadrature::Answer out;
  out.rounding = quadrature::infinity;
  out.reason = quadrature::Reason::time;
  out.rule = "trapezoid";
  out.why = "the sum was not finished, so it has no value";
  Values told = told_of(out, 1);
  told.erase("condition");
  told.erase("evaluations");
  return told;
}

double seconds_allowed(const Arguments& arguments) { return setting_of(arguments).most_seconds.value_or(0); }

void tell_unfinished(const Arguments& arguments, Run& run) {
  run.values = told_of_unfinished();
  void* const result = arguments.array("integral").data;
  if (arguments.element() == Element::f32) *static_cast<float*>(result) = std::nanf("");
  else *static_cast<double*>(result) = quadrature::nothing;
}

}  // namespace tessera::integration
