// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/page.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <set>
#include "tessera/core/text/error.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/bench/compare.hpp"
#include "tessera/report/advice.hpp"
#include "tessera/report/charts.hpp"
#include "tessera/report/style.hpp"
#include "tessera/report/svg.hpp"

namespace tessera::report {
namespace {

Cell count_cell(Number value) { return value ? Cell(fmt::format("{:.0f}", *value), value) : Cell(); }

DataTable counter_rows(const Group& group) {
  std::vector<std::string> names;
  for (const Entry* row : group.rows)
    for (const auto& [name, value] : row->counters)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  DataTable out;
  out.columns = {{"counter", true}};
  for (const Entry* row : group.rows)
    out.columns.push_back({row->rung() + (row->tuning.empty() ? "" : " " + tessera::to_string(row->tuning))});
  for (const std::string& name : names) {
    DataTable::Line line{{Cell(name, {}, "code")}, ""};
    for (const Entry* row : group.rows) line.cells.push_back(number_cell(row->counter(name)));
    out.lines.push_back(std::move(line));
  }
  return out;
}

struct MeasuredColumn {
  const char* title;
  bool left, optional;
  Cell (*cell)(const Entry&);
};

constexpr MeasuredColumn measured_columns[] = {
    {"rung", true, false, [](const Entry& e) { return Cell(e.rung() + (e.serial ? " (serial)" : "")); }},
    {"size", true, false, [](const Entry& e) { return Cell(to_string(e.dims)); }},
    {"tuning", true, true, [](const Entry& e) { return Cell(tessera::to_string(e.tuning), {}, "code"); }},
    {"least", false, true, [](const Entry& e) { return seconds_cell(e.minimum); }},
    {"median", false, false, [](const Entry& e) { return median_cell(e); }},
    {"p90", false, true, [](const Entry& e) { return seconds_cell(e.p90); }},
    {"samples", false, true, [](const Entry& e) { return count_cell(e.samples); }},
    {"round trip", false, true, [](const Entry& e) { return seconds_cell(e.round_trip); }},
    {"GFLOP/s", false, true, [](const Entry& e) { return number_cell(e.gflops); }},
    {"GB/s", false, true, [](const Entry& e) { return number_cell(e.gbps); }},
    {"of roofline", false, true, [](const Entry& e) { return percent_cell(e.roofline); }},
    {"bound by", true, true, [](const Entry& e) { return Cell(e.ceiling); }},
    {"of FMA", false, true, [](const Entry& e) { return percent_cell(e.fma_fraction); }},
    {"× serial", false, true, [](const Entry& e) { return number_cell(e.ratio_serial); }},
    {"× previous", false, true, [](const Entry& e) { return number_cell(e.ratio_previous); }},
    {"× baseline", false, true, [](const Entry& e) { return number_cell(e.ratio_baseline); }},
    {"occupancy", false, true, [](const Entry& e) { return percent_cell(e.occupancy); }},
    {"clock, MHz", false, true, [](const Entry& e) { return count_cell(e.clock_mhz); }},
    {"power, W", false, true, [](const Entry& e) { return number_cell(e.power_w); }},
    {"energy, J", false, true, [](const Entry& e) { return number_cell(e.joules); }},
    {"throttled", false, true, [](const Entry& e) { return count_cell(e.throttled); }},
    {"mode", true, true, [](const Entry& e) { return Cell(e.mode); }},
    {"error/bound", false, true, [](const Entry& e) { return number_cell(e.error_over_bound); }},
    {"relative L2", false, true, [](const Entry& e) { return number_cell(e.relative_l2); }},
    {"verified", true, true, [](const Entry& e) { return Cell(e.verified); }},
    {"why not", true, true, [](const Entry& e) { return Cell(e.reason, {}, "words"); }}};

DataTable measured_rows(const Group& group) {
  DataTable out;
  for (const MeasuredColumn& column : measured_columns)
    out.columns.push_back({column.title, column.left, column.optional});
  for (const Entry* row : group.rows) {
    auto& line = out.lines.emplace_back(DataTable::Line{{}, row->wrong() ? "wrong" : ""});
    for (const MeasuredColumn& column : measured_columns) line.cells.push_back(column.cell(*row));
  }
  return out;
}

DataTable rows_table(const Group& group) {
  DataTable out = group.document->kind == "trace" ? counter_rows(group) : measured_rows(group);
  out.caption = "All rows, " + where(group);
  return out;
}

constexpr const char* note_on_executor =
    "The SIMT executor runs GPU threads on the processors: its time says nothing of a GPU's.";

void append(std::vector<Chart>& to, std::vector<Chart> from) {
  for (Chart& chart : from) to.push_back(std::move(chart));
}

// True if several rungs were timed at one problem.
bool is_ladder(const Entries& rows) {
  return std::ranges::any_of(rows, [&](const Entry* row) { return !same_rung(*row, *rows.front()); });
}

std::string names_of(const Entries& rows, std::string (*name)(const Entry&)) {
  std::string out;
  for (const Entry* row : rows) out += (out.empty() ? "" : " and ") + name(*row);
  return out;
}

// Returns "a is the fastest of 5 rungs", or "a and b are the fastest of 5 rungs: the samples do not tell them
// apart".
std::string rank_of(const Entries& rows, const Entry& best, const std::string& of,
                    std::string (*name)(const Entry&)) {
  const auto counted = std::ranges::count_if(rows, &Entry::counts);
  const Entries rivals = rivals_of(rows, best);
  if (rivals.empty()) return fmt::format("{} is the fastest of {} {}", name(best), counted, of);
  return fmt::format("{} takes {} at {}, and the samples do not tell if it is faster than {}", name(best),
                     best.time(), to_string(best.dims), names_of(rivals, name));
}

std::string sentence(const Entries& own, const Entries& choices, const Entry& best, const Metric& metric) {
  const bool several = std::ranges::count_if(own, &Entry::counts) > 1;
  std::string out = several ? rank_of(own, best, "rungs", [](const Entry& e) { return e.variant; })
                    : choices.size() > 1
                        ? rank_of(choices, best, "choices of " + best.variant,
                                  [](const Entry& e) { return tessera::to_string(e.tuning); })
                        : best.variant;
  if (out.find(" takes ") == std::string::npos)
    out += fmt::format(" at {}: {}", to_string(best.dims), best.time());
  if (metric.field != &Entry::median) out += ", " + metric.text(best);
  const auto first = std::ranges::find_if(own, &Entry::counts);
  if (first != own.end() && *first != &best && settled(**first, best))
    out +=
        fmt::format("; {} times as fast as {}", figure(*(*first)->median / *best.median), (*first)->variant);
  if (best.ratio_baseline)
    out += fmt::format(", {} times as fast as the baseline", figure(*best.ratio_baseline));
  return out + ".";
}

// Returns the largest share of the processors that other programs took while rows on them were measured.
double other_load(const Entries& rows) {
  double out = 0;
  for (const Entry* row : rows)
    if (!row->device.starts_with("cuda")) out = std::max(out, row->other_load.value_or(0));
  return out;
}

void add_sentence(std::string& to, const std::string& sentence) {
  if (!sentence.empty()) to += (to.empty() ? "" : " ") + sentence;
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
  if (const Entry* best = best_of(own, metric))
    out.lede = sentence(own, choices_of(rows, *best), *best, metric);
  if (const double load = other_load(all); load > bench::quiet_load)
    add_sentence(out.lede,
                 fmt::format("Other programs took up to {:.0f} % of the processors meanwhile: the times "
                             "are too long, and ratios that this leaves open are n/a.",
                             100 * load));
  if (group.document->caches == "cold") add_sentence(out.lede, "The caches were flushed before each sample.");
  if (group.document->caches == "rotated")
    add_sentence(out.lede,
                 "Each launch took the next of sets of inputs and outputs, 2.5 times the last-level cache "
                 "together.");
  if (group.executor()) add_sentence(out.lede, note_on_executor);
  if (is_ladder(rows)) out.charts.push_back(ladder_chart(group, problem));
  if (!group.executor() && (is_ladder(rows) || group.document->kind == "bench"))
    out.charts.push_back(roofline_chart(group, problem));
  if (problems.size() > 1) out.charts.push_back(sizes_chart(group));
  append(out.charts, tuning_charts(group, problem));
  append(out.charts, split_charts(group));
}

void add_trace(Section& out, const Group& group) {
  append(out.charts, counter_charts(group));
  append(out.charts, line_charts(group));
  const auto sampled = std::ranges::count_if(group.rows, [](const Entry* row) {
    return row->blocks && row->blocks_traced && *row->blocks_traced < *row->blocks;
  });
  if (DataTable findings = findings_table(group); !findings.lines.empty()) {
    out.lede = fmt::format("The trace found {} break{} of the rules of memory or barriers.",
                           findings.lines.size(), findings.lines.size() == 1 ? "" : "s");
    out.alarm = std::move(findings);
  }
  if (sampled > 0)
    add_sentence(out.lede, fmt::format("Of {} of {} rows a sample of the blocks was traced.", sampled,
                                       group.rows.size()));
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
    for (const std::string& remark : table.remarks) add_sentence(out.lede, remark);
  }
  if (document.studied.empty()) out.lede = "The file holds no tables.";
  return out;
}

// True for the serial rung of another device's ladder: a reference for ratios, not a ladder of its own.
bool only_serial(const Group& group) { return std::ranges::all_of(group.rows, &Entry::serial); }

// Makes names unique: two ladders on one page become ladder and ladder-2.
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

namespace {

constexpr std::size_t max_advice = 8;

std::string section_html(const Section& section) {
  std::string out = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<p class=\"eyebrow\">{2}</p>\n<h2 "
      "id=\"{0}-title\">{1}</h2>\n",
      section.id, escaped(section.title), escaped(section.kind));
  if (!section.lede.empty()) out += "<p>" + escaped(section.lede) + "</p>\n";
  if (section.alarm) out += section.alarm->html();
  for (const Chart& chart : section.charts) out += chart.html();
  if (section.rows.columns.empty()) return out + "</section>\n";
  if (section.charts.empty()) return out + section.rows.html() + "</section>\n";
  return out + "<details><summary>" + escaped(section.rows.caption) + "</summary>\n" + section.rows.html() +
         "</details>\n</section>\n";
}

std::string advice_item(const Advice& advice) {
  return fmt::format("<li><h3>{}</h3><p>{}</p><p class=\"evidence\">{}</p></li>\n", escaped(advice.title),
                     escaped(advice.action), escaped(advice.evidence));
}

std::string advice_html(const std::vector<Document>& documents) {
  const auto all = advice_for(documents);
  std::string out =
      "<section id=\"next\" aria-labelledby=\"next-title\">\n<h2 id=\"next-title\">What to try next</h2>\n";
  if (all.empty()) return out + "<p>The numbers of these files give no hint.</p>\n</section>\n";
  out +=
      "<p class=\"quiet\">Rules over the numbers of this page, the most urgent first; each shows what it "
      "rests on.</p>\n<ol class=\"advice\">\n";
  const std::size_t shown = std::min(all.size(), max_advice);
  for (std::size_t i = 0; i < shown; ++i) out += advice_item(all[i]);
  out += "</ol>\n";
  if (shown < all.size()) {
    out += fmt::format("<details><summary>{} more</summary><ul class=\"advice\">\n", all.size() - shown);
    for (std::size_t i = shown; i < all.size(); ++i) out += advice_item(all[i]);
    out += "</ul></details>\n";
  }
  return out + "</section>\n";
}

std::string provenance_html(const std::vector<Document>& documents) {
  std::string out =
      "<section id=\"provenance\" aria-labelledby=\"provenance-title\">\n<h2 id=\"provenance-title\">Where "
      "this comes from</h2>\n";
  for (const Document& document : documents) {
    const std::string of = document.operation.empty() ? "" : " of " + document.operation;
    out += fmt::format("<details{}><summary>{}</summary>", documents.size() > 2 ? "" : " open",
                       escaped(document.kind + of + ": " + document.path));
    out += "<div class=\"scroll\"><table class=\"provenance\"><tbody>\n";
    for (const auto& [name, value] : document.provenance)
      out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value));
    out += "</tbody></table></div></details>\n";
  }
  return out + "</section>\n";
}

