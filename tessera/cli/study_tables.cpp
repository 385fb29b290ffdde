// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/study_tables.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cmath>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/core/error.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {
namespace {

using Show = StudyTable::Show;
using nlohmann::ordered_json;

std::string shown(double value, Show how) {
  if (std::isnan(value)) return "";
  switch (how) {
    case Show::digits:
      return fmt::format("{}", value);
    case Show::seconds:
      return report::seconds(value);
    case Show::error:
      return fmt::format("{:.2e}", value);
    case Show::ratio:
      return value < 0.1 ? fmt::format("{:.2g}", value) : fmt::format("{:.2f}", value);
  }
  return {};
}

std::string shown(const StudyTable::Cell& cell, Show how) {
  if (cell.numbers.empty()) return {};
  const double value = median(cell.numbers);
  return cell.whole ? fmt::format("{:.0f}", value) : shown(value, how);
}

void print(std::FILE* to, const StudyTable& study) {
  std::vector<report::Table::Column> columns;
  for (const auto& column : study.columns) columns.push_back({column.name});
  report::Table table(columns);
  for (const auto& row : study.rows) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) cells.push_back(shown(row[i], study.columns[i].show));
    table.add(cells);
  }
  fmt::print(to, "{}\n{}", study.title, table.text());
  for (const std::string& remark : study.remarks) fmt::print(to, "{}\n", remark);
  fmt::print(to, "\n");
}

ordered_json json_of(const StudyTable::Cell& cell) {
  if (cell.several) return cell.numbers;
  if (cell.numbers.empty()) return nullptr;
  if (cell.whole) return static_cast<std::int64_t>(cell.numbers[0]);
  return cell.numbers[0];
}

ordered_json json_of(const StudyTable& study) {
  ordered_json out{{"title", study.title},
                   {"columns", ordered_json::array()},
                   {"shows", ordered_json::array()},
                   {"rows", ordered_json::array()}};
  constexpr const char* kinds[] = {"digits", "seconds", "error", "ratio"};
  for (const auto& column : study.columns) {
    out["columns"].push_back(column.name);
    out["shows"].push_back(kinds[static_cast<int>(column.show)]);
  }
  for (const auto& row : study.rows) {
    ordered_json cells = ordered_json::array();
    for (const auto& cell : row) cells.push_back(json_of(cell));
    out["rows"].push_back(std::move(cells));
  }
  out["remarks"] = study.remarks;
  return out;
}

}  // namespace

std::string studies_text(const Operation& operation) {
  std::string out;
  for (const Study* study : studies_of(operation.name))
    out += (out.empty() ? "" : "; ") + study->name + ": " + study->summary;
  return out;
}

void demand_tables_alone(bool check, const std::vector<std::string>& outputs) {
  if (check) throw Error("--check would be ignored: --study makes tables, and no result to verify");
  if (!outputs.empty())
    throw Error("--output " + outputs.front() +
                " would be ignored: --study makes tables; --json FILE keeps them");
}

int study(const Operation& operation, const std::string& name, const Arguments& arguments,
          const Request& request, const std::string& json, const Command& command) {
  const auto known = studies_of(operation.name);
  const auto found = std::ranges::find(known, name, &Study::name);
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const Study* one : known) names.push_back(one->name);
    unknown("the study", name, names);
  }
  std::FILE* const to = table_stream(json);
  ordered_json tables = ordered_json::array();
  {
    Progress progress;
    (*found)->make(
        operation, arguments, request, [&](const std::string& text) { progress.say(text); },
        [&](const StudyTable& table) {
          progress.clear();
          print(to, table);
          std::fflush(to);
          tables.push_back(json_of(table));
        });
  }
  ordered_json out{{"schema", 1}, {"kind", "study"}, {"operation", operation.name}, {"study", name}};
  out.update(bench::provenance(command.argv, bench::now_utc()));
  out["words"] = arguments.words();
  out["tables"] = std::move(tables);
  write_json(json, out);
  return exit_code::passed;
}

}  // namespace tessera::cli
