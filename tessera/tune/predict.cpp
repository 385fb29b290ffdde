// SPDX-License-Identifier: Apache-2.0
#include "tessera/tune/predict.hpp"
#include <algorithm>
#include "tessera/lab/occupancy.hpp"

namespace tessera::tune {
namespace {

constexpr std::int64_t warp = 32;

double as_double(std::int64_t value) { return static_cast<double>(value); }

// The part of the device's warps that has work, on average over the launch.
double filled(const Footprint& footprint, const lab::Occupancy& occupancy, int processors) {
  const std::int64_t at_once = std::int64_t{occupancy.blocks} * std::max(processors, 1);
  const std::int64_t waves = (footprint.blocks + at_once - 1) / at_once;
  return occupancy.fraction * as_double(footprint.blocks) / as_double(waves * at_once);
}

// A warp that is not full takes as long as one that is.
double lanes_used(const Footprint& footprint) {
  const std::int64_t warps = (footprint.threads_per_block + warp - 1) / warp;
  return as_double(footprint.threads_per_block) / as_double(warps * warp);
}

}  // namespace

Device model_gpu() {
  Device out;
  out.where = Where::cuda;
  out.compute_capability = 90;
  out.processors = 132;
  return out;
}

Prediction predict(const Config& config, const Arguments& arguments, const Device& device, const Work& work) {
  if (device.where == Where::cpu || !config.choice->footprint) return {};
  const auto footprint = config.choice->footprint(arguments, config.tuning);
  if (!footprint || footprint->threads_per_block < 1 || footprint->blocks < 1) return {};
  const Device gpu = device.where == Where::simt ? model_gpu() : device;
  const lab::Occupancy occupancy =
      lab::occupancy(lab::multiprocessor_of(gpu.compute_capability), footprint->threads_per_block,
                     footprint->shared_bytes, footprint->registers);
  if (occupancy.blocks < 1)
    return {.rejected = "no block of it fits on a multiprocessor: " + occupancy.limit};
  Prediction out{.occupancy = occupancy.fraction};
  const double throughput = filled(*footprint, occupancy, gpu.processors) * lanes_used(*footprint);
  if (!work) out.cost = 1 / throughput;
  else if (const auto cycles = work(config)) out.cost = *cycles / throughput;
  return out;
}

}  // namespace tessera::tune
