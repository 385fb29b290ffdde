// SPDX-License-Identifier: Apache-2.0
// Measures an operation's public call with its defaults: the host time of a call, and the time of calls in a
// stream and in a graph.
#pragma once
#include <vector>
#include "tessera/bench/measure.hpp"

namespace tessera::bench {

// Returns a row for the call, then one for each choice of a baseline that can be called in the same way.
// Row::calls has samples of "host" (enqueued, or finished on devices without streams), "stream" and "graph";
// for the call also "host_prepared", "stream_prepared" and, on a GPU, "host_empty", the launch of an empty
// kernel. Row::seconds has those of "stream", else of "host". Sampling is interleaved.
// Consecutive calls use different arrays: on a GPU, of sets that exceed its last-level cache; on the CPU, of
// two sets. Throws Error on the executor, for empty arrays, and if the call refuses the arguments.
std::vector<Row> measure_calls(const Operation& operation, Element element, const Case& problem,
                               const Device& device, const Measuring& measuring);

}  // namespace tessera::bench
