// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/estimate.hpp"
#include <algorithm>
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

}  // namespace tessera::bench
