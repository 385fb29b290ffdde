// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/row_words.hpp"
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/table.hpp"

namespace tessera::report {

using lab::Row;

std::string device_of(const Row& row) {
  return row.device.where == Where::simt ? lab::label_of(row.device) + " (executor wall time)"
                                         : lab::label_of(row.device);
}

std::string name_of(const Row& row) {
  return row.variant->ladder + "/" + row.variant->name + (row.serial ? " (serial)" : "");
}

std::string why_not(const Row& row) {
  const std::string reason = row.reason.value_or("not measured");
  if (!row.estimate) return reason;
  std::string time = seconds(row.estimate);
  time.erase(time.find_last_not_of(' ') + 1);
  return fmt::format("{} (one run: about {})", reason, time);
}

std::string reasons_of(const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, std::string>> told;
  for (const Row& row : rows) {
    if (!row.seconds.empty()) continue;
    const std::string who = name_of(row) + (row.tuning.empty() ? "" : " " + to_string(row.tuning));
    const std::string why = why_not(row);
    const auto same = std::ranges::find(told, why, &std::pair<std::string, std::string>::first);
    if (same == told.end()) told.emplace_back(why, who);
    else if (!same->second.ends_with(who)) same->second += "; " + who;
  }
  std::string out;
  for (const auto& [why, who] : told) out += "n/a: " + who + ": " + why + "\n";
  return out;
}

std::string findings_of(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows)
    if (row.verified == lab::Verified::wrong)
      out += "WRONG: " + name_of(row) + " " + to_string(row.tuning) + " on " + lab::label_of(row.device) +
             "\n" + row.finding;
  return out;
}

std::string executor_note_of(const std::vector<Row>& rows) {
  const bool used = std::ranges::any_of(rows, [](const Row& r) { return r.device.where == Where::simt; });
  return used ? "simt: the SIMT executor runs GPU threads on this machine's processors; its wall time says "
                "nothing of a GPU's.\n"
              : "";
}

}  // namespace tessera::report
