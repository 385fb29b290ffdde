// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/together.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include "tessera/cli/checks.hpp"
#include "tessera/cli/outcome.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {
namespace {

double share_of(const Share& share, const Together& together) {
  return together.flops > 0 ? share.flops / together.flops : 0;
}

// A device that did nothing may have none.
std::string rung_of(const Share& share) {
  return share.plan.variant == nullptr ? "" : share.plan.variant->ladder + "/" + share.plan.variant->name;
}

nlohmann::ordered_json json_of(const Share& share, const Together& together) {
  using Json = nlohmann::ordered_json;
  const bool chosen = share.plan.variant != nullptr;
  return {{"device", bench::to_json(share.plan.device)},
          {"ladder", chosen ? Json(share.plan.variant->ladder) : Json(nullptr)},
          {"variant", chosen ? Json(share.plan.variant->name) : Json(nullptr)},
          {"tuning", bench::to_json(share.plan.tuning)},
          {"parts", share.tiles},
          {"share", share_of(share, together)},
          {"busy", share.busy_seconds},
          {"end", share.end_seconds},
          {"wrong", share.wrong},
          {"left_out", share.left_out.empty() ? Json(nullptr) : Json(share.left_out)},
          {"lost", share.lost.empty() ? Json(nullptr) : Json(share.lost)}};
}

std::string gflops(double flops, double seconds) {
  return flops > 0 && seconds > 0 ? report::number(flops / seconds * 1e-9) : "";
}

// How long whoever finished first waited for the last, of the whole.
double waited(const Together& together) {
  double first = together.seconds;
  for (const Share& share : together.shares)
    if (share.tiles > 0 && share.lost.empty()) first = std::min(first, share.end_seconds);
  return together.seconds > 0 ? 1 - first / together.seconds : 0;
}

double seconds_named(const char* flag, const std::string& word) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  constexpr double most = 1e6;
  if (failed != std::errc() || end != word.data() + word.size() || !(value > 0 && value <= most))
    throw Error(std::string(flag) + " needs seconds, not '" + word + "'");
  return value;
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

void print_times(std::FILE* to, const Together& together) {
  if (together.times.size() < 2) return;
  const auto [least, most] = std::ranges::minmax(together.times);
  fmt::print(to, "the median of {} runs, which took {} to {}\n", together.times.size(),
             trimmed(report::seconds(least)), trimmed(report::seconds(most)));
}

void print(std::FILE* to, const Overlap& overlap) {
  fmt::print(
      to, "copies hid behind computing: {} from the host, {} from device to device; {}; start-up before: {}",
      report::bytes(overlap.bytes_from_host), report::bytes(overlap.bytes_from_peers),
      overlap.held ? "all held" : "not all held", trimmed(report::seconds(overlap.start_seconds)));
  if (overlap.pinned_bytes > 0) fmt::print(to, ", {} pinned", report::bytes(overlap.pinned_bytes));
  fmt::print(to, "\n");
}

}  // namespace

