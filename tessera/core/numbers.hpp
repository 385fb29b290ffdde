// SPDX-License-Identifier: Apache-2.0
// Numbers as one types several: a list "0, 0.5, 2", or "a:b:n", n of them from a to b at equal distances.
// An output has an extent along such a list by the extent "count(NAME)", NAME being a text argument; a list
// left out counts 1.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

inline constexpr std::int64_t most_numbers = 65536;

// A finite number as one types it, a plus before it allowed. Throws Error that names the word.
double number_of(const std::string& word);

// Empty for no text. Throws Error that names the text for what is no finite number, or for too many.
std::vector<double> numbers_of(const std::string& text);
std::int64_t count_of_numbers(const std::string& text);

// "slopes" for "count(slopes)"; empty: the extent is no such count.
std::string counted_list(const std::string& extent);

}  // namespace tessera
