// SPDX-License-Identifier: Apache-2.0
// Searches a space for the fastest configuration on one problem and one device. Configurations that cannot
// run are set aside, those predicted to be slow may be left out, a search proposes, and trials are measured a
// few at a time. The best of them are then measured again, interleaved with what is used without tuning.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
#include "tessera/bench/measure.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/run/tuned.hpp"
#include "tessera/tune/space.hpp"

namespace tessera::tune {

// Search strategies over a space of configurations. A search is told what was measured and proposes what to
// measure next. It neither measures nor waits.

class Search {
 public:
  virtual ~Search() = default;
  // Places in the space that were not proposed before, at most `most`; none: the walk is over.
  virtual std::vector<std::size_t> next(std::size_t most) = 0;
  // Of a place that was proposed; nothing: it failed, or its result was wrong.
  virtual void tell(std::size_t place, std::optional<double> seconds) = 0;
};

// In the order of the space, defaults first.
std::unique_ptr<Search> exhaustive_search(std::size_t count);
// In an order that the seed decides: any budget is a fair sample of the space.
std::unique_ptr<Search> random_search(std::size_t count, std::uint64_t seed);
// From the first place to its best neighbour, and on, until none is better; then from a place that the seed
// decides. A neighbour differs in one parameter, by as little as the space allows. `configs` must stay.
std::unique_ptr<Search> local_search(const std::vector<Config>& configs, std::uint64_t seed);

// "exhaustive", "random" or "local"; throws Error for anything else.
std::unique_ptr<Search> search_named(const std::string& name, const std::vector<Config>& configs,
                                     std::uint64_t seed);

// Keeps the results of tuning in the file that run/tuned.hpp reads. Each trial is written as soon as it is
// done, so an interrupted or crashed search continues where it stopped.

class Journal {
 public:
  // `file`: "" keeps nothing. `context`: what trials must agree in to be the same measurement, besides the
  // problem, the choice and the device's name.
  Journal(std::string file, std::string context);

  // What was measured before, failed and wrong ones too. `retry`: these not.
  std::optional<bench::Row> find(const bench::Row& blank, bool retry = false) const;
  // It was begun among others, and the program ended: it is to be measured alone. Alone: it is why.
  bool is_suspect(const bench::Row& blank) const;

  void begin(const std::vector<bench::Row>& blanks);
  void add(const bench::Row& row);       // it has ended
  void let_go(const bench::Row& blank);  // it has not been measured, and nothing is wrong with it
  // The winner of a tuning, for calls to come. `untuned`: what they would use without it.
  void decide(const TunedFor& key, const bench::Row& winner, const bench::Row* untuned);

  const std::string& file() const { return file_; }
  const std::string& failure() const { return failure_; }  // why something could not be written; "": it was

 private:
  std::string key_of(const bench::Row& row) const;
  void read();
  void write(const std::string& line);

  std::string file_, context_, failure_;
  std::unordered_map<std::string, std::string> trials_;  // the row's JSON, by key
  std::unordered_map<std::string, std::size_t> begun_;   // among how many, by key
};

// The tuner.

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
  bool retry = false;                  // what failed or was wrong before
  std::function<double()> clock = {};  // seconds
  std::function<bool()> interrupted = {};
  std::function<void(std::size_t trials, std::size_t of)> progress = {};
};

struct Trial {
  Config config;
  bench::Row row;
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
