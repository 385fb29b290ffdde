// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/table.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "tessera/core/text/error.hpp"

namespace tessera::report {
namespace {

constexpr std::size_t gap = 2;
constexpr const char* missing = "n/a";
constexpr std::size_t shortest_text = 12;

std::size_t fitted_width = 0;

}  // namespace

void fit_tables(std::size_t width) { fitted_width = width; }

std::string shortened(const std::string& text, std::size_t most) {
  if (display_width(text) <= most) return text;
  std::string out;
  std::size_t characters = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0u) != 0x80u && ++characters == most) break;
    out += c;
  }
  return out + "…";
}

std::string end_of(const std::string& text, std::size_t most) {
  if (display_width(text) <= most) return text;
  std::size_t from = text.size();
  for (std::size_t characters = 1; characters < most && from > 0;)
    if ((static_cast<unsigned char>(text[--from]) & 0xC0u) != 0x80u) ++characters;
  return "…" + text.substr(from);
}

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

void Table::add(std::vector<std::string> row) {
  if (row.size() != columns_.size())
    throw Error(Error::Kind::internal, "a table's row has the wrong number of cells");
  for (std::string& cell : row)
    if (cell.empty()) cell = missing;
  rows_.push_back(std::move(row));
}

void Table::add_rule() { rows_.emplace_back(); }

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    out.push_back(display_width(columns_[c].title));
    for (const auto& row : rows_)
      if (!row.empty()) out[c] = std::max(out[c], display_width(row[c]));
  }
  return out;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string out;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::string padding(widths[c] - display_width(cells[c]), ' ');
    if (c != 0) out.append(gap, ' ');
    out += columns_[c].align == Align::right ? padding + cells[c] : cells[c] + padding;
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

Table Table::without_empty_columns() const {
  Table out({});
  out.rows_.resize(rows_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto has_value = [c](const auto& row) { return !row.empty() && row[c] != missing; };
    if (columns_[c].optional && std::ranges::none_of(rows_, has_value)) continue;
    out.columns_.push_back({columns_[c].title, columns_[c].align, false, columns_[c].detail});
    for (std::size_t r = 0; r < rows_.size(); ++r)
      if (!rows_[r].empty()) out.rows_[r].push_back(rows_[r][c]);
  }
  return out;
}

std::string Table::text() const {
  if (std::ranges::any_of(columns_, &Column::optional)) return without_empty_columns().text();
  if (fitted_width > 0 && width() > fitted_width) {
    Table smaller = *this;
    std::size_t dropped = 0;
    while (smaller.width() > fitted_width && smaller.drop_detail()) ++dropped;
    if (smaller.width() > fitted_width) smaller.shorten_text(smaller.width() - fitted_width);
    return smaller.lines() + (dropped == 0 ? ""
                              : dropped == 1
                                  ? "(one column left out; --wide shows it)\n"
                                  : fmt::format("({} columns left out; --wide shows them)\n", dropped));
  }
  return lines();
}

std::size_t Table::width() const {
  std::size_t out = columns_.empty() ? 0 : gap * (columns_.size() - 1);
  for (const std::size_t column : widths()) out += column;
  return out;
}

bool Table::drop_detail() {
  const auto least = std::ranges::max_element(columns_, {}, &Column::detail);
  if (least == columns_.end() || least->detail == 0) return false;
  const auto at = least - columns_.begin();
  columns_.erase(least);
  for (auto& row : rows_)
    if (!row.empty()) row.erase(row.begin() + at);
  return true;
}

void Table::shorten_text(std::size_t too_wide) {
  while (too_wide > 0) {
    const auto space = widths();
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (columns_[c].align != Align::right &&
          space[c] > std::max(shortest_text, display_width(columns_[c].title)) &&
          (widest == columns_.size() || space[c] > space[widest]))
        widest = c;
    if (widest == columns_.size()) return;
    --too_wide;
    for (auto& row : rows_)
      if (!row.empty())
        row[widest] =
            (columns_[widest].align == Align::place ? end_of : shortened)(row[widest], space[widest] - 1);
  }
}

std::string Table::lines() const {
  const auto space = widths();
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  const std::string rule = std::string(width(), '-') + "\n";
  std::string out = line(titles, space) + rule;
  for (const auto& row : rows_) out += row.empty() ? rule : line(row, space);
  return out;
}

std::string Notes::refer(const std::string& note) {
  auto found = std::ranges::find(notes_, note);
  if (found == notes_.end()) found = notes_.insert(notes_.end(), note);
  return number(static_cast<std::size_t>(found - notes_.begin()));
}

std::string Notes::text() const {
  std::string out;
  for (std::size_t i = 0; i < notes_.size(); ++i) out += number(i) + " " + notes_[i] + "\n";
  return out;
}

std::string Notes::number(std::size_t i) const { return fmt::format("{}{}{}", open_, i + 1, close_); }

std::string number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "n/a";
  const double size = std::abs(*value);
  if (size == 0) return "0";
  if (size < 1e-3 || size >= 1e7) return fmt::format("{:.2e}", *value);
  if (size >= 1000) return fmt::format("{:.0f}", *value);
  const int whole = size >= 100 ? 3 : size >= 10 ? 2 : 1;
  if (size >= 1) return fmt::format("{:.{}f}", *value, 4 - whole);
  return fmt::format("{:#.3g}", *value);
}

std::string seconds(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "n/a";
  if (*value >= 1) return number(*value) + " s ";
  if (*value >= 1e-3) return number(*value * 1e3) + " ms";
  return number(*value * 1e6) + " µs";
}

std::string seconds_in_text(double value) {
  std::string out = seconds(value);
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string bytes(std::int64_t value) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(value);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit) size /= 1024;
  return size == std::floor(size) ? fmt::format("{:.0f} {}", size, units[unit])
                                  : fmt::format("{:.1f} {}", size, units[unit]);
}

std::string studied(double value, std::string_view shows) {
  if (std::isnan(value)) return "";
  if (shows == "seconds") return seconds(value);
  if (shows == "error") return fmt::format("{:.2e}", value);
  if (shows == "ratio") return value < 0.1 ? fmt::format("{:.2g}", value) : fmt::format("{:.2f}", value);
  return fmt::format("{}", value);
}

}  // namespace tessera::report
