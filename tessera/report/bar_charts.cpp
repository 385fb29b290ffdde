// SPDX-License-Identifier: Apache-2.0
// Bar charts: the ladder, the shares of several devices, and a trace's counters by rung and by line.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <boost/algorithm/string/trim.hpp>
#include <filesystem>
#include <tuple>
#include "tessera/report/charts.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using Anchor = Svg::Anchor;

// Upper bounds of letter widths: the reader's font is not known here.
constexpr double letter = 7.6, small_letter = 6.9, code_letter = 7.0;

std::size_t fitting(double room, double each) {
  return static_cast<std::size_t>(std::max(room / each + 0.01, 4.0));
}

// The layout: labels and values stand above their bars, so that it serves every width.
struct ChartLayout {
  ChartLayout(double across, const Bars& bars)
      : width(across),
        right(across - 6),
        top(bars.reference ? 28 : 12),
        bottom(top + step * static_cast<double>(bars.bars.size()) + 4),
        code(bars.source) {}
  double bar_y(std::size_t i) const { return top + step * static_cast<double>(i) + 22; }

  static constexpr double left = 2, height = 13, step = 42;
  double width, right, top, bottom;
  bool code;
};

Scale scale_of(const Bars& bars, const ChartLayout& place) {
  double least = 0, most = 0;
  const auto take = [&](Number value) {
    if (!value || !(*value > 0)) return;
    least = least > 0 ? std::min(least, *value) : *value;
    most = std::max(most, *value);
  };
  for (const Bar& bar : bars.bars) {
    take(bar.value);
    take(bar.high);
    for (const double choice : bar.choices) take(choice);
  }
  take(bars.reference);
  const Scale::Kind kind = bars.source ? Scale::Kind::linear : kind_for(least, most);
  return Scale::around(kind, least, most, place.left, place.right);
}

void draw_axis(Svg& svg, const Scale& scale, const ChartLayout& place, const std::string& unit) {
  for (const Tick& tick : scale.ticks(is_narrow(place.width) ? 4 : 7)) {
    const double x = scale.at(tick.value);
    svg.line({x, place.top - 4}, {x, place.bottom}, "grid");
    const Anchor anchor = x < place.left + 12    ? Anchor::start
                          : x > place.right - 12 ? Anchor::end
                                                 : Anchor::middle;
    svg.text({x, place.bottom + 16}, place.code ? count(tick.value) : tick.label, "small muted", anchor);
  }
  const std::string kind = scale.kind() == Scale::Kind::log ? ", logarithmic scale" : "";
  svg.text({place.right, place.bottom + 34}, unit + kind, "small muted", Anchor::end);
}

void draw_value(Svg& svg, const Bar& bar, const Scale& scale, const ChartLayout& place, double y) {
  const double end = scale.at(*bar.value), middle = y + place.height / 2;
  // A logarithmic scale has no zero for a bar to begin at.
  if (*bar.value > 0 && scale.kind() == Scale::Kind::log)
    svg.circle({end, middle}, 5, "bar " + bar.classes, bar.tip);
  else if (*bar.value > 0)
    svg.rect(place.left, y, std::max(end - place.left, 1.0), place.height, "bar " + bar.classes, bar.tip, 2);
  for (const double choice : bar.choices) svg.circle({scale.at(choice), middle}, 2.5, "choice");
  if (bar.low && bar.high && scale.at(*bar.high) - scale.at(*bar.low) > 2) {
    svg.line({scale.at(*bar.low), middle}, {scale.at(*bar.high), middle}, "spread");
    for (const double side : {*bar.low, *bar.high})
      svg.line({scale.at(side), middle - 4}, {scale.at(side), middle + 4}, "spread");
  }
  if (!bar.value_text.empty()) svg.text({place.right, y - 6}, bar.value_text, "strong", Anchor::end);
}

void draw_missing(Svg& svg, const Bar& bar, const ChartLayout& place, double y) {
  const bool wrong = bar.classes == "wrong";
  svg.rect(place.left, y, 24, place.height, wrong ? "bar wrong" : "bar missing", bar.tip, 2);
  const std::size_t room = fitting(place.right - place.left - 34, small_letter);
  svg.text({place.left + 32, y + place.height - 4}, shortened((wrong ? "" : "not run: ") + bar.missing, room),
           wrong ? "small bad-text" : "small muted");
}

// Draws the detail only if the label leaves enough width.
void draw_label(Svg& svg, const Bar& bar, const ChartLayout& place, double y) {
  const double room =
      place.width - 8 - letter * static_cast<double>(std::max<std::size_t>(display_width(bar.value_text), 3));
  if (place.code)
    return svg.text({place.left, y - 6}, shortened(bar.label, fitting(room, code_letter)), "code");
  const double taken = letter * static_cast<double>(display_width(bar.label)) + 8;
  svg.text({place.left, y - 6}, shortened(bar.label, fitting(room, letter)),
           bar.classes == "best" ? "strong" : "");
  if (!bar.detail.empty() && room - taken > 5 * small_letter)
    svg.text({place.left + taken, y - 6}, shortened(bar.detail, fitting(room - taken, small_letter)),
             "small muted");
}

}  // namespace

