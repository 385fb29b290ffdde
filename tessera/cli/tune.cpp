// SPDX-License-Identifier: Apache-2.0
// `tessera tune`: searches for the fastest configuration for each size, and keeps it for later calls.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <filesystem>
#include "tessera/bench/ceilings.hpp"
#include "tessera/bench/compare.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/sample.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/cli/bench_options.hpp"
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/sizes.hpp"
#include "tessera/run/place.hpp"
#include "tessera/report/bench_tables.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/tune/tuner.hpp"

namespace tessera::cli {
namespace {

constexpr std::size_t max_in_turn = 8, quick_samples = 5;

constexpr const char* about_tune =
    "Searches the configurations of variants for the fastest on each size: compiled tunings, and free\n"
    "parameters in powers of two (or as --over says). Each trial is verified, and kept as soon as it is "
    "done:\n"
    "after an interrupt, the same command goes on. The best few are then measured in turn, with care, "
    "together\n"
    "with what is used without tuning; the winner is kept with its evidence, and calls of this operation on\n"
    "this device and with sizes like these use it from then on, unless they name a variant.";

struct TuneOptions : SearchOptions {
  std::string search = "exhaustive", budget, cache;
  bool retry = false;
};

using Json = nlohmann::ordered_json;

std::size_t count(const std::vector<tune::Trial>& trials, bool (*is)(const bench::Row&)) {
  return static_cast<std::size_t>(
      std::ranges::count_if(trials, [is](const tune::Trial& trial) { return is(trial.row); }));
}

bool is_wrong(const bench::Row& row) { return row.verified == bench::Verified::wrong; }
bool has_no_time(const bench::Row& row) { return row.seconds.empty() && !is_wrong(row); }

const bench::Row* fastest(const std::vector<tune::Trial>& trials) {
  const bench::Row* out = nullptr;
  for (const tune::Trial& trial : trials)
    if (trial.row.counts() && (out == nullptr || trial.row.median() < out->median())) out = &trial.row;
  return out;
}

std::string without_a_winner(const tune::Outcome& outcome) {
  const bench::Row* first = fastest(outcome.trials);
  if (first == nullptr) return "nothing was found: no configuration has a verified time";
  return report::choice_of(*first) + " is the fastest so far; the best have not been measured in turn";
}

// A single sample has no spread, so the ratio has no known error.
std::string times_faster(const bench::Row& of, const bench::Row& to) {
  const bench::Ratio ratio = bench::ratio_of(bench::summarize(of.seconds), bench::summarize(to.seconds));
  if (of.seconds.size() < 2 || to.seconds.size() < 2) return fmt::format("{:.2f} times faster", ratio.value);
  return fmt::format("{:.2f} ± {:.2f} times faster", ratio.value, ratio.error);
}

std::string sentence(const tune::Outcome& outcome) {
  const bench::Row *best = outcome.best(), *untuned = outcome.untuned();
  if (best == nullptr) return without_a_winner(outcome);
  if (untuned == nullptr)
    return report::choice_of(*best) + " is the fastest; what is used without tuning could not be measured";
  if (best != untuned)
    return report::choice_of(*best) + " ran " + times_faster(*best, *untuned) + " than " +
           report::choice_of(*untuned) + ", which is used without tuning";
  if (!outcome.rival)
    return report::choice_of(*best) +
           " is the fastest of what was tried; it is what is used without tuning, and goes on being used";
  const bench::Row& rival = outcome.finals[*outcome.rival];
  return report::choice_of(*best) +
         ", which is used without tuning, goes on being used: " + report::choice_of(rival) + " ran " +
         times_faster(rival, *best) + ", which does not show that it is faster (" + outcome.why +
         "). More samples (--reps) may tell";
}

std::string text_of(const tune::Outcome& outcome, const tune::Space& space, const std::string& search) {
  std::vector<bench::Row> without;
  for (const auto* trials : {&outcome.trials, &outcome.left})
    for (const tune::Trial& trial : *trials)
      if (!trial.row.counts()) without.push_back(trial.row);
  std::string out = fmt::format(
      "{}; {} search: {} tried{}, {} of them known from an earlier call; {} wrong, {} without a time\n",
      tune::describe(space), search, outcome.trials.size(), outcome.complete ? "" : " before it was stopped",
      outcome.kept(), count(outcome.trials, is_wrong), count(outcome.trials, has_no_time));
  out += report::reasons_of(without) + report::findings_of(without);
  if (!outcome.finals.empty())
    out += "the fastest few, measured again in turn with what is used without tuning:\n" +
           report::ladder_table(outcome.finals);
  out += sentence(outcome) + ".\n";
  return out;
}

Json json_of(const tune::Outcome& outcome, const tune::Space& space) {
  Json out{{"configurations", space.all}, {"kept", space.configs.size()},
           {"dropped", Json::object()},   {"tried", outcome.trials.size()},
           {"known", outcome.kept()},     {"complete", outcome.complete},
           {"winner", nullptr},           {"untuned", nullptr},
           {"settled", outcome.settled},  {"why", outcome.why.empty() ? Json(nullptr) : Json(outcome.why)},
           {"finals", Json::array()}};
  for (const auto& [condition, dropped] : space.dropped) out["dropped"][condition] = dropped;
  if (const bench::Row* best = outcome.best()) out["winner"] = bench::to_json(*best);
  if (const bench::Row* untuned = outcome.untuned()) out["untuned"] = bench::to_json(*untuned);
  for (const bench::Row& row : outcome.finals) out["finals"].push_back(bench::to_json(row));
  return out;
}

// Parses "200" trials, or "60s".
void read_budget(const std::string& word, tune::TunerOptions& options) {
  if (word.empty()) return;
  if (word.ends_with('s'))
    options.most_seconds =
        number_named("--budget", "seconds such as 60s", word.substr(0, word.size() - 1), 1e-3, 1e7);
  else
    options.max_trials = static_cast<std::size_t>(
        number_named("--budget", "a number of trials, or seconds such as 60s", word, 1, 1e9));
}

// Identifies this build, including uncommitted changes.
std::string build_key() {
  const bench::Build build = bench::this_build();
  std::string out = build.git + " " + build.compiler + " " + build.flags;
  out += " " + build.cuda_compiler + " " + build.cuda_architectures + " " + build.cuda_flags;
  if (!build.git.empty() && build.git.find("-dirty") == std::string::npos) return out;
  std::error_code none;
  const auto written = std::filesystem::last_write_time(bench::library_file(), none);
  return out + " " + std::to_string(written.time_since_epoch().count());
}

class Tune {
 public:
  Tune(const Operation& operation, const TuneOptions& options, const Command& command)
      : operation_(&operation),
        options_(&options),
        measuring_(measuring_of(options)),
        subjects_(subjects_of(operation, options)),
        points_(points_of(operation, options)),
        to_(table_stream(options.json)),
        journal_(options.cache.empty() ? tuning_file() : options.cache, context()) {
    session_ = session_of(operation, options, command);
    tuner_options_.search = options.search;
    tuner_options_.seed = measuring_.seed;
    tuner_options_.retry = options.retry;
    tuner_options_.interrupted = interrupted;
    tuner_options_.clock = [this] { return stopwatch_.seconds(); };
    read_budget(options.budget, tuner_options_);
    (void)tune::search_named(options.search, {}, 0);
  }

