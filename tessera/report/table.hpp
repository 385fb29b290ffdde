// SPDX-License-Identifier: Apache-2.0
// Plain-text tables: aligned columns, numbers to the right, "n/a" for missing values. A table wider than the
// terminal first leaves out its less important columns, then shortens words.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::report {

class Table {
 public:
  enum class Align { left, right, place };  // place, such as FILE:LINE: left, and shortened from the left
  struct Column {
    std::string title;
    Align align = Align::right;
    bool optional = false;  // left out if every cell is n/a
    int detail = 0;         // columns with the highest detail are left out first; 0: never
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> row);  // an empty cell is printed as n/a
  void add_rule();                         // a line across
  bool empty() const { return rows_.empty(); }
  std::string text() const;  // every line ends with '\n', none with a blank
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }  // "n/a" if a cell is empty

 private:
  Table without_empty_columns() const;
  bool drop_detail();                       // drops one column; false: there is none to drop
  void shorten_text(std::size_t too_wide);  // by `too_wide` characters, as far as possible
  std::size_t width() const;
  std::string lines() const;
  std::vector<std::size_t> widths() const;
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // a row without cells is a rule
};

// Notes below a table; its cells refer to them by number. Equal notes are one.
class Notes {
 public:
  explicit Notes(const char* brackets) : open_(brackets[0]), close_(brackets[1]) {}  // "()"

  std::string refer(const std::string& note);  // "(1)"
  std::string text() const;

 private:
  std::string number(std::size_t i) const;

  char open_, close_;
  std::vector<std::string> notes_;
};

// Sets the width in characters to which tables are fitted from now on; 0, the default: no limit.
void fit_tables(std::size_t width);

std::size_t display_width(const std::string& text);  // characters of UTF-8, one column each
// Shortens text to at most `most` characters, with "…" at the cut: at the end, or at the start for end_of().
std::string shortened(const std::string& text, std::size_t most);
std::string end_of(const std::string& text, std::size_t most);

// Returns three to four significant digits in a suitable unit; "n/a" for no value or one that is not finite.
std::string seconds(std::optional<double> value);  // "1.234 ms"; "1.234 s " for a column
std::string seconds_in_text(double value);         // "1.234 s"
std::string number(std::optional<double> value);   // "0.0123", "12.3", "1234"
std::string bytes(std::int64_t value);             // "227 KiB"
// A number of a study; `shows`: digits (all of them), seconds, error or ratio. "" if it is not a number.
std::string studied(double value, std::string_view shows);

}  // namespace tessera::report