Svg draw_bars(const Bars& bars, double width, const std::string& id, const Chart& chart) {
  const ChartLayout place(width, bars);
  Svg svg(width, place.bottom + 42, id, chart.title, chart.description);
  const Scale scale = scale_of(bars, place);
  draw_axis(svg, scale, place, bars.unit);
  for (std::size_t i = 0; i < bars.bars.size(); ++i) {
    const Bar& bar = bars.bars[i];
    const double y = place.bar_y(i);
    draw_label(svg, bar, place, y);
    if (bar.value) draw_value(svg, bar, scale, place, y);
    else draw_missing(svg, bar, place, y);
  }
  if (bars.reference) {
    const double x = scale.at(*bars.reference);
    // Values stand above the bars, so the line is drawn only across the bars.
    for (std::size_t i = 0; i < bars.bars.size(); ++i)
      svg.line({x, place.bar_y(i) - 2}, {x, place.bar_y(i) + place.height + 2}, "opponent");
    const bool right = x > (place.left + place.right) / 2;
    svg.text({x, 13}, bars.reference_name, "small mark-text", right ? Anchor::end : Anchor::start);
  }
  return svg;
}

void show_bars(Chart& out, Bars bars) {
  out.draw = [bars = std::move(bars)](const Chart& chart, double width, const std::string& id) {
    return draw_bars(bars, width, id, chart);
  };
}

Bar bar_of(const Entry& row, const Entries& rows, const Metric& metric) {
  Bar out;
  out.label = row.rung();
  out.detail = tessera::to_string(row.tuning);
  std::ranges::replace(out.detail, ',', ' ');
  out.tip = tip_of(row, metric);
  out.value = metric.of(row);
  if (!out.value) {
    out.missing = row.wrong() ? "wrong result" : row.reason.empty() ? "no time" : row.reason;
    out.classes = row.wrong() ? "wrong" : "";
    return out;
  }
  out.value_text = figure(*out.value);
  if (row.minimum && row.p90) {
    // For a rate, the ends of the time are inverted.
    const bool rate = metric.more_is_better;
    out.low = *out.value * (rate ? *row.median / *row.p90 : *row.minimum / *row.median);
    out.high = *out.value * (rate ? *row.median / *row.minimum : *row.p90 / *row.median);
  }
  for (const Entry* choice : choices_of(rows, row))
    if (const Number value = metric.of(*choice); value && choice != &row) out.choices.push_back(*value);
  return out;
}

namespace {

DataTable table_of(const Entries& rungs, const Metric& metric, const Entry* best,
                   const std::string& caption) {
  DataTable out;
  out.caption = caption;
  out.columns = {{"rung", true},
                 {metric.unit},
                 {"least", false, true},
                 {"median"},
                 {"p90", false, true},
                 {"× previous", false, true},
                 {"× baseline", false, true},
                 {"of roofline", false, true},
                 {"energy", false, true},
                 {"error/bound", false, true},
                 {"verified", true, true}};
  for (const Entry* row : rungs) {
    const Number value = metric.of(*row);
    // The tuning is beneath the name: a column of its own would push the last columns off the page.
    Cell rung(row->rung());
    rung.under = tessera::to_string(row->tuning);
    std::ranges::replace(rung.under, ',', ' ');
    out.lines.push_back(
        {{std::move(rung), number_cell(value), seconds_cell(row->minimum), median_cell(*row),
          seconds_cell(row->p90), number_cell(row->ratio_previous), number_cell(row->ratio_baseline),
          percent_cell(row->roofline), row->joules ? Cell(figure(*row->joules) + " J", row->joules) : Cell(),
          number_cell(row->error_over_bound), Cell(row->verified)},
         row->wrong()  ? "wrong"
         : row == best ? "best"
                       : ""});
  }
  return out;
}

}  // namespace

Chart ladder_chart(const Group& group, const Dims& problem) {
  const Entries rows = at_problem(group.rows, problem);
  const Metric metric = metric_for(rows);
  const Entries rungs = best_choices(rows, metric);
  Chart out;
  out.name = "ladder";
  out.title = "The ladder at " + to_string(problem);
  out.description = fmt::format("Each rung with its best choice, {}, in {}: {} is better.", where(group),
                                metric.unit, metric.more_is_better ? "more" : "less");
  Entries own, baselines;
  for (const Entry* row : rungs) (row->baseline ? baselines : own).push_back(row);
  const Entry* best = winner_of(own, metric);
  out.table = table_of(rungs, metric, best, out.title);
  out.table_open = true;
  if (best_of(rungs, metric) == nullptr) {
    out.missing = "no rung has a time";
    return out;
  }
  Bars bars{metric.unit, {}, {}, {}};
  for (const Entry* row : rungs) {
    bars.bars.push_back(bar_of(*row, rows, metric));
    if (row->counts()) bars.bars.back().classes = row == best ? "best" : row->baseline ? "other" : "";
  }
  if (const Entry* baseline = best_of(baselines, metric); baseline != nullptr && rungs.size() > 1) {
    bars.reference = metric.of(*baseline);
    bars.reference_name = baseline->variant;
  }
  const bool dots = std::ranges::any_of(bars.bars, [](const Bar& bar) { return !bar.choices.empty(); });
  if (dots) out.note = "Small circles: other choices of the same rung.";
  show_bars(out, std::move(bars));
  return out;
}

