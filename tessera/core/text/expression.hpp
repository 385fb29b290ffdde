// SPDX-License-Identifier: Apache-2.0
// Numbers from the command line: whole-number expressions over named values, "65536*256", "(width + 7) / 8";
// conditions on them, "m*n <= 16384 && (x == 1 || y < 4)"; and lists, "0, 0.5, 2" or "0:1:11".
// They size outputs, bound search spaces, and give arguments.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

using Dims = std::map<std::string, std::int64_t>;

// Evaluates an expression with + - * / (towards zero) ^, unary minus and parentheses. Throws Error that names
// the text and the position for an unknown name, a division by zero, an overflow, or a syntax error.
std::int64_t evaluate(std::string_view text, const Dims& names = {});

// Evaluates a condition: comparisons (== != <= >= < >) of expressions, joined by && and by ||, which binds
// less; parentheses and !. Both sides of && and || are evaluated. Throws Error like evaluate(), and if an
// operand is not a comparison.
[[nodiscard]] bool holds(std::string_view condition, const Dims& names);

bool is_name(std::string_view text);  // a letter or '_', then letters, digits, '_'
// Returns each name once, in the order of the text.
[[nodiscard]] std::vector<std::string> names_in(std::string_view text);

// Parses a finite number; a leading plus is allowed. Throws Error that names the word.
double number_of(const std::string& word);

// Returns the shortest decimal that reads back to the same number.
std::string text_of(double value);

// A list "0, 0.5, 2", or "a:b:n": n equally spaced numbers from a to b. Empty for empty text. Throws Error
// that names the text if an entry is no finite number, or if there are too many.
inline constexpr std::int64_t max_numbers = 65536;
[[nodiscard]] std::vector<double> numbers_of(const std::string& text);

// An output's extent along such a list is "count(NAME)", where NAME is a text argument; an omitted list
// counts 1.
std::int64_t count_of_numbers(const std::string& text);
std::string counted_list(const std::string& extent);  // "slopes" for "count(slopes)"; else empty

}  // namespace tessera
