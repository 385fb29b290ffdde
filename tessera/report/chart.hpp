// SPDX-License-Identifier: Apache-2.0
// What every chart of a report is: scales with their ticks, a drawing at any width, and the same data as a
// table.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/variant.hpp"
#include "tessera/report/document.hpp"
#include "tessera/report/svg.hpp"

namespace tessera::report {

struct Tick {
  double value = 0;
  std::string label;  // empty: a line without a number
};

class Scale {
 public:
  enum class Kind { linear, log };

  // Values low to high lie at coordinates from to to. Throws Error where the values allow no scale:
  // not finite, or not positive on a logarithmic one.
  Scale(Kind kind, double low, double high, double from, double to);

  // Linear from 0, or whole decades, so that every value fits.
  static Scale around(Kind kind, double least, double most, double from, double to);

  double at(double value) const;  // values outside are drawn at the end
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

// A logarithmic scale helps where the least would vanish beside the most.
Scale::Kind kind_for(double least, double most);

// Three significant digits: "49.1", "0.0169", "8120", "1.2e+07"; "n/a" for what is not finite.
std::string figure(double value);

// "8192", "17.3 M": what was counted, in thousands where it is large.
std::string count(double value);

// What every chart of a report is: a drawing at any width, the same data as a table, and words for
// whoever sees neither. A chart that cannot be drawn says why.

// A table of the page.
struct DataTable {
  struct Column {
    std::string title;
    bool left = false, optional = false;  // optional: left out where every cell is n/a
  };
  struct Line {
    std::vector<Cell> cells;
    std::string classes;  // "best", "wrong"
  };
  std::string caption;
  std::vector<Column> columns;  // the first one heads its row
  std::vector<Line> lines;
  bool sortable = true, source = false;

  std::string html() const;
};

struct Chart {
  std::string name;  // for --svg; unique in a report
  std::string title, description, note;
  std::function<Svg(const Chart& chart, double width, const std::string& id)> draw;
  DataTable table;
  Reason missing;           // why there is no drawing
  bool table_open = false;  // shown without being asked for
  bool half = false;        // small enough for two beside each other

  Svg drawn(double width, const std::string& id) const { return draw(*this, width, id); }
  std::string html() const;
};

inline constexpr double wide = 860, narrow = 360;  // widths at which a page holds each drawing
inline bool is_narrow(double width) { return width < 600; }

// A number for a table: three digits with its value to sort by; n/a where it is missing.
Cell number_cell(Number value);
Cell percent_cell(Number fraction);
Cell seconds_cell(Number value);

}  // namespace tessera::report
