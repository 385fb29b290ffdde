// SPDX-License-Identifier: Apache-2.0
// `tessera sweep`: every configuration of some variants, as a list or as a table of two or more parameters.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cmath>
#include <optional>
#include "tessera/bench/ceilings.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/sizes.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/core/operation/partition.hpp"
#include "tessera/report/bench_tables.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/multi_device/multi_device.hpp"
#include "tessera/tune/tuner.hpp"

namespace tessera::cli {
namespace {

constexpr std::size_t max_interleaved = 16;

constexpr const char* about_sweep =
    "Times every configuration of variants: the tunings fixed when they were compiled, and the parameters\n"
    "left to the run, such as a block's shape.\n\n"
    "Without --over, every compiled tuning is tried and each free parameter takes powers of two. With it,\n"
    "compiled tunings that fit are tried, and free parameters that are not named keep their defaults.\n"
    "Ranges are inclusive: first:last:step, first:last:x2, or lists. Names that go together, sizes too, are\n"
    "written '(m,n,k)=(512,512,512),(1024,1024,64)'.\n\n"
    "--table y,x puts x across and y down; --table unroll,prefetch,outputs,tile puts the last across. What\n"
    "cannot run says not run, with the reason below. With several devices the processors come first, and "
    "their\n"
    "fastest variant stands beside the tables of the others. With --resume, a sweep that was stopped goes "
    "on.\n\n"
    "--split divides the result's rows among the devices instead, once for each of the splits: what each "
    "device\n"
    "took, and the ratio.";

struct SweepOptions : SearchOptions {
  std::string table, split, memory;
  bool times = false;
};

constexpr const char* of_the_run = "parameters left to the run";  // meaning of --table without names

// Returns the parameters of a table's sides. Without names: the two parameters that the first variant leaves
// to the run.
std::vector<std::string> table_of(const std::string& names, const std::vector<Subject>& subjects) {
  if (names != of_the_run) return split(names, ',');
  for (const Subject& subject : subjects)
    for (const Variant* variant : subject.variants)
      if (const auto& ranges = variant->choices.at(0).ranges; ranges.size() >= 2)
        return {ranges[0].name, ranges[1].name};
  throw Error("--table alone needs a variant with two parameters left to the run; name them: --table y,x");
}

// Returns the row of the serial loop on one processor, if it was measured on this problem.
const bench::Row* serial_of(const std::vector<bench::Row>& rows, const bench::Row& like) {
  const auto found = std::ranges::find_if(rows, [&like](const bench::Row& r) {
    return r.variant->where == Where::cpu && r.variant->place == 1 && r.counts() && r.dims == like.dims &&
           r.words == like.words && r.element_name() == like.element_name();
  });
  return found == rows.end() ? nullptr : &*found;
}

using Json = nlohmann::ordered_json;

// The median of some runs of one split, and whether its result was right.
struct Measured {
  std::string split;
  MultiDeviceOutcome run;
  std::size_t samples = 0;
  std::optional<bool> right;
};

std::int64_t rows_of(const DeviceReport& device, const MultiDeviceOutcome& run, std::int64_t rows) {
  return run.flops > 0 ? std::llround(device.flops / run.flops * static_cast<double>(rows)) : 0;
}

// For two devices, the ratio of the first's time to the second's; for more, of the longest to the shortest.
std::optional<double> ratio_of(const MultiDeviceOutcome& run) {
  std::vector<double> ends;
  for (const DeviceReport& device : run.devices)
    if (device.tiles > 0) ends.push_back(device.end_seconds);
  if (ends.size() != run.devices.size() || ends.size() < 2) return std::nullopt;
  if (ends.size() == 2) return ends[0] / ends[1];
  return std::ranges::max(ends) / std::ranges::min(ends);
}

// `tessera sweep … --split`: a result's rows divided among several devices in one way after another.
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
      if (one != "auto" && devices_.size() < 2)
        throw Error("--split divides among several devices: name them with --devices");
    if (!memory.empty()) memory_ = bytes_named("--memory", memory);
    if (!options.over.empty()) throw Error("--over and --split are two sweeps");
    if (!options.variants.empty()) request_.variant = options.variants;
    if (!options.tuning.empty()) request_.tuning = parse_tuning(options.tuning);
    json_ = json_head(command, "sweep", operation.name);
    json_["rows"] = Json::array();
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
    std::string fastest;
    double least = 0;
    for (const Measured& one : measured) {
      if (fastest.empty() || one.run.seconds < least) fastest = one.split, least = one.run.seconds;
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
               "the fastest: " + fastest + "\n");
    std::fflush(to_);
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

class Sweep {
 public:
  Sweep(const Operation& operation, const SweepOptions& options, const Command& command)
      : operation_(&operation),
        options_(&options),
        measuring_(measuring_of(options)),
        subjects_(subjects_of(operation, options)),
        points_(points_of(operation, options)),
        table_(table_of(options.table, subjects_)),
        to_(table_stream(options.json)),
        results_(operation, options, command, "sweep", measuring_) {
    std::stable_partition(subjects_.begin(), subjects_.end(),
                          [](const Subject& subject) { return subject.device.where == Where::cpu; });
    check_table();
  }

