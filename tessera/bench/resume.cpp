// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/resume.hpp"
#include <set>
#include "tessera/core/error.hpp"
#include "tessera/bench/record.hpp"

namespace tessera::bench {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> number(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::vector<double> numbers(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() ? std::vector<double>() : found->get<std::vector<double>>();
}

std::string text(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// All samples are there, and nothing is wrong with them.
bool usable(const Json& row) {
  const auto seconds = numbers(row, "seconds");
  return !seconds.empty() && number(row, "samples") == static_cast<double>(seconds.size()) &&
         text(row, "verified") != "wrong";
}

void check_same(const char* what, const Json& then, const Json& now, const std::string& name) {
  const Json before = then.value(what, Json()), is = now.value(what, Json());
  if (before != is)
    throw Error(name + " cannot be resumed: its " + what + " is " + before.dump() + ", now it is " +
                is.dump() + "; choose another file, or leave --resume out");
}

std::map<std::string, std::string> names_of(const Json& document) {
  std::map<std::string, std::string> out;
  for (const Json& device : document.at("devices")) out[device.at("label")] = device.at("name");
  return out;
}

}  // namespace

Row recalled(const Json& json, Row row) {
  row.seconds = numbers(json, "seconds");
  row.clocks_mhz = numbers(json, "clocks_mhz");
  row.powers_w.clear();
  for (const Json& power : json.value("powers_w", Json::array()))
    row.powers_w.push_back(power.is_number() ? std::optional(power.get<double>()) : std::nullopt);
  row.throttled = json.value("throttled", std::size_t{0});
  row.launches = json.value("launches", 1);
  row.sets = json.value("sets", std::int64_t{0});
  row.joules = number(json, "joules");
  if (const auto rate = number(json, "fma_rate")) row.fma_rates = {*rate};
  row.round_trip = number(json, "round_trip");
  const std::string verified = text(json, "verified");
  row.verified = verified == "ok"      ? Verified::ok
                 : verified == "wrong" ? Verified::wrong
                                       : Verified::unchecked;
  row.method = text(json, "method");
  row.error_over_bound = number(json, "error_over_bound");
  row.relative_l2 = number(json, "relative_l2");
  row.harm = text(json, "harm");
  if (const std::string reason = text(json, "reason"); !reason.empty()) row.reason = reason;
  row.kept_from = text(json, "kept_from");
  return row;
}

Earlier::Earlier(Json json, const std::string& name, const Session& now, const std::string& kind)
    : json_(std::move(json)) {
  (void)read_document(json_, name, kind);  // throws where it is none
  Session empty = now;
  empty.rows.clear();
  const Json mine = to_json(empty);
  for (const char* what : {"operation", "machine", "git", "compiler", "flags", "cuda", "seed", "distribution",
                           "caches", "launches"})
    check_same(what, json_, mine, name);
  const auto names = names_of(json_);
  for (const Json& row : json_.at("rows")) rows_[record_of(row, names).key()] = &row;
}

std::optional<Row> Earlier::find(const Row& blank) const {
  const auto found =
      rows_.find(record_of(to_json(blank), {{label_of(blank.device), blank.device.name}}).key());
  if (found == rows_.end() || !usable(*found->second)) return std::nullopt;
  Row row = recalled(*found->second, blank);
  if (row.kept_from.empty()) row.kept_from = text(json_, "date");
  return row;
}

Json Earlier::merged(Json now) const {
  std::set<std::string> present, devices;
  const auto names = names_of(now);
  for (const Json& row : now.at("rows")) present.insert(record_of(row, names).key());
  for (const Json& device : now.at("devices")) devices.insert(text(device, "label"));
  for (const auto& [key, row] : rows_)
    if (!present.contains(key)) now["rows"].push_back(*row);
  for (const Json& device : json_.at("devices"))
    if (devices.insert(text(device, "label")).second) now["devices"].push_back(device);
  return now;
}

}  // namespace tessera::bench
