// SPDX-License-Identifier: Apache-2.0
// The charts of a report. Each takes rows that belong together and gives a drawing at any width, the same
// data as a table, and a text description; or the reason why there is no drawing.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/operation/variant.hpp"
#include "tessera/report/group.hpp"
#include "tessera/report/svg.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {

struct Tick {
  double value = 0;
  std::string label;  // empty: a line without a number
};

class Scale {
 public:
  enum class Kind { linear, log };

  // Maps values from `low` to `high` to coordinates from `from` to `to`. Throws Error if the values allow no
  // scale: not finite, or not positive on a logarithmic one.
  Scale(Kind kind, double low, double high, double from, double to);

  // Returns a linear scale from 0, or full decades, so that every value fits.
  static Scale around(Kind kind, double least, double most, double from, double to);

  double at(double value) const;  // values outside are clamped
  double low() const { return low_; }
  double high() const { return high_; }
  Kind kind() const { return kind_; }
  std::vector<Tick> ticks(int about) const;  // ascending, within the scale

 private:
  std::vector<Tick> linear_ticks(int about) const;
  std::vector<Tick> log_ticks(int about) const;

  Kind kind_;
  double low_, high_, from_, to_;
};

// Logarithmic if the least would be invisible beside the most.
Scale::Kind kind_for(double least, double most);

// Returns three significant digits: "49.1", "0.0169", "8120", "1.2e+07"; "n/a" for values that are not
// finite.
std::string figure(double value);

// Returns "8192", "17.3 M": a count, abbreviated if it is large.
std::string count(double value);

// A table of the page.
struct DataTable {
  struct Column {
    std::string title;
    bool left = false, optional = false;  // optional: left out if every cell is n/a
  };
  struct Line {
    std::vector<Cell> cells;
    std::string classes;  // "best", "wrong"
  };
  std::string caption;
  std::vector<Column> columns;  // the first one is the row header
  std::vector<Line> lines;
  bool sortable = true, source = false;

  std::string html() const;
};

// Returns the same table as on a terminal, without the terminal's limits of width.
DataTable data_table(const Table& table, const std::string& caption);

struct Chart {
  std::string name;  // for --svg; unique in a report
  std::string title, description, note;
  std::function<Svg(const Chart& chart, double width, const std::string& id)> draw;
  DataTable table;
  Reason missing;           // the reason why there is no drawing
  bool table_open = false;  // shown expanded

  Svg drawn(double width, const std::string& id) const { return draw(*this, width, id); }
  std::string html() const;
};

inline constexpr double wide = 860, narrow = 360;  // widths at which a page holds each drawing
inline bool is_narrow(double width) { return width < 600; }

// Returns a number for a table: three digits with its value to sort by; n/a if it is missing.
Cell number_cell(Number value);
Cell percent_cell(Number fraction);
Cell seconds_cell(Number value);
Cell median_cell(const Entry& entry);

// Bars: one for each value, on a logarithmic scale if the values differ too much for a linear one.
struct Bar {
  std::string label, detail, value_text, tip;
  Number value, low, high;      // the ends of the spread
  std::vector<double> choices;  // other choices of the same rung
  std::string classes;          // "best", "other"
  std::string missing;          // the reason why there is no value
};
struct Bars {
  std::string unit;
  std::vector<Bar> bars;
  Number reference;  // a line across, with its name
  std::string reference_name;
  bool source = false;  // labels are lines of source: left-aligned and verbatim; the scale is linear
};
Svg draw_bars(const Bars& bars, double width, const std::string& id, const Chart& chart);
void show_bars(Chart& out, Bars bars);  // draws them
// The value of a row with its spread; `rows`: where other choices of its rung are found.
Bar bar_of(const Entry& row, const Entries& rows, const Metric& metric);

// Returns the ladder at one problem, each rung with its best choice.
Chart ladder_chart(const Group& group, const Dims& problem);
Chart roofline_chart(const Group& group, const Dims& problem);

// Shades of one unit over two axes; the best is outlined, and cells that could not run show the reason.
struct HeatCell {
  Number value;
  std::string text, tip;
  bool wrong = false;
};
struct HeatMap {
  std::string across, down, unit;  // the axes' names, and the values' unit
  std::vector<std::string> columns, lines;
  std::vector<std::vector<HeatCell>> cells;  // by line; an empty text: not tried
  bool more_is_better = true;
  bool outlined = true;  // false: the samples do not tell which is the best
};
Svg draw_heat_map(const HeatMap& map, double width, const std::string& id, const Chart& chart);

Chart sizes_chart(const Group& group);  // rungs against problems
// For each rung with more than one choice at the problem: two of its parameters against each other.
std::vector<Chart> tuning_charts(const Group& group, const Dims& problem);
std::vector<Chart> split_charts(const Group& group);    // the devices' shares of a split row
std::vector<Chart> counter_charts(const Group& group);  // a trace's counters, by rung
std::vector<Chart> line_charts(const Group& group);     // a trace's counters, by source line
Chart study_chart(const StudiedTable& table);           // its errors against its first column
DataTable findings_table(const Group& group);           // empty if a trace found nothing

}  // namespace tessera::report
