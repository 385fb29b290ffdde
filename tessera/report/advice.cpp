// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/advice.hpp"
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/advice_rules.hpp"
#include "tessera/report/chart.hpp"
#include "tessera/report/scale.hpp"

namespace tessera::report {
namespace {

// Where a rule starts to speak. None is a pass or a fail: they say only what is worth a look.
constexpr double near_ceiling = 0.85, far_from_ceiling = 0.5, noisy = 0.05, clear_margin = 0.03;

std::string percent(double fraction) { return fmt::format("{:.0f} %", 100 * fraction); }

void wrong_results(const Group& group, std::vector<Advice>& out) {
  Entries told;
  for (const Entry* row : group.rows) {
    if (!row->wrong() || std::ranges::any_of(told, [&](const Entry* t) { return same_rung(*t, *row); }))
      continue;
    told.push_back(row);
    const auto times = std::ranges::count_if(choices_of(group.rows, *row), &Entry::wrong);
    out.push_back(
        {100, row->variant + " computes a wrong result",
         fmt::format("{} {} at {}{}, {}.", row->rung(), tessera::to_string(row->tuning), to_string(row->dims),
                     times > 1 ? fmt::format(" and {} more", times - 1) : "", where(group)),
         "Nothing else counts until it is right: run verify on this rung alone, then trace it for races."});
  }
}

void unsteady(const Group& group, std::vector<Advice>& out) {
  const Entry* worst = nullptr;
  double throttled = 0;
  for (const Entry* row : group.rows) {
    if (row->spread().value_or(0) > std::max(noisy, worst == nullptr ? 0 : *worst->spread())) worst = row;
    throttled += row->throttled.value_or(0);
  }
  if (throttled > 0)
    out.push_back(
        {60, "The device slowed itself down while it was measured",
         fmt::format("{:.0f} samples were dropped as throttled, {}.", throttled, where(group)),
         "Compare bursts with bursts: let the device cool, or ask for --sustained and compare those."});
  if (worst != nullptr && !group.executor())
    out.push_back({55, "Some times are too unsteady to rank by",
                   fmt::format("{} at {} varies by ± {:.1f} %, {}.", worst->rung(), to_string(worst->dims),
                               100 * *worst->spread(), where(group)),
                   "Measure again on an idle machine or with more samples (--reps) before trusting small "
                   "differences."});
}

void steps_back(const Group& group, const Entries& rungs, std::vector<Advice>& out) {
  for (const Entry* row : rungs) {
    const double ratio = row->ratio_previous.value_or(1), spread = row->spread().value_or(0);
    if (row->baseline || !row->counts() || ratio > 1 - clear_margin - spread) continue;
    out.push_back(
        {30, row->variant + " is slower than the rung before it",
         fmt::format("{} times as fast at {}, {}.", figure(ratio), to_string(row->dims), where(group)),
         "Trace both with --why to see which counter grew; tune it, or build the next rung on the one "
         "before."});
  }
}

void against_baseline(const Group& group, const Entry& best, std::vector<Advice>& out) {
  const Number ratio = best.ratio_baseline;
  if (!ratio || *ratio >= 1 - clear_margin) return;
  const bool near = *ratio >= near_ceiling;
  out.push_back({near ? 25 : 45, fmt::format("{} reaches {} of the baseline", best.variant, percent(*ratio)),
                 fmt::format("{} against the fastest library at {}, {}.", seconds_cell(best.median).text,
                             to_string(best.dims), where(group)),
                 near ? "The gap is of a size that tuning may close: tune this rung at this problem."
                      : "The gap is too wide for tuning alone: trace the rung, and look for the next idea of "
                        "the ladder."});
}

void at_the_edge(const Entries& choices, const Entry& best, std::vector<Advice>& out) {
  for (const auto& [name, value] : best.tuning) {
    int least = value, most = value;
    for (const Entry* row : choices)
      if (const auto other = row->tuning.find(name)) {
        least = std::min(least, *other);
        most = std::max(most, *other);
      }
    if (least == most || (value != least && value != most)) continue;
    out.push_back({35,
                   fmt::format("The best {} of {} lies at the edge of what was tried", name, best.variant),
                   fmt::format("{} = {} is the {} of {} to {} at {}.", name, value,
                               value == most ? "largest" : "smallest", least, most, to_string(best.dims)),
                   fmt::format("Sweep further in that direction, if the rung allows {} {} {}.", name,
                               value == most ? "above" : "below", value)});
  }
}

void ceilings(const Group& group, const Entry& best, std::vector<Advice>& out) {
  const Number share = best.roofline;
  if (!share) return;
  const bool memory = best.ceiling == "memory";
  if (*share >= near_ceiling) {
    out.push_back(
        {20, fmt::format("{} is at the {} ceiling", best.variant, memory ? "memory" : "arithmetic"),
         fmt::format("It reaches {} of what was measured as possible at {}, {}.", percent(*share),
                     to_string(best.dims), where(group)),
         memory ? "Tuning has little left to win. Move fewer bytes: fuse with a neighbour, or use a narrower "
                  "element."
                : "Tuning has little left to win. Do less arithmetic, or use units that do more at once."});
  } else if (*share < far_from_ceiling) {
    out.push_back({40,
                   fmt::format("{} uses {} of its {} ceiling", best.variant, percent(*share),
                               memory ? "memory" : "arithmetic"),
                   fmt::format("The fastest rung at {}, {}.", to_string(best.dims), where(group)),
                   memory ? "Ask for wider and adjacent accesses, and keep more of them in flight; trace "
                            "shows the sectors."
                          : "Give each thread more independent outputs, so that loads are used more often; "
                            "trace shows the CGMA."});
  }
}

void copies(const Group& group, const Entry& best, std::vector<Advice>& out) {
  if (!best.round_trip || *best.round_trip < 3 * *best.median || !group.device.starts_with("cuda")) return;
  out.push_back({15, "Copying takes longer than computing",
                 fmt::format("{} from host to host, {} of it in the kernel of {} at {}.",
                             seconds_cell(best.round_trip).text, seconds_cell(best.median).text, best.variant,
                             to_string(best.dims)),
                 "Keep the data on the device between calls: a faster kernel no longer shows from outside."});
}

void ladder_advice(const Group& group, std::vector<Advice>& out) {
  wrong_results(group, out);
  unsteady(group, out);
  const auto problems = problems_of(group.rows);
  if (problems.empty()) return;
  const Entries rows = at_problem(group.rows, problems.back());
  const Metric metric = metric_for(rows);
  const Entries rungs = best_choices(rows, metric);
  if (!group.executor()) steps_back(group, rungs, out);
  Entries own;
  std::ranges::copy_if(rungs, std::back_inserter(own), [](const Entry* row) { return !row->baseline; });
  const Entry* best = best_of(own, metric);
  if (best == nullptr || group.executor()) return;
  against_baseline(group, *best, out);
  at_the_edge(choices_of(rows, *best), *best, out);
  ceilings(group, *best, out);
  copies(group, *best, out);
}

}  // namespace

std::vector<Advice> advice_for(const std::vector<Document>& documents) {
  std::vector<Advice> out;
  for (const Document& document : documents)
    for (const Group& group : groups_of(document)) {
      if (document.kind == "trace") trace_advice(group, out);
      else ladder_advice(group, out);
    }
  std::ranges::stable_sort(out, std::greater(), &Advice::urgency);
  return out;
}

}  // namespace tessera::report
