// SPDX-License-Identifier: Apache-2.0
// `tessera plan`: what a problem would take on many GPUs, by a model; nothing is run.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/positionals.hpp"
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/dist/outlook.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {
namespace {

constexpr const char* about_plan =
    "Predicts what a problem would take on 1, 2, 4, 8, 64 and 1024 like GPUs, and on --gpus. Nothing is "
    "run.\n\n"
    "The model: the result is cut into a grid of equal blocks, one for each GPU; each holds an equal part of "
    "every\n"
    "input, and receives the rest of what its block reads while it computes.\n"
    "received      by each GPU, from all others\n"
    "on devices    max(computing, what peers send, what the network carries) + a panel of 1024 of the sum on "
    "its "
    "way\n"
    "from hosts    the same from and to the hosts' memory, each element of an input over one link: also the "
    "larger of\n"
    "              both directions of the link (their sum where the result is rounded to fewer bits than its "
    "sums: it\n"
    "              leaves when the inputs are there), a panel's way in and a 64th of the result's way out\n"
    "efficiency    computing on one GPU, divided by the time and by the number of GPUs\n"
    "Beside computing a link has 0.7 of its speed, and 0.8 of that where several GPUs of a host copy. The "
    "grid is\n"
    "the one that takes least time; it has no more rows and columns than the result can be cut into. Sums "
    "are "
    "not\n"
    "cut among GPUs. The usual figures are those of an H200 at lasting work; docs/hosts.md says how near the "
    "model\n"
    "comes to what was measured.";

struct PlanOptions : BenchOptions {
  std::string gpus, per_host = "8", flops, link = "55.6", peer = "370", network = "50";
};

double positive(const char* flag, const std::string& word) {
  double out = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (failed != std::errc() || end != word.data() + word.size() || !(out > 0) || !std::isfinite(out))
    throw Error(std::string(flag) + " needs a number above 0, not '" + word + "'");
  return out;
}

std::int64_t whole(const char* flag, const std::string& word) {
  constexpr std::int64_t most = 1'000'000;
  const std::int64_t out = evaluate(word);
  if (out < 1 || out > most) throw Error(std::string(flag) + " " + word + " is not within 1 to 1000000");
  return out;
}

// TFLOP/s of lasting products on one H200 (results/nvidia-h200); of other elements nothing is presumed.
double usual_rate(const std::string& element) {
  static const std::map<std::string, double> rates{
      {"f64", 52},    {"f32", 50},    {"tf32", 348},       {"bf16", 689},       {"f16", 677},
      {"e4m3", 1210}, {"e5m2", 1210}, {"e4m3 fast", 1366}, {"e5m2 fast", 1366}, {"i8", 1431}};
  const auto found = rates.find(element.substr(0, element.find_first_of("*>")));
  if (found == rates.end()) throw Error(element + " has no usual rate: say --flops TFLOP/s");
  return found->second;
}

// Arrays without memory: only their sizes count.
Arguments arguments_of(const Operation& operation, const Point& point) {
  std::map<std::string, ArrayView> inputs;
  for (const Parameter* p : operation.signature.of(Parameter::Kind::input)) {
    const auto& given = point.problem.optional_inputs;
    if (p->optional && std::ranges::find(given, p->name) == given.end()) continue;
    Extents extents = extents_in_memory(*p, point.problem.dims, point.problem.words);
    Extents strides = row_major_strides(extents);
    inputs[p->name] = {nullptr, p->element_with(point.element, point.problem.words), std::move(extents),
                       std::move(strides)};
  }
  return {operation.signature, point.element, std::move(inputs), point.problem.words};
}

std::string bytes_text(double value) { return report::bytes(static_cast<std::int64_t>(value)); }

std::string why_unplanned(const Operation& operation) {
  return find_reduction(operation.name) == nullptr
             ? " runs on one device: its result is not computed in parts"
             : " is shared by devices as partial results of a few numbers each: there are no copies to plan, "
               "--devices divides it by speed";
}

class Planning {
 public:
  Planning(const Operation& operation, const PlanOptions& options, const Command& command)
      : operation_(&operation),
        options_(&options),
        divide_(find_division(operation.name)),
        to_(table_stream(options.json)) {
    if (divide_ == nullptr) throw Error(operation.name + why_unplanned(operation));
    counts_ = {1, 2, 4, 8, 64, 1024};
    if (!options.gpus.empty()) counts_.insert(whole("--gpus", options.gpus));
    json_ = nlohmann::ordered_json{{"schema", 1}, {"kind", "plan"}, {"operation", operation.name}};
    json_.update(bench::provenance(command.argv, bench::now_utc()));
    json_["beside_computing"] = dist::beside_computing;
    json_["beside_others"] = dist::beside_others;
    json_["plans"] = nlohmann::ordered_json::array();
  }

  int run() {
    for (const Point& point : points_of(*operation_, *options_)) plan(point);
    write_json(options_->json, json_);
    return exit_code::passed;
  }

 private:
  dist::Machines machines(const std::string& element) const {
    constexpr double giga = 1e9, tera = 1e12;
    return {.per_host = whole("--per-host", options_->per_host),
            .flops_per_second =
                tera * (options_->flops.empty() ? usual_rate(element) : positive("--flops", options_->flops)),
            .link_bytes_per_second = giga * positive("--link", options_->link),
            .peer_bytes_per_second = giga * positive("--peer", options_->peer),
            .network_bytes_per_second = giga * positive("--network", options_->network)};
  }

  void plan(const Point& point) {
    const Arguments arguments = arguments_of(*operation_, point);
    const Division division = (*divide_)(arguments);
    const std::string element = operation_->element_name(arguments);
    dist::Machines gpu = machines(element);
    using Column = report::Table::Column;
    std::vector<Column> columns;
    for (const char* title : {"GPUs", "with work", "grid", "received", "of it by network", "computing",
                              "on devices", "efficiency", "from hosts", "efficiency"})
      columns.push_back({title});
    report::Table table(std::move(columns));
    const double alone = division.flops(division.whole()) / gpu.flops_per_second;
    for (const std::int64_t count : counts_) {
      gpu.devices = count;
      const dist::Outlook out = dist::outlook(division, arguments, gpu);
      const auto efficiency = [&](double seconds) {
        return seconds > 0 && alone > 0
                   ? fmt::format("{:.0f} %", 100 * alone / seconds / static_cast<double>(count))
                   : "";
      };
      table.add({std::to_string(count), std::to_string(out.used()),
                 fmt::format("{} × {}", out.grid_rows, out.grid_cols), bytes_text(out.received_bytes),
                 bytes_text(out.network_bytes), report::seconds(out.compute_seconds),
                 report::seconds(out.seconds), efficiency(out.seconds), report::seconds(out.host_seconds),
                 efficiency(out.host_seconds)});
      note(arguments, gpu, out);
    }
    fmt::print(to_,
               "{}, {}; a GPU: {} TFLOP/s, GB/s: {} from the host, {} from peers, {} from other hosts; {} a "
               "host\n{}",
               title_of(*operation_, point.problem), element, report::number(gpu.flops_per_second * 1e-12),
               options_->link, options_->peer, options_->network, options_->per_host, table.text());
  }

  void note(const Arguments& arguments, const dist::Machines& gpu, const dist::Outlook& out) {
    json_["plans"].push_back({{"dims", arguments.dims()},
                              {"element", operation_->element_name(arguments)},
                              {"gpus", gpu.devices},
                              {"gpus_with_work", out.used()},
                              {"flops", gpu.flops_per_second},
                              {"grid", {out.grid_rows, out.grid_cols}},
                              {"received_bytes", out.received_bytes},
                              {"network_bytes", out.network_bytes},
                              {"compute_seconds", out.compute_seconds},
                              {"seconds", out.seconds},
                              {"host_seconds", out.host_seconds}});
  }

  const Operation* operation_;
  const PlanOptions* options_;
  const Divide* divide_;
  std::FILE* to_;
  std::set<std::int64_t> counts_;
  nlohmann::ordered_json json_;
};

}  // namespace

int plan(const Command& command) {
  const Operation* operation = operation_first(command.words);
  PlanOptions options;
  constexpr const char* usage = "tessera plan OPERATION SIZES… [--gpus N] [FLAGS]";
  OptionParser words("plan", usage, about_plan);
  words.positionals("OPERATION SIZES", options.positionals, "");
  words.value("--gpus", options.gpus, "one more number of GPUs", "N");
  words.value("--per-host", options.per_host, "GPUs of a host [8]", "N");
  words.value("--flops", options.flops,
              "of a GPU [f64 52, f32 50, tf32 348, bf16 689, f16 677, 8-bit floats 1210, fast 1366, i8 1431]",
              "TFLOP/s");
  words.value("--link", options.link, "between a GPU and its host's memory, each way, alone [55.6]", "GB/s");
  words.value("--peer", options.peer, "from other GPUs of the host [370]", "GB/s");
  words.value("--network", options.network, "of each GPU, from other hosts [50]", "GB/s");
  words.value("--element", options.element, "a list [the operation's first]", "TYPE,…");
  words.value("--json", options.json, "the figures as JSON; - is standard output", "FILE");
  declare_flags(words, options, operation);
  words.closing(exit_codes);
  if (!words.read(command.words)) return fmt::print("{}\n", words.help()), exit_code::passed;
  if (operation == nullptr) throw Error(std::string("which operation? usage: ") + usage);
  return Planning(*operation, options, command).run();
}

}  // namespace tessera::cli
