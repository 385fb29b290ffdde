// SPDX-License-Identifier: Apache-2.0
#include "tessera/tune/tuner.hpp"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>
#include "tessera/bench/compare.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/core/text/suggest.hpp"

namespace tessera::tune {

// Searches.

namespace {

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

// Not std::shuffle, whose order depends on the library: a seed must mean the same everywhere.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> out = in_order(count);
  std::mt19937_64 numbers(seed);
  for (std::size_t left = count; left > 1; --left) std::swap(out[left - 1], out[numbers() % left]);
  return out;
}

// Proposes one place after the other, whatever was measured.
class Listed : public Search {
 public:
  explicit Listed(std::vector<std::size_t> places) : places_(std::move(places)) {}
  std::vector<std::size_t> next(std::size_t most) override {
    std::vector<std::size_t> out;
    for (; at_ < places_.size() && out.size() < most; ++at_) out.push_back(places_[at_]);
    return out;
  }
  void report_time(std::size_t, std::optional<double>) override {}

 private:
  std::vector<std::size_t> places_;
  std::size_t at_ = 0;
};

constexpr double never = std::numeric_limits<double>::infinity();  // time of a failed place

// Climbs from neighbour to neighbour, and restarts when no neighbour is better.
class Local : public Search {
 public:
  Local(const std::vector<Config>& configs, std::uint64_t seed)
      : configs_(&configs),
        starts_(shuffled(configs.size(), seed)),
        seconds_(configs.size()),
        proposed_(configs.size()) {
    // The first start is the first place, the default.
    if (const auto first = std::ranges::find(starts_, std::size_t{0}); first != starts_.end())
      std::rotate(starts_.begin(), first, first + 1);
  }

  std::vector<std::size_t> next(std::size_t most) override {
    for (;;) {
      if (!at_ && !start()) return {};
      std::vector<std::size_t> out = fresh_around(*at_, most);
      if (!proposed_[*at_]) out = {*at_};
      if (!out.empty()) {
        for (const std::size_t place : out) proposed_[place] = true;
        return out;
      }
      climb();
    }
  }

  void report_time(std::size_t place, std::optional<double> seconds) override {
    seconds_[place] = seconds.value_or(never);
  }

 private:
  // Moves to a place where no climb has been.
  bool start() {
    while (next_start_ < starts_.size() && proposed_[starts_[next_start_]]) ++next_start_;
    if (next_start_ == starts_.size()) return false;
    at_ = starts_[next_start_];
    return true;
  }

  // Moves to the best neighbour, or nowhere if none is better.
  void climb() {
    std::optional<std::size_t> best;
    for (const std::size_t place : around(*at_))
      if (seconds_[place] < seconds_[best.value_or(*at_)]) best = place;
    at_ = best;
  }

  std::vector<std::size_t> fresh_around(std::size_t place, std::size_t most) const {
    auto out = around(place);
    std::erase_if(out, [this](std::size_t other) { return proposed_[other]; });
    if (out.size() > most) out.resize(most);
    return out;
  }

  // For each parameter, the nearest places above and below with all other parameters equal.
  std::vector<std::size_t> around(std::size_t place) const {
    std::vector<std::size_t> out;
    for (const auto& [name, value] : (*configs_)[place].tuning)
      for (const int direction : {-1, 1})
        if (const auto found = nearest_along(place, name, value, direction)) out.push_back(*found);
    return out;
  }

  std::optional<std::size_t> nearest_along(std::size_t place, const std::string& name, int value,
                                           int direction) const {
    std::optional<std::size_t> best;
    int step = std::numeric_limits<int>::max();
    for (std::size_t other = 0; other < configs_->size(); ++other) {
      const auto neighbour = (*configs_)[other].tuning.find(name);
      if (!neighbour || (direction > 0 ? *neighbour <= value : *neighbour >= value)) continue;
      const int apart = direction > 0 ? *neighbour - value : value - *neighbour;
      if (apart >= step || !differ_only_in(place, other, name)) continue;
      best = other;
      step = apart;
    }
    return best;
  }

  bool differ_only_in(std::size_t a, std::size_t b, const std::string& name) const {
    const Config &one = (*configs_)[a], &other = (*configs_)[b];
    if (one.variant != other.variant) return false;
    Tuning moved = one.tuning;
    moved.set(name, other.tuning[name]);
    return moved == other.tuning;
  }

