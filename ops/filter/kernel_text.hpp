// SPDX-License-Identifier: Apache-2.0
// Weights as one types them: rows, in an order that says how many there are.
#pragma once
#include <string>
#include <vector>

namespace tessera::filter {

// Rows of numbers. Either rows that end at ';' or a line's end, or brackets as NumPy and JSON have them:
// "[[1, 2], [3, 4]]",
// "[1 2 3]". Between a row's numbers stand blanks or commas. Throws Error that shows the text and says what
// is wrong: no number, a row without any, rows of unequal length, brackets that do not match.
std::vector<std::vector<double>> rows_of_numbers(const std::string& text);

}  // namespace tessera::filter
