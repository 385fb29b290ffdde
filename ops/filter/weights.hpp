// SPDX-License-Identifier: Apache-2.0
// Weights as one types them: rows, in an order that says how many there are.
#pragma once
#include <string>
#include <vector>
#include "tessera/core/element.hpp"

namespace tessera::filter {

// Rows of numbers. Either rows that end at ';' or a line's end, or brackets as NumPy and JSON have them:
// "[[1, 2], [3, 4]]",
// "[1 2 3]". Between a row's numbers stand blanks or commas. Throws Error that shows the text and says what
// is wrong: no number, a row without any, rows of unequal length, brackets that do not match.
std::vector<std::vector<double>> rows_of_numbers(const std::string& text);

// Kernels by name, as text or from a file, and whether one is the product of a column and a row.

struct Kernel {
  int rows = 1, cols = 1;
  std::vector<double> weights;      // row after row
  std::vector<double> column, row;  // its factors, where it has them; else empty
  double factor = 1;                // of every sum
  int shift = 0;                    // of whole sums: the sum counts 2^-shift
};

// `text`: a name, "1 2 1; 2 4 2; 1 2 1", "[[1,2,1],[2,4,2],[1,2,1]]", or a .npy file. `size` and `sigma` are
// of those named ones that have them. Throws Error.
Kernel kernel_of(const std::string& text, int size, double sigma, Element element);

// Every weight as a float.
void round_weights(Kernel& kernel);
// As a convolution takes it: last tap first.
void turn_round(Kernel& kernel);
// Whether 32 bits hold every weight as an integer.
bool has_whole_weights(const Kernel& kernel);
// Finds the factors of a kernel of several rows and columns that is a column times a row: the row is the one
// with the largest weight, the first of these, in whole numbers without a common divisor if all weights are
// whole. `exact`: every weight must be the product itself. Else each may differ from it by what rounding
// weights to f32 makes of one, and by `deviation` of the largest.
void find_factors(Kernel& kernel, bool exact, double deviation);
// How far a weight is from the product that find_factors would take for it, at most, as a share of the
// largest.
double largest_deviation(const Kernel& kernel);

const std::vector<std::string>& kernel_names();

}  // namespace tessera::filter
