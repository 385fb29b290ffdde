// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/tune_text.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include "tessera/bench/compare.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/report/bench_tables.hpp"

namespace tessera::cli {

namespace {

using Json = nlohmann::ordered_json;

std::size_t count(const std::vector<tune::Trial>& trials, bool (*is)(const bench::Row&)) {
  return static_cast<std::size_t>(
      std::ranges::count_if(trials, [is](const tune::Trial& trial) { return is(trial.row); }));
}

bool is_wrong(const bench::Row& row) { return row.verified == bench::Verified::wrong; }
bool has_no_time(const bench::Row& row) { return row.seconds.empty() && !is_wrong(row); }

std::string name_of(const bench::Row& row) {
  const std::string tuning = to_string(row.tuning);
  return report::name_of(row) + (tuning.empty() ? "" : " " + tuning);
}

const bench::Row* fastest(const std::vector<tune::Trial>& trials) {
  const bench::Row* out = nullptr;
  for (const tune::Trial& trial : trials)
    if (trial.row.counts() && (out == nullptr || trial.row.median() < out->median())) out = &trial.row;
  return out;
}

// An interrupt may have come before anything was measured, whatever earlier calls have kept.
std::string without_a_winner(const tune::Outcome& outcome) {
  const bench::Row* first = fastest(outcome.trials);
  if (outcome.interrupted && first != nullptr)
    return name_of(*first) + " is the fastest so far; the best have not been measured in turn yet";
  if (outcome.interrupted && outcome.trials.empty()) return "no configuration has been looked at yet";
  if (first != nullptr) return "nothing was found: in turn, none of the best has a verified time";
  return std::string("nothing was found: no configuration has a verified time") +
         (outcome.interrupted ? " yet" : "");
}

// One sample has no spread, and so its ratio no error that could be told.
std::string times_faster(const bench::Row& of, const bench::Row& to) {
  const bench::Ratio ratio = bench::ratio_of(bench::summarize(of.seconds), bench::summarize(to.seconds));
  if (of.seconds.size() < 2 || to.seconds.size() < 2) return fmt::format("{:.2f} times faster", ratio.value);
  return fmt::format("{:.2f} ± {:.2f} times faster", ratio.value, ratio.error);
}

// What a user may do where the samples of two do not tell which is faster.
std::string remedy(const bench::Row& best, const bench::Row& rival) {
  const std::size_t fewest = bench::Judging{}.fewest,
                    had = std::min(best.seconds.size(), rival.seconds.size());
  if (had < fewest) return fmt::format(". The same command with --reps {} or more can tell", fewest);
  return fmt::format(
      ". The same command with more samples (--reps {}), on a machine that does nothing else, may tell",
      4 * had);
}

std::string sentence(const tune::Outcome& outcome) {
  const bench::Row *best = outcome.best(), *untuned = outcome.untuned();
  if (best == nullptr) return without_a_winner(outcome);
  if (untuned == nullptr)
    return name_of(*best) + " is the fastest; what is used without tuning could not be measured";
  if (best != untuned)
    return name_of(*best) + " ran " + times_faster(*best, *untuned) + " than " + name_of(*untuned) +
           ", which is used without tuning";
  if (!outcome.rival)
    return name_of(*best) +
           " is the fastest of what was tried; it is what is used without tuning, and goes on being used";
  const bench::Row& rival = outcome.finals[*outcome.rival];
  return name_of(*best) + ", which is used without tuning, goes on being used: " + name_of(rival) + " ran " +
         times_faster(rival, *best) + ", which does not show that it is faster (" + outcome.why + ")" +
         remedy(*best, rival);
}

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of(const tune::Fit& fit) {
  return {{"spearman", number(fit.spearman)}, {"kendall", number(fit.kendall)}, {"n", fit.count}};
}

}  // namespace

std::string text_of(const tune::Outcome& outcome, const tune::Space& space, const std::string& search,
                    const tune::Counter::Totals& counted) {
  std::vector<bench::Row> without;
  for (const auto* trials : {&outcome.trials, &outcome.left})
    for (const tune::Trial& trial : *trials)
      if (!trial.row.counts()) without.push_back(trial.row);
  std::string out = fmt::format(
      "{}; {} search: {} tried{}, {} of them known from an earlier call; {} wrong, {} without a time\n",
      tune::describe(space), search, outcome.trials.size(), outcome.complete ? "" : " before it was stopped",
      outcome.kept(), count(outcome.trials, is_wrong), count(outcome.trials, has_no_time));
  if (const std::string words = tune::describe(counted); !words.empty()) out += words + "\n";
  out += report::reasons_of(without) + report::findings_of(without);
  if (!outcome.finals.empty())
    out += "the fastest few, measured again in turn with what is used without tuning:\n" +
           report::ladder_table(outcome.finals);
  out += sentence(outcome) + ".\n";
  if (outcome.fit.count > 0) {
    out += "predicted order against the measured one: " + tune::describe(outcome.fit);
    if (outcome.fit_uncounted.count > 0)
      out += "; by occupancy alone: " + tune::describe(outcome.fit_uncounted);
    if (outcome.trials.at(0).row.device.where == Where::simt)
      out += " (a GPU's order is predicted, and the executor's is measured)";
    out += "\n";
  }
  return out;
}

Json json_of(const tune::Trial& trial) {
  Json out = bench::to_json(trial.row);
  out["occupancy"] = number(trial.prediction.occupancy);
  out["predicted_cost"] = number(trial.prediction.cost);
  return out;
}

Json json_of(const tune::Outcome& outcome, const tune::Space& space, const tune::Counter::Totals& counted) {
  Json out{{"configurations", space.all},
           {"kept", space.configs.size()},
           {"dropped", Json::object()},
           {"tried", outcome.trials.size()},
           {"known", outcome.kept()},
           {"complete", outcome.complete},
           {"winner", nullptr},
           {"untuned", nullptr},
           {"settled", outcome.settled},
           {"why", outcome.why.empty() ? Json(nullptr) : Json(outcome.why)},
           {"finals", Json::array()},
           {"prediction", json_of(outcome.fit)},
           {"prediction_by_occupancy", nullptr},
           {"counted", counted.counted},
           {"counted_accesses", counted.accesses},
           {"counting_seconds", counted.seconds}};
  if (outcome.fit_uncounted.count > 0) out["prediction_by_occupancy"] = json_of(outcome.fit_uncounted);
  for (const auto& [condition, dropped] : space.dropped) out["dropped"][condition] = dropped;
  if (const bench::Row* best = outcome.best()) out["winner"] = bench::to_json(*best);
  if (const bench::Row* untuned = outcome.untuned()) out["untuned"] = bench::to_json(*untuned);
  for (const bench::Row& row : outcome.finals) out["finals"].push_back(bench::to_json(row));
  return out;
}

}  // namespace tessera::cli