// Returns "matmul on NVIDIA H200": the operation and device that all files have in common.
std::string title_of(const std::vector<Document>& documents) {
  std::string operation, device;
  for (const Document& document : documents) {
    if (operation.empty()) operation = document.operation;
    else if (!document.operation.empty() && document.operation != operation) operation = "Several operations";
    for (const DeviceFacts& facts : document.devices)
      if (!facts.label.starts_with("simt") && (device.empty() || facts.label.starts_with("cuda")))
        device = facts.name;
  }
  if (operation.empty()) operation = "Results";
  return device.empty() ? operation : operation + " on " + device;
}

std::string header_html(const std::string& title, const std::vector<Section>& sections, const Section& lead,
                        const std::vector<Document>& documents) {
  std::string dates;
  for (const Document& document : documents)
    for (const auto& [name, value] : document.provenance)
      if (name == "date" && dates.empty()) dates = value.substr(0, 10);
  std::string out = "<header>\n<p class=\"eyebrow\">Tessera report" +
                    (dates.empty() ? "" : " · " + escaped(dates)) + "</p>\n<h1>" + escaped(title) + "</h1>\n";
  if (lead.rungs > 0) out += "<p class=\"lede\">" + escaped(lead.lede) + "</p>\n";
  out += "<nav aria-label=\"On this page\">\n";
  for (const Section& section : sections) {
    const auto same = std::ranges::count(sections, section.title, &Section::title);
    out += fmt::format("<a href=\"#{}\">{}</a>\n", section.id,
                       escaped(section.title + (same > 1 ? " (" + section.kind + ")" : "")));
  }
  return out +
         "<a href=\"#next\">What to try next</a>\n<a href=\"#provenance\">Where this comes "
         "from</a>\n</nav>\n</header>\n";
}

}  // namespace

std::string page(const std::vector<Document>& documents) {
  auto sections = sections_of(documents);
  // The section with the longest ladder is shown first.
  const auto lead = std::ranges::max_element(sections, {}, &Section::rungs);
  const std::string title = title_of(documents);
  PageParts parts{
      title + " – Tessera report", header_html(title, sections, *lead, documents), "",
      "Written by tessera report. This file needs no network; not run marks what was not measured, n/a "
      "what does not apply, is not known, or is a ratio that the samples leave open."};
  if (lead->rungs > 0) lead->lede.clear();  // it is already shown at the top
  for (const Section& section : sections) parts.main += section_html(section);
  parts.main += advice_html(documents) + provenance_html(documents);
  return whole_page(parts);
}

std::string whole_page(const PageParts& parts) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'; "
         "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n<title>" +
         escaped(parts.title) + "</title>\n<style>\n" + page_style() +
         "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the results</a>\n<div "
         "class=\"wrap\">\n" +
         parts.header + "<main id=\"main\">\n" + parts.main + "</main>\n<footer>" + parts.footer +
         "</footer>\n</div>\n<script>\n" + page_script() + "</script>\n</body>\n</html>\n";
}

}  // namespace tessera::report
