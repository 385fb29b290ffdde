// SPDX-License-Identifier: Apache-2.0
// `tessera bench`: candidates measured in turn on each size; tables, and one JSON file.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <optional>
#include "tessera/bench/ceilings.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/positionals.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/report/bench_tables.hpp"
#include "tessera/report/exports.hpp"

namespace tessera::cli {
namespace {

// Everything that one command measures.
class Bench {
 public:
  Bench(const Operation& operation, const BenchOptions& options, const Command& command)
      : operation_(&operation),
        options_(&options),
        measuring_(measuring_of(options)),
        points_(points_of(operation, options)),
        candidates_(candidates(operation, selection_of(options))),
        to_(table_stream(options.json)) {
    session_ = session_of(operation, options, command.argv);
  }

  int run() {
    note_interrupts();
    earlier_ = earlier_of(*options_, session_, "bench");
    if (earlier_) measuring_.known = [this](const bench::Row& blank) { return earlier_->find(blank); };
    warn(bench::build_warnings());
    for (std::size_t i = 0; i < points_.size() && !interrupted(); ++i) measure(i);
    if (options_->pivot.empty()) print_means();
    if (options_->json == "-") write_json("-", json());
    if (!options_->csv.empty()) write_text(options_->csv, report::csv(session_));
    if (!options_->junit.empty())
      write_text(options_->junit, report::junit("tessera bench", report::test_cases(session_)));
    return exit();
  }

 private:
  nlohmann::ordered_json json() const {
    auto out = bench::to_json(session_);
    return earlier_ ? earlier_->merged(std::move(out)) : out;
  }

  void measure(std::size_t i) {
    const Point& point = points_[i];
    const std::string title =
        fmt::format("{}, {}", title_of(*operation_, point.problem), name_of(point.element));
    {
      Progress progress;
      measuring_.progress = [&](const std::string& text) {
        progress.say(fmt::format("[{}/{}] {}: {}", i + 1, points_.size(), title, text));
      };
      sizes_.push_back(bench::measure(*operation_, point.element, point.problem, candidates_, measuring_));
    }
    auto& rows = sizes_.back();
    bench::fill_ratios(rows, options_->versus);
    fmt::print(to_, "{}; inputs {}, seed {}\n{}\n", title, session_.caches, session_.seed,
               options_->pivot.empty() ? report::ladder_table(rows) : pivot(rows));
    if (options_->pivot.empty())
      for (const std::string& sentence : bench::summary_of(rows)) fmt::print(to_, "{}\n", sentence);
    std::fflush(to_);
    warn(bench::warnings(rows));
    session_.rows.insert(session_.rows.end(), rows.begin(), rows.end());
    if (options_->json != "-") write_json(options_->json, json());
  }

  std::string pivot(const std::vector<bench::Row>& rows) const {
    std::vector<bench::Row> own;
    std::ranges::copy_if(rows, std::back_inserter(own), [](const bench::Row& r) { return !r.serial; });
    return report::two_way_table(own, report::differing(own, options_->pivot), options_->pivot);
  }

  void print_means() const {
    // A mean over sizes is one over one element's sizes.
    if (sizes_.size() < 2 || points_[sizes_.size() - 1].element != points_[sizes_.size() - 2].element) return;
    fmt::print(to_, "{}", report::mean_table(sizes_));
  }

  int exit() const {
    const auto& rows = session_.rows;
    if (std::ranges::any_of(rows, [](const bench::Row& r) { return !r.harm.empty(); }))
      return exit_code::memory;
    if (std::ranges::any_of(rows, [](const bench::Row& r) { return r.verified == bench::Verified::wrong; }))
      return exit_code::wrong;
    if (interrupted()) return exit_code::interrupted;
    if (std::ranges::any_of(rows, [](const bench::Row& r) { return r.seconds.empty() && r.throttled > 0; }))
      return exit_code::no_device;
    const bool only_serial = std::ranges::any_of(rows, [](const bench::Row& r) { return !r.serial; });
    const bool measured = std::ranges::any_of(
        rows, [&](const bench::Row& r) { return !r.seconds.empty() && !(r.serial && only_serial); });
    return measured ? exit_code::passed : exit_code::no_device;
  }

  const Operation* operation_;
  const BenchOptions* options_;
  bench::Measuring measuring_;
  std::vector<Point> points_;
  std::vector<bench::Candidate> candidates_;
  std::FILE* to_;
  bench::Session session_;
  std::optional<bench::Earlier> earlier_;
  std::vector<std::vector<bench::Row>> sizes_;
};

}  // namespace

int bench(const Command& command) {
  // The operation's own flags are known once it is: it is the first word.
  const bool named = !command.words.empty() && !command.words[0].starts_with('-');
  const Operation* operation = named ? &operation_named(command.words[0]) : nullptr;
  BenchOptions options;
  OptionParser parser("bench", "tessera bench OPERATION SIZES… [FLAGS]", about_bench);
  declare(parser, options, operation);
  if (!parser.read(command.words)) return fmt::print("{}\n", parser.help()), exit_code::passed;
  if (operation == nullptr) throw Error("which operation? usage: tessera bench OPERATION SIZES… [FLAGS]");
  return Bench(*operation, options, command).run();
}

}  // namespace tessera::cli
