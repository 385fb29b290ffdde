// SPDX-License-Identifier: Apache-2.0
// Checks a product that anyone computed: bounds of the arithmetic that it names, the randomised check, and
// the cause of wrong elements.
#pragma once
#include <string>
#include <vector>
#include "ops/matmul/operation/matmul_operation.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::matmul {

struct Arithmetic {
  Arguments arguments;  // with the words that select it
  Slack slack;
  std::string text;
};
// `words`: TYPE, sums=f16 or bf16, parts=N, fast, separated by commas. Throws Error if they do not fit the
// elements.
Arithmetic arithmetic_of(const Arguments& given, const std::string& words);

// Returns the cause of wrong elements, a hypothesis under which most of a sample of them are right. `wrong`:
// some of them; empty: the elements of C are within their bounds, and the result is the arithmetic, less
// precise than the named one, that explains their errors. "": none does.
std::string cause_of(const Arithmetic& arithmetic, const std::vector<Mismatch>& wrong);

}  // namespace tessera::matmul
