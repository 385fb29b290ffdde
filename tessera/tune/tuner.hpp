// SPDX-License-Identifier: Apache-2.0
// Searches a space for the fastest configuration on one problem and one device. Configurations that cannot
// run are set aside, those predicted to be slow may be left out, a search proposes, and trials are measured a
// few at a time. The best of them are then measured again, interleaved with what is used without tuning.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include "tessera/bench/measure.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/tune/journal.hpp"
#include "tessera/tune/predict.hpp"
#include "tessera/tune/search.hpp"
#include "tessera/tune/space.hpp"

namespace tessera::tune {

// One row for each candidate, in their order. What bench::measure is; tests replace it.
using Measure = std::function<std::vector<bench::Row>(const std::vector<bench::Candidate>&)>;

bench::Candidate candidate_of(const Config& config, const Device& device);

// Throws Error of kind memory where a failure has cost the device: nothing more can be measured. Else
// calls `measure` with everything; where that throws, with each alone; one that throws alone becomes a row
// whose reason is what was thrown.
std::vector<bench::Row> measure_each(const std::vector<bench::Candidate>& candidates, const Measure& measure,
                                     const std::function<bool()>& interrupted);

// How many candidates to measure in turn: as many as the device has room for, at most `most`.
std::size_t batch_size(const Operation& operation, const Arguments& arguments, const Device& device,
                       std::size_t most);

bool interrupted_row(const bench::Row& row);  // it was not its turn yet when the session ended

// Searches a space for its fastest configuration on one problem and one device: what cannot run is told apart
// first, what is predicted to be slow may be left out, a search proposes, trials are measured a few at a
// time, and the best of them meet once more, in turn with what is used without tuning.

struct Task {
  const Operation* operation = nullptr;
  const Case* problem = nullptr;
  const Arguments* arguments = nullptr;  // of the problem, in host memory
  Device device;
  std::vector<Plan> known = {};  // what is used without this tuning; the first: without any
};

struct Means {
  Measure explore, decide;  // a quick look; with care
  std::string search = "exhaustive";
  std::uint64_t seed = 1;
  std::optional<std::size_t> most_trials = {};  // measured now; what is known already is free
  std::optional<double> most_seconds = {};
  std::size_t in_turn = 8, finalists = 4;
  double promising = 1;  // the part of the configurations, best predicted first, that is looked at
  bool retry = false;    // what failed or was wrong before
  Counted counted = {};  // what configurations ask of a GPU
  std::function<double()> clock = {};  // seconds
  std::function<bool()> interrupted = {};
  std::function<void(std::size_t trials, std::size_t of)> progress = {};
};

struct Trial {
  Config config;
  bench::Row row;
  Prediction prediction;
  bool kept = false;  // from an earlier call
};

struct Outcome {
  std::vector<Trial> trials;  // in the order of measuring
  std::vector<Trial> left;    // those that cannot run, or were left out, with their reasons
  std::vector<bench::Row> finals;
  std::size_t winner = 0;  // of the finals; their number: there is none
  // Of the finals, where what is used untuned stays although this one's median is lower, and why it stays.
  std::optional<std::size_t> rival;
  std::string why;
  bool settled = false;   // the finals' samples are enough for later calls to rely on the winner
  bool complete = false;  // the search came to its own end
  bool interrupted = false;
  Fit fit;            // of the predicted costs to the measured times
  Fit fit_uncounted;  // of those that occupancy alone gives, where more was counted

  const bench::Row* best() const { return winner < finals.size() ? &finals[winner] : nullptr; }
  const bench::Row* untuned() const;  // among the finals; null: it could not be measured
  std::size_t kept() const;
};

Outcome tune(const Task& task, const Space& space, const Means& means, Journal& journal);

// What a sweep or a search found, in words.

// "gpu/per_element on cuda:0: x=32,y=8 is the fastest, 1.32 ± 0.01 times faster than its default x=16,y=16.":
// for each variant and device with more than one configuration. All rows are of one problem.
std::vector<std::string> summary_of(const std::vector<bench::Row>& rows);

}  // namespace tessera::tune
