// SPDX-License-Identifier: Apache-2.0
// All JSON reading and writing of this folder, in one translation unit because the library compiles slowly.
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cmath>
#include <set>
#include "tessera/bench/code.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/bench/trace.hpp"

namespace tessera::bench {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t max_samples = 1000;

// Converts a number. JSON has no NaN and no infinity, so they become null.
Json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json numbers(const std::vector<std::optional<double>>& values) {
  std::vector<double> all;
  for (const auto& value : values) all.push_back(value.value_or(std::nan("")));
  Json out = Json::array();
  for (const double value : thinned(all, max_samples)) out.push_back(number(value));
  return out;
}
Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }

// Returns the compiler and flags of the GPU kernels; null: a build without CUDA.
Json cuda_of(const Build& build) {
  if (build.cuda_compiler.empty()) return nullptr;
  return {{"compiler", build.cuda_compiler},
          {"architectures", build.cuda_architectures},
          {"flags", build.cuda_flags}};
}

const char* word_for(Verified verified) {
  constexpr const char* words[] = {"unchecked", "ok", "wrong"};
  return words[static_cast<std::size_t>(verified)];
}

}  // namespace

Json to_json(const Row& row) {
  Json out{{"dims", row.dims},
           {"element", row.element_name()},
           {"mode", std::string(name_of(row.mode))},
           {"ladder", row.variant->ladder},
           {"place", row.variant->place},
           {"variant", row.variant->name},
           {"tuning", bench::to_json(row.tuning)},
           {"device", label_of(row.device)},
           {"threads", row.device.threads},
           {"baseline", row.variant->baseline},
           {"serial", row.serial}};
  if (row.variant->baseline && !row.seconds.empty())
    if (const std::string version = library_version(*row.variant); !version.empty()) out["library"] = version;
  if (!row.words.empty()) out["words"] = row.words;
  if (!row.optional_inputs.empty()) out["optional_inputs"] = row.optional_inputs;
  if (!row.seconds.empty()) {
    const Summary summary = summarize(row.seconds);
    out["seconds"] = thinned(row.seconds, max_samples);
    out["samples"] = summary.count;
    out["median"] = summary.median;
    out["q1"] = summary.q1;
    out["q3"] = summary.q3;
    out["minimum"] = summary.minimum;
    out["p90"] = summary.p90;
  }
  for (const auto& [name, samples] : row.calls) {
    const Summary summary = summarize(samples);
    out["calls"][name] = {{"median", summary.median}, {"q1", summary.q1}, {"q3", summary.q3}};
  }
  if (!row.clocks_mhz.empty()) out["clocks_mhz"] = thinned(row.clocks_mhz, max_samples);
  if (!row.powers_w.empty()) out["powers_w"] = numbers(row.powers_w);
  out["launches"] = row.launches;
  if (row.sets > 0) out["sets"] = row.sets;
  out["throttled"] = row.throttled;
  out["other_load"] = number(row.other_load);
  out["clock_mhz"] = number(row.clock_mhz());
  out["power_w"] = number(row.power_w());
  out["joules"] = number(row.joules);
  out["picojoules_per_flop"] = number(row.picojoules_per_flop());
  out["round_trip"] = number(row.round_trip);
  out["flops"] = number(row.flops);
  out["bytes"] = number(row.bytes);
  out["gflops"] = number(row.gflops());
  out["gbps"] = number(row.gbps());
  const auto roofline = row.roofline();
  out["roofline"] = roofline ? number(roofline->fraction) : Json(nullptr);
  out["ceiling"] = roofline ? Json(roofline->memory ? "memory" : "arithmetic") : Json(nullptr);
  out["fma_fraction"] = number(row.fma_fraction());
  out["fma_rate"] = row.fma_rates.empty() ? Json(nullptr) : number(summarize(row.fma_rates).median);
  out["ratio_serial"] = number(row.ratio_serial);
  out["ratio_previous"] = number(row.ratio_previous);
  if (!row.previous.empty()) out["previous"] = row.previous;
  out["ratio_baseline"] = number(row.ratio_baseline);
  out["verified"] = word_for(row.verified);
  out["method"] = text(row.method);
  out["error_over_bound"] = number(row.error_over_bound);
  out["relative_l2"] = number(row.relative_l2);
  if (!row.guard_violation.empty()) out["harm"] = row.guard_violation;
  if (row.exposed) out["exposed"] = true;
  if (!row.kept_from.empty()) out["kept_from"] = row.kept_from;
  if (row.reason) out["reason"] = *row.reason;
  if (row.estimate) out["estimated_seconds"] = number(row.estimate);
  return out;
}

Json to_json(const Tuning& tuning) {
  Json out = Json::object();
  for (const auto& [name, value] : tuning) out[name] = value;
  return out;
}

Json to_json(const Finding& found) {
  return {{"right", found.right},
          {"arithmetic", found.arithmetic},
          {"cause", found.cause},
          {"wrong", found.wrong},
          {"first", std::vector<std::int64_t>(found.first.begin(), found.first.end())},
          {"error_over_bound", std::isfinite(found.largest_ratio) ? Json(found.largest_ratio) : nullptr},
          {"sees", found.sees},
          {"text", found.text}};
}

