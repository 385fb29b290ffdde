// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/page.hpp"
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/advice.hpp"
#include "tessera/report/escape.hpp"
#include "tessera/report/style.hpp"

namespace tessera::report {
namespace {

constexpr std::size_t most_advice = 8;

std::string facts_html(const Section& section) {
  if (section.facts.empty()) return {};
  std::string out = "<dl class=\"facts\">\n";
  for (const auto& [name, value] : section.facts) {
    const auto cut = value.find('\n');
    out +=
        fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>\n", escaped(name), escaped(value.substr(0, cut)),
                    cut == std::string::npos ? "" : "<small>" + escaped(value.substr(cut + 1)) + "</small>");
  }
  return out + "</dl>\n";
}

std::string charts_html(const std::vector<Chart>& charts) {
  std::string out;
  bool pair = false;
  for (const Chart& chart : charts) {
    const bool half = chart.half && !chart.missing;
    if (half != pair) out += half ? "<div class=\"pair\">\n" : "</div>\n";
    pair = half;
    out += chart.html();
  }
  return out + (pair ? "</div>\n" : "");
}

std::string section_html(const Section& section) {
  std::string out = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<p class=\"eyebrow\">{2}</p>\n<h2 "
      "id=\"{0}-title\">{1}</h2>\n",
      section.id, escaped(section.title), escaped(section.kind));
  if (!section.lede.empty()) out += "<p>" + escaped(section.lede) + "</p>\n";
  if (section.alarm) out += section.alarm->html();
  out += charts_html(section.charts);
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
  const std::size_t shown = std::min(all.size(), most_advice);
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

// "matmul on NVIDIA H200": what all files have in common, as far as they do.
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
  if (!lead.facts.empty()) out += "<p class=\"lede\">" + escaped(lead.lede) + "</p>\n" + facts_html(lead);
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
  // The section with the longest ladder heads the page.
  const auto lead = std::ranges::max_element(sections, {}, &Section::rungs);
  const std::string title = title_of(documents);
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n<title>" +
      escaped(title) + " – Tessera report</title>\n<style>\n" + page_style() +
      "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the results</a>\n<div "
      "class=\"wrap\">\n" +
      header_html(title, sections, *lead, documents) + "<main id=\"main\">\n";
  if (!lead->facts.empty()) lead->lede.clear();  // it stands at the top already
  for (const Section& section : sections) out += section_html(section);
  return out + advice_html(documents) + provenance_html(documents) +
         "</main>\n<footer>Written by tessera report. This file needs no network; n/a marks what was not "
         "measured.</footer>\n"
         "</div>\n<script>\n" +
         page_script() + "</script>\n</body>\n</html>\n";
}

}  // namespace tessera::report
