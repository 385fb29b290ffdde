// SPDX-License-Identifier: Apache-2.0
// Measures any number of configurations, a few at a time, so that their arrays need not all fit on the
// device at once, and so that one that fails is a row and not the end of the others.
#pragma once
#include <functional>
#include <vector>
#include "tessera/bench/measure.hpp"
#include "tessera/tune/space.hpp"

namespace tessera::tune {

// One row for each candidate, in their order. What bench::measure is; tests replace it.
using Measure = std::function<std::vector<bench::Row>(const std::vector<bench::Candidate>&)>;

bench::Candidate candidate_of(const Config& config, const Device& device);

// Throws Error of kind memory where a failure has cost the device: nothing more can be measured. Else
// calls `measure` with everything; where that throws, with each alone; one that throws alone becomes a row
// whose reason is what was thrown.
std::vector<bench::Row> measure_each(const std::vector<bench::Candidate>& candidates, const Measure& measure,
                                     const std::function<bool()>& interrupted);

// How many candidates to measure in turn: as many as the device has room for, at most `most`.
std::size_t batch_size(const Operation& operation, const Arguments& arguments, const Device& device,
                       std::size_t most);

bool interrupted_row(const bench::Row& row);  // it was not its turn yet when the session ended

}  // namespace tessera::tune
