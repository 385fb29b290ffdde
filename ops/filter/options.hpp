// SPDX-License-Identifier: Apache-2.0
// The weights of a kernel: by name, as text or from a file, and whether it is the product of a column and a
// row.
#pragma once
#include <string>
#include <vector>
#include "tessera/core/element.hpp"

namespace tessera::filtering {

// Rows of numbers, "1 2; 3 4": a row ends at ';' or at a line's end, between its numbers stand blanks or a
// comma. Throws Error that shows the text and says what is wrong.
std::vector<std::vector<double>> rows_of_numbers(const std::string& text);

struct Kernel {
  int rows = 1, cols = 1;
  std::vector<double> weights;      // row after row
  std::vector<double> column, row;  // its factors, where it has them; else empty
  double factor = 1;                // of every sum
  int shift = 0;                    // of whole sums: the sum counts 2^-shift
};

// `text`: a name, "1 2 1; 2 4 2; 1 2 1", or a .npy file. `size` and `sigma` are of those named ones that have
// them. Throws Error.
Kernel kernel_of(const std::string& text, int size, double sigma, Element element);

// Every weight as a float.
void round_weights(Kernel& kernel);
// Finds the factors of a kernel of several rows and columns that is a column times a row: the row is the one
// with the largest weight, the first of these, in whole numbers without a common divisor if all weights are
// whole. Whole weights must be the products themselves. Others may differ from them by what rounding weights
// to f32 makes of one.
void find_factors(Kernel& kernel);

const std::vector<std::string>& kernel_names();

}  // namespace tessera::filtering