  const std::vector<Config>* configs_;
  std::vector<std::size_t> starts_;
  std::size_t next_start_ = 0;
  std::vector<double> seconds_;
  std::vector<bool> proposed_;
  std::optional<std::size_t> at_;
};

}  // namespace

std::unique_ptr<Search> search_named(const std::string& name, const std::vector<Config>& configs,
                                     std::uint64_t seed) {
  if (name == "exhaustive") return std::make_unique<Listed>(in_order(configs.size()));
  if (name == "random") return std::make_unique<Listed>(shuffled(configs.size(), seed));
  if (name == "local") return std::make_unique<Local>(configs, seed);
  throw Error("no search is called '" + name + "'" + suggestion(name, {"exhaustive", "random", "local"}));
}

// The tuner.

namespace {

// An illegal access makes a GPU unusable for this process: all later work would fail, too.
void require_answer(const Device& device, const std::string& why) {
  Backend* backend = find_backend(device.where);
  if (backend == nullptr) return;
  Run run;
  run.device = &device;
  try {
    backend->synchronize(run);
  } catch (const std::exception&) {
    throw Error(Error::Kind::memory, device.label() + " no longer responds: " + why);
  }
}

}  // namespace

bench::Candidate candidate_of(const Config& config, const Device& device) {
  return {.plan = {config.variant, config.choice, config.tuning, device},
          .serial = false,
          .absent = config.absent};
}

std::vector<bench::Row> measure_each(const std::vector<bench::Candidate>& candidates, const Measure& measure,
                                     const std::function<bool()>& interrupted) {
  std::string why;
  try {
    return measure(candidates);
  } catch (const std::exception& error) {
    why = error.what();
  }
  require_answer(candidates[0].plan.device, why);
  if (candidates.size() == 1) {
    // Known to fail, it is not run again: measuring only makes its row.
    bench::Candidate failed = candidates[0];
    failed.absent = "failed: " + why;
    return measure({failed});
  }
  std::vector<bench::Row> out;
  for (const bench::Candidate& candidate : candidates) {
    if (interrupted && interrupted()) break;
    for (bench::Row& row : measure_each({candidate}, measure, interrupted)) out.push_back(std::move(row));
  }
  return out;
}

std::size_t batch_size(const Operation& operation, const Arguments& arguments, const Device& device,
                       std::size_t most) {
  Backend& backend = backend_of(device);
  if (backend.shares_host_memory()) return most;
  // Half of the free memory: the runs need workspaces, and flushing the caches takes its share.
  const double room = static_cast<double>(backend.free_memory(device)) / 2;
  const double each = std::max(operation.bytes(arguments), 1.0);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::min(room / each, 1e6)), 1, most);
}

namespace {

bool is_default(const Config& config) { return config.tuning == config.variant->choices.at(0).defaults(); }

class Tuner {
 public:
  Tuner(const Task& task, const Space& space, const TunerOptions& options, Journal& journal)
      : task_(&task), options_(&options), journal_(&journal) {
    for (const Config& config : space.configs) sort_in(config);
    std::ranges::stable_partition(open_, [](const Trial& trial) { return is_default(trial.config); });
    for (const Trial& trial : open_) configs_.push_back(trial.config);
    search_ = search_named(options.search, configs_, options.seed);
    start_ = now();
  }

  Outcome run() {
    while (!over()) {
      const auto places = search_->next(room());
      if (places.empty()) break;
      take(places);
    }
    out_.complete = !interrupted() && !spent();
    if (!interrupted()) measure_finalists();
    out_.interrupted = interrupted();
    return std::move(out_);
  }

 private:
  bool interrupted() const { return options_->interrupted && options_->interrupted(); }
  double now() const { return options_->clock ? options_->clock() : 0; }
  bool spent() const {
    return (options_->max_trials && measured_ >= *options_->max_trials) ||
           (options_->most_seconds && now() - start_ >= *options_->most_seconds);
  }
  bool over() const { return interrupted() || spent(); }
  std::size_t room() const {
    return options_->max_trials ? std::min(options_->in_turn, *options_->max_trials - measured_)
                                : options_->in_turn;
  }

  bench::Row blank(const Config& config) const {
    return bench::blank_row(candidate_of(config, task_->device), *task_->operation, *task_->problem,
                            *task_->arguments);
  }

