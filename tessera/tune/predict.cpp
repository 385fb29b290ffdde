// SPDX-License-Identifier: Apache-2.0
#include "tessera/tune/predict.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <numeric>
#include "tessera/bench/code.hpp"
#include "tessera/bench/sample.hpp"
#include "tessera/core/error.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::tune {
namespace {

constexpr std::int64_t warp = 32;

double as_double(std::int64_t value) { return static_cast<double>(value); }

// To global memory, of which the other requests of a warp hide a part: some 250 to the second cache, and
// compilers keep two or three in flight.
constexpr double cycles_waited = 100;

std::int64_t parts(std::int64_t all, std::int64_t of) { return (all + of - 1) / of; }

std::int64_t warps_of(const Footprint& footprint) { return parts(footprint.threads_per_block, warp); }

// The part of the device's warps that has work, on average over the launch.
double filled(const Footprint& footprint, const bench::Occupancy& occupancy, int processors) {
  const std::int64_t at_once = std::int64_t{occupancy.blocks} * processors;
  const std::int64_t waves = parts(footprint.blocks, at_once);
  return occupancy.fraction * as_double(footprint.blocks) / as_double(waves * at_once);
}

// A warp that is not full takes as long as one that is.
double lanes_used(const Footprint& footprint) {
  return as_double(footprint.threads_per_block) / as_double(warps_of(footprint) * warp);
}

// The multiprocessor with the most blocks is the last to finish. It holds some of them at a time; each warp
// of these waits for its own requests, while the others work.
double cycles_of(const Work& work, const Footprint& footprint, const bench::Occupancy& occupancy,
                 int processors) {
  const std::int64_t most_blocks = parts(footprint.blocks, processors);
  const double share = as_double(most_blocks) / as_double(footprint.blocks);
  const double requests_of_a_warp = work.requests / as_double(footprint.blocks * warps_of(footprint));
  const double waiting = as_double(parts(most_blocks, occupancy.blocks)) * requests_of_a_warp * cycles_waited;
  return std::max(work.busiest() * share, waiting);
}

}  // namespace

double Work::busiest() const { return std::max({cache, sectors, issue, arithmetic}); }

Device model_gpu() {
  Device out;
  out.where = Where::cuda;
  out.compute_capability = 90;
  out.processors = 132;
  return out;
}

Prediction predict(const Config& config, const Arguments& arguments, const Device& device,
                   const Counted& counted) {
  if (device.where == Where::cpu || !config.choice->footprint) return {};
  const auto footprint = config.choice->footprint(arguments, config.tuning);
  if (!footprint || footprint->threads_per_block < 1 || footprint->blocks < 1) return {};
  const Device gpu = device.where == Where::simt ? model_gpu() : device;
  const int processors = std::max(gpu.processors, 1);
  const bench::Occupancy occupancy =
      bench::occupancy(bench::multiprocessor_of(gpu.compute_capability), footprint->threads_per_block,
                       footprint->shared_bytes, footprint->registers);
  if (occupancy.blocks < 1)
    return {.rejected = "no block of it fits on a multiprocessor: " + occupancy.limit};
  Prediction out{.occupancy = occupancy.fraction};
  out.uncounted = 1 / (filled(*footprint, occupancy, processors) * lanes_used(*footprint));
  if (!counted) out.cost = out.uncounted;
  else if (const auto work = counted(config)) out.cost = cycles_of(*work, *footprint, occupancy, processors);
  return out;
}

