// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/sweep_split.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <optional>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/device_flags.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/positionals.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

// The median of some runs of one split, and whether its result was right.
struct Measured {
  std::string split;
  MultiDeviceOutcome run;
  std::size_t samples = 0;
  std::optional<bool> right;
};

using SplitTime = std::pair<std::string, double>;

bool is_shares(const SplitTime& one) { return parse_split(one.first).how == Split::How::shares; }

std::int64_t rows_of(const DeviceReport& device, const MultiDeviceOutcome& run, std::int64_t rows) {
  return run.flops > 0 ? static_cast<std::int64_t>(device.flops / run.flops * static_cast<double>(rows) + 0.5)
                       : 0;
}

// Of two devices, the first's time to the second's; of more, the longest to the shortest.
std::optional<double> ratio_of(const MultiDeviceOutcome& run) {
  std::vector<double> ends;
  for (const DeviceReport& device : run.devices)
    if (device.tiles > 0) ends.push_back(device.end_seconds);
  if (ends.size() != run.devices.size() || ends.size() < 2) return std::nullopt;
  if (ends.size() == 2) return ends[0] / ends[1];
  return std::ranges::max(ends) / std::ranges::min(ends);
}

class SplitSweep {
 public:
  SplitSweep(const Operation& operation, const SearchOptions& options, const std::string& splits,
             const std::string& memory, const Command& command)
      : operation_(&operation),
        options_(&options),
        measuring_(measuring_of(options)),
        devices_(computing_devices(options.device)),
        splits_(split(splits, ',')),
        to_(table_stream(options.json)) {
    for (const std::string& one : splits_)
      if (devices_.size() < 2 && parse_split(one).how != Split::How::automatic)
        throw Error("--split divides among several devices: name them with --devices");
    if (!memory.empty()) memory_ = bytes_named("--memory", memory);
    if (!options.over.empty()) throw Error("--over and --split are two sweeps");
    for (const std::string& one : splits_) (void)parse_split(one);
    request_ = request_of(options);
    json_ = sweep_json(operation, command.argv);
  }

  int run() {
    note_interrupts();
    bool wrong = false;
    for (const Point& point : points_of(*operation_, *options_)) {
      Inputs inputs(*operation_, point.element, point.problem, measuring_.seed);
      std::vector<Measured> measured;
      {
        Progress progress;
        for (const std::string& split : splits_) {
          if (interrupted()) break;
          progress.say(title_of(*operation_, point.problem) + ": " + split);
          measured.push_back(measure(inputs, split));
          wrong = wrong || measured.back().right == false;
          note(inputs.arguments(), measured.back());
        }
      }
      print(point, inputs.arguments(), measured);
    }
    write_json(options_->json, json_);
    return interrupted() ? exit_code::interrupted : wrong ? exit_code::wrong : exit_code::passed;
  }

 private:
  Measured measure(Inputs& inputs, const std::string& word) const {
    MultiDeviceOptions shared{
        .devices = devices_, .request = request_, .split = parse_split(word), .memory_bytes = memory_};
    shared.repeat = measuring_.effort.samples > 0 ? measuring_.effort.samples : 3;
    shared.pin = true;
    Measured out{.split = word, .run = {}, .right = {}};
    out.run = run_on_devices(*operation_, inputs.arguments(), shared, measuring_.verify);
    out.samples = out.run.times.size();
    if (out.run.verdict) out.right = out.run.verdict->passed;
    return out;
  }

