// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/measure.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include "tessera/bench/ceilings.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/rotation.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::bench {

namespace {

constexpr double quick_seconds = 0.01;     // a run this short is repeated to warm the caches
constexpr double sample_seconds = 200e-6;  // far shorter runs are repeated to fill a sample
constexpr double graph_seconds = 2e-3;     // longer, to amortize the launch of a graph
constexpr double batch_seconds = 0.02;     // back-to-back runs of one sample when sustained
constexpr double energy_seconds = 1;       // a device updates its energy counter every tenth of a second

bool has_fma(Element element) {
  return element == Element::f32 || element == Element::f64 || element == Element::i32;
}

int launches_for(double wanted, double one) {
  if (!(one > 0)) return 1;
  return static_cast<int>(std::clamp(std::ceil(wanted / one), 1.0, double{max_launches}));
}

// Records a violation in the row.
void blame(Row& row, const std::string& violation) {
  row.verified = Verified::wrong;
  row.guard_violation = violation;
  row.finding += "  " + violation + "\n";
}

}  // namespace

void note(Row& row, const tessera::Verdict& verdict) {
  const bool wrong_before = row.verified == Verified::wrong;
  row.verified = verdict.passed && !wrong_before ? Verified::ok : Verified::wrong;
  row.method = verdict.method;
  if (!row.error_over_bound || !(verdict.largest_ratio <= *row.error_over_bound))
    row.error_over_bound = verdict.largest_ratio;
  if (!row.relative_l2 || (verdict.norm_error && !(*verdict.norm_error <= *row.relative_l2)))
    row.relative_l2 = verdict.norm_error;
  if (!verdict.passed) row.finding += describe(verdict);
}

namespace {

// Runs the row's choice on inputs that no timed run has used, and verifies the result: detects variants that
// return an old result or recognize their inputs.
void verify_afresh(Row& row, const Plan& plan, Inputs& fresh, Verifier& verifier) {
  PlacedCall placed(plan, fresh.arguments(), guard_bytes);
  placed.upload();
  placed.poison();
  placed.launch();
  placed.fetch();
  const std::string before = row.method;
  const tessera::Verdict verdict = verifier(fresh.arguments(), &placed.plan());
  if (!verdict.passed) row.finding += "  with inputs that no timed run had seen:\n";
  note(row, verdict);
  Reason violation = placed.check_guards();
  if (!violation && backend_of(plan.device).shares_host_memory()) violation = fresh.check_guards();
  if (violation) blame(row, *violation);
  row.method = before + ", with fresh inputs too";
}

// The sets of arrays that all trials on one device use, and the verifier of odd-numbered sets.
struct Turns {
  Rotation* sets = nullptr;  // null: every launch uses the trial's own arrays
  Verifier* odd = nullptr;
};

// One candidate on its device: its first run, its samples, and the check of its results.
class Trial {
 public:
  // `slow`: one run takes more than a quarter of the time budget, so there is no untimed run.
  Trial(const Plan& plan, Inputs& inputs, Verifier& verifier, const Measuring& measuring, Row& row, bool slow,
        Turns turns = {});

  // Makes the first run, which is not timed because it may load, compile and search. Returns its guard
  // violation, which in shared host memory can be attributed to a candidate only right after its run.
  Reason warm_up();
  Sample sample();
  // Called before the next candidate runs, because candidates may share the outputs in host memory.
  void finish();
  // Runs back to back for that many seconds, or until interrupted; returns a separate row.
  Row sustain(double seconds);

 private:
  void report_progress(const char* doing) const;
  void expose();  // its launch overhead cannot be hidden, because the variant itself waits for the device
  double run_once() { return run_once(placed_.arguments()); }
  double run_once(const Arguments& device_arguments);
  Sample timed(int launches);
  Sample timed(int launches, std::int64_t first_set);
  const std::function<void()>& as_graph(const std::function<void()>& work, int launches,
                                        std::int64_t first_set);
  int launches_in_a_sample() const;
  int rounded(int launches) const;
  bool shares_arrays() const;
  void poison(int launches);
  Reason check_guards();
  Reason own_violation();
  void mend();
  void verify(Row& row);
  void check(Row& row);
  void time_round_trips();

