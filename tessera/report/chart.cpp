// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/chart.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "tessera/report/escape.hpp"
#include "tessera/report/scale.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

constexpr std::size_t long_text = 40;  // a cell that had better wrap

bool says_something(const DataTable& table, std::size_t column) {
  return !table.columns[column].optional ||
         std::ranges::any_of(table.lines, [=](const auto& line) { return !line.cells[column].text.empty(); });
}

std::string cell_html(const Cell& cell, bool head, bool left) {
  std::string classes = cell.classes;
  if (left) classes += " left";
  if (left && display_width(cell.text) > long_text && cell.classes.empty()) classes += " words";
  if (cell.text.empty()) classes += " none";
  if (classes.starts_with(' ')) classes.erase(0, 1);
  const bool sorts = cell.value && std::isfinite(*cell.value);
  return fmt::format("<{0}{1}{2}>{3}{4}</{5}>", head ? "th scope=\"row\"" : "td",
                     classes.empty() ? "" : " class=\"" + classes + "\"",
                     sorts ? fmt::format(" data-value=\"{}\"", *cell.value) : "",
                     cell.text.empty() ? "n/a" : escaped(cell.text),
                     cell.under.empty() ? "" : " <small class=\"under\">" + escaped(cell.under) + "</small>",
                     head ? "th" : "td");
}

std::string drawing(const Chart& chart, double width) {
  const bool small = is_narrow(width);
  const Svg svg = chart.drawn(width, chart.name + (small ? "-narrow" : ""));
  return svg.inline_text(
      fmt::format("chart {}{}", small ? "narrow" : "wide", svg.width() <= width ? " fits" : ""));
}

}  // namespace

std::string DataTable::html() const {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{0}\"><table{1}><caption>{0}</caption>\n<thead><tr>",
      escaped(caption), sortable ? source ? " class=\"sortable source\"" : " class=\"sortable\"" : "");
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (says_something(*this, c))
      out += fmt::format("<th scope=\"col\"{}>{}</th>", columns[c].left ? " class=\"left\"" : "",
                         escaped(columns[c].title));
  out += "</tr></thead>\n<tbody>\n";
  for (const Line& line : lines) {
    out += line.classes.empty() ? "<tr>" : "<tr class=\"" + line.classes + "\">";
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (says_something(*this, c)) out += cell_html(line.cells[c], c == 0, columns[c].left);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string Chart::html() const {
  if (missing)
    return fmt::format("<p class=\"absent\"><strong>{}</strong> is left out: {}.</p>\n", escaped(title),
                       escaped(*missing));
  std::string out =
      fmt::format("<figure id=\"{}\"{}>\n<figcaption><h3>{}</h3><p>{}</p></figcaption>\n", slug(name),
                  half ? " class=\"half\"" : "", escaped(title), escaped(description));
  out += "<div class=\"scroll\">" + (half ? std::string() : drawing(*this, wide)) + drawing(*this, narrow) +
         "</div>\n";
  if (!note.empty()) out += "<p class=\"note\">" + escaped(note) + "</p>\n";
  out += table_open ? table.html()
                    : "<details><summary>The same as a table</summary>\n" + table.html() + "</details>\n";
  return out + "</figure>\n";
}

Cell number_cell(Number value) {
  return value && std::isfinite(*value) ? Cell(figure(*value), value) : Cell();
}

Cell percent_cell(Number fraction) {
  return fraction && std::isfinite(*fraction) ? Cell(fmt::format("{:.1f} %", 100 * *fraction), fraction)
                                              : Cell();
}

Cell seconds_cell(Number value) {
  if (!value || !std::isfinite(*value)) return {};
  const auto [factor, unit] = *value >= 1      ? std::pair(1.0, "s")
                              : *value >= 1e-3 ? std::pair(1e3, "ms")
                                               : std::pair(1e6, "µs");
  return {figure(*value * factor) + " " + unit, value};
}

}  // namespace tessera::report
