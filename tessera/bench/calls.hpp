// SPDX-License-Identifier: Apache-2.0
// What a program gets of an operation's public call, with its defaults: the host's time for a call, the time
// of calls in a stream, and in a graph.
#pragma once
#include <vector>
#include "tessera/bench/measure.hpp"

namespace tessera::bench {

// A row for the call, then one for each choice of a baseline that can be called like it. Row::calls holds
// samples of "host" (enqueued, or done where there are no streams), "stream" and "graph", and of the call
// also "host_prepared", "stream_prepared" and, on a GPU, "host_empty", of a launch that does nothing;
// Row::seconds those of "stream", else of "host". All take turns.
// Each call takes other arrays: on a GPU of sets that exceed its last-level cache, on processors of two.
// Throws Error where the operation has no public call, or not for these arguments.
std::vector<Row> measure_calls(const Operation& operation, Element element, const Case& problem,
                               const Device& device, const Measuring& measuring);

}  // namespace tessera::bench
