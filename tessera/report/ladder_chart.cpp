// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/chart.hpp"
#include "tessera/report/charts.hpp"
#include "tessera/report/svg.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using Anchor = Svg::Anchor;

// Letters are measured generously: the reader's font is not known here.
constexpr double letter = 7.6, small_letter = 6.9, code_letter = 7.0;

std::size_t fitting(double room, double each) {
  return static_cast<std::size_t>(std::max(room / each + 0.01, 4.0));
}

// Where things lie: labels beside their bars, or above them where the page is narrow.
struct Place {
  Place(double across, const Bars& bars) : small(is_narrow(across)), code(bars.source), width(across) {
    double letters = 0;
    bool details = false;
    for (const Bar& bar : bars.bars) {
      const auto label = static_cast<double>(display_width(bar.label)),
                 detail = static_cast<double>(display_width(bar.detail));
      letters = std::max({letters, label * (code ? code_letter : letter), detail * small_letter});
      details = details || !bar.detail.empty();
    }
    left = small ? 2 : std::clamp(letters, 90.0, code ? 470.0 : 330.0) + 16;
    right = small ? width - 6 : width - 74;
    step = small ? 42 : code ? 26 : details ? 40 : 32;
    top = bars.reference ? small ? 28 : 40 : small ? 12 : 20;
    bottom = top + step * static_cast<double>(bars.bars.size()) + 4;
  }
  double height() const { return small ? 13 : 18; }
  double bar_y(std::size_t i) const {
    return top + step * static_cast<double>(i) + (small ? 22 : (step - height()) / 2);
  }

  bool small, code;
  double width, left = 0, right = 0, top = 0, bottom = 0, step = 0;
};

Scale scale_of(const Bars& bars, const Place& place) {
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

void draw_axis(Svg& svg, const Scale& scale, const Place& place, const std::string& unit) {
  for (const Tick& tick : scale.ticks(place.small ? 4 : 7)) {
    const double x = scale.at(tick.value);
    svg.line({x, place.top - 4}, {x, place.bottom}, "grid");
    const Anchor anchor = x < place.left + 12 && place.small ? Anchor::start
                          : x > place.right - 12             ? Anchor::end
                                                             : Anchor::middle;
    svg.text({x, place.bottom + 16}, place.code ? count(tick.value) : tick.label, "small muted", anchor);
  }
  const std::string kind = scale.kind() == Scale::Kind::log ? ", logarithmic scale" : "";
  svg.text({place.right, place.bottom + 34}, unit + kind, "small muted", Anchor::end);
}

void draw_value(Svg& svg, const Bar& bar, const Scale& scale, const Place& place, double y) {
  const double end = scale.at(*bar.value), middle = y + place.height() / 2;
  if (*bar.value > 0)
    svg.rect(place.left, y, std::max(end - place.left, 1.0), place.height(), "bar " + bar.classes, bar.tip,
             2);
  for (const double choice : bar.choices) svg.circle({scale.at(choice), middle}, 2.5, "choice");
  if (bar.low && bar.high && scale.at(*bar.high) - scale.at(*bar.low) > 2) {
    svg.line({scale.at(*bar.low), middle}, {scale.at(*bar.high), middle}, "spread");
    for (const double side : {*bar.low, *bar.high})
      svg.line({scale.at(side), middle - 4}, {scale.at(side), middle + 4}, "spread");
  }
  const std::string weight = bar.classes == "best" ? "strong" : "";
  if (bar.value_text.empty()) return;
  if (place.small) svg.text({place.right, y - 6}, bar.value_text, "strong", Anchor::end);
  else svg.text({place.width - 2, y + 13.5}, bar.value_text, weight, Anchor::end);
}

void draw_missing(Svg& svg, const Bar& bar, const Place& place, double y) {
  const bool wrong = bar.classes == "wrong";
  svg.rect(place.left, y, 24, place.height(), wrong ? "bar wrong" : "bar missing", bar.tip, 2);
  const std::size_t room = fitting(place.right - place.left - 34, small_letter);
  svg.text({place.left + 32, y + place.height() - 4}, shortened((wrong ? "" : "n/a: ") + bar.missing, room),
           wrong ? "small bad-text" : "small muted");
}

// A narrow page has room for a detail only where the label leaves it.
void draw_label_above(Svg& svg, const Bar& bar, const Place& place, double y) {
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

void draw_label(Svg& svg, const Bar& bar, const Place& place, double y) {
  if (place.small) return draw_label_above(svg, bar, place, y);
  const double room = place.left - 16;
  if (place.code) return svg.text({2, y + 13}, shortened(bar.label, fitting(room, code_letter)), "code");
  const std::string weight = bar.classes == "best" ? "strong" : "";
  svg.text({room + 4, y + (bar.detail.empty() ? 13.5 : 5.5)}, shortened(bar.label, fitting(room, letter)),
           weight, Anchor::end);
  if (!bar.detail.empty())
    svg.text({room + 4, y + 21.5}, shortened(bar.detail, fitting(room, small_letter)), "small muted",
             Anchor::end);
}

}  // namespace

Svg draw_bars(const Bars& bars, double width, const std::string& id, const Chart& chart) {
  const Place place(width, bars);
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
    // Above narrow bars stand their values: the line leaves those alone.
    if (!place.small) svg.line({x, place.top - 8}, {x, place.bottom}, "opponent");
    else
      for (std::size_t i = 0; i < bars.bars.size(); ++i)
        svg.line({x, place.bar_y(i) - 2}, {x, place.bar_y(i) + place.height() + 2}, "opponent");
    const bool right = x > (place.left + place.right) / 2;
    svg.text({x, place.small ? 13 : place.top - 14}, bars.reference_name, "small mark-text",
             right ? Anchor::end : Anchor::start);
  }
  return svg;
}