namespace {

// Returns a row that several devices shared: each device's share and busy time.
Chart split_chart(const Entry& row) {
  Chart out;
  out.name = "split-" + row.variant;
  out.title = fmt::format("How {} was split at {}", row.variant, to_string(row.dims));
  out.description = "The time that each device was busy: the work ends with the slowest of them.";
  double longest = 0;
  for (const Part& part : row.split) longest = std::max(longest, part.seconds.value_or(0));
  const bool milli = longest < 1;
  const double factor = milli ? 1e3 : 1;
  Bars bars{milli ? "ms" : "s", {}, {}, {}};
  out.table.caption = out.title;
  out.table.columns = {
      {"device", true}, {"share of the work"}, {"busy"}, {"GFLOP/s", false, true}, {"waited", false, true}};
  for (const Part& part : row.split) {
    Bar bar;
    bar.label = part.device;
    if (part.share) bar.detail = fmt::format("{:.1f} % of the work", 100 * *part.share);
    bar.tip = part.device + "\n" + bar.detail;
    if (part.seconds && *part.seconds > 0) {
      bar.value = *part.seconds * factor;
      bar.value_text = figure(*bar.value);
      bar.classes = *part.seconds == longest ? "best" : "";
    } else {
      bar.missing = "no time given";
    }
    bars.bars.push_back(bar);
    out.table.lines.push_back(
        {{Cell(part.device), percent_cell(part.share), seconds_cell(part.seconds), number_cell(part.gflops),
          percent_cell(part.seconds && longest > 0 ? Number(1 - *part.seconds / longest) : Number())},
         ""});
  }
  if (!(longest > 0)) out.missing = "no device has a time";
  out.table_open = true;
  show_bars(out, std::move(bars));
  return out;
}

}  // namespace

std::vector<Chart> split_charts(const Group& group) {
  std::vector<Chart> out;
  for (const Entry* row : group.rows)
    if (!row->split.empty()) out.push_back(split_chart(*row));
  return out;
}

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

// Returns the counter stored in the file, or the quotient that defines it.
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

// Without requests the ratio is undefined, which is a property of the rung, not of the trace.
std::string why_missing(const Entry& row, const std::string& counter) {
  const Number requests = row.counter(counter.substr(0, counter.find('.')) + ".requests");
  if (requests == 0.0) return "it makes none";
  return row.reason.empty() ? "not counted" : row.reason;
}

Chart counter_chart(const Group& group, const Shown& shown) {
  Bars bars{unit_of(shown), {}, {}, {}};
  Chart out;
  out.name = shown.name;
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
  show_bars(out, std::move(bars));
  return out;
}

double counter_of(const SourceLine& line, const std::string& name) {
  const auto found = std::ranges::find(line.counters, name, &std::pair<std::string, double>::first);
  return found == line.counters.end() ? 0 : found->second;
}

// Returns the memory cost of a line: sectors of global memory plus wavefronts of shared memory.
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

// Turns "global_load.sectors" into "global load sectors", a heading that can wrap.
std::string spoken(std::string name) {
  std::ranges::replace(name, '.', ' ');
  std::ranges::replace(name, '_', ' ');
  return name;
}

bool several_files(const Entry& row) {
  return std::ranges::any_of(row.lines,
                             [&](const SourceLine& l) { return l.file != row.lines.front().file; });
}

// Returns "kernel.cu:31" if lines are from several files, else the number alone.
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
  out.label = place_of(line, several) + "  " + (several ? boost::trim_left_copy(line.text) : line.text);
  out.tip = fmt::format("{}:{}", line.file, line.line);
  for (const auto& [name, value] : line.counters)
    if (value != 0) out.tip += "\n" + spoken(name) + " " + count(value);
  const double cost = cost_of(line);
  out.value_text = cost > 0 ? count(cost) : "";
  out.value = cost;
  out.classes = cost == largest ? "best" : "";
  return out;
}

// Returns the lines around the costly ones, in source order.
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
  show_bars(out, std::move(bars));
  return out;
}

}  // namespace

std::vector<Chart> counter_charts(const Group& group) {
  std::vector<Chart> out;
  for (const Shown& shown : by_rung) out.push_back(counter_chart(group, shown));
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
