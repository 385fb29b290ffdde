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
std::string notes(const std::vector<bench::Traced>& rows);  // what the numbers rest on

// What the compiler made of kernels, as a table.

std::string code_table(const std::vector<bench::KernelCode>& kernels);

// "32×32 + 8×128": so many memory instructions of each width in bits.
std::string widths_text(const bench::Widths& widths);

// The kernel's own part of a name that the library's templates made long.
std::string short_name(const std::string& name);

// Two rungs' counters, one subtracted from the other and put into words.

// Why `after` may be faster or slower than `before`: what of their traces differs, a line each.
std::string why(const bench::Traced& before, const bench::Traced& after);

}  // namespace tessera::report
