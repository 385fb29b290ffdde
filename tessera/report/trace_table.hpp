// SPDX-License-Identifier: Apache-2.0
// The text that `trace` and `code` print: tables of counters, of lines, of compiled kernels, and `--why`.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/code.hpp"
#include "tessera/bench/trace.hpp"

namespace tessera::report {

std::string trace_table(const std::vector<bench::Traced>& rows);
std::string line_table(const bench::Traced& row);
std::string array_table(const bench::Traced& row);
std::string findings_text(const bench::Traced& row);        // "" when there are none
std::string notes(const std::vector<bench::Traced>& rows);  // the basis of the numbers

std::string code_table(const std::vector<bench::KernelCode>& kernels);

// Returns "32×32 + 8×128": the number of memory instructions of each width in bits.
std::string widths_text(const bench::Widths& widths);

// Returns the kernel's own part of a long name of a template instantiation.
std::string short_name(const std::string& name);

// Differences between two rungs' counters, in words.

// Returns the reasons why `after` may be faster or slower than `before`: the differences of their traces, a
// line each.
std::string why(const bench::Traced& before, const bench::Traced& after);

}  // namespace tessera::report
