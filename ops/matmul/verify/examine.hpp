// SPDX-License-Identifier: Apache-2.0
// Checks a product that anyone computed: bounds of the arithmetic that it names, the randomised check, and
// the cause of wrong elements.
#pragma once
#include <optional>
#include <span>
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
// True if elements of a less precise arithmetic are called wrong within their bounds: if the mean error
// exceeds eight times the mean of roundings_of() an element. `size`: Σ|a·b| times |α| and the scales.
bool demands_precision(const Arithmetic& arithmetic);
double roundings_of(const Arguments& arguments, double value, double size);

// A right product, and what its check sees: elements of rows in full, their number, the sums of their bounds
// and magnitudes, and the largest of these rows' errors that suspect_rows() tells.
struct DeviceAnswer {
  Verdict verdict;
  double seen = 0, count = 0, bounds = 0, values = 0;
};
// Checks a product whose arrays lie in a device's memory; nullopt: it may be wrong, or these kernels do not
// know, and the check in host memory decides.
std::optional<DeviceAnswer> right_on_device(const Device& device, const Arithmetic& arithmetic);
// Copies arrays from a device's memory, from the first element to the last; `kept` owns the copies.
void copy_to_host(Arguments& arguments, std::span<const char* const> names, const Run& run,
                  std::vector<Array>& kept);

}  // namespace tessera::matmul
