// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/outcome.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <variant>
#include "tessera/bench/result.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/study.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::cli {
namespace {

using Align = report::Table::Align;
using Json = nlohmann::ordered_json;
using Kind = Parameter::Kind;

// Returns a trace for a browser's tracing page: a process for each device, a row for each activity.
std::string chrome_trace(const std::vector<TimelineSpan>& spans, const std::vector<std::string>& devices) {
  constexpr Activity all[] = {Activity::copy_in, Activity::message, Activity::compute, Activity::copy_out};
  constexpr double microseconds = 1e6;
  Json events = Json::array();
  for (std::size_t d = 0; d < devices.size(); ++d) {
    events.push_back({{"ph", "M"}, {"name", "process_name"}, {"pid", d}, {"args", {{"name", devices[d]}}}});
    for (const Activity activity : all)
      events.push_back({{"ph", "M"},
                        {"name", "thread_name"},
                        {"pid", d},
                        {"tid", static_cast<int>(activity)},
                        {"args", {{"name", name_of(activity)}}}});
  }
  for (const TimelineSpan& span : spans)
    events.push_back({{"ph", "X"},
                      {"name", fmt::format("{} {}", name_of(span.activity), span.tile)},
                      {"pid", span.device},
                      {"tid", static_cast<int>(span.activity)},
                      {"ts", span.first * microseconds},
                      {"dur", (span.last - span.first) * microseconds}});
  return Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

// The values that are no arrays: outputs of a single value, then reported values, in the order of the
// signature; then values that it does not name.
using Named = std::vector<std::pair<std::string, std::variant<float, double, std::int64_t, std::string>>>;

Named named_values(const Operation& operation, const Arguments& arguments, const Values& values) {
  Named out;
  for (const Parameter& p : operation.signature.parameters) {
    if (p.kind == Kind::output && p.extents.empty()) {
      const ArrayView& view = arguments.array(p.name);
      const double value = load_as_double(view.element, view.data);
      if (view.element == Element::f32) out.emplace_back(p.name, static_cast<float>(value));
      else out.emplace_back(p.name, value);
    }
    const auto found = values.find(p.name);
    if (p.kind == Kind::value && found != values.end())
      std::visit([&](const auto& v) { out.emplace_back(p.name, v); }, found->second);
  }
  // Values that are reported only on request are not in the signature, because callers do not expect them.
  for (const auto& [name, value] : values)
    if (operation.signature.find(name) == nullptr)
      std::visit([&, &n = name](const auto& v) { out.emplace_back(n, v); }, value);
  return out;
}

// True if the error of an estimate is not finite.
bool lacks_value(const Values& values) {
  const auto error = values.find("error");
  const double* const number = error == values.end() ? nullptr : std::get_if<double>(&error->second);
  return number != nullptr && !std::isfinite(*number);
}

// True if arrays are copied to the device and back: then a round trip takes longer than the computation.
bool is_copied_to(const Device& device) { return !backend_of(device).shares_host_memory(); }

// The sign of a NaN has no meaning.
template <class T>
const T& unsigned_nan(const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if (std::isnan(value)) return nan;
  }
  return value;
}

void print_values(std::FILE* to, const Operation& operation, const Arguments& arguments,
                  const Values& values) {
  if (lacks_value(values)) {
    const auto reason = values.find("reason");
    const std::string* const text =
        reason == values.end() ? nullptr : std::get_if<std::string>(&reason->second);
    return fmt::print(to, "no value: {}\n", text == nullptr ? "no error could be estimated" : *text);
  }
  const Named named = named_values(operation, arguments, values);
  std::size_t width = 0;
  for (const auto& [name, value] : named) width = std::max(width, name.size());
  for (const auto& [name, value] : named)
    std::visit([&, &n = name](const auto& v) { fmt::print(to, "{:<{}}  {}\n", n, width, unsigned_nan(v)); },
               value);
  if (!named.empty()) fmt::print(to, "\n");
}

void add_values(Json& to, const Operation& operation, const Arguments& arguments, const Values& values) {
  const Named named = named_values(operation, arguments, values);
  if (named.empty()) return;
  auto& object = to["values"] = Json::object();
  for (const auto& [name, value] : named) std::visit([&, &n = name](const auto& v) { object[n] = v; }, value);
  if (!lacks_value(values)) return;
  for (const Parameter* p : operation.signature.of(Kind::output))
    if (p->extents.empty()) object[p->name] = nullptr;
}

Json json_of(const Verdict& verdict) {
  return {{"passed", verdict.passed},
          {"method", verdict.method},
          {"error_over_bound", std::isfinite(verdict.largest_ratio) ? Json(verdict.largest_ratio) : nullptr},
          {"relative_l2", verdict.norm_error ? Json(*verdict.norm_error) : nullptr}};
}

Json json_of(const Reporting& where, const Arguments& arguments, const Outcome& outcome,
             const FileTimes& files) {
  const Operation& operation = where.operation;
  Json out = json_head(where.command, "run", operation.name);
  out["dims"] = arguments.dims();
  out["element"] = operation.element_name(arguments);
  auto& given = out["arguments"] = Json::object();
  for (const Parameter& p : operation.signature.parameters)
    if (const auto found = arguments.words().find(p.name); found != arguments.words().end())
      given[p.name] = found->second;
  out["ladder"] = outcome.plan.variant->ladder;
  out["variant"] = outcome.plan.variant->name;
  out["tuning"] = bench::to_json(outcome.plan.tuning);
  out["tuned"] = outcome.plan.tuned;
  out["device"] = bench::to_json(outcome.plan.device);
  const auto optional = [](double seconds, bool is_known) {
    return is_known ? Json(seconds) : Json(nullptr);
  };
  out["seconds"] = {{"read", optional(files.read, files.read > 0)},
                    {"kernel", outcome.kernel_seconds},
                    {"round_trip", optional(outcome.round_trip_seconds, is_copied_to(outcome.plan.device))},
                    {"write", optional(files.write, files.write > 0)}};
  add_values(out, operation, arguments, outcome.values);
  out["check"] = outcome.verdict ? json_of(*outcome.verdict) : Json(nullptr);
  return out;
}

void print_verdict(std::FILE* to, const std::optional<Verdict>& verdict) {
  if (!verdict) return;
  const std::string text = describe(*verdict);
  fmt::print(to, "{}{}", text, text.ends_with('\n') ? "" : "\n");
}

// The first run of a program is cold: threads start, kernels are loaded, memory is touched first.
void print(std::FILE* to, const Operation& operation, const Arguments& arguments, const Outcome& outcome,
           const FileTimes& files) {
  print_values(to, operation, arguments, outcome.values);
  if (lacks_value(outcome.values)) return;
  report::Table table({{"variant", Align::left},
                       {"tuning", Align::left, true},
                       {"device", Align::left},
                       {"read", Align::right, true},
                       {"compute (cold)"},
                       {"round trip", Align::right, true},
                       {"write", Align::right, true},
                       {"GFLOP/s", Align::right, true}});
  const Device& device = outcome.plan.device;
  const double flops = operation.flops ? operation.flops(arguments) : 0;
  const auto time = [](double seconds, bool is_known) { return is_known ? report::seconds(seconds) : ""; };
  table.add(
      {full_name(*outcome.plan.variant), to_string(outcome.plan.tuning),
       bench::label_of(device) + (device.where == Where::simt ? " (executor wall time)" : ""),
       time(files.read, files.read > 0), report::seconds(outcome.kernel_seconds),
       time(outcome.round_trip_seconds, is_copied_to(device)), time(files.write, files.write > 0),
       flops > 0 && outcome.kernel_seconds > 0 ? report::number(flops / outcome.kernel_seconds * 1e-9) : ""});
  fmt::print(to, "{}", table.text());
  if (outcome.plan.tuned)
    fmt::print(to,
               "chosen because an earlier `tessera tune` chose it for sizes like these; --no-cache leaves "
               "that aside\n");
  print_verdict(to, outcome.verdict);
}

double share_of(const DeviceReport& device, const MultiDeviceOutcome& outcome) {
  return outcome.flops > 0 ? device.flops / outcome.flops : 0;
}

// A device that did nothing may have no variant.
std::string rung_of(const DeviceReport& device) {
  const Variant* const variant = device.plan.variant;
  return variant == nullptr ? "" : variant->ladder + "/" + variant->name;
}

Json json_of(const DeviceReport& device, const MultiDeviceOutcome& outcome) {
  const Variant* const variant = device.plan.variant;
  return {{"device", bench::to_json(device.plan.device)},
          {"ladder", variant != nullptr ? Json(variant->ladder) : Json(nullptr)},
          {"variant", variant != nullptr ? Json(variant->name) : Json(nullptr)},
          {"tuning", bench::to_json(device.plan.tuning)},
          {"parts", device.tiles},
          {"share", share_of(device, outcome)},
          {"busy", device.busy_seconds},
          {"end", device.end_seconds},
          {"host_bytes", device.host_bytes},
          {"peer_bytes", device.peer_bytes},
          {"checked", device.checked},
          {"wrong", device.wrong},
          {"check_seconds", device.check_seconds},
          {"lost", device.failed.empty() ? Json(nullptr) : Json(device.failed)}};
}

std::string gflops(double flops, double seconds) {
  return flops > 0 && seconds > 0 ? report::number(flops / seconds * 1e-9) : "";
}

// Returns the fraction of the whole time that the first device to finish waited for the last.
double waited(const MultiDeviceOutcome& outcome) {
  double first = outcome.seconds;
  for (const DeviceReport& device : outcome.devices)
    if (device.tiles > 0 && device.failed.empty()) first = std::min(first, device.end_seconds);
  return outcome.seconds > 0 ? 1 - first / outcome.seconds : 0;
}

const char* plural(std::size_t count) { return count == 1 ? "" : "s"; }

void print_devices(std::FILE* to, const Operation& operation, const MultiDeviceOutcome& outcome) {
  report::Table table({{"device", Align::left},
                       {"variant", Align::left},
                       {"parts"},
                       {"share"},
                       {"busy"},
                       {"done after"},
                       {"GFLOP/s"}});
  for (const DeviceReport& device : outcome.devices)
    table.add({bench::label_of(device.plan.device), rung_of(device), std::to_string(device.tiles),
               fmt::format("{:.1f} %", 100 * share_of(device, outcome)), report::seconds(device.busy_seconds),
               device.tiles > 0 ? report::seconds(device.end_seconds) : "",
               gflops(device.flops, device.busy_seconds)});
  fmt::print(to, "{}{} together: {}", table.text(), operation.name, report::seconds_in_text(outcome.seconds));
  if (const std::string rate = gflops(outcome.flops, outcome.seconds); !rate.empty())
    fmt::print(to, ", {} GFLOP/s", rate);
  fmt::print(to, "; the first to be done waited for {:.1f} % of it\n", 100 * waited(outcome));
  if (outcome.times.size() > 1) {
    const auto [least, most] = std::ranges::minmax(outcome.times);
    fmt::print(to, "the median of {} runs, which took {} to {}\n", outcome.times.size(),
               report::seconds_in_text(least), report::seconds_in_text(most));
  }
  std::int64_t host_bytes = 0, peer_bytes = 0;
  for (const DeviceReport& device : outcome.devices)
    host_bytes += device.host_bytes, peer_bytes += device.peer_bytes;
  if (host_bytes > 0)
    fmt::print(to, "over the host's links: {}{}\n", report::bytes(host_bytes),
               peer_bytes > 0 ? "; from device to device: " + report::bytes(peer_bytes) : "");
  if (outcome.predicted) fmt::print(to, "predicted: {}\n", outcome.predicted->text());
  std::size_t checked = 0;
  double check_seconds = 0;
  for (std::size_t d = 0; d < outcome.devices.size(); ++d) {
    const DeviceReport& device = outcome.devices[d];
    const std::string name = fmt::format("{} (device {})", bench::label_of(device.plan.device), d);
    checked += device.checked;
    check_seconds += device.check_seconds;
    if (device.wrong > 0)
      fmt::print(to, "{}: {} part{} found wrong, and computed again\n", name, device.wrong,
                 plural(device.wrong));
    if (!device.failed.empty())
      fmt::print(to, "{} failed, and others did its parts: {}\n", name, device.failed);
  }
  if (checked > 0)
    fmt::print(to, "checked by this machine's processors: {} part{}, {}\n", checked, plural(checked),
               report::seconds_in_text(check_seconds));
  if (outcome.copied_bytes > 0)
    fmt::print(to, "copied to shared memory: {}\n", report::bytes(outcome.copied_bytes));
  if (outcome.start_seconds > 1e-3)
    fmt::print(to, "start-up before: {}\n", report::seconds_in_text(outcome.start_seconds));
}

void print(std::FILE* to, const Operation& operation, const Arguments& arguments,
           const MultiDeviceOutcome& outcome) {
  print_values(to, operation, arguments, outcome.values);
  print_devices(to, operation, outcome);
  fmt::print(to, "{}\n",
             outcome.same_bits ? "bits: those of one such device alone"
                               : "bits: not promised to be those of one device alone");
  print_verdict(to, outcome.verdict);
}

Json json_of(const Reporting& where, const Arguments* arguments, const MultiDeviceOutcome& outcome) {
  Json out = json_head(where.command, "run", where.operation.name);
  out["seconds"] = {{"round_trip", outcome.seconds}, {"start_up", outcome.start_seconds}};
  if (outcome.times.size() > 1) out["seconds"]["runs"] = outcome.times;
  out["copied_bytes"] = outcome.copied_bytes;
  if (const auto& p = outcome.predicted)
    out["predicted"] = {{"seconds", p->seconds},
                        {"arithmetic", p->arithmetic},
                        {"links", p->links},
                        {"host_bytes", p->host_bytes},
                        {"peer_bytes", p->peer_bytes}};
  auto& parts = out["parts"] = Json::array();
  for (const DeviceReport& device : outcome.devices) parts.push_back(json_of(device, outcome));
  if (arguments == nullptr) return out;
  out["dims"] = arguments->dims();
  out["element"] = where.operation.element_name(*arguments);
  out["arguments"] = arguments->words();
  out["same_bits"] = outcome.same_bits;
  add_values(out, where.operation, *arguments, outcome.values);
  out["check"] = outcome.verdict ? json_of(*outcome.verdict) : Json(nullptr);
  return out;
}

void print_ranks(std::FILE* to, const DistributedOutcome& outcome) {
  report::Table table({{"rank"},
                       {"host", Align::left},
                       {"device", Align::left},
                       {"threads"},
                       {"block"},
                       {"read"},
                       {"compute"},
                       {"communication"},
                       {"wait"},
                       {"agree"},
                       {"received"},
                       {"check"},
                       {"write"}});
  const auto seconds = [](double value) { return value > 0 ? report::seconds(value) : std::string("-"); };
  for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
    const RankReport& r = outcome.ranks[rank];
    const bool idle = !outcome.grid.has(static_cast<int>(rank));
    table.add({std::to_string(rank), r.host, r.device, std::to_string(r.threads),
               idle ? "none" : fmt::format("{} × {}", r.rows.size(), r.cols.size()), seconds(r.read_seconds),
               seconds(r.compute_seconds), seconds(r.transfer_seconds), seconds(r.wait_seconds),
               seconds(r.agree_seconds), idle ? "-" : fmt::format("{:.6g} MB", r.received_bytes * 1e-6),
               seconds(r.check_seconds), seconds(r.write_seconds)});
  }
  fmt::print(to, "{}", table.text());
}