  // Adds the configuration to the searchable ones, or to those that cannot run.
  void sort_in(const Config& config) {
    Trial trial{config, blank(config)};
    if (!trial.row.reason)
      trial.row.reason =
          refuses({config.variant, config.choice, config.tuning, task_->device}, *task_->arguments);
    (trial.row.reason ? out_.left : open_).push_back(std::move(trial));
  }

  // Known results are recalled; a configuration that ended the program among others is measured alone, at the
  // end.
  void take(const std::vector<std::size_t>& places) {
    std::vector<std::size_t> fresh, suspects;
    for (const std::size_t place : places) {
      const bench::Row empty = blank(configs_[place]);
      if (auto row = journal_->find(empty, options_->retry)) note(place, std::move(*row), true);
      else if (journal_->is_suspect(empty)) suspects.push_back(place);
      else fresh.push_back(place);
    }
    if (!fresh.empty()) measure(fresh);
    for (const std::size_t place : suspects)
      if (!interrupted()) measure({place});
  }

  void measure(const std::vector<std::size_t>& places) {
    std::vector<bench::Row> blanks;
    std::vector<bench::Candidate> candidates;
    for (const std::size_t place : places) {
      blanks.push_back(blank(configs_[place]));
      candidates.push_back(candidate_of(configs_[place], task_->device));
    }
    journal_->begin(blanks);
    auto rows = measure_each(candidates, options_->explore, options_->interrupted);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const bool done = i < rows.size() && ended(rows[i]);
      if (!done) journal_->drop(blanks[i]);
      else journal_->add(rows[i]);
      if (!done && interrupted()) continue;
      ++measured_;
      note(places[i], i < rows.size() ? std::move(rows[i]) : std::move(blanks[i]), false);
    }
    if (options_->progress) options_->progress(out_.trials.size(), open_.size());
  }

  // True if the row remains valid for later calls: an interrupt may have cut it short.
  bool ended(const bench::Row& row) const {
    if (interrupted()) return !row.seconds.empty() && row.verified != bench::Verified::unchecked;
    return !row.seconds.empty() || (row.reason && row.reason->starts_with("failed:")) ||
           row.verified == bench::Verified::wrong;
  }

  void note(std::size_t place, bench::Row row, bool kept) {
    search_->report_time(place, row.counts() ? std::optional(row.median()) : std::nullopt);
    out_.trials.push_back({configs_[place], std::move(row), kept});
  }

  // Measures the best trials and the untuned plans in turn.
  void measure_finalists() {
    std::vector<const Trial*> best;
    for (const Trial& trial : out_.trials)
      if (trial.row.counts()) best.push_back(&trial);
    std::ranges::stable_sort(best, {}, [](const Trial* trial) { return trial->row.median(); });
    if (best.empty()) return;
    if (best.size() > options_->finalists) best.resize(options_->finalists);
    std::vector<bench::Candidate> finalists;
    for (const Plan& plan : task_->known) add(finalists, plan);
    for (const Trial* trial : best)
      add(finalists, {trial->config.variant, trial->config.choice, trial->config.tuning, task_->device});
    out_.finals = measure_each(finalists, options_->confirm, options_->interrupted);
    out_.winner = out_.finals.size();
    if (interrupted()) return;
    choose();
    // Only a verified winner with enough samples may decide for later calls.
    if (const bench::Row* row = out_.best(); out_.settled && row->verified == bench::Verified::ok)
      journal_->record_winner(tuned_for(*task_->operation, *task_->arguments, task_->device), *row,
                              out_.untuned());
  }

  // Picks the fastest final that is faster than the untuned plan by the rules of `compare`; if there is none,
  // the untuned plan stays. If that could not be measured, picks the fastest.
  void choose() {
    const auto& finals = out_.finals;
    const bench::Row* untuned = out_.untuned();
    out_.winner = untuned != nullptr ? 0 : finals.size();
    const auto faster = [&](std::size_t i, std::size_t than) {
      return finals[i].median() < finals[than].median();
    };
    for (std::size_t i = 0; i < finals.size(); ++i) {
      if (!finals[i].counts()) continue;
      const bool beats = untuned == nullptr || judged(i).change == bench::Change::faster;
      if (beats && (out_.best() == nullptr || faster(i, out_.winner))) out_.winner = i;
      if (!beats && faster(i, 0) && (!out_.rival || faster(i, *out_.rival))) out_.rival = i;
    }
    out_.settled = out_.best() != nullptr && enough(*out_.best());
    if (untuned == nullptr || out_.best() != untuned) return out_.rival.reset();
    if (!out_.rival) return;
    out_.settled = out_.settled && enough(finals[*out_.rival]);
    out_.why = judged(*out_.rival).why;
    if (out_.why.empty()) out_.why = "by too little to matter";
  }