  PlacedCall placed_;
  Inputs* inputs_;
  Verifier* verifier_;
  const Measuring* measuring_;
  Row* row_;
  Backend* backend_;
  Turns turns_;
  std::map<std::pair<int, std::int64_t>, std::function<void()>>
      graphs_;       // by number of launches and first set
  double last_ = 0;  // seconds of the last run; 0: there was none
  bool slow_, own_clock_ = false, hide_launches_ = true;
};

Trial::Trial(const Plan& plan, Inputs& inputs, Verifier& verifier, const Measuring& measuring, Row& row,
             bool slow, Turns turns)
    : placed_(plan, inputs.arguments(), guard_bytes),
      inputs_(&inputs),
      verifier_(&verifier),
      measuring_(&measuring),
      row_(&row),
      backend_(&backend_of(row.device)),
      turns_(turns),
      slow_(slow) {
  placed_.upload();
}

void Trial::expose() {
  hide_launches_ = false;
  row_->exposed = true;
  ++(*measuring_->waiting)[row_->variant];
}

void Trial::report_progress(const char* doing) const {
  if (measuring_->progress)
    measuring_->progress(row_->variant->name + " " + to_string(row_->tuning) + ": " + doing);
}

double Trial::run_once(const Arguments& device_arguments) {
  const double seconds = placed_.launch_and_measure(device_arguments);
  own_clock_ = placed_.state().reported_seconds >= 0;
  return last_ = seconds;
}

Reason Trial::warm_up() {
  if (slow_) return std::nullopt;
  report_progress("first run");
  (void)run_once();
  // Repeats a run that may have compiled or searched, because its time sets the number of launches in a
  // sample, and a graph of that length is captured only once.
  constexpr double most_seconds = 1;
  if (quick_seconds <= last_ && last_ < most_seconds) (void)run_once();
  return own_violation();
}

Sample Trial::timed(int launches) {
  return timed(launches, turns_.sets != nullptr ? turns_.sets->take(launches) : 0);
}

Sample Trial::timed(int launches, std::int64_t first_set) {
  const auto device_arguments = [this, first_set](int i) -> const Arguments& {
    return turns_.sets != nullptr ? turns_.sets->set(first_set + i) : placed_.arguments();
  };
  if (own_clock_) return {.seconds = run_once(device_arguments(0))};
  placed_.state().reported_seconds = -1;
  const auto work = [this, launches, device_arguments] {
    for (int i = 0; i < launches; ++i) placed_.launch(device_arguments(i));
  };
  Reading reading;
  const Stopwatch tried;
  constexpr int certain = 2;
  if (hide_launches_ && !measuring_->profile && (*measuring_->waiting)[row_->variant] >= certain) expose();
  // A first run may load code, which deadlocks if the device is held back meanwhile.
  const bool hide = hide_launches_ && last_ > 0;
  if (measuring_->profile) reading.seconds = backend_->seconds(placed_.state(), work);
  else if (measuring_->graph && hide) {
    const std::function<void()>& graph = as_graph(work, launches, first_set);
    reading = backend_->read(placed_.state(), graph, hide_launches_);
  } else reading = backend_->read(placed_.state(), work, hide);
  if (reading.gave_up) {
    expose();
    const double lost = tried.seconds();
    Sample out = timed(launches, first_set);
    out.lost += lost;
    return out;
  }
  // Only a run shows that a variant works in another process and reports its own time.
  own_clock_ = placed_.state().reported_seconds >= 0;
  last_ = own_clock_ ? placed_.state().reported_seconds : reading.seconds / launches;
  return {.seconds = last_, .clock_mhz = reading.clock_mhz, .power_w = reading.power_w};
}

// Captures the work. If a run itself waits for the device, it is launched directly, and the row records that.
const std::function<void()>& Trial::as_graph(const std::function<void()>& work, int launches,
                                             std::int64_t first_set) {
  std::function<void()>& graph = graphs_[{launches, first_set}];
  if (graph) return graph;
  try {
    graph = backend_->capture(placed_.state(), work);
  } catch (const Error&) {
    expose();
    graph = work;
  }
  return graph;
}

// Returns 1 with cold caches, which are cold for one launch only. All graphs have the length of the first.
int Trial::launches_in_a_sample() const {
  if (measuring_->cold || own_clock_) return 1;
  if (!graphs_.empty()) return graphs_.begin()->first.first;
  return rounded(launches_for(measuring_->graph ? graph_seconds : sample_seconds, last_));
}

// Rounds up to a multiple of the sets, except for a slow candidate, which is launched once.
int Trial::rounded(int launches) const {
  return turns_.sets == nullptr || slow_ ? launches : turns_.sets->launches(launches);
}

bool Trial::shares_arrays() const { return backend_->shares_host_memory() || turns_.sets != nullptr; }

// Poisons the outputs that will be verified: with sets, those of the last two launches.
void Trial::poison(int launches) {
  if (turns_.sets == nullptr) return placed_.poison();
  for (int back = 1; back <= std::min(launches, 2); ++back)
    turns_.sets->poison(turns_.sets->next() + launches - back);
}

Sample Trial::sample() {
  report_progress("timing");
  if (row_->device.where == Where::cpu && row_->flops > 0 && has_fma(row_->element) &&
      row_->element_name() == name_of(row_->element))
    row_->fma_rates.push_back(fma_flops_per_second(row_->element, row_->device.threads));
  const bool first = last_ == 0;
  const bool warm = !measuring_->cold && !slow_ && last_ < quick_seconds;
  if (warm) (void)run_once();
  row_->launches = launches_in_a_sample();
  poison(row_->launches);
  // With sets, one more run on the trial's own arrays evicts the poisoned outputs from the cache.
  if (warm && turns_.sets != nullptr) (void)run_once();
  if (measuring_->cold) {
    backend_->flush_caches(placed_.state());
    backend_->synchronize(placed_.state());
  }
  const Sample out = timed(row_->launches);
  if (first && shares_arrays())
    if (const Reason reason = check_guards()) {
      blame(*row_, *reason);
      mend();
    }
  return out;
}

// Checks the results, and times a round trip; not with sets, which stay in device memory.
void Trial::finish() {
  check(*row_);
  if (row_->verified != Verified::wrong && !backend_->shares_host_memory() && !measuring_->rotate)
    time_round_trips();
}

Reason Trial::own_violation() {
  if (const Reason reason = placed_.check_guards()) return reason;
  return backend_->shares_host_memory() ? inputs_->check_guards() : std::nullopt;
}

Reason Trial::check_guards() {
  if (const Reason reason = own_violation()) return reason;
  return turns_.sets != nullptr ? turns_.sets->check_guards() : std::nullopt;
}

// Restores the inputs that candidates share, so that the next result is not wrong because of this one.
void Trial::mend() {
  if (backend_->shares_host_memory()) inputs_->restore();
  if (turns_.sets != nullptr) turns_.sets->restore();
}

void Trial::verify(Row& row) {
  if (turns_.sets == nullptr) {
    placed_.fetch();
    return note(row, (*verifier_)(inputs_->arguments(), &placed_.plan()));
  }
  const int looked_at = row.mode == Mode::burst ? std::min(row.launches, 2) : 1;
  for (int back = 1; back <= looked_at; ++back) {
    const std::int64_t set = turns_.sets->next() - back;
    turns_.sets->fetch(set);
    Verifier& verifier = (set & 1) == 0 ? *verifier_ : *turns_.odd;
    note(row, verifier(turns_.sets->host(set), &placed_.plan()));
  }
  if (looked_at > 1) row.method += ", of two sets of inputs";
}

void Trial::check(Row& row) {
  if (measuring_->verify) {
    report_progress("verifying");
    verify(row);
  }
  const Reason reason = check_guards();
  if (!reason) return;
  blame(row, *reason);
  mend();
}

void Trial::time_round_trips() {
  report_progress("timing round trips");
  std::vector<double> seconds;
  const Stopwatch all;
  do {
    const Stopwatch watch;
    placed_.upload();
    placed_.launch();
    placed_.fetch();
    seconds.push_back(watch.seconds());
  } while (seconds.size() < 5 && all.seconds() < 1);
  row_->round_trip = summarize(seconds).median;
}

Row Trial::sustain(double seconds) {
  report_progress("sustained");
  Row row = *row_;
  row.mode = Mode::sustained;
  row.throttled = 0;
  row.round_trip.reset();
  row.fma_rates.clear();
  const int launches = own_clock_ ? 1 : rounded(launches_for(batch_seconds, last_));
  row.launches = launches;
  std::vector<Sample> samples;
  if (turns_.sets != nullptr) turns_.sets->poison();
  else placed_.poison();
  const auto joules_before = backend_->joules(row_->device);
  PowerMeter power;
  const OtherLoad others;
  const Stopwatch watch;
  do {
    samples.push_back(timed(launches));
    samples.back().power_w = power.read(samples.back().power_w, watch.seconds());
  } while (watch.seconds() < seconds && !(measuring_->interrupted && measuring_->interrupted()));
  const double lasted = watch.seconds();
  row.other_load = others.share();
  const auto joules_behind = backend_->joules(row_->device);
  if (joules_before && joules_behind && lasted >= energy_seconds)
    row.joules = (*joules_behind - *joules_before) / (static_cast<double>(samples.size()) * launches);
  // Drops the first half, in which the device heats up to its steady state.
  samples.erase(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2));
  row.seconds = seconds_of(samples);
  row.clocks_mhz = clocks_of(samples);
  row.powers_w = powers_of(samples);
  check(row);
  return row;
}