  int run() {
    note_interrupts();
    warn(bench::build_warnings());
    for (std::size_t i = 0; i < points_.size() && !interrupted(); ++i)
      for (std::size_t s = 0; s < subjects_.size() && !interrupted(); ++s) measure(points_[i], subjects_[s]);
    results_.finish();
    const auto& rows = results_.rows();
    return exit_of(rows, std::ranges::any_of(rows, [](const bench::Row& r) { return !r.seconds.empty(); }));
  }

 private:
  void check_table() const {
    if (table_.size() == 1) throw Error("--table needs two names or more, the last of them across");
    for (const std::string& name : table_) {
      const bool known = name == "variant" || name == "device" ||
                         std::ranges::any_of(subjects_, [&name](const Subject& subject) {
                           return std::ranges::any_of(subject.variants, [&name](const Variant* variant) {
                             return tune::has_parameter(*variant, name);
                           });
                         });
      if (!known)
        throw Error("--table " + options_->table + ": no variant asked for has a parameter '" + name + "'");
    }
  }

  // Returns the requested values that concern the variants of one device: other devices' may have more
  // parameters.
  tune::SpaceOptions space_options(const Subject& subject, const Case& problem) const {
    tune::SpaceOptions out = cli::space_options(*options_, problem, options_->over.empty());
    const auto knows = [](const Subject& s, const std::string& name) {
      return std::ranges::any_of(s.variants,
                                 [&name](const Variant* v) { return tune::has_parameter(*v, name); });
    };
    std::vector<Dims> kept;
    for (Dims& values : out.over) {
      std::erase_if(values, [&](const auto& value) {
        const bool elsewhere =
            std::ranges::any_of(subjects_, [&](const Subject& s) { return knows(s, value.first); });
        return elsewhere && !knows(subject, value.first);
      });
      if (std::ranges::find(kept, values) == kept.end()) kept.push_back(std::move(values));
    }
    out.over = std::move(kept);
    return out;
  }

  std::size_t in_turn(const Point& point, const Device& device) const {
    if (backend_of(device).shares_host_memory()) return max_interleaved;
    const Inputs inputs(*operation_, point.element, point.problem, measuring_.seed);
    return tune::batch_size(*operation_, inputs.arguments(), device, max_interleaved);
  }

  void measure(const Point& point, const Subject& subject) {
    const tune::Space space = tune::space_of(subject.variants, space_options(subject, point.problem));
    if (!space.dropped.empty()) fmt::print(stderr, "{}\n", tune::describe(space));
    const std::string title = fmt::format("{}, {} on {}", title_of(*operation_, point.problem),
                                          name_of(point.element), bench::label_of(subject.device));
    const std::size_t batch = in_turn(point, subject.device);
    std::vector<bench::Row> rows;
    {
      Progress progress;
      for (std::size_t from = 0; from < space.configs.size() && !interrupted(); from += batch) {
        const std::size_t to = std::min(from + batch, space.configs.size());
        measuring_.progress = [&](const std::string& text) {
          progress.say(fmt::format("[{}-{}/{}] {}: {}", from + 1, to, space.configs.size(), title, text));
        };
        measure(point, subject.device, {space.configs.begin() + from, space.configs.begin() + to}, rows);
      }
    }
    for (bench::Row& row : rows)
      if (const bench::Row* serial = serial_of(results_.rows(), row); serial != nullptr && row.counts())
        row.ratio_serial = serial->median() / row.median();
    print(title, rows, batch);
  }