  int run() {
    note_interrupts();
    warn(bench::build_warnings());
    if (std::ranges::any_of(subjects_, [](const Subject& s) { return s.device.where == Where::simt; }))
      fmt::print(to_, "{}", report::executor_note);
    for (std::size_t i = 0; i < points_.size() && !interrupted(); ++i)
      for (std::size_t s = 0; s < subjects_.size() && !interrupted(); ++s) {
        tune(points_[i], subjects_[s]);
        if (options_->json != "-") write_json(options_->json, json());
      }
    if (options_->json == "-") write_json("-", json());
    if (!journal_.failure().empty()) warn({"what was found could not be kept: " + journal_.failure()});
    return exit_of(session_.rows, found_);
  }

 private:
  std::string context() const {
    return operation_->name + "|" + build_key() + "|" + (options_->cold ? "cold" : "hot") + "|seed " +
           options_->seed + "|samples " + options_->samples + "|" +
           (options_->no_verify ? "unverified" : "verified");
  }

  tune::Measure measure_with(const Point& point, const bench::Measuring& measuring) const {
    return [this, &point, &measuring](const std::vector<bench::Candidate>& candidates) {
      return bench::measure(*operation_, point.element, point.problem, candidates, measuring);
    };
  }

  void tune(const Point& point, const Subject& subject) {
    const Inputs inputs(*operation_, point.element, point.problem, measuring_.seed);
    const tune::Space space = tune::space_of(subject.variants, space_options(*options_, point.problem, true));
    tune::Task task{operation_, &point.problem, &inputs.arguments(), subject.device};
    task.known.push_back(choose_on(subject.device, *operation_, inputs.arguments(), {.cached = false}));
    if (auto found = tuned_plan(journal_.file(), subject.device, *operation_,
                                placed_arguments(inputs.arguments(), subject.device)))
      task.known.push_back(*found);
    const std::string title = fmt::format("{}, {} on {}", title_of(*operation_, point.problem),
                                          name_of(point.element), bench::label_of(subject.device));
    tune::Outcome outcome;
    {
      Progress progress;
      std::string done = "0";
      measuring_.progress = [&](const std::string& text) {
        progress.say(fmt::format("[{}] {}: {}", done, title, text));
      };
      bench::Measuring quick = measuring_;
      if (quick.effort.samples == 0) quick.effort.samples = quick_samples;
      tuner_options_.explore = measure_with(point, quick);
      tuner_options_.confirm = measure_with(point, measuring_);
      tuner_options_.in_turn = tune::batch_size(*operation_, inputs.arguments(), subject.device, max_in_turn);
      tuner_options_.progress = [&done](std::size_t trials, std::size_t of) {
        done = fmt::format("{}/{}", trials, of);
      };
      outcome = tune::tune(task, space, tuner_options_, journal_);
    }
    print_outcome(title, outcome, space);
  }

