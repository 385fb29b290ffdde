// SPDX-License-Identifier: Apache-2.0
// GPU rung 3: the formula compiled at run time; threads for the easy integrals, warps for the rest.
//
// Compiled code needs none of the interpreter's work per point. A thread keeps an integral as long as its
// cells fit in a small local list, as most do; it puts the others into a queue, from which warps take one
// after another, so that no warp waits for a hard integral among easy ones. Both give bitwise identical
// results. The limits are the arithmetic of the formula, and lanes that wait while another lane of their warp
// splits its cells once more.
#include <algorithm>
#include <cstring>
#include <optional>
#include "batch_source.hpp"
#include "integrate_batch.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/runtime_kernel.hpp"
#include "tessera/rung.hpp"

namespace tessera::integrate_batch {
namespace {

constexpr std::size_t counter_bytes = 256;

struct Kernels {
  std::optional<cuda::RuntimeKernel> alone, together;
};

// Returns the kernels. A thread caches the last ones, so a repeated request costs a comparison.
const Kernels& kernels_for(const BatchOptions& options, const Compiled& how, int capability) {
  thread_local std::string known;
  thread_local Kernels last;
  thread_local int for_capability = 0;
  thread_local formula::Program<double> integrand, end;
  thread_local Compiled compiled{-1, 0, 0, 0};
  const bool same = for_capability == capability && how.cells == compiled.cells &&
                    how.threads == compiled.threads && how.resident == compiled.resident &&
                    how.warps == compiled.warps &&
                    std::memcmp(&integrand, &options.integrand, sizeof integrand) == 0 &&
                    std::memcmp(&end, &options.end, sizeof end) == 0;
  if (same) return last;
  for_capability = 0;
  last = {};
  const std::string source = source_of(options, how);
  if (how.cells > 0) last.alone.emplace(source, "each_alone", capability);
  last.together.emplace(source, "together", capability);
  std::memcpy(&integrand, &options.integrand, sizeof integrand);
  std::memcpy(&end, &options.end, sizeof end);
  compiled = how;
  for_capability = capability;
  return last;
}

// A thread holds at least the cells that an integral begins with, and four more.
Compiled compiled_of(const Tuning& tuning, const BatchOptions& options) {
  const auto begins = 2 * (options.breaks() + 2), cells = tuning["cells"];
  return {cells == 0 ? 0 : std::max(cells, begins + 4), tuning["thread"], tuning["resident"],
          tuning["warps"]};
}

std::int64_t warp_blocks(const Problem<double>& p, const Tuning& t) {
  const std::int64_t needed = (p.work.count + t["warps"] - 1) / t["warps"];
  return std::min<std::int64_t>(needed, t["block"]);
}

std::size_t waiting_bytes(const Problem<double>& p) {
  return (static_cast<std::size_t>(p.work.count) * sizeof(unsigned) + 255) / 256 * 256;
}

void integrate_compiled(const Arguments& arguments, const Tuning& tuning, Run& run) {
  const auto p = Problem<double>::of(arguments);
  if (p.work.count == 0) return;
  const cuda::OnDevice on_device(run.device->index);
  const BatchOptions& options = batch_options_of(arguments);
  const Compiled how = compiled_of(tuning, options);
  const Kernels& kernels = kernels_for(options, how, run.device->compute_capability);
  char* const workspace = static_cast<char*>(run.workspace);
  const Spare spare{reinterpret_cast<unsigned*>(workspace),
                    reinterpret_cast<unsigned*>(workspace + counter_bytes),
                    workspace + counter_bytes + waiting_bytes(p), p.cells};
  if (how.cells > 0)
    kernels.alone->launch({.grid = {(p.work.count + how.threads - 1) / how.threads}, .block = {how.threads}},
                          0, run.stream, p.work, spare);
  kernels.together->launch({.grid = {warp_blocks(p, tuning)}, .block = {32 * how.warps}}, 0, run.stream,
                           p.work, spare);
}

Choice choice() {
  Choice out;
  out.prepare[Element::f64] =
      without_plan(integrate_compiled, [](const Arguments& arguments, const Tuning& tuning) {
        const auto p = Problem<double>::of(arguments);
        return counter_bytes + waiting_bytes(p) +
               static_cast<std::size_t>(warp_blocks(p, tuning) * tuning["warps"] * list_bytes(p.cells));
      });
  out.ranges = {{.name = "cells", .first = 0, .last = 64, .value = 48},
                {.name = "thread", .first = 32, .last = 256, .value = 128},
                {.name = "resident", .first = 1, .last = 8, .value = 1},
                {.name = "block", .first = 1, .last = 1 << 16, .value = 1056},
                {.name = "warps", .first = 1, .last = 8, .value = 4}};
  return out;
}

const Rung rung(cuda::compiled_variant(
    "the formula compiled when it is typed; easy integrals by threads, the rest by warps from a queue",
    choice()));

}  // namespace
}  // namespace tessera::integrate_batch
