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
#include "tessera/core/error.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::bench {

namespace {

constexpr double quick_seconds = 0.01;     // a run this short is repeated to warm the caches
constexpr double sample_seconds = 200e-6;  // and one far shorter fills a sample several times
constexpr double graph_seconds = 2e-3;     // a graph takes a moment to start, which is none of its kernels'
constexpr double batch_seconds = 0.02;     // of runs that follow each other without a look at the clock
constexpr double energy_seconds = 1;       // a device counts its energy in steps of a tenth of a second

bool has_fma(Element element) {
  return element == Element::f32 || element == Element::f64 || element == Element::i32;
}

int launches_for(double wanted, double one) {
  if (!(one > 0)) return 1;
  return static_cast<int>(std::clamp(std::ceil(wanted / one), 1.0, double{most_launches}));
}

// What was found, in the row; a wrong one stays wrong.
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

// Runs the row's choice on inputs that no timed run has seen, and verifies that, too: what kept an old
// result, or knew its inputs, shows here.
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

// The sets of arrays that all trials on one device use, and the verifier of the sets with odd numbers.
struct Turns {
  Rotation* sets = nullptr;  // null: they take their own arrays, always
  Verifier* odd = nullptr;
};

// One candidate on its device: its first run, its samples, and the check of its results.
class Trial {
 public:
  // `slow`: one run is most of the time that it has, so it gets no run that is not timed.
  Trial(const Plan& plan, Inputs& inputs, Verifier& verifier, const Measuring& measuring, Row& row, bool slow,
        Turns turns = {});

  // The first run, which may also load, compile and search, and so tells no time. Says what it harmed:
  // where the host's memory is everybody's, only now is it known whose fault that was.
  Reason warm_up();
  Sample sample();
  // The host's outputs may be everybody's, so this comes before anybody's next run.
  void finish();
  // Run after run for that many seconds, or until interrupted; a row of its own.
  Row sustain(double seconds);

 private:
  void tell(const char* doing) const;
  void expose();  // its launches cannot be hidden, for this variant waits for the device itself
  double run_once() { return run_once(placed_.arguments()); }
  double run_once(const Arguments& there);
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
      graphs_;       // of so many launches, from a set on
  double last_ = 0;  // what a run took, in seconds; 0: there was none
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

void Trial::tell(const char* doing) const {
  if (measuring_->progress)
    measuring_->progress(row_->variant->name + " " + to_string(row_->tuning) + ": " + doing);
}

double Trial::run_once(const Arguments& there) {
  const double seconds = placed_.launch_and_measure(there);
  own_clock_ = placed_.state().reported_seconds >= 0;
  return last_ = seconds;
}

Reason Trial::warm_up() {
  if (slow_) return std::nullopt;
  tell("first run");
  (void)run_once();
  // One that compiled or searched tells nothing of how many fit into a sample, of which a graph is made once.
  constexpr double most_seconds = 1;
  if (quick_seconds <= last_ && last_ < most_seconds) (void)run_once();
  return own_violation();
}

Sample Trial::timed(int launches) {
  return timed(launches, turns_.sets != nullptr ? turns_.sets->take(launches) : 0);
}

Sample Trial::timed(int launches, std::int64_t first_set) {
  const auto there = [this, first_set](int i) -> const Arguments& {
    return turns_.sets != nullptr ? turns_.sets->set(first_set + i) : placed_.arguments();
  };
  if (own_clock_) return {.seconds = run_once(there(0))};
  placed_.state().reported_seconds = -1;
  const auto work = [this, launches, there] {
    for (int i = 0; i < launches; ++i) placed_.launch(there(i));
  };
  Reading reading;
  const Stopwatch tried;
  constexpr int certain = 2;
  if (hide_launches_ && !measuring_->profile && (*measuring_->waiting)[row_->variant] >= certain) expose();
  // A first run may load code, for which a device that waits would wait for ever.
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
  // A variant may know only by running that it works in another process.
  own_clock_ = placed_.state().reported_seconds >= 0;
  last_ = own_clock_ ? placed_.state().reported_seconds : reading.seconds / launches;
  return {.seconds = last_, .clock_mhz = reading.clock_mhz, .power_w = reading.power_w};
}

// A run that waits for the device itself cannot be noted; it is launched as it is, and its row says so.
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

// Caches are cold for one launch only. A graph is of as many launches as the first was.
int Trial::launches_in_a_sample() const {
  if (measuring_->cold || own_clock_) return 1;
  if (!graphs_.empty()) return graphs_.begin()->first.first;
  return rounded(launches_for(measuring_->graph ? graph_seconds : sample_seconds, last_));
}

// One that is slow is launched once, whatever the others are.
int Trial::rounded(int launches) const {
  return turns_.sets == nullptr || slow_ ? launches : turns_.sets->launches(launches);
}

bool Trial::shares_arrays() const { return backend_->shares_host_memory() || turns_.sets != nullptr; }

// What is verified: of sets, those of the last two launches, which the launches before them leave alone.
void Trial::poison(int launches) {
  if (turns_.sets == nullptr) return placed_.poison();
  for (int back = 1; back <= std::min(launches, 2); ++back)
    turns_.sets->poison(turns_.sets->next() + launches - back);
}

Sample Trial::sample() {
  tell("timing");
  if (row_->device.where == Where::cpu && row_->flops > 0 && has_fma(row_->element) &&
      row_->element_name() == name_of(row_->element))
    row_->fma_rates.push_back(fma_flops_per_second(row_->element, row_->device.threads));
  const bool first = last_ == 0;
  const bool warm = !measuring_->cold && !slow_ && last_ < quick_seconds;
  if (warm) (void)run_once();
  row_->launches = launches_in_a_sample();
  poison(row_->launches);
  // Before sets, once more, on arrays that are none of them: what poison left in the cache gives way, as to a
  // set.
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

// Sets stay where they are: a round trip is none of theirs.
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

// What everybody reads must not make the next one wrong.
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
    tell("verifying");
    verify(row);
  }
  const Reason reason = check_guards();
  if (!reason) return;
  blame(row, *reason);
  mend();
}

void Trial::time_round_trips() {
  tell("timing round trips");
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
  tell("sustained");
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
  // The first half heats the device up to what it then holds.
  samples.erase(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2));
  row.seconds = seconds_of(samples);
  row.clocks_mhz = clocks_of(samples);
  row.powers_w = powers_of(samples);
  check(row);
  return row;
}

