// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/numbers.hpp"
#include <algorithm>
#include <charconv>
#include <cmath>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

double number_in(const std::string& text, const std::string& word) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
    throw Error("'" + text + "' is neither a list of numbers nor a:b:n: '" + word + "' is no finite number");
  return value;
}

std::vector<std::string> parts_of(const std::string& text, const char* between) {
  std::vector<std::string> out;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find_first_of(between, from), text.size());
    out.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return out;
}

std::vector<double> spaced(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text, ":");
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

std::vector<double> numbers_of(const std::string& text) {
  if (text.find(':') != std::string::npos) return spaced(text);
  std::vector<double> out;
  const std::vector<std::string> words = parts_of(text, ", ");
  for (const std::string& word : words)
    if (!word.empty()) out.push_back(number_in(text, word));
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
