// SPDX-License-Identifier: Apache-2.0
// The text tables that `bench`, `sweep`, `tune` and `compare` print.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/compare.hpp"
#include "tessera/bench/result.hpp"

namespace tessera::report {

// One line per choice, for the rows of one problem; below it what could not be measured and why.
std::string ladder_table(const std::vector<bench::Row>& rows);

// × serial of each choice at each size, and its mean over the last two sizes; empty where no serial
// rung was measured.
std::string mean_table(const std::vector<std::vector<bench::Row>>& sizes);

// Rows of bench::measure_calls(), of one problem: a call's times, and how many times as fast the first row's
// call is as each baseline.
std::string call_table(const std::vector<bench::Row>& rows);
// Of all problems: for each baseline the geometric mean of that, the share of problems at 0.9 and more, and
// the lowest. Empty where there is one problem, or no baseline.
std::string call_means(const std::vector<bench::Row>& rows);

// Measured rows as a table of two or more parameters: one across, the others down.

// Names are parameters of the tuning, "variant" or "device". What else the rows differ in makes a table of
// its own for each combination. Cells hold GFLOP/s, or GB/s or the time where the operation counts none, or
// where `times` are asked for; the fastest is marked, and what has no value says n/a with the number of a
// note.
std::string two_way_table(const std::vector<bench::Row>& rows, const std::vector<std::string>& down,
                          const std::string& across, bool times = false);

// Everything that the rows differ in, but for `across`: what to put down for one table of all rows.
std::vector<std::string> differing(const std::vector<bench::Row>& rows, const std::string& across);

// Two documents' times side by side, with the verdicts.

// One line a pair, below it how many there are of each verdict.
std::string compare_table(const std::vector<bench::Pair>& pairs);

// What several tables say of a measured row in words.

std::string device_of(const bench::Row& row);  // "simt (executor wall time)"
std::string name_of(const bench::Row& row);    // "gpu/shared_tiles"
std::string why_not(const bench::Row& row);    // of a row without samples
// Why rows have no samples, each reason once, with those that it holds for.
std::string reasons_of(const std::vector<bench::Row>& rows);
std::string findings_of(const std::vector<bench::Row>& rows);       // what is wrong in wrong results
std::string executor_note_of(const std::vector<bench::Row>& rows);  // "" where none ran on the executor

}  // namespace tessera::report
