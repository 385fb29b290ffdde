// SPDX-License-Identifier: Apache-2.0
// Searches a space for its fastest configuration on one problem and one device: what cannot run is told apart
// first, what is predicted to be slow may be left out, a search proposes, trials are measured a few at a
// time, and the best of them meet once more, in turn with what is used without tuning.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include "tessera/tune/journal.hpp"
#include "tessera/tune/measured.hpp"
#include "tessera/tune/predict.hpp"
#include "tessera/tune/rank.hpp"
#include "tessera/tune/search.hpp"

namespace tessera::tune {

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

}  // namespace tessera::tune
