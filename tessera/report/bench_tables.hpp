// SPDX-License-Identifier: Apache-2.0
// The text tables that `bench`, `sweep`, `tune` and `compare` print.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/compare.hpp"
#include "tessera/bench/result.hpp"

namespace tessera::report {

// Returns one line per choice, for the rows of one problem; below, the choices that could not be measured,
// with reasons.
std::string ladder_table(const std::vector<bench::Row>& rows);

// Returns the speedup over serial of each choice at each size, and its mean over the last two sizes; empty if
// no serial rung was measured.
std::string mean_table(const std::vector<std::vector<bench::Row>>& sizes);

// For rows of bench::measure_calls() of one problem: a call's times, and the speedup of the first row's call
// over each baseline.
std::string call_table(const std::vector<bench::Row>& rows);
// For each baseline over all problems: the geometric mean of that speedup, the share of problems at 0.9 and
// more, and the lowest. Empty if there is one problem, or no baseline.
std::string call_means(const std::vector<bench::Row>& rows);

// Measured rows as a table of two or more parameters: one across, the others down.

// Names are parameters of the tuning, "variant" or "device". Each combination of the rows' other differences
// makes a table of its own. Cells hold GFLOP/s, or GB/s or the time if the operation counts none, or if
// `times` is true; the fastest is marked, and cells without a value show "not run" with the number of a note.
std::string two_way_table(const std::vector<bench::Row>& rows, const std::vector<std::string>& down,
                          const std::string& across, bool times = false);

// Returns all names in which the rows differ, except `across`, for the side of a single table of all rows.
std::vector<std::string> differing(const std::vector<bench::Row>& rows, const std::string& across);

// The times of two documents side by side, with the verdicts.

// Returns one line per pair; below, the number of pairs for each verdict.
std::string compare_table(const std::vector<bench::Pair>& pairs);

// Texts about a measured row that several tables share.

std::string device_of(const bench::Row& row);  // "simt (executor wall time)"
std::string name_of(const bench::Row& row);    // "gpu/shared_tiles"
std::string choice_of(const bench::Row& row);  // "gpu/shared_tiles tile=16"
std::string why_not(const bench::Row& row);    // for a row without samples
// Returns the reasons why rows have no samples, each once, with the rows that it applies to.
std::string reasons_of(const std::vector<bench::Row>& rows);
std::string findings_of(const std::vector<bench::Row>& rows);       // the errors in wrong results
extern const char* const executor_note;                             // its times say nothing of a GPU's
std::string executor_note_of(const std::vector<bench::Row>& rows);  // "" if none ran on the executor

}  // namespace tessera::report
