// SPDX-License-Identifier: Apache-2.0
// Searches a space for the fastest configuration for one problem on one device. Configurations that cannot
// run are set aside, a search proposes, and trials are measured a few at a time. The best of them are then
// measured again, interleaved with the untuned plans.
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

// Search strategies over a space of configurations. A search receives measurements and proposes what to
// measure next. It neither measures nor waits.

class Search {
 public:
  virtual ~Search() = default;
  // Places in the space that were not proposed before, at most `most`; none: the search is over.
  virtual std::vector<std::size_t> next(std::size_t most) = 0;
  // The time of a proposed place; nothing: it failed, or its result was wrong.
  virtual void report_time(std::size_t place, std::optional<double> seconds) = 0;
};

// exhaustive: in the order of the space, defaults first. random: in an order given by the seed, so that any
// budget is a fair sample of the space. local: climbs from the first place to its best neighbour until none
// is better, then from a place given by the seed; a neighbour differs in one parameter, by as little as the
// space allows. Throws Error for another name. `configs` must outlive the search.
std::unique_ptr<Search> search_named(const std::string& name, const std::vector<Config>& configs,
                                     std::uint64_t seed);

// Keeps the results of tuning in the file that run/tuned.hpp reads. Each trial is written as soon as it is
// done, so an interrupted or crashed search continues where it stopped.

class Journal {
 public:
  // `file`: "" keeps nothing. `context`: equal for trials that are the same measurement, besides the problem,
  // the choice and the device's name.
  Journal(std::string file, std::string context);

  // Returns an earlier measurement, also a failed or wrong one. `retry`: ignores failed and wrong ones.
  std::optional<bench::Row> find(const bench::Row& blank, bool retry = false) const;
  // True if the program ended while measuring it: among others, it has to be measured alone; alone, it was
  // the cause.
  bool is_suspect(const bench::Row& blank) const;

  void begin(const std::vector<bench::Row>& blanks);
  void add(const bench::Row& row);     // it is finished
  void drop(const bench::Row& blank);  // it was not measured, for no fault of its own
  // Records the winner of a tuning for later calls. `untuned`: the choice that they would use without it.
  void record_winner(const TunedFor& key, const bench::Row& winner, const bench::Row* untuned);

  const std::string& file() const { return file_; }
  const std::string& failure() const { return failure_; }  // why a line could not be written; "": all were

 private:
  std::string key_of(const bench::Row& row) const;
  void read();
  void write(const std::string& line);

  std::string file_, context_, failure_;
  std::unordered_map<std::string, std::string> trials_;  // the row's JSON, by key
  std::unordered_map<std::string, std::size_t> begun_;   // size of the group begun together, by key
};

// The tuner.

// Returns one row for each candidate, in order. Normally bench::measure; tests replace it.
using Measure = std::function<std::vector<bench::Row>(const std::vector<bench::Candidate>&)>;

bench::Candidate candidate_of(const Config& config, const Device& device);

// Calls `measure` with all candidates; if that throws, with each alone; a candidate that throws alone becomes
// a row whose reason is the exception's message. Throws Error of kind memory if a failure has made the device
// unusable.
std::vector<bench::Row> measure_each(const std::vector<bench::Candidate>& candidates, const Measure& measure,
                                     const std::function<bool()>& interrupted);

// Returns the number of candidates to measure in turn: as many as the device has memory for, at most `most`.
std::size_t batch_size(const Operation& operation, const Arguments& arguments, const Device& device,
                       std::size_t most);

struct Task {
  const Operation* operation = nullptr;
  const Case* problem = nullptr;
  const Arguments* arguments = nullptr;  // the problem's, in host memory
  Device device;
  std::vector<Plan> known = {};  // plans used without this tuning; the first: without any tuning
};

struct TunerOptions {
  Measure explore, confirm;  // quick; careful
  std::string search = "exhaustive";
  std::uint64_t seed = 1;
  std::optional<std::size_t> max_trials = {};  // new measurements; recalled ones are free
  std::optional<double> most_seconds = {};
  std::size_t in_turn = 8, finalists = 4;
  bool retry = false;                  // repeats failed and wrong trials
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
  std::vector<Trial> left;    // those that cannot run, or were left out, with the reasons
  std::vector<bench::Row> finals;
  std::size_t winner = 0;  // index in finals; finals.size(): none
  // Index of a final with a lower median that does not replace the untuned plan, and the reason.
  std::optional<std::size_t> rival;
  std::string why;
  bool settled = false;   // the finals' samples are enough for later calls to rely on the winner
  bool complete = false;  // the search ended by itself
  bool interrupted = false;

  const bench::Row* best() const { return winner < finals.size() ? &finals[winner] : nullptr; }
  const bench::Row* untuned() const;  // among the finals; null: it could not be measured
  std::size_t kept() const;
};

Outcome tune(const Task& task, const Space& space, const TunerOptions& options, Journal& journal);

// Texts about the findings of a sweep or a search.

// Returns "gpu/per_element on cuda:0: x=32,y=8 is the fastest, 1.32 ± 0.01 times faster than its default
// x=16,y=16.": for each variant and device with more than one configuration. All rows are of one problem.
std::vector<std::string> summary_of(const std::vector<bench::Row>& rows);

}  // namespace tessera::tune