  void print(const Point& point, const Arguments& arguments, const std::vector<Measured>& measured) const {
    if (measured.empty()) return;
    const std::int64_t rows = divided_rows(operation_->name, arguments);
    using Column = report::Table::Column;
    std::vector<Column> columns{{"split", report::Table::Align::left}};
    for (const Device& device : devices_) columns.push_back({"rows of " + bench::label_of(device)});
    for (const Device& device : devices_) columns.push_back({"time of " + bench::label_of(device)});
    for (const char* title : {"ratio", "together", "GFLOP/s", "result"}) columns.push_back({title});
    report::Table table(std::move(columns));
    for (const Measured& one : measured) {
      std::vector<std::string> cells{one.split};
      for (const DeviceReport& device : one.run.devices)
        cells.push_back(fmt::format("{}", rows_of(device, one.run, rows)));
      for (const DeviceReport& device : one.run.devices)
        cells.push_back(device.tiles > 0 ? report::seconds(device.end_seconds) : "");
      cells.push_back(report::number(ratio_of(one.run)));
      cells.push_back(report::seconds(one.run.seconds));
      cells.push_back(report::number(one.run.flops / one.run.seconds * 1e-9));
      cells.push_back(!one.right ? "" : *one.right ? "ok" : "wrong");
      table.add(std::move(cells));
    }
    fmt::print(to_, "{}, {}; the median of {} run{}\n{}{}\n", title_of(*operation_, point.problem),
               name_of(point.element), measured[0].samples, measured[0].samples == 1 ? "" : "s", table.text(),
               fastest(measured));
    std::fflush(to_);
  }

  static std::string fastest(const std::vector<Measured>& measured) {
    std::vector<std::pair<std::string, double>> seconds;
    for (const Measured& one : measured) seconds.emplace_back(one.split, one.run.seconds);
    return fastest_split(seconds);
  }

  void note(const Arguments& arguments, const Measured& one) {
    Json parts = Json::array();
    std::string devices;
    for (std::size_t d = 0; d < one.run.devices.size(); ++d) {
      const DeviceReport& device = one.run.devices[d];
      const std::string label = bench::label_of(device.plan.device);
      devices += (devices.empty() ? "" : " + ") + label;
      Json part{{"device", label}, {"share", one.run.flops > 0 ? device.flops / one.run.flops : 0}};
      part["seconds"] = device.tiles > 0 ? Json(device.end_seconds) : Json(nullptr);
      part["gflops"] =
          device.busy_seconds > 0 ? Json(device.flops / device.busy_seconds * 1e-9) : Json(nullptr);
      part["variant"] = device.plan.variant == nullptr ? Json(nullptr) : Json(device.plan.variant->name);
      for (const Activity activity : {Activity::copy_in, Activity::compute, Activity::copy_out})
        part[name_of(activity)] = one.run.timeline.busy(d, activity);
      parts.push_back(std::move(part));
    }
    json_["rows"].push_back({{"dims", arguments.dims()},
                             {"element", operation_->element_name(arguments)},
                             {"variant", "split " + one.split},
                             {"device", devices},
                             {"median", one.run.seconds},
                             {"samples", one.samples},
                             {"times", one.run.times},
                             {"gflops", one.run.flops / one.run.seconds * 1e-9},
                             {"verified", !one.right   ? "no"
                                          : *one.right ? "ok"
                                                       : "wrong"},
                             {"split", std::move(parts)}});
  }

  const Operation* operation_;
  const SearchOptions* options_;
  bench::Measuring measuring_;
  std::vector<Device> devices_;
  std::vector<std::string> splits_;
  Request request_;
  std::int64_t memory_ = 0;
  std::FILE* to_;
  Json json_;
};

}  // namespace

std::string fastest_split(const std::vector<SplitTime>& measured) {
  if (measured.size() < 2) return "";
  const SplitTime& best = *std::ranges::min_element(measured, {}, &SplitTime::second);
  const SplitTime* shares = nullptr;
  for (const SplitTime& one : measured)
    if (is_shares(one) && (shares == nullptr || one.second < shares->second)) shares = &one;
  std::string others;
  const auto add = [&](const std::string& name, double seconds) {
    others += fmt::format("; {} {}{:.3f} ×{}", name, others.empty() ? "took " : "", seconds / best.second,
                          others.empty() ? " that" : "");
  };
  if (shares != nullptr && shares != &best) add("the best shares, " + shares->first + ",", shares->second);
  for (const SplitTime& one : measured)
    if (!is_shares(one) && &one != &best) add(one.first, one.second);
  return "the fastest: " + best.first + others + "\n";
}

int sweep_splits(const Operation& operation, const SearchOptions& options, const std::string& splits,
                 const std::string& memory, const Command& command) {
  return SplitSweep(operation, options, splits, memory, command).run();
}

}  // namespace tessera::cli
