// SPDX-License-Identifier: Apache-2.0
// The host's part of a cubature by regions on the executor and on GPUs: memory, the first regions, and
// launches until the state that the kernels keep says that it is over, at which it looks only every few
// rounds. And which arguments are for these rungs.
#pragma once
#include <cmath>
#include <vector>
#include "ops/integrate/integrate_rules.hpp"
#include "ops/integrate/kernels/region_kernels.hpp"
#include "ops/integrate/quadrature/genz_malik.hpp"
#include "tessera/core/error.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

// How a variable of the cube leads to an axis; an axis between two limits is taken as it is.
inline RegionMap map_of(const quadrature::Axis& axis) {
  const quadrature::Range& range = axis.range;
  RegionMap out{.kind = region_everywhere, .limit = 0, .per_length = 1};
  if (range.finite()) {
    out.kind = region_as_it_is;
    out.per_length = 1 / (range.upper - range.lower);
  } else if (std::isfinite(range.lower) || std::isfinite(range.upper)) {
    out.kind = std::isfinite(range.lower) ? region_from : region_up_to;
    out.limit = std::isfinite(range.lower) ? range.lower : range.upper;
  }
  return out;
}

// Where the arrays of so many regions lie, behind each other.
struct RegionMemory {
  std::size_t histogram, partials, counts, field, axis, list, bytes;

  RegionMemory(int d, long long capacity) {
    const auto c = static_cast<std::size_t>(capacity);
    const auto chunks = static_cast<std::size_t>(std::min(most_chunks, (capacity + 31) / 32));
    std::size_t at = 0;
    const auto place = [&at](std::size_t wanted) {
      const std::size_t here = at;
      at += (wanted + 255) / 256 * 256;
      return here;
    };
    place(sizeof(RegionState));
    histogram = place(region_bins * sizeof(unsigned));
    partials = place(5 * chunks * sizeof(double));
    counts = place(chunks * sizeof(unsigned));
    field = place((2 * static_cast<std::size_t>(d) + 4) * c * sizeof(double));
    axis = place(c * sizeof(int));
    list = place(c * sizeof(long long));
    bytes = at;
  }
};

// How many regions there is place for at first, of those that the caps allow; a run makes room for more.
inline long long first_capacity(const quadrature::Limits& limits, int d, int place) {
  constexpr long long least = 128;
  const long long needed = least + limits.evaluations / (2 * region_points(d));
  return std::max(least, std::min<long long>(place, needed));
}

// Estimate: void(const RegionFrame&, std::int64_t threads), enqueues the kernel that estimates regions.
template <class Estimate>
class RegionRun {
 public:
  // `place`: for so many regions at first.
  RegionRun(quadrature::Cube& cube, const quadrature::Tolerance& tolerance, double first_cut, int place,
            Run& run, const Estimate& estimate)
      : cube_(cube),
        first_cut_(first_cut),
        place_(place),
        run_(run),
        backend_(backend_of(*run.device)),
        estimate_(estimate) {
    const int d = cube.dimensions();
    if (d < 2 || d > 12) throw Error("Genz and Malik's rule takes 2 to 12 variables");
    frame_.d = d;
    frame_.points = region_points(d);
    frame_.most_evaluations = cube.limits().evaluations;
    frame_.relative = tolerance.relative;
    frame_.absolute = tolerance.absolute;
    for (int k = 0; k < d; ++k) frame_.map[k] = map_of(cube.axes()[static_cast<std::size_t>(k)]);
  }
  ~RegionRun() { release(); }
  RegionRun(const RegionRun&) = delete;
  RegionRun& operator=(const RegionRun&) = delete;

  quadrature::Answer run();

 private:
  void release() {
    if (own_ != nullptr) backend_.memory(*run_.device).release(own_);
    own_ = nullptr;
  }
  void place(void* memory, long long capacity);
  void start();
  bool grow();
  int rounds() const;
  bool takes_too_long() const;
  void round(long long regions);
  quadrature::Answer report() const;

  quadrature::Cube& cube_;
  double first_cut_;
  int place_;
  Run& run_;
  Backend& backend_;
  const Estimate& estimate_;
  RegionFrame frame_{};
  RegionState state_{};
  double pace_ = 0;           // seconds for each evaluation so far
  long long last_round_ = 0;  // evaluations of the last rounds
  void* own_ = nullptr;       // memory beyond the run's workspace
};

template <class Estimate>
void RegionRun<Estimate>::place(void* memory, long long capacity) {
  const RegionMemory at(frame_.d, capacity);
  char* const base = static_cast<char*>(memory);
  frame_.capacity = capacity;
  frame_.state = reinterpret_cast<RegionState*>(base);
  frame_.histogram = reinterpret_cast<unsigned*>(base + at.histogram);
  frame_.partials = reinterpret_cast<double*>(base + at.partials);
  frame_.counts = reinterpret_cast<unsigned*>(base + at.counts);
  frame_.field = reinterpret_cast<double*>(base + at.field);
  frame_.axis = reinterpret_cast<int*>(base + at.axis);
  frame_.list = reinterpret_cast<long long*>(base + at.list);
  backend_.fill(run_, frame_.histogram, 0, region_bins * sizeof(unsigned));
}