// Times above this are dominated by the work, not by call overhead, thread wake-up or other load.
constexpr double telling_seconds = 0.02;
// The first run also loads, compiles, tries heuristics and fills caches, so it is repeated if it took at most
// this long, even beyond the limit.
constexpr double first_seconds = 10;

// Returns the best of up to three runs.
double seconds_of(const Plan& plan, const Inputs& inputs, double limit) {
  PlacedCall placed(plan, inputs.arguments(), guard_bytes);
  placed.upload();
  double best = placed.launch_and_measure();
  for (int again = 0; again < 2 && best <= (again == 0 ? std::max(limit, first_seconds) : limit); ++again)
    best = std::min(best, placed.launch_and_measure());
  return best;
}

// Returns the sizes of a problem: its dimensions and integer arguments.
Dims sizes_of(const Operation& operation, const Case& problem) {
  Dims out = problem.dims;
  for (const Parameter* p : operation.signature.of(Parameter::Kind::integer))
    if (const auto word = problem.words.find(p->name); word != problem.words.end() && !word->second.empty())
      out[p->name] = evaluate(word->second);
  return out;
}

Case smaller(const Case& problem, const Dims& sizes, std::int64_t side) {
  Case out = problem;
  for (const auto& [name, size] : sizes)
    if (out.dims.contains(name)) out.dims[name] = std::min(size, side);
    else out.words[name] = std::to_string(std::min(size, side));
  return out;
}

}  // namespace

