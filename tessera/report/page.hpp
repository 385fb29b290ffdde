// SPDX-License-Identifier: Apache-2.0
// One HTML file of result files: charts, their tables, what to try next, and where all of it came
// from. It needs no network, and its policy allows none.
#pragma once
#include <string>
#include <vector>
#include "tessera/report/charts.hpp"

namespace tessera::report {

// A file's rows of one element on one device, with the charts that suit them.
struct Section {
  std::string id, kind, title, lede;  // kind: "bench, FILE"
  std::vector<Chart> charts;
  std::optional<DataTable> alarm;                          // what must be seen first
  DataTable rows;                                          // for looking up
  std::size_t rungs = 0;                                   // how much there is to see
  std::vector<std::pair<std::string, std::string>> facts;  // what is shown large
};

// Names of charts are unique. The charts look into the documents, which must outlive them.
std::vector<Section> sections_of(const std::vector<Document>& documents);

std::string page(const std::vector<Document>& documents);

// A page with the reports' style and script around parts that are HTML already; the title is text.
struct PageParts {
  std::string title, header, main, footer;
};
std::string whole_page(const PageParts& parts);

// That chart as a file of its own. Throws Error naming those that there are.
const Chart& chart_named(const std::vector<Section>& sections, const std::string& name);

}  // namespace tessera::report