  void print_outcome(const std::string& title, const tune::Outcome& outcome, const tune::Space& space) {
    fmt::print(to_, "{}\n{}", title, text_of(outcome, space, options_->search));
    const bench::Row* best = outcome.best();
    if (interrupted()) fmt::print(to_, "interrupted: what was measured is kept; the same command goes on\n");
    else if (best != nullptr && best->verified != bench::Verified::ok)
      fmt::print(to_, "not kept for later calls, because it was not verified\n");
    else if (best != nullptr && !outcome.settled)
      fmt::print(to_,
                 "not kept for later calls: that takes {} samples of each; --reps {} or more gives them\n",
                 bench::Judging{}.fewest, bench::Judging{}.fewest);
    else if (best != nullptr && !journal_.file().empty() && journal_.failure().empty())
      fmt::print(to_,
                 "kept in {}: calls of {} with sizes like these use what was chosen from now on (--no-cache "
                 "leaves it aside)\n",
                 journal_.file(), operation_->name);
    fmt::print(to_, "\n");
    std::fflush(to_);
    warn(bench::warnings(outcome.finals));
    Json decision{{"title", title}, {"search", options_->search}};
    decision.update(json_of(outcome, space));
    decisions_.push_back(std::move(decision));
    for (const auto* trials : {&outcome.trials, &outcome.left})
      // Adds the device's ceilings also to trials that an earlier call kept without them.
      for (tune::Trial trial : *trials) {
        if (const auto known = bench::known_ceilings(trial.row.device)) trial.row.ceilings = known->rates;
        session_.rows.push_back(trial.row);
        rows_.push_back(bench::to_json(trial.row));
      }
    found_ = found_ || best != nullptr;
  }

  Json json() const {
    auto out = bench::to_json(session_);
    out["kind"] = "tune";
    out["cache"] = journal_.file();
    out["decisions"] = decisions_;
    out["rows"] = rows_;
    return out;
  }

  const Operation* operation_;
  const TuneOptions* options_;
  bench::Measuring measuring_;
  std::vector<Subject> subjects_;
  std::vector<Point> points_;
  std::FILE* to_;
  tune::Journal journal_;
  bench::Stopwatch stopwatch_;
  tune::TunerOptions tuner_options_;
  bench::Session session_;
  Json rows_ = Json::array(), decisions_ = Json::array();
  bool found_ = false;
};

}  // namespace

int tune(const Command& command) {
  const Operation* operation = operation_first(command.words);
  TuneOptions options;
  constexpr const char* usage = "tessera tune OPERATION SIZES… [--variant NAME,…] [FLAGS]";
  OptionParser parser("tune", usage, about_tune);
  declare_search(parser, options, operation);
  parser.value("--search", options.search, "exhaustive, random or local [exhaustive]", "HOW");
  parser.value("--budget", options.budget, "stop after so many trials, or seconds [when the search ends]",
               "N|Ns");
  parser.flag("--retry", options.retry, "measure again what failed or was wrong in an earlier call");
  parser.value("--cache", options.cache, "where findings are kept [tuning.jsonl in the cache folder]",
               "FILE");
  if (!parser.read(command.words)) return exit_code::passed;
  if (operation == nullptr) throw Error(std::string("which operation? usage: ") + usage);
  return Tune(*operation, options, command).run();
}

}  // namespace tessera::cli
