// SPDX-License-Identifier: Apache-2.0
// The charts that a report knows how to make. Each takes rows that belong together and gives a
// drawing with its table, or the reason why there is none.
#pragma once
#include <string>
#include <vector>
#include "tessera/report/chart.hpp"
#include "tessera/report/group.hpp"

namespace tessera::report {

// Bars: one for each value, on a logarithmic scale where the values differ too much for another.
struct Bar {
  std::string label, detail, value_text, tip;
  Number value, low, high;      // the spread's ends
  std::vector<double> choices;  // other choices of the same rung
  std::string classes;          // "best", "other"
  std::string missing;          // why there is no value
};
struct Bars {
  std::string unit;
  std::vector<Bar> bars;
  Number reference;  // a line across, with its name
  std::string reference_name;
  bool source = false;  // labels are lines of source: to the left and as typed; the scale is linear
};
Svg draw_bars(const Bars& bars, double width, const std::string& id, const Chart& chart);

// The ladder at one problem, each rung with its best choice.
Chart ladder_chart(const Group& group, const Dims& problem);
Chart roofline_chart(const Group& group, const Dims& problem);

// Shades of one unit over two axes; best is outlined, what could not run says why.
struct HeatCell {
  Number value;
  std::string text, tip;
  bool wrong = false;
};
struct HeatMap {
  std::string across, down, unit;  // what the axes are
  std::vector<std::string> columns, lines;
  std::vector<std::vector<HeatCell>> cells;  // by line; an empty text: not tried
  bool more_is_better = true;
};
Svg draw_heat_map(const HeatMap& map, double width, const std::string& id, const Chart& chart);
DataTable heat_table(const HeatMap& map, const std::string& caption);

Chart sizes_chart(const Group& group);  // rungs against problems
// For each rung with more than one choice at the problem: two of its parameters against each other.
std::vector<Chart> tuning_charts(const Group& group, const Dims& problem);
Chart search_chart(const Group& group, const Dims& problem);  // time over the order of trials
std::vector<Chart> split_charts(const Group& group);          // who did what, of several devices
std::vector<Chart> counter_charts(const Group& group);        // of a trace, by rung
std::vector<Chart> line_charts(const Group& group);           // of a trace, by source line
Chart study_chart(const StudiedTable& table);                 // its errors against its first column
DataTable rows_table(const Group& group);                     // everything that was measured
DataTable findings_table(const Group& group);                 // empty where a trace found nothing

// A run on several devices: a bar for each activity of a device, and one for its waiting.
Chart timeline_chart(const Document& document);
std::string timeline_sentence(const Document& document);  // which device waited longest

}  // namespace tessera::report
