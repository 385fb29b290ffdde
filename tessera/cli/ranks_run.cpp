// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/ranks_run.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <cmath>
#include "tessera/cli/outcome.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/ranks.hpp"
#include "tessera/io/picture.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {
namespace {

using nlohmann::ordered_json;

void print_ranks(std::FILE* to, const DistributedOutcome& outcome) {
  using Align = report::Table::Align;
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

void print(std::FILE* to, const Operation& operation, const Arguments& arguments,
           const DistributedWords& words, const DistributedOutcome& outcome) {
  const double flops = operation.flops ? operation.flops(arguments) : 0;
  const auto plural = [](std::size_t count) { return count == 1 ? "" : "s"; };
  const std::string by = words.devices ? "several devices each,"
                                       : outcome.plan.variant->ladder + "/" + outcome.plan.variant->name;
  fmt::print(to, "{} on {} rank{} as {} × {}, {} panel{} of {}, by {}\n", by, outcome.ranks.size(),
             plural(outcome.ranks.size()), outcome.grid.rows, outcome.grid.cols, outcome.panels,
             plural(static_cast<std::size_t>(outcome.panels)), outcome.depth, outcome.connected_by);
  print_ranks(to, outcome);
  for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank)
    for (const std::string& note : outcome.ranks[rank].notes) fmt::print(to, "rank {}: {}\n", rank, note);
  fmt::print(to, "product {}{}; with reading{} {}\n", report::seconds(outcome.product_seconds),
             flops > 0 ? ", " + report::number(flops / outcome.product_seconds * 1e-9) + " GFLOP/s" : "",
             words.outputs.empty() || !outcome.passed ? "" : " and writing",
             report::seconds(outcome.seconds));
  if (outcome.verdict) fmt::print(to, "{}\n", describe(*outcome.verdict));
  if (!outcome.passed) return;
  const Parameter& p = *operation.signature.of(Parameter::Kind::output).front();
  const ArrayView& result = arguments.array(p.name);
  fmt::print(to, "{}: {} of {}{}\n", p.name, to_string(result.extents), name_of(result.element),
             words.outputs.empty() ? "; nothing was written: -o FILE writes it"
                                   : ", written to " + words.outputs[0]);
}

ordered_json json_of_ranks(const DistributedOutcome& outcome) {
  ordered_json out = ordered_json::array();
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

// What the ranks did when: a rank stands where a device does otherwise.
std::vector<TimelineSpan> timeline_of(const DistributedOutcome& outcome) {
  std::vector<TimelineSpan> out;
  for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank)
    for (TimelineSpan span : outcome.ranks[rank].spans) {
      span.device = rank;
      out.push_back(span);
    }
  return out;
}

std::vector<std::string> labels_of(const DistributedOutcome& outcome) {
  std::vector<std::string> out;
  for (const RankReport& rank : outcome.ranks)
    out.push_back(fmt::format("rank {}: {}", out.size(), rank.device));
  return out;
}

void add_timeline(ordered_json& out, const DistributedOutcome& outcome) {
  const auto block_of = [](const RankReport& rank) {
    return static_cast<double>(rank.rows.size()) * static_cast<double>(rank.cols.size());
  };
  double all = 0;
  for (const RankReport& rank : outcome.ranks) all += block_of(rank);
  auto& parts = out["parts"] = ordered_json::array();
  const std::vector<std::string> labels = labels_of(outcome);
  for (std::size_t rank = 0; rank < labels.size(); ++rank)
    parts.push_back({{"device", {{"label", labels[rank]}}},
                     {"parts", outcome.grid.has(static_cast<int>(rank)) ? outcome.panels : 0},
                     {"share", all > 0 ? block_of(outcome.ranks[rank]) / all : 0}});
  out["timeline"] = to_json(timeline_of(outcome));
}

// That of one process, with the ranks beside it.
ordered_json json_of(const Command& command, const Operation& operation, const Arguments& arguments,
                     const DistributedOutcome& outcome) {
  Outcome one;
  one.plan = outcome.plan;
  one.kernel_seconds = outcome.product_seconds;
  one.round_trip_seconds = outcome.seconds;
  one.verdict = outcome.verdict;
  ordered_json out = cli::json_of(command, operation, arguments, one, {});
  out["distributed"] = {{"by", outcome.connected_by},
                        {"grid", {outcome.grid.rows, outcome.grid.cols}},
                        {"panels", outcome.panels},
                        {"depth", outcome.depth},
                        {"predicted_bytes", outcome.predicted_bytes},
                        {"ranks", json_of_ranks(outcome)}};
  add_timeline(out, outcome);
  return out;
}

}  // namespace

void demand_of_ranks(const DistributedWords& words, const DeviceFlags& flags) {
  if (!flags.repeat.empty()) throw Error("--repeat is for one process, not for ranks");
  if (!words.study.empty()) throw Error("--study runs in one process, not on ranks");
  if (words.outputs.empty()) return;
  if (words.outputs[0] == "-") throw Error("-o -: ranks write to one file together, not to standard output");
  if (picture::named_as_picture(words.outputs[0]))
    throw Error(words.outputs[0] + ": ranks write .npy files, no pictures");
}

int operate_on_ranks(const Operation& operation, const Arguments& arguments, const DistributedWords& words,
                     const Command& command) {
  Communicator& ranks = *Ranks::here().communicator();
  DistributedRequest request{words.request, words.check, words.devices,
                             words.outputs.empty() ? "" : words.outputs[0]};
  const DistributedOutcome outcome = run_distributed(operation, arguments, ranks, request);
  if (Ranks::here().speaks()) {
    std::FILE* const to = words.json == "-" ? stderr : stdout;
    print(to, operation, arguments, words, outcome);
    if (!words.timeline.empty())
      write_text(words.timeline, chrome_trace(timeline_of(outcome), labels_of(outcome)));
    write_json(words.json, json_of(command, operation, arguments, outcome));
  }
  return outcome.passed ? exit_code::passed : exit_code::wrong;
}

}  // namespace tessera::cli