  void measure(const Point& point, const Device& device, const std::vector<tune::Config>& configs,
               std::vector<bench::Row>& rows) {
    std::vector<bench::Candidate> candidates;
    for (const tune::Config& config : configs) candidates.push_back(tune::candidate_of(config, device));
    const auto more = tune::measure_each(
        candidates,
        [&](const std::vector<bench::Candidate>& some) {
          return bench::measure(*operation_, point.element, point.problem, some, measuring_);
        },
        interrupted);
    rows.insert(rows.end(), more.begin(), more.end());
    results_.add(more);
  }

  void print(const std::string& title, const std::vector<bench::Row>& rows, std::size_t batch) {
    if (rows.empty()) return fmt::print(to_, "{}: no configuration is left\n", title);
    fmt::print(to_, "{}; inputs {}, seed {}; {} configuration{}, {} in turn\n", title,
               results_.session().caches, results_.session().seed, rows.size(), rows.size() == 1 ? "" : "s",
               std::min(batch, rows.size()));
    const bool in_table = std::ranges::any_of(rows, [this](const bench::Row& row) {
      return std::ranges::any_of(
          table_, [&row](const std::string& name) { return row.tuning.find(name).has_value(); });
    });
    const bool other_sides = std::ranges::count(table_, "variant") + std::ranges::count(table_, "device") > 0;
    const bool both = options_->table == of_the_run;
    if (both || !(in_table || other_sides)) fmt::print(to_, "{}", report::ladder_table(rows));
    if (in_table || other_sides)
      fmt::print(
          to_, "{}{}",
          report::two_way_table(rows, {table_.begin(), table_.end() - 1}, table_.back(), options_->times),
          beside(rows));
    for (const std::string& sentence : tune::summary_of(rows)) fmt::print(to_, "{}\n", sentence);
    fmt::print(to_, "\n");
    std::fflush(to_);
    warn(bench::warnings(rows));
  }

  // Returns the CPU's time for the same problem, for readers of another device's table.
  std::string beside(const std::vector<bench::Row>& rows) const {
    const bench::Row* host = nullptr;
    for (const bench::Row& row : results_.rows())
      if (row.device.where == Where::cpu && row.counts() && row.dims == rows[0].dims &&
          row.words == rows[0].words && row.element_name() == rows[0].element_name() &&
          (host == nullptr || row.median() < host->median()))
        host = &row;
    if (host == nullptr || rows[0].device.where == Where::cpu) return {};
    return fmt::format("beside it: {} on {}, {}\n", host->variant->name, bench::label_of(host->device),
                       report::seconds(host->median()));
  }

  const Operation* operation_;
  const SweepOptions* options_;
  bench::Measuring measuring_;
  std::vector<Subject> subjects_;
  std::vector<Point> points_;
  std::vector<std::string> table_;
  std::FILE* to_;
  Results results_;
};

}  // namespace

int sweep(const Command& command) {
  const Operation* operation = operation_first(command.words);
  SweepOptions options;
  constexpr const char* usage = "tessera sweep OPERATION SIZES… --variant NAME,… [FLAGS]";
  OptionParser parser("sweep", usage, about_sweep);
  declare_search(parser, options, operation);
  parser.value(
      "--table", options.table,
      "parameters (or variant, device), the last of them across; alone: the list, then a table of the two "
      "left to the run",
      "[NAME,…,NAME]");
  if (operation == nullptr || find_partition(operation->name) != nullptr) {
    parser.value("--split", options.split,
                 "instead: the rows that each of several devices computes, and what each took: "
                 "32:3040,1:1,auto,dynamic",
                 "A:B,…");
    parser.value("--memory", options.memory,
                 "with --split: the most that a GPU may hold: 500M, 8G [what is free]", "BYTES");
  }
  parser.flag("--times", options.times, "cells of tables are times, not rates");
  parser.flag("--resume", options.resume, "keep what --json FILE holds already, and measure the rest");
  std::vector<std::string> given = command.words;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] == "--table" && (i + 1 == given.size() || given[i + 1].starts_with('-')))
      given[i] += std::string("=") + of_the_run;
  if (!parser.read(given)) return exit_code::passed;
  if (operation == nullptr) throw Error(std::string("which operation? usage: ") + usage);
  if (!options.split.empty())
    return SplitSweep(*operation, options, options.split, options.memory, command).run();
  if (options.variants.empty()) throw Error(std::string("which variant? usage: ") + usage);
  return Sweep(*operation, options, command).run();
}

}  // namespace tessera::cli
