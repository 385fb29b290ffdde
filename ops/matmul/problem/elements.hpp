// SPDX-License-Identifier: Apache-2.0
// Which elements may meet in one product, and what follows from the words that ask for them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include "tessera/core/arguments.hpp"

namespace tessera::matmul {

inline bool is_fp8(Element element) { return element == Element::e4m3 || element == Element::e5m2; }

// Of A and of B, which differ only among the 8-bit floats; of C, and of what is added to it.
Element element_of_b(Element a, const Arguments::Words& words);
Element element_of_c(Element a, const Arguments::Words& words);  // throws Error where A's does not lead there
Element element_of_bias(Element a, const Arguments::Words& words);  // C's, but f32 beside an i8

// "bf16", "bf16>f32", "e4m3*e5m2>f16", "tf32", "e4m3 fast": what keeps one kind of product from another.
std::string element_text(const Arguments& arguments);

// C = α·op(A)·op(B) + β·C0 with one element for all, summed in its own arithmetic or a better one.
bool is_plain(const Arguments& arguments);

// Why kernels that keep their counts in 32 bits cannot compute a product of this size.
std::optional<std::string> counts_beyond(const Arguments& arguments);

// A MixedProblem, and no plain one, says what is to be computed and how exactly.
bool is_mixed(const Arguments& arguments);

}  // namespace tessera::matmul
