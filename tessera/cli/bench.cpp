// SPDX-License-Identifier: Apache-2.0
// `tessera bench`: candidates measured in turn on each size; tables, and one JSON file.
#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include "tessera/bench/calls.hpp"
#include "tessera/bench/ceilings.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/sizes.hpp"
#include "tessera/io/temporary_folder.hpp"
#include "tessera/report/bench_tables.hpp"

namespace tessera::cli {
namespace {

// The results of the same command in fresh processes. A process may sit in a slow mode that its own samples
// do not show.
class FreshProcesses {
 public:
  FreshProcesses(const Command& command, std::int64_t count, const bench::Session& session) {
    std::vector<std::string> words{"/proc/self/exe"};
    for (std::size_t i = 1; i < command.argv.size(); ++i) {
      const std::string& word = command.argv[i];
      if (word == "--processes" || word == "--json") ++i;
      else if (!word.starts_with("--processes=") && !word.starts_with("--json=")) words.push_back(word);
    }
    const TemporaryFolder folder;
    const std::string file = folder.file("rows.json");
    words.insert(words.end(), {"--processes", "1", "--json", file});
    Progress progress;
    for (std::int64_t i = 0; i < count && !interrupted(); ++i) {
      progress.say(fmt::format("process {} of {}", i + 1, count));
      (void)runs(words);  // wrong and missing results are told by the run of this process
      results_.emplace_back(read_json(file), "a fresh process's file", session);
      std::filesystem::remove(file);
    }
  }

  // Returns the row with the samples of all; nothing if any of them has no right result.
  std::optional<bench::Row> find(const bench::Row& blank) const {
    std::optional<bench::Row> out;
    for (const bench::Earlier& result : results_) {
      auto row = result.find(blank);
      if (!row) return std::nullopt;
      row->kept_from.clear();
      if (out) out->pool(*row);
      else out = std::move(row);
    }
    return out;
  }

 private:
  std::vector<bench::Earlier> results_;
};

// The public call with its defaults, and baselines that are called like it.
int bench_calls(const Operation& operation, const BenchOptions& options, const Command& command) {
  if (!options.variants.empty() || !options.tuning.empty() || !options.tunings.empty() ||
      !options.versus.empty())
    throw Error("--call measures what a call chooses by itself: no --variant, --tuning, --tunings, --vs");
  if (options.cold || options.profile || options.graph || !options.sustained.empty() || options.resume ||
      options.processes != "1")
    throw Error("--call does not go with --cold, --profile, --graph, --sustained, --resume, --processes");
  bench::Measuring measuring = measuring_of(options);
  const std::vector<Point> points = points_of(operation, options);
  const std::vector<Device> devices = devices_named(options.device);
  std::FILE* const to = table_stream(options.json);
  note_interrupts();
  Results results(operation, options, command, "call", measuring);
  warn(bench::build_warnings());
  for (std::size_t i = 0; i < points.size() && !interrupted(); ++i)
    for (const Device& device : devices) {
      const auto& [element, problem] = points[i];
      const std::string title = fmt::format("{}, {}", title_of(operation, problem), name_of(element));
      std::vector<bench::Row> rows;
      {
        Progress progress;
        measuring.progress = [&](const std::string& text) {
          progress.say(fmt::format("[{}/{}] {}: {}", i + 1, points.size(), title, text));
        };
        rows = bench::measure_calls(operation, element, problem, device, measuring);
      }
      bench::fill_ratios(rows, "");
      fmt::print(to, "{} on {}\n{}\n", title, bench::label_of(device), report::call_table(rows));
      std::fflush(to);
      warn(bench::warnings(rows));
      results.add(rows);
    }
  fmt::print(to, "{}", report::call_means(results.rows()));
  results.finish();
  const auto& rows = results.rows();
  return exit_of(rows, std::ranges::any_of(rows, [](const bench::Row& r) { return !r.seconds.empty(); }));
}

int bench_operation(const Operation& operation, const BenchOptions& options, const Command& command) {
  bench::Measuring measuring = measuring_of(options);
  const std::vector<Point> points = points_of(operation, options);
  const std::vector<bench::Candidate> chosen = candidates(operation, selection_of(options));
  std::FILE* const to = table_stream(options.json);
  note_interrupts();
  Results results(operation, options, command, "bench", measuring);
  warn(bench::build_warnings());
  std::optional<FreshProcesses> fresh;
  if (const auto count = count_named("--processes", options.processes, 1, 1000); count > 1) {
    if (options.resume) throw Error("--processes does not go with --resume");
    fresh.emplace(command, count, results.session());
    measuring.known = [&fresh](const bench::Row& blank) { return fresh->find(blank); };
  }
  std::vector<std::vector<bench::Row>> sizes;
  for (std::size_t i = 0; i < points.size() && !interrupted(); ++i) {
    const auto& [element, problem] = points[i];
    const std::string title = fmt::format("{}, {}", title_of(operation, problem), name_of(element));
    {
      Progress progress;
      measuring.progress = [&](const std::string& text) {
        progress.say(fmt::format("[{}/{}] {}: {}", i + 1, points.size(), title, text));
      };
      sizes.push_back(bench::measure(operation, element, problem, chosen, measuring));
    }
    auto& rows = sizes.back();
    bench::fill_ratios(rows, options.versus);
    fmt::print(to, "{}; inputs {}, seed {}\n{}\n", title, results.session().caches, results.session().seed,
               report::ladder_table(rows));
    for (const std::string& sentence : bench::summary_of(rows)) fmt::print(to, "{}\n", sentence);
    std::fflush(to);
    warn(bench::warnings(rows));
    results.add(rows);
  }
  // A mean over sizes needs several sizes with the same element type.
  if (sizes.size() > 1 && points[sizes.size() - 1].element == points[sizes.size() - 2].element)
    fmt::print(to, "{}", report::mean_table(sizes));
  results.finish();
  const auto& rows = results.rows();
  const bool others = std::ranges::any_of(rows, [](const bench::Row& r) { return !r.serial; });
  return exit_of(rows, std::ranges::any_of(rows, [&](const bench::Row& r) {
                   return !r.seconds.empty() && !(r.serial && others);
                 }));
}

}  // namespace

int bench(const Command& command) {
  const Operation* operation = operation_first(command.words);
  BenchOptions options;
  OptionParser parser("bench", "tessera bench OPERATION SIZES… [FLAGS]", about_bench);
  declare(parser, options, operation);
  if (!parser.read(command.words)) return exit_code::passed;
  if (operation == nullptr) throw Error("which operation? usage: tessera bench OPERATION SIZES… [FLAGS]");
  return (options.call ? bench_calls : bench_operation)(*operation, options, command);
}

}  // namespace tessera::cli
