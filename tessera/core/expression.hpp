// SPDX-License-Identifier: Apache-2.0
// Whole-number expressions over named values: "65536*256", "2*m+1", "(width + 7) / 8". They size
// outputs, and give numbers on the command line.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tessera {

using Dims = std::map<std::string, std::int64_t>;

// Operators + - * / (towards zero) ^, unary minus, parentheses. Throws Error that names the text and
// the place for an unknown name, a division by zero, an overflow, or anything it cannot read.
std::int64_t evaluate(std::string_view text, const Dims& names = {});

bool is_name(std::string_view text);  // a letter or '_', then letters, digits, '_'

}  // namespace tessera
