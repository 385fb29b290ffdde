// SPDX-License-Identifier: Apache-2.0
// What `bench` measures: which variants, with which tunings, on which devices.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/measure.hpp"

namespace tessera::cli {

struct Selection {
  std::vector<Device> devices;
  std::vector<std::string> variants;  // none: the whole ladder of each device, with its baselines
  std::string versus;                 // a variant that every row is compared with
  Tuning tuning;             // keeps the choices that have these values; who has no such parameter is kept
  bool all_tunings = false;  // every choice, not only a variant's first that fits
  bool serial = true;        // the first rung on the processors, to compare with
};

// In the order of the devices, then of the ladders, or of the variants as named; the serial rung is
// first where it would not come anyway. Throws Error for names that do not exist.
std::vector<bench::Candidate> candidates(const Operation& operation, const Selection& selection);

}  // namespace tessera::cli
