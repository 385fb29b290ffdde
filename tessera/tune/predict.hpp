// SPDX-License-Identifier: Apache-2.0
// What can be said of a kernel's configuration before it runs: whether a block fits at all, and which of two
// is likelier to be fast.
#pragma once
#include <functional>
#include <optional>
#include "tessera/core/operation.hpp"
#include "tessera/tune/space.hpp"

namespace tessera::tune {

struct Prediction {
  Reason rejected = {};                  // no block of it fits on a multiprocessor
  std::optional<double> occupancy = {};  // of the warps that a multiprocessor can hold
  std::optional<double> cost = {};       // what is smaller should be faster; with counted work, cycles
  std::optional<double> uncounted = {};  // the cost that occupancy alone gives
};

// What all of a problem asks of a GPU's multiprocessors together, in cycles of each unit.
struct Work {
  double cache = 0;       // the first cache: a line for each request, or a wavefront of shared memory
  double sectors = 0;     // what brings sectors to it
  double issue = 0;       // instructions to begin: multiply-adds and requests
  double arithmetic = 0;  // multiply-adds
  double requests = 0;    // no cycles: how often a warp asks global memory for something

  double busiest() const;
};

// Nothing: not counted, or it could not be.
using Counted = std::function<std::optional<Work>(const Config&)>;

// Nothing but an empty Prediction for what is no kernel. With `counted`, the cost is how long the fullest
// multiprocessor's busiest unit works, or its warps wait for memory, if that is longer; what has not been
// counted has no cost. Without it, the lanes at work at a time and how evenly the blocks fill the device tell
// one launch shape from another. On the executor the GPU meant is `model_gpu`.
Prediction predict(const Config& config, const Arguments& arguments, const Device& device,
                   const Counted& counted = {});

Device model_gpu();  // what predictions on the executor are made for

}  // namespace tessera::tune
