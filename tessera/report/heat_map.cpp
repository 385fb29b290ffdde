// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "tessera/report/charts.hpp"
#include "tessera/report/escape.hpp"
#include "tessera/report/scale.hpp"
#include "tessera/report/style.hpp"

namespace tessera::report {
namespace {

using Anchor = Svg::Anchor;

// Steps of equal width between the least and the most, or of equal ratio where they lie far apart.
class Shades {
 public:
  explicit Shades(const HeatMap& map) : more_(map.more_is_better) {
    for (const auto& line : map.cells)
      for (const HeatCell& cell : line) {
        if (!cell.value) continue;
        least_ = any_ ? std::min(least_, *cell.value) : *cell.value;
        most_ = any_ ? std::max(most_, *cell.value) : *cell.value;
        any_ = true;
      }
    log_ = least_ > 0 && kind_for(least_, most_) == Scale::Kind::log;
  }
  int step(double value) const {
    if (!(most_ > least_)) return heat_steps - 1;
    const double part =
        log_ ? std::log(value / least_) / std::log(most_ / least_) : (value - least_) / (most_ - least_);
    const int up = std::clamp(static_cast<int>(part * heat_steps), 0, heat_steps - 1);
    return more_ ? up : heat_steps - 1 - up;
  }
  // Where step i begins, counted from the worst.
  double border(int i) const {
    const double part = static_cast<double>(more_ ? i : heat_steps - i) / heat_steps;
    return log_ ? least_ * std::pow(most_ / least_, part) : least_ + part * (most_ - least_);
  }
  double best() const { return more_ ? most_ : least_; }
  bool any() const { return any_; }
  bool varied() const { return most_ > least_; }

 private:
  double least_ = 0, most_ = 0;
  bool more_, any_ = false, log_ = false;
};

struct Place {
  Place(const HeatMap& map, double across) : small(is_narrow(across)) {
    std::size_t longest = display(map.down), widest = 0;
    for (const auto& name : map.lines) longest = std::max(longest, display(name));
    for (const auto& column : map.columns) widest = std::max(widest, display(column));
    left = std::clamp(6.7 * static_cast<double>(longest) + 14, 44.0, small ? 118.0 : 250.0);
    const auto columns = static_cast<double>(map.columns.size());
    const double least = std::max(small ? 44.0 : 52.0, 6.6 * static_cast<double>(widest) + 6);
    cell = std::clamp((across - left - 4) / columns, least, std::max(least, 104.0));
    line = small ? 32 : 34;
    width = std::max(left + columns * cell + 4, 330.0);
    bottom = top + line * static_cast<double>(map.lines.size());
  }
  static std::size_t display(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
  }
  double x(std::size_t c) const { return left + cell * static_cast<double>(c); }
  double y(std::size_t l) const { return top + line * static_cast<double>(l); }

  bool small;
  double left = 0, cell = 0, line = 0, width = 0, top = 46, bottom = 0;
};

void draw_cell(Svg& svg, const HeatCell& cell, const Shades& shades, const Place& p, std::size_t l,
               std::size_t c) {
  const double x = p.x(c) + 1, y = p.y(l) + 1, wide = p.cell - 2, high = p.line - 2;
  const Svg::Point middle{x + wide / 2, y + high / 2 + 4};
  if (cell.value) {
    const int step = shades.step(*cell.value);
    svg.rect(x, y, wide, high, fmt::format("heat{}", step), cell.tip, 3);
    svg.text(middle, cell.text, fmt::format("small ink{}", step), Anchor::middle);
    if (*cell.value == shades.best()) svg.rect(x, y, wide, high, "ring", {}, 3);
    return;
  }
  if (cell.text.empty()) return;
  svg.rect(x, y, wide, high, cell.wrong ? "wrong-cell" : "empty", cell.tip, 3);
  svg.text(middle, cell.wrong ? "wrong" : "n/a", cell.wrong ? "small bad-text" : "small muted",
           Anchor::middle);
}

void draw_legend(Svg& svg, const HeatMap& map, const Shades& shades, const Place& p) {
  const double y = p.bottom + 18, from = 2, swatch = 38;
  if (!shades.varied()) {
    svg.text({from, y + 10}, map.unit, "small muted");
    return;
  }
  for (int i = 0; i < heat_steps; ++i) {
    svg.rect(from + swatch * i, y, swatch, 10, fmt::format("heat{}", i));
    if (i % 2 == 0) svg.text({from + swatch * i, y + 25}, figure(shades.border(i)), "small muted");
  }
  svg.text({from + swatch * heat_steps + 8, y + 10}, map.unit, "small muted");
}

}  // namespace

Svg draw_heat_map(const HeatMap& map, double width, const std::string& id, const Chart& words) {
  const Place p(map, width);
  const Shades shades(map);
  Svg svg(p.width, p.bottom + 52, id, words.title, words.description);
  svg.text({p.left + 1, 14}, map.across + " →", "small muted");
  if (!map.down.empty()) svg.text({2, p.top - 10}, map.down + " ↓", "small muted");
  for (std::size_t c = 0; c < map.columns.size(); ++c)
    svg.text({p.x(c) + p.cell / 2, p.top - 10}, map.columns[c], "small strong", Anchor::middle);
  for (std::size_t l = 0; l < map.lines.size(); ++l) {
    const auto room = static_cast<std::size_t>((p.left - 8) / 6.3);
    svg.text({2, p.y(l) + p.line / 2 + 4}, shortened(map.lines[l], room), "small");
    for (std::size_t c = 0; c < map.columns.size(); ++c) draw_cell(svg, map.cells[l][c], shades, p, l, c);
  }
  if (shades.any()) draw_legend(svg, map, shades, p);
  return svg;
}

DataTable heat_table(const HeatMap& map, const std::string& caption) {
  DataTable out;
  out.caption = caption + ", in " + map.unit;
  out.columns.push_back({map.down, true});
  for (const auto& column : map.columns) out.columns.push_back({column});
  for (std::size_t l = 0; l < map.lines.size(); ++l) {
    DataTable::Line line{{Cell(map.lines[l])}, ""};
    for (const HeatCell& cell : map.cells[l])
      line.cells.push_back(cell.value ? Cell(cell.text, cell.value) : Cell(cell.wrong ? "wrong" : ""));
    out.lines.push_back(std::move(line));
  }
  return out;
}

}  // namespace tessera::report
