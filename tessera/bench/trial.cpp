// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/trial.hpp"
#include <algorithm>
#include <cmath>
#include "tessera/bench/ceilings.hpp"
#include "tessera/bench/sample.hpp"
#include "tessera/bench/statistics.hpp"
#include "tessera/core/error.hpp"

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

}  // namespace

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
  own_clock_ = placed_.run().own_seconds >= 0;
  return last_ = seconds;
}

Reason Trial::warm_up() {
  if (slow_) return std::nullopt;
  tell("first run");
  (void)run_once();
  // One that compiled or searched tells nothing of how many fit into a sample, of which a graph is made once.
  constexpr double most_seconds = 1;
  if (quick_seconds <= last_ && last_ < most_seconds) (void)run_once();
  return own_harm();
}

Sample Trial::timed(int launches) {
  return timed(launches, turns_.sets != nullptr ? turns_.sets->take(launches) : 0);
}

Sample Trial::timed(int launches, std::int64_t first_set) {
  const auto there = [this, first_set](int i) -> const Arguments& {
    return turns_.sets != nullptr ? turns_.sets->set(first_set + i) : placed_.arguments();
  };
  if (own_clock_) return {.seconds = run_once(there(0))};
  placed_.run().own_seconds = -1;
  const auto work = [this, launches, there] {
    for (int i = 0; i < launches; ++i) placed_.launch(there(i));
  };
  Reading reading;
  const Stopwatch tried;
  constexpr int certain = 2;
  if (hide_launches_ && !measuring_->profile && (*measuring_->waiting)[row_->variant] >= certain) expose();
  // A first run may load code, for which a device that waits would wait for ever.
  const bool hide = hide_launches_ && last_ > 0;
  if (measuring_->profile) reading.seconds = backend_->seconds(placed_.run(), work);
  else if (measuring_->graph && hide) {
    const std::function<void()>& graph = as_graph(work, launches, first_set);
    reading = backend_->read(placed_.run(), graph, hide_launches_);
  } else reading = backend_->read(placed_.run(), work, hide);
  if (reading.gave_up) {
    expose();
    const double lost = tried.seconds();
    Sample out = timed(launches, first_set);
    out.lost += lost;
    return out;
  }
  // A variant may know only by running that it works in another process.
  own_clock_ = placed_.run().own_seconds >= 0;
  last_ = own_clock_ ? placed_.run().own_seconds : reading.seconds / launches;
  return {.seconds = last_, .clock_mhz = reading.clock_mhz, .power_w = reading.power_w};
}

// A run that waits for the device itself cannot be noted; it is launched as it is, and its row says so.
const std::function<void()>& Trial::as_graph(const std::function<void()>& work, int launches,
                                             std::int64_t first_set) {
  std::function<void()>& graph = graphs_[{launches, first_set}];
  if (graph) return graph;
  try {
    graph = backend_->noted(placed_.run(), work);
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
    backend_->flush_caches(placed_.run());
    backend_->synchronize(placed_.run());
  }
  const Sample out = timed(row_->launches);
  if (first && shares_arrays())
    if (const Reason reason = harm()) {
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

Reason Trial::own_harm() {
  if (const Reason reason = placed_.harm()) return reason;
  return backend_->shares_host_memory() ? inputs_->harm() : std::nullopt;
}

Reason Trial::harm() {
  if (const Reason reason = own_harm()) return reason;
  return turns_.sets != nullptr ? turns_.sets->harm() : std::nullopt;
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
  const Reason reason = harm();
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
  const Stopwatch watch;
  do {
    samples.push_back(timed(launches));
    samples.back().power_w = power.read(samples.back().power_w, watch.seconds());
  } while (watch.seconds() < seconds && !(measuring_->interrupted && measuring_->interrupted()));
  const double lasted = watch.seconds();
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

void blame(Row& row, const std::string& harm) {
  row.verified = Verified::wrong;
  row.harm = harm;
  row.finding += "  " + harm + "\n";
}

void note(Row& row, const Verdict& verdict) {
  const bool wrong_before = row.verified == Verified::wrong;
  row.verified = verdict.passed && !wrong_before ? Verified::ok : Verified::wrong;
  row.method = verdict.method;
  if (!row.error_over_bound || !(verdict.largest_ratio <= *row.error_over_bound))
    row.error_over_bound = verdict.largest_ratio;
  if (!row.relative_l2 || (verdict.norm_error && !(*verdict.norm_error <= *row.relative_l2)))
    row.relative_l2 = verdict.norm_error;
  if (!verdict.passed) row.finding += describe(verdict);
}

void verify_afresh(Row& row, const Plan& plan, Inputs& fresh, Verifier& verifier) {
  Placed placed(plan, fresh.arguments(), guard_bytes);
  placed.upload();
  placed.poison();
  placed.launch();
  placed.fetch();
  const std::string before = row.method;
  const Verdict verdict = verifier(fresh.arguments(), &placed.plan());
  if (!verdict.passed) row.finding += "  with inputs that no timed run had seen:\n";
  note(row, verdict);
  Reason harm = placed.harm();
  if (!harm && backend_of(plan.device).shares_host_memory()) harm = fresh.harm();
  if (harm) blame(row, *harm);
  row.method = before + ", with fresh inputs too";
}

}  // namespace tessera::bench