Json to_json(const Device& device) {
  return {{"label", label_of(device)},
          {"name", device.name},
          {"threads", device.threads},
          {"processors", device.multiprocessors},
          {"memory_bytes", device.memory_bytes},
          {"cache_bytes", device.cache_bytes},
          {"compute_capability", device.compute_capability},
          {"driver", text(device.driver)}};
}

Json provenance(const std::vector<std::string>& argv, const std::string& date) {
  const Machine machine = this_machine();
  const Build build = this_build();
  return {{"date", date},
          {"argv", argv},
          {"version", text(build.version)},
          {"git", text(build.git)},
          {"compiler", build.compiler},
          {"flags", text(build.flags)},
          {"cuda", cuda_of(build)},
          {"machine",
           {{"processor", machine.processor},
            {"system", machine.system},
            {"threads", machine.threads},
            {"memory_bytes", machine.memory_bytes}}}};
}

Json to_json(const Ceilings& ceilings) {
  Json out{{"memory_gbps", Json(nullptr)}, {"gflops", Json::object()}};
  if (ceilings.bytes_per_second) out["memory_gbps"] = number(*ceilings.bytes_per_second * 1e-9);
  for (const auto& [element, rate] : ceilings.flops_per_second)
    out["gflops"][std::string(tessera::name_of(element))] = number(rate * 1e-9);
  return out;
}

Json to_json(const Session& session) {
  Json out{{"schema", 1}, {"kind", "bench"}, {"operation", session.operation}};
  out.update(provenance(session.argv, session.date));
  out["seed"] = session.seed;
  out["distribution"] = distribution;
  out["caches"] = session.caches;
  out["launches"] = session.launches;
  out["devices"] = Json::array();
  std::vector<std::string> seen;
  for (const Row& row : session.rows)
    if (std::ranges::find(seen, label_of(row.device)) == seen.end()) {
      seen.push_back(label_of(row.device));
      out["devices"].push_back(to_json(row.device));
      if (!row.ceilings.empty()) out["devices"].back()["ceilings"] = to_json(row.ceilings);
    }
  out["rows"] = Json::array();
  for (const Row& row : session.rows) out["rows"].push_back(to_json(row));
  return out;
}