void print(const Reporting& where, const Arguments& arguments, const DistributedOutcome& outcome,
           const std::string& output, bool several) {
  std::FILE* const to = where.to;
  const Operation& operation = where.operation;
  const double flops = operation.flops ? operation.flops(arguments) : 0;
  const std::string by =
      several ? "several devices each," : outcome.plan.variant->ladder + "/" + outcome.plan.variant->name;
  fmt::print(to, "{} on {} rank{} as {} × {}, {} panel{} of {}, by {}\n", by, outcome.ranks.size(),
             plural(outcome.ranks.size()), outcome.grid.rows, outcome.grid.cols, outcome.panels,
             plural(static_cast<std::size_t>(outcome.panels)), outcome.depth, outcome.connected_by);
  print_ranks(to, outcome);
  for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank)
    for (const std::string& note : outcome.ranks[rank].notes) fmt::print(to, "rank {}: {}\n", rank, note);
  fmt::print(to, "product {}{}; with reading{} {}\n", report::seconds(outcome.product_seconds),
             flops > 0 ? ", " + report::number(flops / outcome.product_seconds * 1e-9) + " GFLOP/s" : "",
             output.empty() || !outcome.passed ? "" : " and writing", report::seconds(outcome.seconds));
  if (outcome.verdict) fmt::print(to, "{}\n", describe(*outcome.verdict));
  if (!outcome.passed) return;
  const Parameter& p = *operation.signature.of(Parameter::Kind::output).front();
  const ArrayView& result = arguments.array(p.name);
  fmt::print(to, "{}: {} of {}{}\n", p.name, to_string(result.extents), name_of(result.element),
             output.empty() ? "; nothing was written: -o FILE writes it" : ", written to " + output);
}