std::optional<double> estimate_seconds(const Operation& operation, Element element, const Case& problem,
                                       const Plan& plan, double full_flops, double limit) {
  const Dims sizes = sizes_of(operation, problem);
  if (!(full_flops > 0) || sizes.empty()) return std::nullopt;
  const std::int64_t largest =
      std::ranges::max_element(sizes, {}, [](const auto& d) { return d.second; })->second;
  std::optional<double> estimate;
  for (std::int64_t side = 64; side < largest; side *= 2) {
    const Case small = smaller(problem, sizes, side);
    // With guards, a rung's stray write does not end the program, but is found when the rung is measured.
    const Inputs inputs(operation, element, small, 1, {.guard_bytes = guard_bytes});
    if (refuses(plan, inputs.arguments())) continue;
    const double flops = operation.flops(inputs.arguments());
    if (!(flops > 0)) return std::nullopt;
    const double seconds = seconds_of(plan, inputs, limit);
    estimate = seconds * full_flops / flops;
    if (*estimate < limit / 20 || seconds > std::max(limit / 50, telling_seconds)) return estimate;
  }
  return estimate;
}

namespace {

// Returns a seed far from those of timed runs, which may be consecutive.
std::uint64_t fresh_seed(std::uint64_t seed) { return seed + 0x5eed0000u; }
std::uint64_t odd_seed(std::uint64_t seed) { return seed + 0x0dd00000u; }

// All candidates on one problem.
class Trials {
 public:
  Trials(const Operation& operation, Element element, const Case& problem,
         const std::vector<Candidate>& candidates, const Measuring& measuring)
      : operation_(&operation),
        problem_(&problem),
        candidates_(candidates),
        measuring_(&measuring),
        inputs_(std::make_unique<Inputs>(operation, element, problem, measuring.seed, guards)),
        verifier_(operation, inputs_->arguments(), {.data = Data::random, .seed = measuring.seed}) {
    inputs_->seal();
    for (Candidate& candidate : candidates_) {
      settle(candidate);
      rows_.push_back(blank_row(candidate, operation, problem, inputs_->arguments()));
      kept_.push_back(recall(rows_.back()));
    }
  }

