// SPDX-License-Identifier: Apache-2.0
// What the compiler made of kernels, as a table.
#pragma once
#include <string>
#include <vector>
#include "tessera/bench/code.hpp"

namespace tessera::report {

std::string code_table(const std::vector<bench::KernelCode>& kernels);

// "32×32 + 8×128": so many memory instructions of each width in bits.
std::string widths_text(const bench::Widths& widths);

// The kernel's own part of a name that the library's templates made long.
std::string short_name(const std::string& name);

}  // namespace tessera::report
