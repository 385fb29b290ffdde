// SPDX-License-Identifier: Apache-2.0
// `tessera compare`: the rows that became faster or slower between two results of `bench`.
#include "tessera/bench/compare.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/command.hpp"
#include "tessera/cli/files.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/report/bench_tables.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* about_compare =
    "Sets the times of two results of `tessera bench --json` against each other.\n\n"
    "same        the medians differ by no more than --threshold, and are known that well\n"
    "faster      by more, the intervals from the minimum to the upper quartile lie apart, and so they do in\n"
    "slower      clock cycles where the device told its clock. Anything slower: exit code 3\n"
    "ambiguous   by more, but the samples do not settle it: intervals overlap, repeats (each a fifth of the\n"
    "            samples) differ as much, or other programs that ran meanwhile may have caused it\n"
    "gone, added measured in one of the two only; where nothing was measured in both: exit code 5\n\n"
    "Rows are matched by problem, element, variant, tuning, mode, device name and threads.";

Json number(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

Json median_of(const bench::Record* record) {
  return record == nullptr || record->seconds.empty() ? Json(nullptr)
                                                      : Json(bench::summarize(record->seconds).median);
}

Json to_json(const bench::Pair& pair) {
  const bench::Record& record = pair.now != nullptr ? *pair.now : *pair.before;
  return {{"problem", record.problem},
          {"element", record.element},
          {"variant", record.variant},
          {"tuning", record.tuning},
          {"mode", record.mode},
          {"device", record.device},
          {"device_name", record.device_name},
          {"median_before", median_of(pair.before)},
          {"median", median_of(pair.now)},
          {"times_faster", number(pair.times_faster)},
          {"times_fewer_cycles", number(pair.times_fewer_cycles)},
          {"verdict", std::string(name_of(pair.change))},
          {"why", pair.why.empty() ? Json(nullptr) : Json(pair.why)}};
}

Json to_json(const Command& command, const bench::Document& before, const std::vector<bench::Pair>& pairs,
             const bench::Judging& judging) {
  Json out = json_head(command, "compare", before.operation);
  out["threshold"] = judging.threshold;
  out["rows"] = Json::array();
  for (const bench::Pair& pair : pairs) out["rows"].push_back(to_json(pair));
  return out;
}

int exit_of_pairs(const std::vector<bench::Pair>& pairs) {
  const auto any = [&](bench::Change change) {
    return std::ranges::find(pairs, change, &bench::Pair::change) != pairs.end();
  };
  if (any(bench::Change::wrong)) return exit_code::wrong;
  if (any(bench::Change::slower)) return exit_code::regression;
  // Pairs without a time on one side say nothing, least of all that all is well.
  const bool compared =
      std::ranges::any_of(pairs, [](const bench::Pair& pair) { return pair.times_faster.has_value(); });
  return compared ? exit_code::passed : exit_code::no_device;
}

// Comparing different builds is the normal use, but the reader must know of the difference.
void warn_of_builds(const bench::Document& before, const bench::Document& now) {
  if (before.compiler != now.compiler)
    warn({"the compilers differ: " + before.compiler + ", " + now.compiler});
  if (before.flags != now.flags) warn({"the flags differ: " + before.flags + ", " + now.flags});
  if (before.cuda_compiler.empty() || now.cuda_compiler.empty()) return;
  if (before.cuda_compiler != now.cuda_compiler)
    warn({"the compilers for GPUs differ: " + before.cuda_compiler + ", " + now.cuda_compiler});
  if (before.cuda_flags != now.cuda_flags)
    warn({"the flags for GPUs differ: " + before.cuda_flags + ", " + now.cuda_flags});
}

}  // namespace

int compare(const Command& command) {
  std::vector<std::string> files;
  std::string threshold = "0.5", json;
  bool force = false;
  OptionParser parser("compare", "tessera compare OLD.json NEW.json [FLAGS]", about_compare);
  parser.positionals("OLD NEW", files, "");
  parser.value("--threshold", threshold, "smaller differences are ignored [0.5]", "PERCENT");
  parser.flag("--force", force, "compare what different machines, drivers, data or cache states gave");
  parser.value("--json", json, "the pairs with their verdicts; - is standard output", "FILE");
  if (!parser.read(command.words)) return exit_code::passed;
  if (files.size() != 2) throw Error("which two? usage: tessera compare OLD.json NEW.json");
  require_files_of_their_own({{"--json", json}}, files, {});
  const bench::Judging judging{.threshold =
                                   number_named("--threshold", "a percentage", threshold, 0, 999) / 100};
  const bench::Document before = bench::read_document(read_json(files[0]), files[0]),
                        now = bench::read_document(read_json(files[1]), files[1]);
  if (const auto why = bench::incomparable(before, now)) {
    if (!force) throw Error(*why + "; --force compares nevertheless");
    warn({*why});
  }
  warn_of_builds(before, now);
  const auto pairs = bench::compare(before, now, judging);
  if (std::ranges::none_of(pairs,
                           [](const bench::Pair& p) { return p.before != nullptr && p.now != nullptr; }))
    throw Error(files[0] + " and " + files[1] + " have no row in common");
  fmt::print(table_stream(json), "{}", report::compare_table(pairs));
  write_json(json, to_json(command, before, pairs, judging));
  return exit_of_pairs(pairs);
}

}  // namespace tessera::cli
