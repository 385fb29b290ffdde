// SPDX-License-Identifier: Apache-2.0
// One HTML file for result files: charts, their tables, advice, and provenance. It needs no network, and its
// content security policy allows none.
#pragma once
#include <string>
#include <vector>
#include "tessera/report/charts.hpp"

namespace tessera::report {

// A file's rows of one element on one device, with their charts.
struct Section {
  std::string id, kind, title, lede;  // kind: "bench, FILE"
  std::vector<Chart> charts;
  std::optional<DataTable> alarm;  // shown first
  DataTable rows;                  // for reference
  std::size_t rungs = 0;           // the length of its ladder
};

// Makes sections with unique chart names. The charts refer to the documents, which must outlive them.
std::vector<Section> sections_of(const std::vector<Document>& documents);

std::string page(const std::vector<Document>& documents);

// Wraps HTML parts in a page with the reports' style and script; the title is plain text.
struct PageParts {
  std::string title, header, main, footer;
};
std::string whole_page(const PageParts& parts);

// Finds a chart by name, for export. Throws Error that lists the available names.
const Chart& chart_named(const std::vector<Section>& sections, const std::string& name);

}  // namespace tessera::report
