// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/record.hpp"
#include <nlohmann/json.hpp>
#include <set>
#include "tessera/core/device.hpp"
#include "tessera/core/error.hpp"

namespace tessera::bench {
namespace {

using Json = nlohmann::ordered_json;

// A word of the document; "" where it is null or missing.
std::string text(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string joined(const Json& object, char between) {
  std::map<std::string, std::string> sorted;
  for (const auto& [name, value] : object.items())
    sorted[name] = value.is_string() ? value.get<std::string>() : value.dump();
  std::string out;
  for (const auto& [name, value] : sorted)
    out += (out.empty() ? "" : std::string(1, between)) + name + "=" + value;
  return out;
}

std::vector<double> numbers(const Json& row, const char* key) {
  std::vector<double> out;
  if (const auto found = row.find(key); found != row.end() && found->is_array())
    for (const Json& value : *found)
      if (value.is_number()) out.push_back(value.get<double>());
  return out;
}

}  // namespace

Record record_of(const Json& row, const std::map<std::string, std::string>& names) {
  Record out;
  out.problem = joined(row.at("dims"), ' ');
  if (row.contains("words")) out.problem += " " + joined(row["words"], ' ');
  if (row.contains("optional_inputs"))
    for (const Json& name : row["optional_inputs"]) out.problem += " " + name.get<std::string>();
  out.element = text(row, "element");
  out.variant = text(row, "ladder") + "/" + text(row, "variant");
  out.tuning = joined(row.value("tuning", Json::object()), ',');
  out.mode = row.contains("mode") ? text(row, "mode") : "burst";
  out.device = text(row, "device");
  const auto name = names.find(out.device);
  out.device_name = name == names.end() ? out.device : name->second;
  out.threads = row.value("threads", 1);
  out.seconds = numbers(row, "seconds");
  out.clocks_mhz = numbers(row, "clocks_mhz");
  if (out.clocks_mhz.size() != out.seconds.size()) out.clocks_mhz.clear();
  out.verified = text(row, "verified");
  out.reason = text(row, "reason");
  return out;
}

std::string Record::key() const {
  return problem + "|" + element + "|" + variant + "|" + tuning + "|" + mode + "|" + device_name + "|" +
         std::to_string(threads);
}

Document read_document(const Json& json, const std::string& name, const std::string& kind) {
  if (!json.is_object() || !json.contains("rows") || text(json, "schema").empty())
    throw Error(name + " holds no results");
  if (text(json, "schema") != "1")
    throw Error(name + " is of schema " + text(json, "schema") + "; this program reads schema 1");
  if (text(json, "kind") != kind)
    throw Error(name + " holds results of " + text(json, "kind") + ", not of " + kind);
  try {
    Document out;
    out.operation = text(json, "operation");
    out.caches = text(json, "caches");
    out.launches = json.value("launches", "queued");  // older files do not tell it
    out.distribution = text(json, "distribution");
    out.date = text(json, "date");
    out.git = text(json, "git");
    out.compiler = text(json, "compiler");
    out.flags = text(json, "flags");
    if (const Json cuda = json.value("cuda", Json()); cuda.is_object()) {
      out.cuda_compiler = text(cuda, "compiler");
      out.cuda_flags = text(cuda, "flags") + " for " + text(cuda, "architectures");
    }
    out.seed = text(json, "seed");
    if (json.contains("machine")) out.processor = text(json["machine"], "processor");
    std::map<std::string, std::string> names;
    for (const Json& device : json.value("devices", Json::array())) {
      names[text(device, "label")] = text(device, "name");
      const tessera::Driver driver = driver_of(text(device, "driver"));
      out.drivers.push_back({text(device, "name"), driver.cuda, driver.version});
    }
    for (const Json& row : json["rows"]) out.records.push_back(record_of(row, names));
    return out;
  } catch (const Json::exception& error) {
    throw Error(name + " cannot be understood: " + error.what());
  }
}

namespace {

std::optional<double> number(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
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