Json json_of_ranks(const DistributedOutcome& outcome) {
  Json out = Json::array();
  for (const RankReport& r : outcome.ranks)
    out.push_back({{"host", r.host},
                   {"device", r.device},
                   {"threads", r.threads},
                   {"rows", {r.rows.first, r.rows.last}},
                   {"columns", {r.cols.first, r.cols.last}},
                   {"seconds",
                    {{"read", r.read_seconds},
                     {"compute", r.compute_seconds},
                     {"communication", r.transfer_seconds},
                     {"wait", r.wait_seconds},
                     {"agree", r.agree_seconds},
                     {"check", r.check_seconds},
                     {"write", r.write_seconds}}},
                   {"received_bytes", r.received_bytes},
                   {"notes", r.notes}});
  return out;
}

// Writes the ranks' timelines: each rank is a row of the trace.
void write_timeline(const std::string& path, const DistributedOutcome& outcome) {
  std::vector<std::string> names;
  std::vector<TimelineSpan> all;
  for (std::size_t number = 0; number < outcome.ranks.size(); ++number) {
    names.push_back(fmt::format("rank {}: {}", number, outcome.ranks[number].device));
    for (TimelineSpan span : outcome.ranks[number].spans) {
      span.device = number;
      all.push_back(span);
    }
  }
  write_text(path, chrome_trace(all, names));
}

