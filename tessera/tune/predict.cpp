// SPDX-License-Identifier: Apache-2.0
#include "tessera/tune/predict.hpp"
#include <algorithm>
#include "tessera/bench/occupancy.hpp"

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

}  // namespace tessera::tune
