// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/compare_table.hpp"
#include <fmt/format.h>
#include <map>
#include "tessera/bench/statistics.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using Align = Table::Align;

std::string median(const bench::Record* record) {
  return record == nullptr || record->seconds.empty() ? ""
                                                      : seconds(bench::summarize(record->seconds).median);
}

std::string spread(const bench::Record* record) {
  return record == nullptr || record->seconds.size() < 2
             ? ""
             : fmt::format("±{:.1f} %", 100 * bench::summarize(record->seconds).spread());
}

std::string ratio(std::optional<double> value) { return value ? fmt::format("{:.3f}", *value) : ""; }

}  // namespace

std::string compare_table(const std::vector<bench::Pair>& pairs) {
  Table table({{"device", Align::left},
               {"problem", Align::left},
               {"element", Align::left},
               {"variant", Align::left},
               {"tuning", Align::left},
               {"mode", Align::left},
               {"then"},
               {"spread"},
               {"now"},
               {"spread"},
               {"× faster"},
               {"× fewer cycles", Align::right, true},
               {"verdict", Align::left}});
  std::map<bench::Change, int> counts;
  for (const bench::Pair& pair : pairs) {
    const bench::Record& record = pair.now != nullptr ? *pair.now : *pair.before;
    ++counts[pair.change];
    table.add({record.device, record.problem, record.element, record.variant,
               record.tuning.empty() ? "-" : record.tuning, record.mode, median(pair.before),
               spread(pair.before), median(pair.now), spread(pair.now), ratio(pair.times_faster),
               ratio(pair.times_fewer_cycles),
               std::string(name_of(pair.change)) + (pair.why.empty() ? "" : ": " + pair.why)});
  }
  std::string summary;
  for (const auto& [change, count] : counts)
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, name_of(change));
  return table.text() + summary + "\n";
}

}  // namespace tessera::report
