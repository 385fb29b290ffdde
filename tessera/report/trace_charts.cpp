// SPDX-License-Identifier: Apache-2.0
// What a trace counted: by rung, and by source line beside the source.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>
#include "tessera/report/chart.hpp"
#include "tessera/report/charts.hpp"
#include "tessera/report/svg.hpp"

namespace tessera::report {
namespace {

struct Shown {
  const char *counter, *name, *title, *description;
};

constexpr std::array<Shown, 4> by_rung{{
    {"global_load.sectors_per_request", "sectors", "Sectors per request of global loads",
     "32-byte sectors that one load of a warp touches; a warp of 4-byte elements side by side needs 4. Less "
     "is better."},
    {"global_store.sectors_per_request", "store-sectors", "Sectors per request of global stores",
     "32-byte sectors that one store of a warp touches; a warp of 4-byte elements side by side needs 4. Less "
     "is better."},
    {"shared_load.wavefronts_per_request", "wavefronts", "Wavefronts per request of shared loads",
     "Passes through the banks of shared memory for one load of a warp; 1 is free of conflicts. Less is "
     "better."},
    {"cgma", "cgma", "Arithmetic for each access to global memory (CGMA)",
     "Floating-point operations for each element that a thread takes from or gives to global memory. More is "
     "better."},
}};

std::string unit_of(const Shown& shown) {
  return std::string(shown.name) == "cgma" ? "FLOP per access" : "per request";
}

// The file's own number, or the quotient that defines it.
Number value_of(const Entry& row, const std::string& counter) {
  if (const Number given = row.counter(counter)) return given;
  const auto dot = counter.find('.');
  const auto per = counter.find("_per_request");
  if (dot == std::string::npos || per == std::string::npos) return std::nullopt;
  const Number above = row.counter(counter.substr(0, per)),
               below = row.counter(counter.substr(0, dot) + ".requests");
  if (!above || !below || !(*below > 0)) return std::nullopt;
  return *above / *below;
}

// A ratio over no requests is no ratio: that says something of the rung, not of the trace.
std::string why_missing(const Entry& row, const std::string& counter) {
  const Number requests = row.counter(counter.substr(0, counter.find('.')) + ".requests");
  if (requests == 0.0) return "it makes none";
  return row.reason.empty() ? "not counted" : row.reason;
}

Chart counter_chart(const Group& group, const Shown& shown) {
  Bars bars{unit_of(shown), {}, {}, {}};
  Chart out;
  out.name = shown.name;
  out.half = true;
  out.title = shown.title;
  out.description = std::string(shown.description);
  out.table.caption = out.title;
  out.table.columns = {{"rung", true}, {"tuning", true, true}, {"size", true}, {unit_of(shown)}};
  for (const Entry* row : group.rows) {
    const Number value = value_of(*row, shown.counter);
    Bar bar;
    bar.label = row->rung();
    bar.detail = tessera::to_string(row->tuning);
    if (value && *value > 0) {
      bar.value = value;
      bar.value_text = figure(*value);
    } else {
      bar.missing = why_missing(*row, shown.counter);
    }
    bar.tip =
        bar.label + "\n" + bar.detail + "\n" + (value ? figure(*value) + " " + bars.unit : "not counted");
    bars.bars.push_back(bar);
    out.table.lines.push_back(
        {{Cell(bar.label), Cell(bar.detail, {}, "code"), Cell(to_string(row->dims)), number_cell(value)},
         ""});
  }
  if (std::ranges::none_of(bars.bars, [](const Bar& bar) { return bar.value.has_value(); }))
    out.missing = "no row has this counter";
  out.draw = [bars](const Chart& chart, double width, const std::string& id) {
    return draw_bars(bars, width, id, chart);
  };
  return out;
}

double counter_of(const SourceLine& line, const std::string& name) {
  const auto found = std::ranges::find(line.counters, name, &std::pair<std::string, double>::first);
  return found == line.counters.end() ? 0 : found->second;
}

// What a line costs the memory system: sectors of global memory and wavefronts of shared memory.
double cost_of(const SourceLine& line) {
  return counter_of(line, "global_load.sectors") + counter_of(line, "global_store.sectors") +
         counter_of(line, "shared_load.wavefronts") + counter_of(line, "shared_store.wavefronts");
}

std::vector<std::string> counters_in(const Entry& row) {
  std::vector<std::string> out;
  for (const SourceLine& line : row.lines)
    for (const auto& [name, value] : line.counters)
      if (value != 0 && std::ranges::find(out, name) == out.end()) out.push_back(name);
  return out;
}

// "global_load.sectors" → "global load sectors": a heading that can wrap.
std::string spoken(std::string name) {
  std::ranges::replace(name, '.', ' ');
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string::npos ? std::string() : text.substr(first);
}

bool several_files(const Entry& row) {
  return std::ranges::any_of(row.lines,
                             [&](const SourceLine& l) { return l.file != row.lines.front().file; });
}

// "kernel.cu:31" where lines are of several files, else the number alone.
std::string place_of(const SourceLine& line, bool several) {
  return several ? fmt::format("{}:{}", std::filesystem::path(line.file).filename().string(), line.line)
                 : fmt::format("{:>3}", line.line);
}

DataTable source_table(const Entry& row, const std::string& caption) {
  DataTable out;
  out.caption = caption;
  out.source = true;
  out.columns = {{"line"}, {"source", true}};
  const auto names = counters_in(row);
  const bool several = several_files(row);
  for (const auto& name : names) out.columns.push_back({spoken(name)});
  for (const SourceLine& line : row.lines) {
    DataTable::Line cells{{Cell(place_of(line, several), line.line), Cell(line.text, {}, "code")}, ""};
    for (const auto& name : names) {
      const auto found = std::ranges::find(line.counters, name, &std::pair<std::string, double>::first);
      cells.cells.push_back(found == line.counters.end() ? Cell()
                                                         : Cell(count(found->second), found->second,
                                                                found->second == 0 ? "zero" : ""));
    }
    out.lines.push_back(std::move(cells));
  }
  return out;
}

Bar line_bar(const SourceLine& line, double largest, bool several) {
  Bar out;
  out.label = place_of(line, several) + "  " + (several ? trimmed(line.text) : line.text);
  out.tip = fmt::format("{}:{}", line.file, line.line);
  for (const auto& [name, value] : line.counters)
    if (value != 0) out.tip += "\n" + spoken(name) + " " + count(value);
  const double cost = cost_of(line);
  out.value_text = cost > 0 ? count(cost) : "";
  out.value = cost;
  out.classes = cost == largest ? "best" : "";
  return out;
}

// The lines round the costly ones, in the order of the source.
Chart line_chart(const Entry& row) {
  constexpr std::size_t most = 40;
  Chart out;
  out.name = "lines-" + row.variant;
  out.title = fmt::format("{}, line by line at {}", row.rung(), to_string(row.dims));
  out.description = (several_files(row) ? "" : row.lines.front().file + ": ") +
                    "sectors of global memory and wavefronts of shared memory that each line asks for.";
  out.table = source_table(row, out.title);
  std::vector<const SourceLine*> lines;
  for (const SourceLine& line : row.lines) lines.push_back(&line);
  const auto cost = [](const SourceLine* line) { return cost_of(*line); };
  const double largest = cost(std::ranges::max(lines, {}, cost));
  if (!(largest > 0)) out.missing = "no line has a sector or a wavefront";
  if (lines.size() > most) {
    std::erase_if(lines, [&](const SourceLine* line) { return !(cost(line) > 0); });
    std::ranges::stable_sort(lines, std::greater(), cost);
    out.note = fmt::format("The costliest of {} lines; the table holds all.", row.lines.size());
    lines.resize(std::min(lines.size(), most));
  }
  std::ranges::stable_sort(lines, {}, [](const SourceLine* l) { return std::tie(l->file, l->line); });
  Bars bars{"sectors + wavefronts", {}, {}, {}, true};
  for (const SourceLine* line : lines) bars.bars.push_back(line_bar(*line, largest, several_files(row)));
  out.draw = [bars](const Chart& chart, double width, const std::string& id) {
    return draw_bars(bars, width, id, chart);
  };
  return out;
}

}  // namespace

std::vector<Chart> counter_charts(const Group& group) {
  std::vector<Chart> out;
  for (const Shown& shown : by_rung) out.push_back(counter_chart(group, shown));
  // Two beside each other leave no gap for one that is left out.
  std::ranges::stable_partition(out, [](const Chart& chart) { return !chart.missing; });
  return out;
}

std::vector<Chart> line_charts(const Group& group) {
  std::vector<Chart> out;
  for (const Entry* row : group.rows)
    if (!row->lines.empty()) out.push_back(line_chart(*row));
  return out;
}

DataTable findings_table(const Group& group) {
  DataTable out;
  out.caption = "What breaks the rules of memory or barriers";
  out.columns = {{"rung", true}, {"kind", true}, {"place", true}, {"finding", true}};
  for (const Entry* row : group.rows)
    for (const Finding& finding : row->findings)
      out.lines.push_back(
          {{Cell(row->rung()), Cell(finding.kind),
            Cell(finding.file.empty() ? "" : fmt::format("{}:{}", finding.file, finding.line), {}, "code"),
            Cell(finding.text, {}, "words")},
           "wrong"});
  return out;
}

}  // namespace tessera::report
