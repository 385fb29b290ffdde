// SPDX-License-Identifier: Apache-2.0
// What every chart of a report is: a drawing at any width, the same data as a table, and words for
// whoever sees neither. A chart that cannot be drawn says why.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/variant.hpp"
#include "tessera/report/document.hpp"
#include "tessera/report/svg.hpp"

namespace tessera::report {

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
  std::function<Svg(const Chart& words, double width, const std::string& id)> draw;
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
