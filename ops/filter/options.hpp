// SPDX-License-Identifier: Apache-2.0
// The weights of a kernel: by name, from text or from a file, and its factors if it is a column times a row.
#pragma once
#include <string>
#include <vector>
#include "tessera/core/array/element.hpp"

namespace tessera::filtering {

// Parses rows of numbers, "1 2; 3 4": a row ends at ';' or at the end of a line; blanks or a comma separate
// numbers. Throws Error with the text and the reason.
std::vector<std::vector<double>> rows_of_numbers(const std::string& text);

struct Kernel {
  int rows = 1, cols = 1;
  std::vector<double> weights;      // row-major
  std::vector<double> column, row;  // its factors; empty if it has none
  double factor = 1;                // multiplies every sum
  int shift = 0;                    // integer sums are in units of 2^-shift
};

// `text`: a name, "1 2 1; 2 4 2; 1 2 1", or a .npy file. `size` and `sigma` are for named kernels that have
// them. Throws Error.
Kernel kernel_of(const std::string& text, int size, double sigma, Element element);

// Rounds every weight to f32.
void round_weights(Kernel& kernel);
// Finds the factors of a kernel of several rows and columns that is a column times a row: the row is the
// first one with the largest weight, in integers without a common divisor if all weights are integers.
// Integer weights must equal the products. Other weights may differ from them by the rounding of weights to
// f32.
void find_factors(Kernel& kernel);

const std::vector<std::string>& kernel_names();

}  // namespace tessera::filtering
