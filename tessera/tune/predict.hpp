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
  std::optional<double> cost = {};       // relative; what is smaller should be faster
};

// How many cycles the busiest unit needs for a unit of work, from counted requests; nothing: not counted.
using Work = std::function<std::optional<double>(const Config&)>;

// Nothing but an empty Prediction for what is no kernel. The lanes at work at a time, and how evenly the
// blocks fill the device, tell one launch shape from another; `work` tells kernels apart. On the executor the
// GPU meant is `model`.
Prediction predict(const Config& config, const Arguments& arguments, const Device& device,
                   const Work& work = {});

Device model_gpu();  // what predictions on the executor are made for

}  // namespace tessera::tune
