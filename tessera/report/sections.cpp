// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <set>
#include "tessera/core/error.hpp"
#include "tessera/core/suggest.hpp"
#include "tessera/report/charts.hpp"
#include "tessera/report/escape.hpp"
#include "tessera/report/page.hpp"
#include "tessera/report/scale.hpp"
#include "tessera/report/shared_run.hpp"

namespace tessera::report {
namespace {

constexpr const char* executor_note =
    " The SIMT executor runs GPU threads on the processors: its time says nothing of a GPU's.";

void append(std::vector<Chart>& to, std::vector<Chart> from) {
  for (Chart& chart : from) to.push_back(std::move(chart));
}

// Several rungs were timed at one problem.
bool is_ladder(const Entries& rows) {
  return std::ranges::any_of(rows, [&](const Entry* row) { return !same_rung(*row, *rows.front()); });
}

std::string with_spread(const Entry& row) {
  const Number spread = row.spread();
  return seconds_cell(row.median).text + (spread ? fmt::format(" ± {:.1f} %", 100 * *spread) : "");
}

// The sentence that a reader would take away.
std::string sentence(const Entries& rungs, const Entries& choices, const Entry& best, const Metric& metric) {
  const auto rivals =
      std::ranges::count_if(rungs, [](const Entry* r) { return !r->baseline && r->counts(); });
  std::string out =
      rivals > 1 ? fmt::format("{} is the fastest of {} rungs at {}: {}", best.variant, rivals,
                               to_string(best.dims), with_spread(best))
      : choices.size() > 1
          ? fmt::format("{} is the fastest of {} choices of {} at {}: {}", tessera::to_string(best.tuning),
                        choices.size(), best.variant, to_string(best.dims), with_spread(best))
          : fmt::format("{} at {} takes {}", best.variant, to_string(best.dims), with_spread(best));
  if (metric.field != &Entry::median) out += ", " + metric.text(best);
  const auto first = std::ranges::find_if(rungs, [](const Entry* r) { return !r->baseline && r->counts(); });
  if (first != rungs.end() && *first != &best)
    out +=
        fmt::format("; {} times as fast as {}", figure(*(*first)->median / *best.median), (*first)->variant);
  if (best.ratio_baseline)
    out += fmt::format(", {} times as fast as the baseline", figure(*best.ratio_baseline));
  return out + ".";
}

void add_facts(Section& out, const Group& group, const Entry& best, const Metric& metric) {
  out.facts.emplace_back("fastest rung", best.variant + "\n" + to_string(best.dims));
  if (metric.field != &Entry::median) out.facts.emplace_back(metric.name, metric.text(best));
  out.facts.emplace_back("time",
                         seconds_cell(best.median).text +
                             (best.spread() ? fmt::format("\n± {:.1f} %", 100 * *best.spread()) : ""));
  if (best.ratio_baseline)
    out.facts.emplace_back("against the baseline", figure(*best.ratio_baseline) + " ×");
  if (best.roofline)
    out.facts.emplace_back("of the roofline",
                           fmt::format("{:.0f} %\n{}", 100 * *best.roofline, best.ceiling));
  const auto measured =
      std::ranges::count_if(group.rows, [](const Entry* row) { return row->median.has_value(); });
  const auto ok = std::ranges::count(group.rows, "ok", &Entry::verified);
  out.facts.emplace_back("verified", fmt::format("{} of {}\nmeasured rows", ok, measured));
}

void add_measured(Section& out, const Group& group) {
  const Entries all = group.rows;
  const auto problems = problems_of(all);
  if (problems.empty()) return;
  const Dims& problem = problems.back();
  const Entries rows = at_problem(all, problem);
  const Metric metric = metric_for(rows);
  const Entries rungs = best_choices(rows, metric);
  Entries own;
  std::ranges::copy_if(rungs, std::back_inserter(own), [](const Entry* row) { return !row->baseline; });
  out.rungs = own.size();
  if (const Entry* best = best_of(own, metric)) {
    out.lede = sentence(rungs, choices_of(rows, *best), *best, metric);
    add_facts(out, group, *best, metric);
  }
  if (group.document->caches == "cold")
    out.lede += (out.lede.empty() ? "" : " ") + std::string("The caches were flushed before each sample.");
  if (group.document->caches == "rotated")
    out.lede += (out.lede.empty() ? "" : " ") + std::string(
                                                    "Each launch took the next of sets of inputs and "
                                                    "outputs, 2.5 times the last-level cache together.");
  if (group.executor()) out.lede += executor_note;
  if (group.document->kind == "tune") out.charts.push_back(search_chart(group, problem));
  if (is_ladder(rows)) out.charts.push_back(ladder_chart(group, problem));
  if (!group.executor() && (is_ladder(rows) || group.document->kind == "bench"))
    out.charts.push_back(roofline_chart(group, problem));
  if (problems.size() > 1) out.charts.push_back(sizes_chart(group));
  append(out.charts, tuning_charts(group, problem));
  append(out.charts, split_charts(group));
}

// The widest difference in how rungs load: what a trace is asked for first.
std::string loads_sentence(const Group& group) {
  const auto sectors = [](const Entry* row) {
    return row->counter("global_load.sectors_per_request").value_or(0);
  };
  Entries rows;
  std::ranges::copy_if(group.rows, std::back_inserter(rows),
                       [&](const Entry* row) { return sectors(row) > 0; });
  if (rows.size() < 2) return {};
  const auto [least, most] = std::ranges::minmax(rows, {}, sectors);
  if (sectors(least) == sectors(most)) return {};
  return fmt::format("A global load of {} touches {} sectors on average, one of {} {}.", most->variant,
                     figure(sectors(most)), least->variant, figure(sectors(least)));
}

void add_trace(Section& out, const Group& group) {
  out.lede = loads_sentence(group);
  append(out.charts, counter_charts(group));
  append(out.charts, line_charts(group));
  const auto sampled = std::ranges::count_if(group.rows, [](const Entry* row) {
    return row->blocks && row->blocks_traced && *row->blocks_traced < *row->blocks;
  });
  if (DataTable findings = findings_table(group); !findings.lines.empty()) {
    out.lede = fmt::format("The trace found {} break{} of the rules of memory or barriers.{}{}",
                           findings.lines.size(), findings.lines.size() == 1 ? "" : "s",
                           out.lede.empty() ? "" : " ", out.lede);
    out.alarm = std::move(findings);
  }
  if (sampled > 0)
    out.lede += fmt::format("{}Of {} of {} rows a sample of the blocks was traced.",
                            out.lede.empty() ? "" : " ", sampled, group.rows.size());
}

std::string kind_of(const Document& document) {
  return document.kind + ", " + std::filesystem::path(document.path).filename().string();
}

Section section_of(const Group& group) {
  Section out;
  const Document& document = *group.document;
  out.kind = kind_of(document);
  out.title = (document.operation.empty() ? "" : document.operation + ", ") + where(group);
  if (document.kind == "trace") add_trace(out, group);
  else add_measured(out, group);
  out.rows = rows_table(group);
  return out;
}

Section plain_section(const Document& document) {
  Section out;
  out.kind = kind_of(document);
  out.title = document.kind == "verify"      ? "What was verified"
              : document.kind == "compare"   ? "What was compared"
              : document.kind == "code"      ? "What the compiler made of the kernels"
              : document.kind == "agreement" ? "The executor's counts beside a GPU's"
                                             : document.operation + ": no rows";
  if (document.columns.empty()) out.lede = "The file holds no rows.";
  out.rows.caption = fmt::format("All rows of {}", document.path);
  const auto is_number = [&](std::size_t column) {
    return std::ranges::any_of(document.cells,
                               [=](const auto& row) { return row[column].value.has_value(); });
  };
  for (std::size_t c = 0; c < document.columns.size(); ++c) {
    std::string title = document.columns[c];
    std::ranges::replace(title, '_', ' ');
    out.rows.columns.push_back({title, !is_number(c)});
  }
  for (const auto& row : document.cells) out.rows.lines.push_back({row, ""});
  return out;
}

Section studied_section(const Document& document) {
  Section out;
  out.kind = kind_of(document);
  out.title = document.operation + ": a study";
  for (const StudiedTable& table : document.studied) {
    out.charts.push_back(study_chart(table));
    for (const std::string& remark : table.remarks) out.lede += (out.lede.empty() ? "" : " ") + remark;
  }
  if (document.studied.empty()) out.lede = "The file holds no tables.";
  return out;
}

Section shared_section(const Document& document) {
  Section out;
  out.kind = kind_of(document);
  out.title = document.operation + " on several devices";
  out.lede = timeline_sentence(document);
  out.charts.push_back(timeline_chart(document));
  return out;
}

// The serial rung of another device's ladder: what its ratios refer to, no ladder of its own.
bool only_serial(const Group& group) { return std::ranges::all_of(group.rows, &Entry::serial); }

// Two ladders on one page need two names: ladder, ladder-2.
void name_uniquely(std::vector<Section>& sections) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    sections[i].id = fmt::format("section-{}", i + 1);
    for (Chart& chart : sections[i].charts) {
      const std::string name = slug(chart.name);
      chart.name = name;
      for (int n = 2; !taken.insert(chart.name).second; ++n) chart.name = fmt::format("{}-{}", name, n);
    }
  }
}

}  // namespace

std::vector<Section> sections_of(const std::vector<Document>& documents) {
  std::vector<Section> out;
  for (const Document& document : documents) {
    if (document.kind == "study") out.push_back(studied_section(document));
    else if (!document.shared.empty()) out.push_back(shared_section(document));
    else if (document.rows.empty()) out.push_back(plain_section(document));
    const auto groups = groups_of(document);
    for (const Group& group : groups)
      if (groups.size() == 1 || !only_serial(group)) out.push_back(section_of(group));
  }
  name_uniquely(out);
  return out;
}

const Chart& chart_named(const std::vector<Section>& sections, const std::string& name) {
  std::vector<std::string> names;
  for (const Section& section : sections)
    for (const Chart& chart : section.charts) {
      if (chart.name == name) {
        if (chart.missing) throw Error("the chart '" + name + "' cannot be drawn: " + *chart.missing);
        return chart;
      }
      if (!chart.missing) names.push_back(chart.name);
    }
  throw Error("there is no chart '" + name + "'" +
              (names.empty() ? "; there is none" : suggestion(name, names)));
}

}  // namespace tessera::report