// Returns the JSON of one process, with the ranks added.
Json json_of(const Reporting& where, const Arguments& arguments, const DistributedOutcome& outcome) {
  Outcome one;
  one.plan = outcome.plan;
  one.kernel_seconds = outcome.product_seconds;
  one.round_trip_seconds = outcome.seconds;
  one.verdict = outcome.verdict;
  Json out = json_of(where, arguments, one, {});
  out["distributed"] = {{"by", outcome.connected_by},
                        {"grid", {outcome.grid.rows, outcome.grid.cols}},
                        {"panels", outcome.panels},
                        {"depth", outcome.depth},
                        {"predicted_bytes", outcome.predicted_bytes},
                        {"ranks", json_of_ranks(outcome)}};
  return out;
}

constexpr const char* shows[] = {"digits", "seconds", "error", "ratio"};  // by StudyTable::Show

std::string shown(const StudyTable::Cell& cell, StudyTable::Show how) {
  if (cell.numbers.empty()) return {};
  const double value = median(cell.numbers);
  return cell.whole ? fmt::format("{:.0f}", value) : report::studied(value, shows[static_cast<int>(how)]);
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

Json json_of(const StudyTable::Cell& cell) {
  if (cell.several) return cell.numbers;
  if (cell.numbers.empty()) return nullptr;
  if (cell.whole) return static_cast<std::int64_t>(cell.numbers[0]);
  return cell.numbers[0];
}

Json json_of(const StudyTable& study) {
  Json out{
      {"title", study.title}, {"columns", Json::array()}, {"shows", Json::array()}, {"rows", Json::array()}};
  for (const auto& column : study.columns) {
    out["columns"].push_back(column.name);
    out["shows"].push_back(shows[static_cast<int>(column.show)]);
  }
  for (const auto& row : study.rows) {
    Json cells = Json::array();
    for (const auto& cell : row) cells.push_back(json_of(cell));
    out["rows"].push_back(std::move(cells));
  }
  out["remarks"] = study.remarks;
  return out;
}

}  // namespace

