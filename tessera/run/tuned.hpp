// SPDX-License-Identifier: Apache-2.0
// Findings of earlier tuning, read when a variant is chosen. `tessera tune` writes them, each as a line of
// JSON with its evidence.
#pragma once
#include <map>
#include <optional>
#include <string>
#include "tessera/run/choose.hpp"

namespace tessera {

// Returns $TESSERA_CACHE, otherwise tuning.jsonl in the cache folder; "": there is none.
std::string tuning_file();

// The key of a finding. Sizes are not part of it: the nearest finding serves, if it is near enough.
struct TunedFor {
  std::string operation, element;
  std::string
      shape;  // "k=large m=large n=small op-a=none": each size against the largest, and what was chosen
  std::string device;  // "cuda NVIDIA H200 9.0 driver 13.0", "cpu A processor, 2 threads"
  std::map<std::string, std::int64_t> sizes;
  std::string driver_version = {};  // the driver's own; "": unknown, which fits any
};
TunedFor tuned_for(const Operation& operation, const Arguments& arguments, const Device& device);

// Returns the finding for the nearest sizes, each within a factor of 4, whose rung and tuning still exist and
// accept the arguments, which are on the device. A finding for other sizes is not used if a heuristic holds
// its rung back. Nothing if there is none, or the file cannot be read.
std::optional<Plan> tuned_plan(const std::string& file, const Device& device, const Operation& operation,
                               const Arguments& device_arguments);

}  // namespace tessera