  std::vector<Row> rows() {
    invite();
    take_turns();
    if (measuring_->sustained_seconds > 0) sustain();
    if (measuring_->verify) verify_afresh();
    for (Row& row : sustained_) rows_.push_back(std::move(row));
    if (measuring_->ceilings)
      for (Row& row : rows_) row.ceilings = ceilings_of(row.device);
    for (Row& row : rows_)
      if (row.seconds.empty() && !row.reason && row.verified != Verified::wrong) row.reason = "interrupted";
    return std::move(rows_);
  }

 private:
  static constexpr Layout guards{.guard_bytes = guard_bytes};

  // Other inputs for the same problem.
  struct Numbers {
    Inputs inputs;
    Verifier verifier;
    Numbers(const Operation& operation, Element element, const Case& problem, std::uint64_t seed,
            Layout layout)
        : inputs(operation, element, problem, seed, layout),
          verifier(operation, inputs.arguments(), {.data = Data::random, .seed = seed}) {}
  };

  struct Guest {
    std::size_t row;
    bool slow;
    std::unique_ptr<Trial> trial;
  };

  // Selects the first choice that accepts the problem, if the user named none.
  void settle(Candidate& candidate) const {
    if (candidate.absent || candidate.instead.empty() || !refuses(candidate.plan, inputs_->arguments()))
      return;
    const auto fit = std::ranges::find_if(
        candidate.instead, [&](const Plan& plan) { return !refuses(plan, inputs_->arguments()); });
    if (fit != candidate.instead.end()) candidate.plan = *fit;
  }

  // Uses the rows of an earlier session, if it has all that are requested.
  bool recall(Row& row) {
    if (!measuring_->known) return false;
    const auto burst = measuring_->known(row);
    Row blank = row;
    blank.mode = Mode::sustained;
    const auto sustained = measuring_->sustained_seconds > 0 ? measuring_->known(blank) : std::nullopt;
    if (!burst || (measuring_->sustained_seconds > 0 && !sustained)) return false;
    row = *burst;
    if (sustained) sustained_.push_back(*sustained);
    return true;
  }

  bool interrupted() const { return measuring_->interrupted && measuring_->interrupted(); }
  void report_progress(const std::string& text) const {
    if (measuring_->progress) measuring_->progress(text);
  }

  // Makes the first run of each candidate, and keeps those that can run.
  void invite() {
    for (std::size_t i = 0; i < rows_.size() && !interrupted(); ++i) {
      if (kept_[i]) continue;
      const bool slow = consider(rows_[i], candidates_[i].plan);
      if (rows_[i].reason) continue;
      const Turns turns = turns_of(rows_[i]);
      if (rows_[i].reason) continue;
      auto trial = std::make_unique<Trial>(candidates_[i].plan, *inputs_, verifier_, *measuring_, rows_[i],
                                           slow, turns);
      if (const Reason violation = trial->warm_up()) {
        blame(rows_[i], *violation);
        inputs_->restore();
      } else {
        guests_.push_back({i, slow, std::move(trial)});
      }
    }
  }

  // Sets the reason if the candidate cannot be measured: it refuses, or one run would take too long. The time
  // is not estimated under a profiler, which would record the smaller runs. Returns true if one run takes
  // more than a quarter of the time budget.
  bool consider(Row& row, const Plan& plan) const {
    if (!row.reason) row.reason = refuses(plan, inputs_->arguments());
    if (row.reason || measuring_->profile) return false;
    report_progress(plan.variant->name + ": estimating");
    const double most = measuring_->effort.seconds;
    row.estimate = estimate_seconds(*operation_, row.element, *problem_, plan, row.flops, most);
    const double expected = row.estimate.value_or(0);
    if (expected > most) row.reason = "one run would take longer than --time allows";
    else row.estimate.reset();
    return expected > most / 4;
  }

  // Returns the sets that this device's launches cycle through; devices in host memory share theirs.
  Turns turns_of(Row& row) {
    if (!measuring_->rotate) return {};
    const Arguments& arguments = inputs_->arguments();
    if ((row.reason = cannot_rotate(row.device, arguments, max_launches))) return {};
    row.sets = sets_beyond(row.device.cache_bytes, set_bytes(arguments), max_launches);
    if (row.sets == 1) return {};
    const bool on_host = backend_of(row.device).shares_host_memory();
    auto& sets = rotations_[on_host ? "host" : row.device.label()];
    if (!sets) {
      if (!odd_)
        odd_ = std::make_unique<Numbers>(*operation_, arguments.element(), *problem_,
                                         odd_seed(measuring_->seed), Layout{});
      sets = std::make_unique<Rotation>(row.device, arguments, odd_->inputs.arguments(), max_launches);
    }
    return {sets.get(), &odd_->verifier};
  }

