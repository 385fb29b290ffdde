// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/advice.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <vector>
#include "tessera/report/charts.hpp"
#include "tessera/report/group.hpp"

namespace tessera::report {
namespace {

constexpr double threads_of_a_warp = 32, bytes_of_a_sector = 32;

std::string name_of_row(const Entry& row) {
  return fmt::format("{}{}{} at {}", row.rung(), row.tuning.empty() ? "" : " ",
                     tessera::to_string(row.tuning), to_string(row.dims));
}

// Returns the quotient of two counters, if both were counted.
Number quotient(const Entry& row, const std::string& above, const std::string& below) {
  const Number a = row.counter(above), b = row.counter(below);
  if (!a || !b || !(*b > 0)) return std::nullopt;
  return *a / *b;
}

// Returns the size in bytes of "f32", "i32", "bf16": the digits at the end are bits.
Number bytes_of(const std::string& element) {
  const auto digits = element.find_first_of("0123456789");
  if (digits == std::string::npos || element.find_first_not_of("0123456789", digits) != std::string::npos)
    return std::nullopt;
  return element.size() - digits > 3 ? Number() : Number(std::stoi(element.substr(digits)) / 8.0);
}

std::string place_of(const Entry& row, const std::string& counter) {
  const SourceLine* worst = nullptr;
  double most = 0;
  for (const SourceLine& line : row.lines)
    for (const auto& [name, value] : line.counters)
      if (name == counter && value > most) {
        most = value;
        worst = &line;
      }
  return worst == nullptr ? "" : fmt::format(" Most of them at {}:{}.", worst->file, worst->line);
}

void findings(const Entry& row, std::vector<Advice>& out) {
  for (const Finding& finding : row.findings)
    out.push_back({90,
                   fmt::format("{} in {}", finding.kind.empty() ? "broken rule" : finding.kind, row.variant),
                   fmt::format("{}:{}: {}", finding.file, finding.line, finding.text),
                   "Its result is luck until this is mended, even where verify passes."});
}

void coalescing(const Entry& row, const std::string& access, std::vector<Advice>& out) {
  const Number sectors = quotient(row, access + ".sectors", access + ".requests"),
               size = bytes_of(row.element);
  // The minimum that a trace counted from the addresses is more accurate than an estimate from the element.
  Number needed = quotient(row, access + ".ideal_sectors", access + ".requests");
  const bool counted = needed.has_value();
  if (!needed && size) needed = threads_of_a_warp * *size / bytes_of_a_sector;
  if (!sectors || !needed || *sectors <= 1.5 * *needed) return;
  const bool load = access == "global_load";
  out.push_back({70, fmt::format("Coalesce the {} of {}", load ? "loads" : "stores", row.variant),
                 fmt::format("{} sectors per request, where {} {}; {}.{}", figure(*sectors), figure(*needed),
                             counted ? "would hold what was asked for"
                                     : "hold a whole warp's " + row.element + " side by side",
                             name_of_row(row), place_of(row, access + ".sectors")),
                 "Let neighbouring threads of a warp take neighbouring elements: exchange the thread's x and "
                 "y, or go through shared memory."});
}

void conflicts(const Entry& row, const std::string& access, std::vector<Advice>& out) {
  const Number conflicts = row.counter(access + ".conflicts"), requests = row.counter(access + ".requests");
  if (!conflicts || !requests || !(*requests > 0) || *conflicts <= 0.1 * *requests) return;
  out.push_back({65, fmt::format("Bank conflicts in {}", row.variant),
                 fmt::format("{} conflicts in {} {} of shared memory; {}.{}", figure(*conflicts),
                             figure(*requests), access == "shared_load" ? "loads" : "stores",
                             name_of_row(row), place_of(row, access + ".conflicts")),
                 "Pad the rows of the tile by one element, or exchange the order in which lanes walk it."});
}

void reuse(const Entry& row, std::vector<Advice>& out) {
  const Number cgma = row.counter("cgma");
  const bool shares = row.counter("shared_load.requests").value_or(0) > 0;
  if (!cgma || *cgma >= 4) return;
  out.push_back(
      {50, fmt::format("{} fetches its operands again and again", row.variant),
       fmt::format("{} floating-point operations for each access to global memory; {}.", figure(*cgma),
                   name_of_row(row)),
       shares ? "Enlarge the tile in shared memory, or compute several outputs a thread, so that each "
                "fetched element serves more often."
              : "Bring tiles into shared memory, so that the threads of a block share what they fetch."});
}

void trace_advice(const Group& group, std::vector<Advice>& out) {
  for (const Entry* row : group.rows) {
    findings(*row, out);
    for (const char* access : {"global_load", "global_store"}) coalescing(*row, access, out);
    for (const char* access : {"shared_load", "shared_store"}) conflicts(*row, access, out);
    reuse(*row, out);
  }
}

// Thresholds of the rules. They mean no pass or fail, only that something is worth a look.
constexpr double near_ceiling = 0.85, noisy = 0.05, clear_margin = 0.03;

std::string percent(double fraction) { return fmt::format("{:.0f} %", 100 * fraction); }

void wrong_results(const Group& group, std::vector<Advice>& out) {
  Entries seen;
  for (const Entry* row : group.rows) {
    if (!row->wrong() || std::ranges::any_of(seen, [&](const Entry* t) { return same_rung(*t, *row); }))
      continue;
    seen.push_back(row);
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
        {30,
         row->variant + " is slower than " + (row->previous.empty() ? "the rung before it" : row->previous),
         fmt::format("{} times as fast at {}, {}.", figure(ratio), to_string(row->dims), where(group)),
         "Tune it, or build the next rung on the other; of GPU kernels, trace --why says which counter "
         "grew."});
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
                      : "The gap is too wide for tuning alone: look for the next idea of the ladder."});
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
  if (!share || *share < near_ceiling) return;
  const bool memory = best.ceiling == "memory";
  out.push_back({20, fmt::format("{} is at the {} ceiling", best.variant, memory ? "memory" : "arithmetic"),
                 fmt::format("It reaches {} of what was measured as possible at {}, {}.", percent(*share),
                             to_string(best.dims), where(group)),
                 memory ? "Tuning has little left to win. Move fewer bytes: fuse with a neighbour, or use a "
                          "narrower element."
                        : "Tuning has little left to win. Do less arithmetic, or use a narrower element or "
                          "units that do more at once."});
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
  if (winner_of(choices_of(rows, *best), metric) != nullptr) at_the_edge(choices_of(rows, *best), *best, out);
  ceilings(group, *best, out);
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