void declare(OptionParser& words, TogetherOptions& options, bool in_parts, const std::string& protect) {
  const std::string part = in_parts ? "part" : "picture";
  words.value("--timeline", options.timeline, "who copied and computed when, as a trace for a browser",
              "FILE");
  words.flag(protect, options.protect,
             "each device in a process of its own, each " + part +
                 " checked: what dies, hangs or errs loses nothing");
  words.value("--limit", options.limit, "the longest that a " + part + " may take, protected [300]",
              "SECONDS");
  words.value(
      "--fault", options.faults,
      "makes device 0, 1, … fail at its first, second, … " + part +
          ": kill:1@3, fail:, poison:, hang:, delay:1@3:0.5, flip:1@3[:BIT], strew:1@3:ELEMENTS, swap:1@3",
      "KIND:DEVICE@PART,…");
  if (!in_parts) {
    words.value("--split", options.split,
                "of several files over several devices: dynamic (each takes the next), auto (by measured "
                "speed) or shares [dynamic]",
                "dynamic|auto|A:B:…");
    return;
  }
  words.value(
      "--split", options.split,
      "of the result's rows, or of files, over several devices: plan (products on GPUs: made beforehand; "
      "others: dynamic), dynamic (each takes the next part), auto (by measured speed) or shares [plan]",
      "plan|dynamic|auto|A:B:…");
  words.value("--repeat", options.repeat, "so often, one after another; the time of each is told [1]", "N");
  words.value("--memory", options.memory,
              "the most that a device's part may take there: 500M, 8G [what is free]", "BYTES");
  words.value("--checkpoint", options.checkpoint,
              "keeps the parts that are done: the same call goes on there", "FILE");
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

std::size_t count_named(const std::string& flag, const std::string& word) {
  std::size_t value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  constexpr std::size_t most = 1'000'000;
  if (failed != std::errc() || end != word.data() + word.size() || value == 0 || value > most)
    throw Error(flag + " needs a number from 1, not '" + word + "'");
  return value;
}

Spread spread_of(const TogetherOptions& options, const std::vector<Device>& devices, const Request& request) {
  Spread out;
  out.devices = devices;
  out.request = request;
  out.split = parse_split(options.split);
  if (!options.memory.empty()) out.memory_bytes = bytes_named("--memory", options.memory);
  if (!options.repeat.empty()) out.repeat = count_named("--repeat", options.repeat);
  out.pin = out.repeat > 1;
  out.protect = options.protect;
  out.files_as_read = true;
  out.faults = parse_faults(options.faults);
  out.checkpoint = options.checkpoint;
  if (!options.limit.empty()) out.limit_seconds = seconds_named("--limit", options.limit);
  if (!options.checkpoint.empty()) {
    note_interrupts();
    out.stopped = interrupted;
  }
  return out;
}

void print_shares(std::FILE* to, const Operation& operation, const Together& together) {
  using Align = report::Table::Align;
  report::Table table({{"device", Align::left},
                       {"variant", Align::left},
                       {"parts"},
                       {"share"},
                       {"busy"},
                       {"done after"},
                       {"GFLOP/s"}});
  for (const Share& share : together.shares)
    table.add({bench::label_of(share.plan.device), rung_of(share), std::to_string(share.tiles),
               fmt::format("{:.1f} %", 100 * share_of(share, together)), report::seconds(share.busy_seconds),
               share.tiles > 0 ? report::seconds(share.end_seconds) : "",
               gflops(share.flops, share.busy_seconds)});
  fmt::print(to, "{}{} together: {}", table.text(), operation.name,
             trimmed(report::seconds(together.seconds)));
  if (const std::string rate = gflops(together.flops, together.seconds); !rate.empty())
    fmt::print(to, ", {} GFLOP/s", rate);
  fmt::print(to, "; the first to be done waited for {:.1f} % of it\n", 100 * waited(together));
  print_times(to, together);
  if (together.overlap) print(to, *together.overlap);
  for (std::size_t d = 0; d < together.shares.size(); ++d) {
    const Share& share = together.shares[d];
    if (share.wrong > 0)
      fmt::print(to, "{} (device {}): {} part{} found wrong, and computed again\n",
                 bench::label_of(share.plan.device), d, share.wrong, share.wrong == 1 ? "" : "s");
    if (!share.lost.empty())
      fmt::print(to, "{} (device {}) was given up, and its parts were done by the others: {}\n",
                 bench::label_of(share.plan.device), d, share.lost);
    if (!share.left_out.empty())
      fmt::print(to, "{} (device {}) was left out: {}\n", bench::label_of(share.plan.device), d,
                 share.left_out);
  }
  print_checks(to, checks_of(together));
  if (!together.checkpoint_lost.empty())
    fmt::print(to, "the disk has not kept {} of the checkpoint: computed again\n", together.checkpoint_lost);
  if (together.restored > 0) fmt::print(to, "{} parts were there already\n", together.restored);
  if (together.copied_bytes > 0)
    fmt::print(to, "copied to where all processes see it: {}\n", report::bytes(together.copied_bytes));
  if (together.mapped_bytes > 0)
    fmt::print(to, "read by all processes from the files: {}\n", report::bytes(together.mapped_bytes));
  if (together.start_seconds > 0)
    fmt::print(to, "start-up of their processes before: {}\n",
               trimmed(report::seconds(together.start_seconds)));
}

void print(std::FILE* to, const Operation& operation, const Arguments& arguments, const Together& together) {
  print_values(to, operation, arguments, together.values);
  print_shares(to, operation, together);
  fmt::print(to, "{}\n",
             together.same_bits ? "bits: those of one such device alone"
                                : "bits: not promised to be those of one device alone");
  if (together.verdict) {
    const std::string text = describe(*together.verdict);
    fmt::print(to, "{}{}", text, text.ends_with('\n') ? "" : "\n");
  }
}

nlohmann::ordered_json json_of(const Overlap& overlap) {
  return {{"start_up_seconds", overlap.start_seconds},
          {"pinned_bytes", overlap.pinned_bytes},
          {"bytes_from_host", overlap.bytes_from_host},
          {"bytes_from_peers", overlap.bytes_from_peers},
          {"held", overlap.held},
          {"tile", overlap.tile},
          {"panel", overlap.panel},
          {"memory_bytes", overlap.memory_bytes},
          {"trial_flops", overlap.flops_per_second},
          {"trial_bytes_in", overlap.bytes_in_per_second}};
}

nlohmann::ordered_json json_of(const Command& command, const Operation& operation, const Together& together) {
  nlohmann::ordered_json out{{"schema", 1}, {"kind", "run"}, {"operation", operation.name}};
  out.update(bench::provenance(command.argv, bench::now_utc()));
  out["seconds"] = {{"round_trip", together.seconds}};
  if (together.times.size() > 1) out["seconds"]["runs"] = together.times;
  out["overlap"] = together.overlap ? json_of(*together.overlap) : nlohmann::ordered_json(nullptr);
  out["copied_bytes"] = together.copied_bytes;
  out["mapped_bytes"] = together.mapped_bytes;
  out["seconds"]["start_up"] = together.start_seconds;
  auto& parts = out["parts"] = nlohmann::ordered_json::array();
  for (const Share& share : together.shares) parts.push_back(json_of(share, together));
  auto& timeline = out["timeline"] = nlohmann::ordered_json::array();
  for (const dist::Span& span : together.timeline.spans)
    timeline.push_back({{"device", span.device},
                        {"deed", dist::name_of(span.deed)},
                        {"part", span.tile},
                        {"first", span.first},
                        {"last", span.last}});
  return out;
}

nlohmann::ordered_json json_of(const Command& command, const Operation& operation, const Arguments& arguments,
                               const Together& together) {
  nlohmann::ordered_json out = json_of(command, operation, together);
  out["dims"] = arguments.dims();
  out["element"] = operation.element_name(arguments);
  out["arguments"] = arguments.words();
  out["same_bits"] = together.same_bits;
  out["restored"] = together.restored;
  out["checkpoint_lost"] = together.checkpoint_lost.empty()
                               ? nlohmann::ordered_json(nullptr)
                               : nlohmann::ordered_json(together.checkpoint_lost);
  add_values(out, operation, arguments, together.values);
  out["protect"] = checks_json(checks_of(together));
  out["check"] = together.verdict ? json_of(*together.verdict) : nlohmann::ordered_json(nullptr);
  return out;
}

void write_timeline(const std::string& path, const Together& together) {
  if (path.empty()) return;
  std::vector<std::string> names;
  for (const Share& share : together.shares) names.push_back(bench::label_of(share.plan.device));
  write_text(path, dist::chrome_trace(together.timeline, names));
}

}  // namespace tessera::cli