// A time this long is the work's own, not that of a call, of waking threads or of a busy machine.
constexpr double telling_seconds = 0.02;
// The best of three runs, of which the first also loads, compiles, tries heuristics and fills caches: it
// may be this slow and is repeated all the same.
constexpr double first_seconds = 10;

double seconds_of(const Plan& plan, const Inputs& inputs, double limit) {
  PlacedCall placed(plan, inputs.arguments(), guard_bytes);
  placed.upload();
  double best = placed.launch_and_measure();
  for (int again = 0; again < 2 && best <= (again == 0 ? std::max(limit, first_seconds) : limit); ++again)
    best = std::min(best, placed.launch_and_measure());
  return best;
}

// What makes a problem large: its dimensions, and the whole numbers that it was given.
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
    // Guarded, for what a rung does to memory must be found where it is measured, not end the program here.
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

// Unlike any seed that a timed run saw, however the caller counts.
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

  // Other inputs of the same problem.
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

  // Where nobody asked for a choice, the first that takes the problem.
  void settle(Candidate& candidate) const {
    if (candidate.absent || candidate.instead.empty() || !refuses(candidate.plan, inputs_->arguments()))
      return;
    const auto fit = std::ranges::find_if(
        candidate.instead, [&](const Plan& plan) { return !refuses(plan, inputs_->arguments()); });
    if (fit != candidate.instead.end()) candidate.plan = *fit;
  }

  // What an earlier session knows of it: all that is wanted now, or nothing.
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
  void tell(const std::string& text) const {
    if (measuring_->progress) measuring_->progress(text);
  }

  // Those that can run, after their first run.
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

  // Why it cannot be measured: it refuses, or one run would take too long, which is not tried while a
  // profiler looks on, for it would see other sizes. Returns whether one run is most of the time that it has.
  bool consider(Row& row, const Plan& plan) const {
    if (!row.reason) row.reason = refuses(plan, inputs_->arguments());
    if (row.reason || measuring_->profile) return false;
    tell(plan.variant->name + ": estimating");
    const double most = measuring_->effort.seconds;
    row.estimate = estimate_seconds(*operation_, row.element, *problem_, plan, row.flops, most);
    const double expected = row.estimate.value_or(0);
    if (expected > most) row.reason = "one run would take longer than --time allows";
    else row.estimate.reset();
    return expected > most / 4;
  }

  // The sets that this device's launches take in turn: all devices in the host's memory have the same.
  Turns turns_of(Row& row) {
    if (!measuring_->rotate) return {};
    const Arguments& arguments = inputs_->arguments();
    if ((row.reason = cannot_rotate(row.device, arguments, most_launches))) return {};
    row.sets = sets_beyond(row.device.cache_bytes, set_bytes(arguments), most_launches);
    if (row.sets == 1) return {};
    const bool on_host = backend_of(row.device).shares_host_memory();
    auto& sets = rotations_[on_host ? "host" : row.device.label()];
    if (!sets) {
      if (!odd_)
        odd_ = std::make_unique<Numbers>(*operation_, arguments.element(), *problem_,
                                         odd_seed(measuring_->seed), Layout{});
      sets = std::make_unique<Rotation>(row.device, arguments, odd_->inputs.arguments(), most_launches);
    }
    return {sets.get(), &odd_->verifier};
  }

  void take_turns() {
    std::vector<Contestant> contestants;
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

  void note_samples(Row& row, const Taken& taken) const {
    row.seconds = seconds_of(taken.samples);
    row.clocks_mhz = clocks_of(taken.samples);
    row.powers_w = powers_of(taken.samples);
    row.throttled = taken.throttled;
    if (row.seconds.empty() && row.throttled > 0)
      row.reason = fmt::format("all {} samples were taken at a clock below {:.0f} % of the device's highest",
                               row.throttled, 100 * measuring_->effort.least_clock);
  }

  // Rows of their own, behind all others, so that those stay as the ladder orders them.
  void sustain() {
    for (const Guest& guest : guests_)
      if (rows_[guest.row].counts() && !interrupted())
        sustained_.push_back(guest.trial->sustain(measuring_->sustained_seconds));
  }

  // One that ran once, timed, could not have prepared for it.
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
      tell(row.variant->name + ": verifying with fresh inputs");
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
  std::vector<bool> kept_;                                      // from an earlier session
  std::unique_ptr<Numbers> odd_;                                // what sets of odd numbers hold
  std::map<std::string, std::unique_ptr<Rotation>> rotations_;  // by the memory that they lie in
  std::vector<Guest> guests_;                                   // last: trials use all of these
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