namespace {

constexpr double lanes_per_warp = 32, schedulers = 4, sectors_per_cycle = 2;
constexpr std::int64_t least_side = 32;  // a smaller problem is all edges

// Multiply-adds of a multiprocessor in a cycle. CUDA C++ Programming Guide, "Arithmetic Instructions"; what
// is not there is taken to be no limit.
std::optional<double> rate_of(Element element, int capability) {
  if (element == Element::f32) return capability == 75 || capability == 80 ? 64 : 128;
  if (element == Element::i32) return 64;
  if (element != Element::f64) return std::nullopt;
  if (capability == 80) return 32;
  return capability >= 90 && capability < 110 ? 64 : 2;
}

Case cut(Case problem, std::int64_t side) {
  for (auto& [name, size] : problem.dims) size = std::min(size, side);
  return problem;
}

double input_bytes(const Operation& operation, Element element, const Case& problem) {
  double out = 0;
  for (const Parameter* p : operation.signature.of(Parameter::Kind::input)) {
    if (p->optional && std::ranges::find(problem.optional_inputs, p->name) == problem.optional_inputs.end())
      continue;
    double bytes = static_cast<double>(size_of(p->element_with(element, problem.words)));
    for (const std::int64_t extent : extents_in_memory(*p, problem.dims, problem.words))
      bytes *= static_cast<double>(extent);
    out += bytes;
  }
  return out;
}

std::string key_of(const Case& problem, Element element) {
  std::string out(name_of(element));
  for (const auto& [name, size] : problem.dims) out += fmt::format(" {}={}", name, size);
  for (const auto& [name, word] : problem.words) out += fmt::format(" {}={}", name, word);
  for (const std::string& name : problem.optional_inputs) out += " with " + name;
  return out;
}

// The rung that the executor has of the same kernel; nothing: it has none.
std::optional<Plan> on_executor(const Config& config) {
  for (const Variant* variant : ladder_of(config.variant->operation)) {
    if (variant->where != Where::simt || variant->file != config.variant->file ||
        variant->object != config.variant->object)
      continue;
    const auto choice = std::ranges::find(variant->choices, config.choice->tuning, &Choice::tuning);
    if (choice == variant->choices.end() || instrumented_choice(*variant, *choice) == nullptr)
      return std::nullopt;
    return Plan{variant, &*choice, config.tuning, find_device("simt")};
  }
  return std::nullopt;
}

bool came_to_its_end(const bench::Traced& traced) {
  return !traced.absent && traced.blocks_run > 0 &&
         std::ranges::none_of(traced.findings, [](const bench::TracedFinding& finding) {
           return finding.kind == simt::Finding::Kind::stopped ||
                  finding.kind == simt::Finding::Kind::barrier;
         });
}

}  // namespace

struct Counter::Small {
  Small(const Operation& operation, Element element, Case cut_down)
      : problem(std::move(cut_down)),
        inputs(operation, element, problem, 1),
        flops(operation.flops ? operation.flops(inputs.arguments()) : 0) {}
  Case problem;
  Inputs inputs;
  double flops;
};

Counter::Counter(const Operation& operation, Bounds bounds, std::function<bool()> interrupted)
    : operation_(&operation), bounds_(bounds), interrupted_(std::move(interrupted)) {}

Counter::~Counter() = default;

const std::vector<std::unique_ptr<Counter::Small>>& Counter::small_problems(Element element,
                                                                            const Case& problem) {
  const auto [found, fresh] = small_.try_emplace(key_of(cut(problem, bounds_.side), element));
  auto& out = found->second;
  for (std::int64_t side = bounds_.side; fresh && side >= least_side; side /= 2) {
    Case small = cut(problem, side);
    const bool another = out.empty() || out.back()->problem.dims != small.dims;
    if (another && input_bytes(*operation_, element, small) <= bounds_.bytes)
      out.push_back(std::make_unique<Small>(*operation_, element, std::move(small)));
  }
  return out;
}

// Nothing where it refuses the problem, or a single block does too much.
std::optional<bench::Traced> Counter::trace(const Config& config, const Small& small) {
  const auto plan = on_executor(config);
  const Arguments& arguments = small.inputs.arguments();
  if (!plan || refuses(*plan, arguments)) return std::nullopt;
  const auto footprint = plan->choice->footprint(arguments, config.tuning);
  if (!footprint || footprint->blocks < 1) return std::nullopt;
  const double each = small.flops / static_cast<double>(footprint->blocks);
  if (each > bounds_.flops) return std::nullopt;
  bench::Tracing tracing;
  tracing.check = false;
  tracing.places = false;
  tracing.blocks = static_cast<std::int64_t>(
      std::clamp(bounds_.flops / std::max(each, 1.0), 1.0, static_cast<double>(bounds_.blocks)));
  try {
    return bench::trace(*operation_, arguments.element(), small.problem, *plan, tracing);
  } catch (const Error&) {
    return std::nullopt;  // what it does wrong is told where it is measured
  }
}

const std::optional<bench::Traced>& Counter::traced(const Config& config, Element element,
                                                    const Case& problem) {
  const std::string key = config.variant->object + " " + config.variant->file + " " +
                          to_string(config.tuning) + " " + key_of(cut(problem, bounds_.side), element);
  static const std::optional<bench::Traced> nothing;
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  if (interrupted_ && interrupted_()) return nothing;
  if (steps_ >= bounds_.steps || known_.size() >= bounds_.configurations) return ++totals_.left, nothing;
  const bench::Stopwatch watch;
  std::optional<bench::Traced>& out = known_[key];
  for (const auto& small : small_problems(element, problem))
    if (!out) out = trace(config, *small);
  if (out && !came_to_its_end(*out)) out.reset();
  ++(out ? totals_.counted : totals_.failed);
  std::uint64_t accesses = 0;
  if (out)
    for (const bench::TracedLine& line : out->lines) accesses += line.counts.accesses;
  totals_.accesses += accesses;
  steps_ += std::max(static_cast<double>(accesses), out ? out->flops : 0);
  totals_.seconds += watch.seconds();
  return out;
}

