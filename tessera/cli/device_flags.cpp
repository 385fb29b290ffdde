// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/device_flags.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/outcome.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

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
          {"checked", device.checked},
          {"wrong", device.wrong},
          {"check_seconds", device.check_seconds},
          {"lost", device.failed.empty() ? Json(nullptr) : Json(device.failed)}};
}

std::string gflops(double flops, double seconds) {
  return flops > 0 && seconds > 0 ? report::number(flops / seconds * 1e-9) : "";
}

// How long whoever finished first waited for the last, of the whole.
double waited(const MultiDeviceOutcome& outcome) {
  double first = outcome.seconds;
  for (const DeviceReport& device : outcome.devices)
    if (device.tiles > 0 && device.failed.empty()) first = std::min(first, device.end_seconds);
  return outcome.seconds > 0 ? 1 - first / outcome.seconds : 0;
}

double number_within(const std::string& flag, const std::string& word, double least, double most,
                     const char* what) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc() || end != word.data() + word.size() || !(value >= least && value <= most))
    throw Error(flag + " needs " + what + ", not '" + word + "'");
  return value;
}

std::string seconds_text(double seconds) {
  std::string text = report::seconds(seconds);
  text.erase(text.find_last_not_of(' ') + 1);
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

const char* plural(std::size_t count) { return count == 1 ? "" : "s"; }

}  // namespace

void declare(OptionParser& words, DeviceFlags& flags, bool in_parts, const std::string& protect) {
  const std::string part = in_parts ? "part" : "picture";
  words.value("--timeline", flags.timeline, "who copied and computed when, as a trace for a browser", "FILE");
  words.flag(protect, flags.protect,
             "each device in a process of its own, and each " + part +
                 " checked by the processors: a device that dies, hangs or errs loses nothing");
  words.value("--limit", flags.limit, "the longest that a " + part + " may take, protected [300]", "SECONDS");
  words.value("--fault", flags.faults, "kills the device's process amid its first, second, … " + part,
              "kill:DEVICE@PART,…");
  words.value("--split", flags.split,
              in_parts ? "of the result's rows, or of files, over several devices: auto (by measured speed), "
                         "dynamic (each takes the next part when it is done) or shares [auto]"
                       : "of several files over several devices: dynamic (each takes the next), auto "
                         "(likewise) or shares [dynamic]",
              "auto|dynamic|A:B:…");
  if (!in_parts) return;
  words.value("--repeat", flags.repeat, "so often, one after another; the median counts [1]", "N");
  words.value("--memory", flags.memory,
              "the most that a device's part may take there: 500M, 8G [what is free]", "BYTES");
}

bool names_several(const std::string& device) {
  const bool range = device.find('-') != std::string::npos && device.find('=') == std::string::npos;
  return device == "all" || device.find(',') != std::string::npos || range;
}

// The list as one, for parts of a GPU lie one after another in it.
std::vector<Device> computing_devices(const std::string& words) {
  std::string named;
  const auto name = [&named](const std::string& item) { named += (named.empty() ? "" : ",") + item; };
  for (const std::string& item : split(words, ',')) {
    if (item != "all") name(item);
    else
      for (const Device& device : devices_named(item))
        if (device.where != Where::simt) name(device.label());
  }
  if (named.empty()) throw Error("no device is named in '" + words + "'");
  return devices_named(named);
}

std::int64_t bytes_named(const std::string& flag, const std::string& word) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  const std::string unit(end, word.data() + word.size());
  constexpr std::string_view units = "KMGT";
  const std::size_t power = unit.empty() ? 0 : units.find(unit[0]) + 1;
  const bool known = unit.empty() || (unit.size() == 1 && units.find(unit[0]) != std::string_view::npos);
  constexpr double most = 9e18;
  const double bytes = value * std::pow(1024.0, static_cast<double>(power));
  if (failed != std::errc() || !known || !(bytes >= 1 && bytes <= most))
    throw Error(flag + " needs bytes such as 500M or 8G, not '" + word + "'");
  return static_cast<std::int64_t>(bytes);
}

