// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/numbers.hpp"
#include <algorithm>
#include <charconv>
#include <cmath>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

double number_in(const std::string& text, const std::string& word) {
  try {
    return number_of(word);
  } catch (const Error& error) {
    throw Error("'" + text + "' is neither a list of numbers nor a:b:n: " + error.what());
  }
}

// Without blanks around them.
std::vector<std::string> parts_of(const std::string& text, char between) {
  constexpr const char* blanks = " \t\r\n";
  std::vector<std::string> out;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find(between, from), text.size());
    const std::string part = text.substr(from, to - from);
    const std::size_t first = part.find_first_not_of(blanks);
    out.push_back(first == std::string::npos ? ""
                                             : part.substr(first, part.find_last_not_of(blanks) + 1 - first));
    from = to + 1;
  }
  return out;
}

std::vector<double> spaced(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text, ':');
  if (parts.size() != 3) throw Error("'" + text + "' should be a:b:n, n numbers from a to b");
  const double first = number_in(text, parts[0]), last = number_in(text, parts[1]),
               count = number_in(text, parts[2]);
  if (!(count >= 1) || count != std::nearbyint(count) || count > static_cast<double>(most_numbers))
    throw Error("'" + text + "' asks for " + parts[2] + " numbers; 1 to " + std::to_string(most_numbers) +
                " there may be");
  const auto n = static_cast<std::size_t>(count);
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(i == 0 ? first
                         : first + (last - first) * static_cast<double>(i) / static_cast<double>(n - 1));
  return out;
}

}  // namespace

double number_of(const std::string& word) {
  const std::size_t plus = word.starts_with('+') && !word.starts_with("+-") ? 1 : 0;
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data() + plus, word.data() + word.size(), value);
  if (failed == std::errc::result_out_of_range)
    throw Error("'" + word + "' is beyond what a number of 64 bits can be");
  if (failed != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
    throw Error("'" + word + "' is no finite number");
  return value;
}

// Commas stand between numbers; without any, blanks do.
std::vector<double> numbers_of(const std::string& text) {
  if (text.find(':') != std::string::npos) return spaced(text);
  std::vector<double> out;
  if (text.empty()) return out;
  const bool commas = text.find(',') != std::string::npos;
  for (const std::string& word : parts_of(text, commas ? ',' : ' '))
    if (commas || !word.empty()) out.push_back(number_in(text, word));
  if (out.empty()) throw Error("'" + text + "' has no number in it");
  if (static_cast<std::int64_t>(out.size()) > most_numbers)
    throw Error("more than " + std::to_string(most_numbers) + " numbers in a list");
  return out;
}

std::int64_t count_of_numbers(const std::string& text) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(numbers_of(text).size()));
}

std::string counted_list(const std::string& extent) {
  constexpr std::string_view before = "count(";
  if (!extent.starts_with(before) || !extent.ends_with(')')) return {};
  return extent.substr(before.size(), extent.size() - before.size() - 1);
}

}  // namespace tessera