  void take_turns() {
    std::vector<SampledCandidate> contestants;
    for (const Guest& guest : guests_) {
      Trial* trial = guest.trial.get();
      const Device& device = rows_[guest.row].device;
      contestants.push_back({[trial] { return trial->sample(); }, [trial] { trial->finish(); },
                             static_cast<int>(device.where) * 1024 + device.index});
    }
    const OtherLoad others;
    const auto taken = interleave(contestants, measuring_->effort, measuring_->interrupted);
    const auto other_load = others.share();
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      note_samples(rows_[guests_[i].row], taken[i]);
      rows_[guests_[i].row].other_load = other_load;
    }
  }

  void note_samples(Row& row, const SampleSet& taken) const {
    row.seconds = seconds_of(taken.samples);
    row.clocks_mhz = clocks_of(taken.samples);
    row.powers_w = powers_of(taken.samples);
    row.throttled = taken.throttled;
    if (row.seconds.empty() && row.throttled > 0)
      row.reason = fmt::format("all {} samples were taken at a clock below {:.0f} % of the device's highest",
                               row.throttled, 100 * measuring_->effort.min_clock);
  }

  // Adds separate rows after all others, which stay in the order of the ladder.
  void sustain() {
    for (const Guest& guest : guests_)
      if (rows_[guest.row].counts() && !interrupted())
        sustained_.push_back(guest.trial->sustain(measuring_->sustained_seconds));
  }

  // Skips a candidate whose only run was timed, because it cannot return an old result.
  void verify_afresh() {
    const Element element = inputs_->arguments().element();
    for (Guest& guest : guests_) guest.trial.reset();
    rotations_.clear();
    odd_.reset();
    inputs_.reset();
    std::unique_ptr<Numbers> fresh;
    for (const Guest& guest : guests_) {
      Row& row = rows_[guest.row];
      const bool ran_once = guest.slow && row.seconds.size() == 1;
      if (row.verified != Verified::ok || ran_once || interrupted()) continue;
      report_progress(row.variant->name + ": verifying with fresh inputs");
      const std::uint64_t seed = fresh_seed(measuring_->seed);
      if (!fresh) {
        fresh = std::make_unique<Numbers>(*operation_, element, *problem_, seed, guards);
        fresh->inputs.seal();
      }
      bench::verify_afresh(row, candidates_[guest.row].plan, fresh->inputs, fresh->verifier);
      if (!row.guard_violation.empty()) fresh->inputs.restore();
    }
  }

  const Operation* operation_;
  const Case* problem_;
  std::vector<Candidate> candidates_;
  const Measuring* measuring_;
  std::unique_ptr<Inputs> inputs_;
  Verifier verifier_;
  std::vector<Row> rows_, sustained_;
  std::vector<bool> kept_;                                      // taken from an earlier session
  std::unique_ptr<Numbers> odd_;                                // contents of odd-numbered sets
  std::map<std::string, std::unique_ptr<Rotation>> rotations_;  // by the memory that contains them
  std::vector<Guest> guests_;                                   // last member: trials use all the others
};

}  // namespace

Row blank_row(const Candidate& candidate, const Operation& operation, const Case& problem,
              const Arguments& arguments) {
  Row row;
  row.dims = arguments.dims();
  row.words = problem.words;
  row.optional_inputs = problem.optional_inputs;
  row.element = arguments.element();
  row.elements = operation.element_name(arguments);
  row.variant = candidate.plan.variant;
  row.tuning = candidate.plan.tuning;
  row.device = candidate.plan.device;
  row.serial = candidate.serial;
  row.flops = operation.flops ? operation.flops(arguments) : 0;
  row.bytes = operation.bytes(arguments);
  row.reason = candidate.absent;
  return row;
}

std::vector<Row> measure(const Operation& operation, Element element, const Case& problem,
                         const std::vector<Candidate>& candidates, const Measuring& measuring) {
  if (measuring.progress) measuring.progress("preparing");
  return Trials(operation, element, problem, candidates, measuring).rows();
}

}  // namespace tessera::bench