Counted Counter::of(Element element, const Case& problem, const Arguments& arguments,
                    int compute_capability) {
  if (simt::tracing_absent()) return {};
  const double flops = operation_->flops ? operation_->flops(arguments) : 0,
               bytes = operation_->bytes(arguments);
  return [=, this](const Config& config) -> std::optional<Work> {
    const auto& found = traced(config, element, problem);
    return found ? work_of(*found, flops, bytes, compute_capability) : std::nullopt;
  };
}

std::string describe(const Counter::Totals& totals) {
  if (totals.counted + totals.failed == 0) return {};
  std::string out = fmt::format(
      "counted beforehand, on the executor: {} configuration{}, some blocks each of a small problem, "
      "{:.1f} million accesses in {:.1f} s",
      totals.counted, totals.counted == 1 ? "" : "s", static_cast<double>(totals.accesses) / 1e6,
      totals.seconds);
  if (totals.failed != 0) out += fmt::format("; {} could not be", totals.failed);
  if (totals.left != 0) out += fmt::format("; {} were left, for that is enough", totals.left);
  return out;
}

std::optional<Work> work_of(const bench::Traced& traced, double flops, double bytes, int compute_capability) {
  const double scale = traced.flops > 0 ? flops / traced.flops : traced.bytes > 0 ? bytes / traced.bytes : 0;
  if (!(scale > 0) || traced.warps == 0) return std::nullopt;
  const double warp_lanes = static_cast<double>(traced.threads) / static_cast<double>(traced.warps);
  const double multiply_adds = traced.flops / 2 / warp_lanes;  // instructions of warps
  double instructions = multiply_adds;
  Work out;
  for (const bench::TracedLine& line : traced.lines) {
    const bool global = line.space == simt::Space::global;
    instructions += static_cast<double>(line.counts.requests);
    out.cache += static_cast<double>(global ? line.counts.lines : line.counts.wavefronts);
    out.sectors += static_cast<double>(line.counts.sectors) / sectors_per_cycle;
    if (global) out.requests += static_cast<double>(line.counts.requests);
  }
  out.issue = instructions / schedulers;
  if (const auto rate = rate_of(traced.element, compute_capability))
    out.arithmetic = multiply_adds * lanes_per_warp / *rate;
  for (double* const part : {&out.cache, &out.sectors, &out.issue, &out.arithmetic, &out.requests})
    *part *= scale;
  return out;
}

namespace {

constexpr std::size_t fewest = 3;

void demand_pairs(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) throw Error(Error::Kind::internal, "ranks of different numbers of values");
}

// From 1; equal values get the mean of the ranks that they fill.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&values](std::size_t i) { return values[i]; });
  std::vector<double> out(values.size());
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from;
    while (to < order.size() && values[order[to]] == values[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i) out[order[i]] = (static_cast<double>(from + to) + 1) / 2;
    from = to;
  }
  return out;
}

}  // namespace

std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b) {
  demand_pairs(a, b);
  if (a.size() < fewest) return std::nullopt;
  const auto x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(a.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (!(xx > 0) || !(yy > 0)) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

std::optional<double> kendall(const std::vector<double>& a, const std::vector<double>& b) {
  demand_pairs(a, b);
  if (a.size() < fewest) return std::nullopt;
  double agree = 0, in_a = 0, in_b = 0;  // pairs that the values tell apart
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const int x = (a[i] < a[j]) - (a[i] > a[j]), y = (b[i] < b[j]) - (b[i] > b[j]);
      agree += x * y;
      in_a += x != 0;
      in_b += y != 0;
    }
  if (!(in_a > 0) || !(in_b > 0)) return std::nullopt;
  return agree / std::sqrt(in_a * in_b);
}

Fit fit_of(const std::vector<double>& predicted, const std::vector<double>& measured) {
  return {spearman(predicted, measured), kendall(predicted, measured), predicted.size()};
}

std::string describe(const Fit& fit) {
  const auto word = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2f}", *value) : std::string("n/a");
  };
  return fmt::format("Spearman {}, Kendall {}, n = {}", word(fit.spearman), word(fit.kendall), fit.count);
}

}  // namespace tessera::tune
