// SPDX-License-Identifier: Apache-2.0
#include "kernel_text.hpp"
#include <algorithm>
#include <cstddef>
#include <string_view>
#include "tessera/core/error.hpp"
#include "tessera/core/expression.hpp"

namespace tessera::filter {
namespace {

using Row = std::vector<double>;

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

std::vector<std::string_view> split(std::string_view text, char between) {
  std::vector<std::string_view> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(between, from), text.size());
    out.push_back(trimmed(text.substr(from, to - from)));
    from = to + 1;
  }
  return out;
}

Row row_of(std::string_view text) {
  Row out;
  for (const std::string_view part : split(text, ',')) {
    if (part.empty()) throw Error(text.empty() ? "a row has no number" : "no number stands beside a comma");
    for (std::size_t from = 0; from != part.npos; from = part.find_first_not_of(blanks, from)) {
      const std::size_t to = std::min(part.find_first_of(blanks, from), part.size());
      out.push_back(number_of(std::string(part.substr(from, to - from))));
      from = to;
    }
  }
  return out;
}

// "1 2; 3 4". The last row, and each line, may end with a ';' or without.
std::vector<Row> by_semicolons(std::string_view text) {
  std::vector<Row> out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    std::vector<std::string_view> rows = split(line, ';');
    if (rows.back().empty()) rows.pop_back();
    for (const std::string_view row : rows) out.push_back(row_of(row));
  }
  return out;
}

// "[1, 2], [3, 4]", between the outer brackets.
std::vector<Row> by_brackets(std::string_view text) {
  const Error unmatched("its brackets do not match");
  std::vector<Row> out;
  while (!text.empty()) {
    const std::size_t end = text.find(']');
    if (text[0] != '[' || end == text.npos) throw unmatched;
    const std::string_view row = text.substr(1, end - 1);
    if (row.find('[') != row.npos) throw unmatched;
    out.push_back(row_of(trimmed(row)));
    text = trimmed(text.substr(end + 1));
    if (text.starts_with(',')) {
      text = trimmed(text.substr(1));
      if (text.empty()) throw Error("no row stands behind its last comma");
    }
  }
  return out;
}

std::vector<Row> rows_in(std::string_view text) {
  if (text.find_first_of("[]") == text.npos) return by_semicolons(text);
  if (text.find(';') != text.npos) throw Error("rows end either at ';' or at ']'");
  if (!text.starts_with('[') || !text.ends_with(']') || text.size() < 2)
    throw Error("its brackets do not match");
  const std::string_view inside = trimmed(text.substr(1, text.size() - 2));
  if (inside.find_first_of("[]") != inside.npos) return by_brackets(inside);
  return {row_of(inside)};
}

}  // namespace

std::vector<std::vector<double>> rows_of_numbers(const std::string& text) try {
  std::vector<Row> out = rows_in(trimmed(text));
  if (out.empty()) throw Error("it has no number");
  for (const Row& row : out)
    if (row.size() != out[0].size())
      throw Error("its rows have " + std::to_string(out[0].size()) + " and " + std::to_string(row.size()) +
                  " weights");
  return out;
} catch (const Error& error) {
  throw Error("--kernel '" + text + "': " + error.what());
}

}  // namespace tessera::filter