Json to_json(const KernelCode& code) {
  const auto whole = [](const std::optional<std::int64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json out{{"kernel", code.name},
           {"symbol", code.symbol},
           {"operation", text(code.operation)},
           {"variant", text(code.variant)},
           {"tuning", text(code.tuning)},
           {"element", text(code.element)},
           {"architecture", code.architecture},
           {"registers", whole(code.registers)},
           {"stack_bytes", whole(code.stack_bytes)},
           {"shared_bytes", code.shared_bytes},
           {"spill_load_bytes", code.spill_load_bytes},
           {"spill_store_bytes", code.spill_store_bytes},
           {"instructions", code.instructions},
           {"instructions_per_fma", number(code.instructions_per_fma())},
           {"fma32", code.fma32},
           {"add32", code.add32},
           {"mul32", code.mul32},
           {"fma64", code.fma64},
           {"add64", code.add64},
           {"mul64", code.mul64},
           {"barriers", code.barriers},
           {"matrix_load", code.matrix_load}};
  const auto widths = [&](const std::string& name, const Widths& w) {
    out[name] = {{"narrow", w.narrow}, {"32", w.of32}, {"64", w.of64}, {"128", w.of128}};
  };
  widths("global_load", code.global_load);
  widths("global_store", code.global_store);
  widths("shared_load", code.shared_load);
  widths("shared_store", code.shared_store);
  widths("local_load", code.local_load);
  widths("local_store", code.local_store);
  return out;
}

// --- Traces ---

namespace {

// Writes counts as integers, ratios unchanged, and undefined values as null.
Json counted(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (std::trunc(*value) == *value && std::abs(*value) < 9e15) return static_cast<std::int64_t>(*value);
  return *value;
}

Json counters_json(const Counters& counters) {
  Json out = Json::object();
  for (const auto& [name, value] : counters) out[name] = counted(value);
  return out;
}

// Returns one entry for each line of source, with all its accesses.
Json lines_json(const std::vector<TracedLine>& lines) {
  Json out = Json::array();
  for (const TracedLine& line : by_place(lines)) {
    if (out.empty() || out.back()["file"] != line.file || out.back()["line"] != line.line)
      out.push_back({{"file", line.file}, {"line", line.line}, {"text", line.text}});
    const std::string kind = name_of(line.space, line.act) + ".";
    for (const auto& [name, value] : counters_of(line.counts, line.space))
      out.back()[kind + name] = counted(value);
    out.back()[kind + "width"] = line.width;
  }
  return out;
}

Json arrays_json(const std::vector<TracedLine>& lines) {
  Json out = Json::array();
  for (const TracedLine& line : by_array(lines)) {
    out.push_back({{"array", text(line.array)}, {"access", name_of(line.space, line.act)}});
    for (const auto& [name, value] : counters_of(line.counts, line.space)) out.back()[name] = counted(value);
    out.back()["width"] = line.width;
  }
  return out;
}

}  // namespace

Json to_json(const Traced& row) {
  Json out{{"dims", row.dims},
           {"element", row.elements.empty() ? std::string(tessera::name_of(row.element)) : row.elements},
           {"ladder", row.plan.variant->ladder},
           {"place", row.plan.variant->place},
           {"variant", row.plan.variant->name},
           {"tuning", bench::to_json(row.plan.tuning)},
           {"device", label_of(row.plan.device)}};
  if (row.absent) {
    out["reason"] = *row.absent;
    if (row.code) out["code"] = to_json(*row.code);
    return out;
  }
  out["blocks"] = row.blocks;
  out["blocks_traced"] = row.blocks_run;
  out["schedules"] = row.schedules;
  const auto occupancy = row.occupancy_fraction();
  out["occupancy"] = occupancy ? Json(*occupancy) : Json(nullptr);
  out["occupancy_limit"] = occupancy ? Json(row.occupancy.limit) : Json(nullptr);
  out["registers_known"] = row.registers_known;
  out["code"] = row.code ? to_json(*row.code) : Json(nullptr);
  out["counters"] = counters_json(counters_of(row));
  out["lines"] = lines_json(row.lines);
  out["arrays"] = arrays_json(row.lines);
  out["findings"] = Json::array();
  for (const TracedFinding& f : row.findings)
    out["findings"].push_back({{"kind", simt::name_of(f.kind)},
                               {"file", f.file.empty() ? Json(nullptr) : Json(f.file)},
                               {"line", f.line == 0 ? Json(nullptr) : Json(f.line)},
                               {"text", f.text},
                               {"source", f.source},
                               {"times", f.times},
                               {"schedule", f.schedule}});
  return out;
}

// --- Reading results back ---

namespace {

// Returns a string of the document; "": null or missing.
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

std::optional<double> number(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

// True if the row has all its samples and its result is not wrong.
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
  out.other_load = number(row, "other_load");
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
    out.launches = json.value("launches", "queued");  // missing in older files
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

Row recalled(const Json& json, Row row) {
  row.seconds = numbers(json, "seconds");
  row.clocks_mhz = numbers(json, "clocks_mhz");
  row.powers_w.clear();
  for (const Json& power : json.value("powers_w", Json::array()))
    row.powers_w.push_back(power.is_number() ? std::optional(power.get<double>()) : std::nullopt);
  row.throttled = json.value("throttled", std::size_t{0});
  row.launches = json.value("launches", 1);
  row.sets = json.value("sets", std::int64_t{0});
  row.other_load = number(json, "other_load");
  row.joules = number(json, "joules");
  if (const auto rate = number(json, "fma_rate")) row.fma_rates = {*rate};
  row.round_trip = number(json, "round_trip");
  const std::string verified = text(json, "verified");
  for (const Verified one : {Verified::unchecked, Verified::ok, Verified::wrong})
    if (verified == word_for(one)) row.verified = one;
  row.method = text(json, "method");
  row.error_over_bound = number(json, "error_over_bound");
  row.relative_l2 = number(json, "relative_l2");
  row.guard_violation = text(json, "harm");
  if (const std::string reason = text(json, "reason"); !reason.empty()) row.reason = reason;
  row.kept_from = text(json, "kept_from");
  return row;
}

Earlier::Earlier(Json json, const std::string& name, const Session& now, const std::string& kind)
    : json_(std::make_shared<const Json>(std::move(json))) {
  (void)read_document(*json_, name, kind);  // throws if the document is invalid
  Session empty = now;
  empty.rows.clear();
  const Json mine = to_json(empty);
  for (const char* what : {"operation", "machine", "git", "compiler", "flags", "cuda", "seed", "distribution",
                           "caches", "launches"})
    check_same(what, *json_, mine, name);
  const auto names = names_of(*json_);
  for (const Json& row : json_->at("rows")) rows_[record_of(row, names).key()] = &row;
}

std::optional<Row> Earlier::find(const Row& blank) const {
  const auto found =
      rows_.find(record_of(to_json(blank), {{label_of(blank.device), blank.device.name}}).key());
  if (found == rows_.end() || !usable(*found->second)) return std::nullopt;
  Row row = recalled(*found->second, blank);
  if (row.kept_from.empty()) row.kept_from = text(*json_, "date");
  return row;
}

Json Earlier::merged(Json now) const {
  std::set<std::string> present, devices;
  const auto names = names_of(now);
  for (const Json& row : now.at("rows")) present.insert(record_of(row, names).key());
  for (const Json& device : now.at("devices")) devices.insert(text(device, "label"));
  for (const auto& [key, row] : rows_)
    if (!present.contains(key)) now["rows"].push_back(*row);
  for (const Json& device : json_->at("devices"))
    if (devices.insert(text(device, "label")).second) now["devices"].push_back(device);
  return now;
}

}  // namespace tessera::bench
