// SPDX-License-Identifier: Apache-2.0
// What the rungs that integrate by regions on a GPU have in common: which arguments are for them, and how an
// answer gets back.
#pragma once
#include "integrate_rules.hpp"
#include "ops/integrate/rules/genz_malik.hpp"
#include "regions_run.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

// Make: of what is asked and the tuning, what RegionRun's constructor calls Estimate.
template <class T, class Make>
void integrate_by_regions(const Arguments& arguments, const Tuning& tuning, Run& run, const Make& make) {
  RuleOptions options = rule_options_of(arguments);
  take_over(options, run);
  const auto estimate = make(options, tuning, run);
  const quadrature::ByRegions by_regions{
      [&](quadrature::Cube& cube, const quadrature::Tolerance& tolerance, double first_cut) {
        return RegionRun(cube, tolerance, first_cut, tuning["place"], run, estimate).run();
      },
      run.device->where == Where::cuda ? " on the GPU" : " on the executor"};
  quadrature::Answer answer = answer_to(options, host_threads(), by_regions);
  add_fallback_note(answer, run);
  const T given = rounded_value<T>(answer, options.scale);
  backend_of(*run.device).copy(run, arguments.array("integral").data, &given, sizeof given);
  run.values = values_of(answer, options.scale);
}

inline Reason not_by_regions(const Arguments& arguments) {
  if (has_samples(arguments)) return "samples are for the processors";
  if (!asks_for_rule(arguments)) return "a trapezoid sum is asked for";
  const std::string& rule = arguments.text("rule");
  if (rule != "auto" && rule != "genz_malik") return "it knows the rule genz_malik alone";
  const int d = rule_options_of(arguments).box.dimensions();
  if (d < 2 || d > quadrature::most_cubature_dimensions)
    return "Genz and Malik's rule takes 2 to 12 variables";
  return std::nullopt;
}

// `place`: for so many regions at first, unless the run says otherwise.
template <class Make>
Choice choice_by_regions(const Make& make, int place, std::vector<Range> ranges = {}) {
  Choice out;
  out.ranges = std::move(ranges);
  // Of regions: room for more costs a copy.
  out.ranges.push_back({.name = "place", .first = 128, .last = 1 << 24, .value = place});
  out.run[Element::f64] = [make](const Arguments& a, const Tuning& tuning, Run& run) {
    integrate_by_regions<double>(a, tuning, run, make);
  };
  out.refuses = [](const Arguments& a, const Tuning&, const Device&) { return not_by_regions(a); };
  out.footprint = [](const Arguments& a, const Tuning&) -> std::optional<Footprint> {
    constexpr int threads = 128;  // of the kernels that estimate; for the first regions a block is enough
    const std::int64_t regions = std::int64_t{1} << std::min(rule_options_of(a).box.dimensions(), 6);
    return Footprint{(regions + threads - 1) / threads, threads, 0};
  };
  out.workspace_bytes = [](const Arguments& a, const Tuning& tuning) {
    const RuleOptions options = rule_options_of(a);
    const int d = options.box.dimensions();
    return RegionMemory(d, first_capacity(options.limits, d, tuning["place"])).bytes;
  };
  return out;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
