// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/advice_rules.hpp"
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/scale.hpp"

namespace tessera::report {
namespace {

constexpr double threads_of_a_warp = 32, bytes_of_a_sector = 32;

std::string name_of_row(const Entry& row) {
  return fmt::format("{}{}{} at {}", row.rung(), row.tuning.empty() ? "" : " ",
                     tessera::to_string(row.tuning), to_string(row.dims));
}

// Above over below, where both were counted.
Number quotient(const Entry& row, const std::string& above, const std::string& below) {
  const Number a = row.counter(above), b = row.counter(below);
  if (!a || !b || !(*b > 0)) return std::nullopt;
  return *a / *b;
}

// Bytes of "f32", "i32", "bf16": the digits at the end are bits.
Number bytes_of(const std::string& element) {
  const auto digits = element.find_first_of("0123456789");
  if (digits == std::string::npos || element.find_first_not_of("0123456789", digits) != std::string::npos)
    return std::nullopt;
  return element.size() - digits > 3 ? Number() : Number(std::stoi(element.substr(digits)) / 8.0);
}

// The line that has most of a counter.
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
  // A trace that counted what the addresses need at least says it better than the element does.
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

void divergence(const Entry& row, std::vector<Advice>& out) {
  const Number divergent = row.counter("divergent_requests");
  const double all =
      row.counter("global_load.requests").value_or(0) + row.counter("global_store.requests").value_or(0) +
      row.counter("shared_load.requests").value_or(0) + row.counter("shared_store.requests").value_or(0);
  if (!divergent || all <= 0 || *divergent <= 0.05 * all) return;
  out.push_back(
      {38, fmt::format("Warps of {} split up", row.variant),
       fmt::format("{:.0f} % of the requests come from a part of a warp; {}.", 100 * *divergent / all,
                   name_of_row(row)),
       "Choose blocks that divide the problem, or let the condition change between warps, not within them."});
}

void occupancy(const Entry& row, std::vector<Advice>& out) {
  Number share = row.occupancy ? row.occupancy : row.counter("occupancy");
  if (!share || *share >= 0.25) return;
  out.push_back({28, fmt::format("Few warps of {} fit on a multiprocessor", row.variant),
                 fmt::format("Theoretical occupancy {:.0f} %; {}.", 100 * *share, name_of_row(row)),
                 "This is harmless where each thread has much independent work. Else use fewer registers, "
                 "less shared memory or another block."});
}

}  // namespace

void trace_advice(const Group& group, std::vector<Advice>& out) {
  for (const Entry* row : group.rows) {
    findings(*row, out);
    for (const char* access : {"global_load", "global_store"}) coalescing(*row, access, out);
    for (const char* access : {"shared_load", "shared_store"}) conflicts(*row, access, out);
    reuse(*row, out);
    divergence(*row, out);
    occupancy(*row, out);
  }
}

}  // namespace tessera::report