// Halves of every axis while that gives few regions: one alone is too easily mistaken.
template <class Estimate>
void RegionRun<Estimate>::start() {
  const int d = frame_.d, cut = std::min(d, 6), count = 1 << cut;
  const long long capacity = first_capacity(cube_.limits(), d, place_);
  const RegionMemory memory(d, capacity);
  if (run_.workspace_bytes < memory.bytes) own_ = backend_.memory(*run_.device).allocate(memory.bytes);
  place(own_ != nullptr ? own_ : run_.workspace, capacity);
  for (int axis = 0; axis < d; ++axis) {
    const quadrature::Axis& given = cube_.axes()[static_cast<std::size_t>(axis)];
    const bool plain = given.linear();
    const double lower = plain ? given.range.lower : 0, upper = plain ? given.range.upper : 1;
    const double middle = lower + first_cut_ * (upper - lower);
    std::vector<double> centre, half;
    for (int k = 0; k < count; ++k) {
      const bool is_upper = (k >> axis & 1) != 0;
      const double from = axis < cut && is_upper ? middle : lower,
                   to = axis < cut && !is_upper ? middle : upper;
      half.push_back((to - from) / 2);
      centre.push_back(from + (to - from) / 2);
    }
    const std::size_t bytes = centre.size() * sizeof(double);
    backend_.copy(run_, frame_.field + axis * capacity, centre.data(), bytes);
    backend_.copy(run_, frame_.field + (d + axis) * capacity, half.data(), bytes);
  }
  state_ = {};
  state_.regions = count;
  state_.fresh = 1;
  state_.status = region_running;
  state_.cap = region_running;
  backend_.copy(run_, frame_.state, &state_, sizeof state_);
}

// Room for eight times as many regions, or as many as still go; false: for no more.
template <class Estimate>
bool RegionRun<Estimate>::grow() {
  const long long wanted = 8 * frame_.capacity;
  const RegionMemory memory(frame_.d, wanted);
  if (static_cast<double>(memory.bytes) > 0.9 * static_cast<double>(backend_.free_memory(*run_.device)))
    return false;
  const RegionFrame old = frame_;
  void* const old_memory = own_;
  own_ = backend_.memory(*run_.device).allocate(memory.bytes);
  place(own_, wanted);
  const auto regions = static_cast<std::size_t>(state_.regions);
  for (int k = 0; k < 2 * frame_.d + 4; ++k)
    backend_.copy(run_, frame_.field + k * wanted, old.field + k * old.capacity, regions * sizeof(double));
  backend_.copy(run_, frame_.axis, old.axis, regions * sizeof(int));
  backend_.synchronize(run_);
  if (old_memory != nullptr) backend_.memory(*run_.device).release(old_memory);
  return true;
}

// As many as surely take little time together.
template <class Estimate>
int RegionRun<Estimate>::rounds() const {
  constexpr double share = 0.1;
  const double at_once = run_.device->where == Where::cuda ? 1e9 : 1e5;  // evaluations
  const double little = pace_ > 0 ? std::fmin(at_once, share * cube_.seconds_left() / pace_) : at_once;
  double next = 2.0 * static_cast<double>(state_.regions) * frame_.points;
  int out = 1;
  while (out < 8 && next < little) {
    ++out;
    next *= 2;
  }
  return out;
}

// A round that has begun cannot be stopped: at most all regions are halved, seldom more than before by far.
template <class Estimate>
bool RegionRun<Estimate>::takes_too_long() const {
  constexpr double more = 4;
  const double all = 2.0 * static_cast<double>(state_.regions) * frame_.points;
  const double next = last_round_ > 0 ? std::fmin(all, more * static_cast<double>(last_round_)) : all;
  return pace_ * next > cube_.seconds_left();
}

template <class Estimate>
void RegionRun<Estimate>::round(long long regions) {
  constexpr long long warps = steering_threads / 32;
  const long long blocks = (chunks_of(regions) + warps - 1) / warps, most = 4LL * run_.device->processors;
  const Launch steering{.grid = {std::clamp(blocks, 2LL, std::max(2LL, most))}, .block = {steering_threads}};
  launch_kernel<AddUpRegions<double>>(steering, frame_, run_);
  launch_kernel<WeighRegions<double>>(steering, frame_, run_);
  launch_kernel<CountRegions<double>>(steering, frame_, run_);
  launch_kernel<ListRegions<double>>(steering, frame_, run_);
  estimate_(frame_, 2 * regions);
}

