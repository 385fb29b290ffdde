// SPDX-License-Identifier: Apache-2.0
// Measures candidates on one problem, in turn, and verifies what they computed.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "tessera/lab/result.hpp"
#include "tessera/lab/sample.hpp"
#include "tessera/run/choose.hpp"

namespace tessera::lab {

struct Measuring {
  Effort effort;
  bool cold = false;  // flush the caches before each sample
  bool verify = true;
  bool ceilings = true;  // measure those of the devices, where they are not known yet
  std::uint64_t seed = 1;
  std::function<bool()> interrupted;
  std::function<void(const std::string&)> progress;  // told what is being done
};

struct Candidate {
  Plan plan;
  bool serial = false;
  Reason absent = {};  // known beforehand to be unable to run; it keeps its row
};

// One row for each candidate, in their order, without ratios. Inputs are random normal; outputs are
// poisoned before every sample; each candidate's last result is verified.
std::vector<Row> measure(const Operation& operation, Element element, const Case& problem,
                         const std::vector<Candidate>& candidates, const Measuring& measuring);

}  // namespace tessera::lab
