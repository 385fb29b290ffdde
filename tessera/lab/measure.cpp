// SPDX-License-Identifier: Apache-2.0
#include "tessera/lab/measure.hpp"
#include <memory>
#include "tessera/lab/ceilings.hpp"
#include "tessera/lab/clock.hpp"
#include "tessera/lab/estimate.hpp"
#include "tessera/lab/peak.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::lab {
namespace {

bool has_fma(Element element) {
  return element == Element::f32 || element == Element::f64 || element == Element::i32;
}

constexpr double quick_seconds = 0.01;  // a run this short is repeated to warm the caches

// One candidate on its device, from its first run to its verdict.
class Trial {
 public:
  Trial(const Plan& plan, Inputs& inputs, Verifier& verifier, const Measuring& measuring, Row& row, bool slow)
      : placed_(plan, inputs.arguments()),
        inputs_(&inputs),
        verifier_(&verifier),
        measuring_(&measuring),
        row_(&row) {
    placed_.upload();
    if (slow) last_ = measuring.effort.seconds;
  }

  double timed() {
    placed_.run().own_seconds = -1;
    const double seconds = placed_.launch_and_measure();
    return last_ = placed_.run().own_seconds >= 0 ? placed_.run().own_seconds : seconds;
  }

  double sample() {
    tell("timing");
    Backend& backend = backend_of(row_->device);
    if (row_->device.where == Where::cpu && row_->flops > 0 && has_fma(row_->element))
      row_->fma_rates.push_back(fma_flops_per_second(row_->element, row_->device.threads));
    // The very first run may also load, compile and search.
    if (last_ == 0 || (!measuring_->cold && last_ < quick_seconds)) (void)timed();
    placed_.poison();
    if (measuring_->cold) {
      backend.flush_caches(placed_.run());
      backend.synchronize(placed_.run());
    }
    return timed();
  }

  // The host's outputs may be everybody's, so this comes before anybody's next run.
  void finish() {
    if (measuring_->verify) check();
    if (!backend_of(row_->device).shares_host_memory()) time_round_trips();
  }

 private:
  void tell(const char* doing) const {
    if (measuring_->progress)
      measuring_->progress(row_->variant->name + " " + to_string(row_->tuning) + ": " + doing);
  }

  void check() {
    tell("verifying");
    placed_.fetch();
    const Verdict verdict = (*verifier_)(inputs_->arguments(), &placed_.plan());
    row_->verified = verdict.passed ? Verified::ok : Verified::wrong;
    row_->method = verdict.method;
    row_->error_over_bound = verdict.largest_ratio;
    row_->relative_l2 = verdict.norm_error;
    if (!verdict.passed) row_->finding = describe(verdict);
  }

  void time_round_trips() {
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

  Placed placed_;
  Inputs* inputs_;
  Verifier* verifier_;
  const Measuring* measuring_;
  Row* row_;
  double last_ = 0;
};

Row row_for(const Candidate& candidate, const Operation& operation, const Case& problem,
            const Arguments& arguments) {
  Row row;
  row.dims = arguments.dims();
  row.words = problem.words;
  row.optional_inputs = problem.optional_inputs;
  row.element = arguments.element();
  row.variant = candidate.plan.variant;
  row.tuning = candidate.plan.tuning;
  row.device = candidate.plan.device;
  row.serial = candidate.serial;
  row.flops = operation.flops ? operation.flops(arguments) : 0;
  row.bytes = operation.bytes(arguments);
  row.reason = candidate.absent;
  return row;
}

// Why it cannot be measured: it refuses, or one run would take too long. Returns whether one run is
// most of the time that it has.
bool consider(Row& row, const Plan& plan, const Operation& operation, const Case& problem,
              const Arguments& arguments, const Measuring& measuring) {
  if (!row.reason) row.reason = refuses(plan, arguments);
  if (row.reason) return false;
  if (measuring.progress) measuring.progress(plan.variant->name + ": estimating");
  row.estimate =
      estimate_seconds(operation, arguments.element(), problem, plan, row.flops, measuring.effort.seconds);
  const double expected = row.estimate.value_or(0);
  if (expected > measuring.effort.seconds) row.reason = "one run would take longer than --time allows";
  else row.estimate.reset();
  return expected > measuring.effort.seconds / 4;
}

}  // namespace

std::vector<Row> measure(const Operation& operation, Element element, const Case& problem,
                         const std::vector<Candidate>& candidates, const Measuring& measuring) {
  if (measuring.progress) measuring.progress("preparing");
  Inputs inputs(operation, element, problem, measuring.seed);
  Verifier verifier(operation, inputs.arguments(), {.seed = measuring.seed});
  std::vector<Row> rows;
  for (const Candidate& candidate : candidates)
    rows.push_back(row_for(candidate, operation, problem, inputs.arguments()));
  if (measuring.ceilings)
    for (Row& row : rows) row.ceilings = ceilings_of(row.device);

  std::vector<std::unique_ptr<Trial>> trials;
  std::vector<Row*> tried;
  std::vector<Contestant> contestants;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (measuring.interrupted && measuring.interrupted()) break;
    const bool slow =
        consider(rows[i], candidates[i].plan, operation, problem, inputs.arguments(), measuring);
    if (rows[i].reason) continue;
    Trial* trial = trials
                       .emplace_back(std::make_unique<Trial>(candidates[i].plan, inputs, verifier, measuring,
                                                             rows[i], slow))
                       .get();
    tried.push_back(&rows[i]);
    contestants.push_back({[trial] { return trial->sample(); }, [trial] { trial->finish(); }});
  }
  const auto samples = interleave(contestants, measuring.effort, measuring.interrupted);
  for (std::size_t i = 0; i < tried.size(); ++i) {
    tried[i]->seconds = samples[i];
    if (!samples[i].empty() && backend_of(tried[i]->device).shares_host_memory())
      tried[i]->round_trip = tried[i]->median();
  }
  for (Row& row : rows)
    if (row.seconds.empty() && !row.reason) row.reason = "interrupted";
  return rows;
}

}  // namespace tessera::lab
