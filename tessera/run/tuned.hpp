// SPDX-License-Identifier: Apache-2.0
// What earlier tuning found, read when a variant is to be chosen. `tessera tune` writes it: one line of JSON
// for each finding, with its evidence.
#pragma once
#include <map>
#include <optional>
#include <string>
#include "tessera/run/choose.hpp"

namespace tessera {

// $TESSERA_CACHE, else tuning.jsonl in the cache folder; "" where there is none.
std::string tuning_file();

// Under what a finding holds. Sizes are not part of it: the nearest finding serves, if it is near enough.
struct TunedFor {
  std::string operation, element;
  std::string
      shape;  // "k=large m=large n=small op-a=none": each size against the largest, and what was chosen
  std::string device;  // "cuda NVIDIA H200 9.0 driver 13.0", "cpu A processor, 2 threads"
  std::map<std::string, std::int64_t> sizes;
  std::string driver_version = {};  // the driver's own; "": not known, which fits any
};
TunedFor tuned_for(const Operation& operation, const Arguments& arguments, const Device& device);

// The choice found for the nearest sizes, each within a factor of 4, whose rung and tuning still exist and
// accept the arguments, which lie on the device. A finding for other sizes is no use where a heuristic holds
// its rung back. Nothing where there is none, or the file cannot be read.
std::optional<Plan> tuned_plan(const std::string& file, const Device& device, const Operation& operation,
                               const Arguments& there);

}  // namespace tessera
