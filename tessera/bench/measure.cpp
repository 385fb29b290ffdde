// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/measure.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <memory>
#include "tessera/bench/ceilings.hpp"
#include "tessera/bench/rotation.hpp"
#include "tessera/bench/trial.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/place.hpp"

namespace tessera::bench {
namespace {

// A time this long is the work's own, not that of a call, of waking threads or of a busy machine.
constexpr double telling_seconds = 0.02;
// The best of three runs, of which the first also loads, compiles, tries heuristics and fills caches: it
// may be this slow and is repeated all the same.
constexpr double first_seconds = 10;

double seconds_of(const Plan& plan, const Inputs& inputs, double limit) {
  Placed placed(plan, inputs.arguments(), guard_bytes);
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
class Meeting {
 public:
  Meeting(const Operation& operation, Element element, const Case& problem,
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
      if (const Reason harm = trial->warm_up()) {
        blame(rows_[i], *harm);
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
    const auto taken = interleave(contestants, measuring_->effort, measuring_->interrupted);
    for (std::size_t i = 0; i < guests_.size(); ++i) note(rows_[guests_[i].row], taken[i]);
  }

  void note(Row& row, const Taken& taken) const {
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
      if (!row.harm.empty()) fresh->inputs.restore();
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
  return Meeting(operation, element, problem, candidates, measuring).rows();
}

}  // namespace tessera::bench