namespace {

Bar bar_of(const Entry& row, const Entries& rows, const Metric& metric) {
  Bar out;
  out.label = row.rung();
  out.detail = tessera::to_string(row.tuning);
  std::ranges::replace(out.detail, ',', ' ');
  out.tip = tip_of(row, metric);
  out.value = metric.of(row);
  if (!out.value) {
    out.missing = row.wrong() ? "wrong result" : row.reason.empty() ? "not measured" : row.reason;
    out.classes = row.wrong() ? "wrong" : "";
    return out;
  }
  out.value_text = figure(*out.value);
  if (row.spread()) {
    // A quartile of the time is one of the rate, upside down.
    const bool rate = metric.more_is_better;
    out.low = *out.value * (rate ? *row.median / *row.q3 : *row.q1 / *row.median);
    out.high = *out.value * (rate ? *row.median / *row.q1 : *row.q3 / *row.median);
  }
  for (const Entry* choice : choices_of(rows, row))
    if (const Number value = metric.of(*choice); value && choice != &row) out.choices.push_back(*value);
  return out;
}

DataTable table_of(const Entries& rungs, const Metric& metric, const Entry* best,
                   const std::string& caption) {
  DataTable out;
  out.caption = caption;
  out.columns = {{"rung", true},
                 {metric.unit},
                 {"time"},
                 {"±", false, true},
                 {"× previous", false, true},
                 {"× baseline", false, true},
                 {"of roofline", false, true},
                 {"energy", false, true},
                 {"error/bound", false, true},
                 {"verified", true, true}};
  for (const Entry* row : rungs) {
    const Number value = metric.of(*row);
    // Beneath the name: a column of its own would push the last ones off the page.
    Cell rung(row->rung());
    rung.under = tessera::to_string(row->tuning);
    std::ranges::replace(rung.under, ',', ' ');
    out.lines.push_back(
        {{std::move(rung), number_cell(value), seconds_cell(row->median), percent_cell(row->spread()),
          number_cell(row->ratio_previous), number_cell(row->ratio_baseline), percent_cell(row->roofline),
          row->joules ? Cell(figure(*row->joules) + " J", row->joules) : Cell(),
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
  const Entry* best = best_of(own, metric);
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
  out.draw = [bars](const Chart& chart, double width, const std::string& id) {
    return draw_bars(bars, width, id, chart);
  };
  return out;
}

}  // namespace tessera::report