template <class Estimate>
quadrature::Answer RegionRun<Estimate>::run() {
  const auto first = static_cast<std::int64_t>(frame_.points) << std::min(frame_.d, 6);
  if (!cube_.allows(first)) {
    quadrature::Answer out = report();
    out.reason = cube_.cap();
    return out;
  }
  start();
  frame_.may_grow = 1;
  double left = cube_.seconds_left();
  estimate_(frame_, state_.regions);
  pace_ = (left - cube_.seconds_left()) / static_cast<double>(state_.regions * frame_.points);
  while (state_.status == region_running && cube_.seconds_left() > 0 && !takes_too_long()) {
    long long regions = state_.regions;
    const long long before = state_.evaluations;
    left = cube_.seconds_left();
    for (int k = rounds(); k > 0; --k, regions = std::min(2 * regions, frame_.capacity)) round(regions);
    backend_.copy(run_, &state_, frame_.state, sizeof state_);
    last_round_ = state_.evaluations - before;
    if (last_round_ > 0) pace_ = (left - cube_.seconds_left()) / static_cast<double>(last_round_);
    if (state_.status != region_full || frame_.may_grow == 0) continue;
    if (!grow()) frame_.may_grow = 0;
    state_.status = region_running;
    backend_.copy(run_, frame_.state, &state_, sizeof state_);
  }
  cube_.count(state_.evaluations);
  return report();
}

template <class Estimate>
quadrature::Answer RegionRun<Estimate>::report() const {
  quadrature::Answer out;
  out.rule = "genz-malik";
  out.evaluations = cube_.evaluations();
  if (state_.rounds == 0) return out;
  out.value = state_.value;
  out.truncation = state_.error;
  out.magnitude = state_.magnitude;
  out.rounding = 8 * quadrature::unit * state_.weighed;
  switch (state_.status) {
    case region_converged:
      out.reason = quadrature::Reason::converged;
      break;
    case region_roundoff:
      out.reason = quadrature::Reason::roundoff;
      break;
    case region_evaluations:
      out.reason = quadrature::Reason::evaluations;
      break;
    case region_full:
      out.reason = quadrature::Reason::memory;
      break;
    default:
      out.reason = quadrature::Reason::time;
  }
  if (state_.holes == 0) return out;
  cube_.look_for_holes();  // where they are only the processors can tell
  cube_.judge(out);
  // Where f has values around them, they counted as 0 here.
  if (out.converged()) out.reason = quadrature::Reason::doubtful;
  return out;
}

// Make: of what is asked and the tuning, what RegionRun's constructor calls Estimate.
template <class T, class Make>
void integrate_by_regions(const Arguments& arguments, const Tuning& tuning, Run& run, const Make& make) {
  RuleOptions options = rule_options_of(arguments);
  take_over(options, run);
  const auto estimate = make(options, tuning, run);
  const quadrature::ByRegions by_regions{
      [&](quadrature::Cube& cube, const quadrature::Tolerance& tolerance, double first_cut) {
        return RegionRun(cube, tolerance, first_cut, tuning["place"], run, estimate).run();
      },
      run.device->where == Where::cuda ? " on the GPU" : " on the executor"};
  quadrature::Answer answer = answer_to(options, host_threads(), by_regions);
  add_fallback_note(answer, run);
  const T given = rounded_value<T>(answer, options.scale);
  backend_of(*run.device).copy(run, arguments.array("integral").data, &given, sizeof given);
  run.values = values_of(answer, options.scale);
}

inline Reason not_by_regions(const Arguments& arguments) {
  if (has_samples(arguments)) return "samples are for the processors";
  if (!asks_for_rule(arguments)) return "a trapezoid sum is asked for";
  const std::string& rule = arguments.text("rule");
  if (rule != "auto" && rule != "genz_malik") return "it knows the rule genz_malik alone";
  const int d = rule_options_of(arguments).box.dimensions();
  if (d < 2 || d > quadrature::most_cubature_dimensions)
    return "Genz and Malik's rule takes 2 to 12 variables";
  return std::nullopt;
}

// `place`: for so many regions at first, unless the run says otherwise.
template <class Make>
Choice choice_by_regions(const Make& make, int place, std::vector<Range> ranges = {}) {
  Choice out;
  out.ranges = std::move(ranges);
  // Of regions: room for more costs a copy.
  out.ranges.push_back({.name = "place", .first = 128, .last = 1 << 24, .value = place});
  out.run[Element::f64] = [make](const Arguments& a, const Tuning& tuning, Run& run) {
    integrate_by_regions<double>(a, tuning, run, make);
  };
  out.refuses = [](const Arguments& a, const Tuning&, const Device&) { return not_by_regions(a); };
  out.footprint = [](const Arguments& a, const Tuning&) -> std::optional<Footprint> {
    constexpr int threads = 128;  // of the kernels that estimate; for the first regions a block is enough
    const std::int64_t regions = std::int64_t{1} << std::min(rule_options_of(a).box.dimensions(), 6);
    return Footprint{(regions + threads - 1) / threads, threads, 0};
  };
  out.workspace_bytes = [](const Arguments& a, const Tuning& tuning) {
    const RuleOptions options = rule_options_of(a);
    const int d = options.box.dimensions();
    return RegionMemory(d, first_capacity(options.limits, d, tuning["place"])).bytes;
  };
  return out;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
