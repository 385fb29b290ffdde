// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/charts.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "tessera/core/text/error.hpp"
#include "tessera/report/svg.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

constexpr double log_from = 30;  // the ratio of largest to smallest from which a logarithmic scale is used

std::string tick_label(double value) { return fmt::format("{:.6g}", value); }

}  // namespace

Scale::Scale(Kind kind, double low, double high, double from, double to)
    : kind_(kind), low_(low), high_(high), from_(from), to_(to) {
  const bool finite = std::isfinite(low) && std::isfinite(high) && std::isfinite(from) && std::isfinite(to);
  if (!finite || !(low < high) || (kind == Kind::log && !(low > 0)))
    throw Error(Error::Kind::internal, fmt::format("a chart's axis cannot go from {} to {}{}", low, high,
                                                   kind == Kind::log ? " on a logarithmic scale" : ""));
}

Scale Scale::around(Kind kind, double least, double most, double from, double to) {
  if (kind == Kind::linear) return {kind, 0, most > 0 ? most * 1.02 : 1, from, to};
  double low = std::pow(10, std::floor(std::log10(least)));
  // A bar of zero length would be invisible.
  if (least < low * 1.25) low /= 10;
  return {kind, low, most * 1.15, from, to};
}

double Scale::at(double value) const {
  const double inside = std::clamp(value, low_, high_);
  const double part = kind_ == Kind::log ? std::log(inside / low_) / std::log(high_ / low_)
                                         : (inside - low_) / (high_ - low_);
  return from_ + part * (to_ - from_);
}

std::vector<Tick> Scale::ticks(int about) const {
  return kind_ == Kind::log ? log_ticks(std::max(about, 2)) : linear_ticks(std::max(about, 2));
}

std::vector<Tick> Scale::linear_ticks(int about) const {
  const double rough = (high_ - low_) / about;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * decade;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= rough) {
      step = factor * decade;
      break;
    }
  std::vector<Tick> out;
  for (double i = std::ceil(low_ / step); i * step <= high_ * (1 + 1e-12); ++i)
    out.push_back({i * step, tick_label(i * step)});
  return out;
}

// Every n-th decade; over few decades also 2 and 5 times each.
std::vector<Tick> Scale::log_ticks(int about) const {
  const int first = static_cast<int>(std::floor(std::log10(low_) + 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(high_) + 1e-9));
  const double decades = std::log10(high_ / low_);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / about)));
  std::vector<Tick> out;
  for (int power = first; power <= last; ++power) {
    const double decade = std::pow(10, power);
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * decade;
      const bool wanted = factor == 1.0 ? (power - first) % every == 0 : 3 * decades <= about;
      if (wanted && value >= low_ * (1 - 1e-9) && value <= high_ * (1 + 1e-9))
        out.push_back({value, tick_label(value)});
    }
  }
  return out;
}

Scale::Kind kind_for(double least, double most) {
  return least > 0 && most / least > log_from ? Scale::Kind::log : Scale::Kind::linear;
}

std::string figure(double value) {
  if (!std::isfinite(value)) return "n/a";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 1e-3 || size >= 1e7) return fmt::format("{:.2e}", value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:#.3g}", value);
}

std::string count(double value) {
  if (!std::isfinite(value)) return "n/a";
  if (std::abs(value) < 1e5) return std::floor(value) == value ? fmt::format("{:.0f}", value) : figure(value);
  constexpr const char* units[] = {"k", "M", "G", "T", "P"};
  double size = value / 1e3;
  std::size_t unit = 0;
  for (; std::abs(size) >= 999.5 && unit + 1 < std::size(units); ++unit) size /= 1e3;
  return figure(size) + " " + units[unit];
}

namespace {

constexpr std::size_t long_text = 40;  // longer cells wrap

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

DataTable data_table(const Table& table, const std::string& caption) {
  DataTable out{.caption = caption, .columns = {}, .lines = {}, .sortable = false};
  for (const Table::Column& column : table.columns())
    out.columns.push_back({column.title, column.align == Table::Align::left, column.optional});
  for (const auto& row : table.rows()) {
    auto& line = out.lines.emplace_back();
    for (const std::string& cell : row) line.cells.emplace_back(cell == "n/a" ? "" : cell);
  }
  return out;
}

std::string Chart::html() const {
  if (missing)
    return fmt::format("<p class=\"absent\"><strong>{}</strong> is left out: {}.</p>\n", escaped(title),
                       escaped(*missing));
  std::string out = fmt::format("<figure id=\"{}\">\n<figcaption><h3>{}</h3><p>{}</p></figcaption>\n",
                                slug(name), escaped(title), escaped(description));
  out += "<div class=\"scroll\">" + drawing(*this, wide) + drawing(*this, narrow) + "</div>\n";
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
  return value && std::isfinite(*value) ? Cell(seconds_in_text(*value), value) : Cell();
}

Cell median_cell(const Entry& entry) { return entry.median ? seconds_cell(entry.median) : Cell("not run"); }

}  // namespace tessera::report