void report_outcome(const Reporting& where, const Arguments& arguments, const Outcome& outcome,
                    const FileTimes& files, const std::string& lines) {
  print(where.to, where.operation, arguments, outcome, files);
  fmt::print(where.to, "{}", lines);
  if (!where.json.empty()) write_json(where.json, json_of(where, arguments, outcome, files));
}

void report_outcome(const Reporting& where, const Arguments* arguments, const MultiDeviceOutcome& outcome) {
  if (arguments == nullptr) print_devices(where.to, where.operation, outcome);
  else print(where.to, where.operation, *arguments, outcome);
  if (!where.json.empty()) write_json(where.json, json_of(where, arguments, outcome));
  if (where.timeline.empty()) return;
  std::vector<std::string> names;
  for (const DeviceReport& device : outcome.devices) names.push_back(bench::label_of(device.plan.device));
  write_text(where.timeline, chrome_trace(outcome.timeline.spans, names));
}

void report_outcome(const Reporting& where, const Arguments& arguments, const DistributedOutcome& outcome,
                    const std::string& output, bool several) {
  print(where, arguments, outcome, output, several);
  if (!where.timeline.empty()) write_timeline(where.timeline, outcome);
  if (!where.json.empty()) write_json(where.json, json_of(where, arguments, outcome));
}

void report_study(const Reporting& where, const std::string& name, const Arguments& arguments,
                  const Request& request) {
  const Operation& operation = where.operation;
  const auto known = studies_of(operation.name);
  const auto found = std::ranges::find(known, name, &Study::name);
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const Study* one : known) names.push_back(one->name);
    unknown("the study", name, names);
  }
  Json tables = Json::array();
  {
    Progress progress;
    (*found)->make(
        operation, arguments, request, [&](const std::string& text) { progress.say(text); },
        [&](const StudyTable& table) {
          progress.clear();
          print(where.to, table);
          std::fflush(where.to);
          tables.push_back(json_of(table));
        });
  }
  Json out = json_head(where.command, "study", operation.name);
  out["study"] = name;
  out["words"] = arguments.words();
  out["tables"] = std::move(tables);
  write_json(where.json, out);
}

}  // namespace tessera::cli
