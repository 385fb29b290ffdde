// SPDX-License-Identifier: Apache-2.0
// Tables as plain text: columns aligned, numbers to the right, "n/a" for what is missing.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tessera::report {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
    bool optional = false;  // left out where every cell is n/a
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> row);  // an empty cell is printed as n/a
  void add_rule();                         // a line across
  bool empty() const { return rows_.empty(); }
  std::string text() const;  // every line ends with '\n', none with a blank

 private:
  Table without_empty_columns() const;
  std::vector<std::size_t> widths() const;
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // a row without cells is a rule
};

std::size_t display_width(const std::string& text);  // characters of UTF-8, one column each

// Three to four significant digits in a unit that suits; "n/a" for nothing or what is not finite.
std::string seconds(std::optional<double> value);  // "1.234 ms"
std::string number(std::optional<double> value);   // "0.0123", "12.3", "1234"
std::string bytes(std::int64_t value);             // "227 KiB"

}  // namespace tessera::report
