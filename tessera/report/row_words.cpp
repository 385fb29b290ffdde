// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/row_words.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include "tessera/report/table.hpp"

namespace tessera::report {

using bench::Row;

std::string device_of(const Row& row) {
  return row.device.where == Where::simt ? bench::label_of(row.device) + " (executor wall time)"
                                         : bench::label_of(row.device);
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

namespace {

constexpr std::size_t most_told = 4;  // configurations a line

struct Refused {
  std::string why, who;
};

// "needs 2048 threads, the most is 1024" and "needs 4096 threads, …" are one reason.
std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    else if (out.empty() || out.back() != '#') out += '#';
  }
  return out;
}

std::string line_of(const std::vector<Refused>& alike) {
  std::vector<std::string> names;  // each once, at whatever sizes
  for (const Refused& refused : alike)
    if (std::ranges::find(names, refused.who) == names.end()) names.push_back(refused.who);
  const std::size_t told = std::min(names.size(), most_told);
  std::string out = fmt::format(
      "n/a: {}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(told), "; "));
  if (names.size() > told) out += fmt::format("; and {} more", names.size() - told);
  const bool same = std::ranges::all_of(alike, [&](const Refused& r) { return r.why == alike[0].why; });
  return out + ": " + alike[0].why + (same ? "" : ", and the like") + "\n";
}

void add(std::vector<std::vector<Refused>>& groups, Refused refused, bool by_kind) {
  const auto key = [by_kind](const std::string& why) { return by_kind ? without_numbers(why) : why; };
  const auto same = std::ranges::find_if(
      groups, [&](const std::vector<Refused>& group) { return key(group[0].why) == key(refused.why); });
  if (same == groups.end()) groups.push_back({std::move(refused)});
  else same->push_back(std::move(refused));
}

}  // namespace

std::string reasons_of(const std::vector<Row>& rows) {
  std::vector<std::vector<Refused>> kinds;
  for (const Row& row : rows)
    if (row.seconds.empty())
      add(kinds, {why_not(row), name_of(row) + (row.tuning.empty() ? "" : " " + to_string(row.tuning))},
          true);
  std::string out;
  for (const std::vector<Refused>& kind : kinds) {
    std::vector<std::vector<Refused>> groups{kind};
    if (kind.size() <= most_told) {
      groups.clear();
      for (const Refused& refused : kind) add(groups, refused, false);
    }
    for (const std::vector<Refused>& group : groups) out += line_of(group);
  }
  return out;
}

std::string findings_of(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows)
    if (row.verified == bench::Verified::wrong)
      out += "WRONG: " + name_of(row) + " " + to_string(row.tuning) + " on " + bench::label_of(row.device) +
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