MultiDeviceOptions options_of(const DeviceFlags& flags, const std::vector<Device>& devices,
                              const Request& request, Split::How usual) {
  MultiDeviceOptions out;
  out.devices = devices;
  out.request = request;
  out.split = flags.split.empty() ? Split{.how = usual} : parse_split(flags.split);
  if (!flags.memory.empty()) out.memory_bytes = bytes_named("--memory", flags.memory);
  if (!flags.repeat.empty()) {
    const double count = number_within("--repeat", flags.repeat, 1, 1e6, "a number from 1");
    if (count != std::floor(count)) throw Error("--repeat needs a whole number, not '" + flags.repeat + "'");
    out.repeat = static_cast<std::size_t>(count);
  }
  out.pin = out.repeat > 1;
  out.protect = flags.protect;
  out.faults = parse_faults(flags.faults);
  if (!flags.limit.empty()) out.limit_seconds = number_within("--limit", flags.limit, 1e-9, 1e6, "seconds");
  return out;
}

void print_devices(std::FILE* to, const Operation& operation, const MultiDeviceOutcome& outcome) {
  using Align = report::Table::Align;
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
  fmt::print(to, "{}{} together: {}", table.text(), operation.name, seconds_text(outcome.seconds));
  if (const std::string rate = gflops(outcome.flops, outcome.seconds); !rate.empty())
    fmt::print(to, ", {} GFLOP/s", rate);
  fmt::print(to, "; the first to be done waited for {:.1f} % of it\n", 100 * waited(outcome));
  if (outcome.times.size() > 1) {
    const auto [least, most] = std::ranges::minmax(outcome.times);
    fmt::print(to, "the median of {} runs, which took {} to {}\n", outcome.times.size(), seconds_text(least),
               seconds_text(most));
  }
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
               seconds_text(check_seconds));
  if (outcome.copied_bytes > 0)
    fmt::print(to, "copied to shared memory: {}\n", report::bytes(outcome.copied_bytes));
  if (outcome.start_seconds > 1e-3)
    fmt::print(to, "start-up before: {}\n", seconds_text(outcome.start_seconds));
}

void print(std::FILE* to, const Operation& operation, const Arguments& arguments,
           const MultiDeviceOutcome& outcome) {
  print_values(to, operation, arguments, outcome.values);
  print_devices(to, operation, outcome);
  fmt::print(to, "{}\n",
             outcome.same_bits ? "bits: those of one such device alone"
                               : "bits: not promised to be those of one device alone");
  if (outcome.verdict) {
    const std::string text = describe(*outcome.verdict);
    fmt::print(to, "{}{}", text, text.ends_with('\n') ? "" : "\n");
  }
}

Json to_json(const std::vector<TimelineSpan>& spans) {
  Json out = Json::array();
  for (const TimelineSpan& span : spans)
    out.push_back({{"device", span.device},
                   {"deed", name_of(span.activity)},
                   {"part", span.tile},
                   {"first", span.first},
                   {"last", span.last}});
  return out;
}

Json json_of(const Command& command, const Operation& operation, const MultiDeviceOutcome& outcome) {
  Json out{{"schema", 1}, {"kind", "run"}, {"operation", operation.name}};
  out.update(bench::provenance(command.argv, bench::now_utc()));
  out["seconds"] = {{"round_trip", outcome.seconds}, {"start_up", outcome.start_seconds}};
  if (outcome.times.size() > 1) out["seconds"]["runs"] = outcome.times;
  out["copied_bytes"] = outcome.copied_bytes;
  auto& parts = out["parts"] = Json::array();
  for (const DeviceReport& device : outcome.devices) parts.push_back(json_of(device, outcome));
  out["timeline"] = to_json(outcome.timeline.spans);
  return out;
}

Json json_of(const Command& command, const Operation& operation, const Arguments& arguments,
             const MultiDeviceOutcome& outcome) {
  Json out = json_of(command, operation, outcome);
  out["dims"] = arguments.dims();
  out["element"] = operation.element_name(arguments);
  out["arguments"] = arguments.words();
  out["same_bits"] = outcome.same_bits;
  add_values(out, operation, arguments, outcome.values);
  out["check"] = outcome.verdict ? json_of(*outcome.verdict) : Json(nullptr);
  return out;
}

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
  for (const TimelineSpan& span : spans) {
    events.push_back({{"ph", "X"},
                      {"name", fmt::format("{} {}", name_of(span.activity), span.tile)},
                      {"pid", span.device},
                      {"tid", static_cast<int>(span.activity)},
                      {"ts", span.first * microseconds},
                      {"dur", (span.last - span.first) * microseconds}});
  }
  return Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

void write_timeline(const std::string& path, const MultiDeviceOutcome& outcome) {
  if (path.empty()) return;
  std::vector<std::string> names;
  for (const DeviceReport& device : outcome.devices) names.push_back(bench::label_of(device.plan.device));
  write_text(path, chrome_trace(outcome.timeline.spans, names));
}

}  // namespace tessera::cli