  // Compares a final with the first one, the untuned plan.
  bench::Verdict judged(std::size_t place) const {
    return bench::judge(bench::samples_of(out_.finals[0]), bench::samples_of(out_.finals[place]),
                        {.clearly = std::numeric_limits<double>::infinity()});
  }
  static bool enough(const bench::Row& row) { return row.seconds.size() >= bench::Judging{}.fewest; }

  static void add(std::vector<bench::Candidate>& finalists, const Plan& plan) {
    const bool is_included = std::ranges::any_of(finalists, [&plan](const bench::Candidate& c) {
      return c.plan.variant == plan.variant && c.plan.tuning == plan.tuning;
    });
    if (!is_included) finalists.push_back({.plan = plan});
  }

  const Task* task_;
  const TunerOptions* options_;
  Journal* journal_;
  std::vector<Trial> open_;  // by place; their rows are empty
  std::vector<Config> configs_;
  std::unique_ptr<Search> search_;
  double start_ = 0;
  std::size_t measured_ = 0;
  Outcome out_;
};

}  // namespace

const bench::Row* Outcome::untuned() const {
  // It comes first among the finals.
  return !finals.empty() && finals[0].counts() ? &finals[0] : nullptr;
}

std::size_t Outcome::kept() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(trials, [](const Trial& trial) { return trial.kept; }));
}

Outcome tune(const Task& task, const Space& space, const TunerOptions& options, Journal& journal) {
  return Tuner(task, space, options, journal).run();
}

namespace {

using bench::Row;
using Rows = std::vector<const Row*>;

bool same_rung(const Row& a, const Row& b) {
  return a.variant == b.variant && bench::label_of(a.device) == bench::label_of(b.device);
}

std::string sentence(const Rows& rows) {
  const Row& first = *rows[0];
  const std::string who =
      fmt::format("{}/{} on {}", first.variant->ladder, first.variant->name, bench::label_of(first.device));
  const Row *best = nullptr, *plain = nullptr;
  const Tuning defaults = first.variant->choices.at(0).defaults();
  for (const Row* row : rows) {
    if (!row->counts()) continue;
    if (best == nullptr || row->median() < best->median()) best = row;
    if (row->tuning == defaults) plain = row;
  }
  if (best == nullptr) return who + ": no configuration could be measured.";
  if (best == plain) return fmt::format("{}: its default {} is the fastest.", who, to_string(best->tuning));
  std::string out = fmt::format("{}: {} ", who, to_string(best->tuning));
  if (plain == nullptr) return out + "is the fastest.";
  const std::size_t fewest_samples = std::min(best->seconds.size(), plain->seconds.size());
  const bench::Ratio ratio =
      bench::ratio_of(bench::summarize(best->seconds), bench::summarize(plain->seconds));
  const std::string than = " times faster than its default " + to_string(defaults);
  if (fewest_samples < 2)  // no spread is known
    return fmt::format("{}ran {:.2f}{}; one sample does not settle it.", out, ratio.value, than);
  const bool settled = ratio.value - ratio.error > 1;
  return fmt::format("{}{} {:.2f} ± {:.2f}{}{}.", out, settled ? "is the fastest," : "ran", ratio.value,
                     ratio.error, than, settled ? "" : "; that does not settle it");
}

}  // namespace

std::vector<std::string> summary_of(const std::vector<Row>& rows) {
  std::vector<Rows> rungs;
  for (const Row& row : rows) {
    if (row.serial) continue;
    const auto known =
        std::ranges::find_if(rungs, [&row](const Rows& rung) { return same_rung(*rung[0], row); });
    if (known != rungs.end()) known->push_back(&row);
    else rungs.push_back({&row});
  }
  std::vector<std::string> out;
  for (const Rows& rung : rungs)
    if (rung.size() > 1) out.push_back(sentence(rung));
  return out;
}

}  // namespace tessera::tune
