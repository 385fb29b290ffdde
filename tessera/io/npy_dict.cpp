// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/npy_dict.hpp"
#include <charconv>

namespace tessera::npy {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Dict dict() {
    expect('{', "a dictionary");
    while (!accept('}')) {
      entry();
      if (accept(',')) continue;
      expect('}', "a comma or the end of the dictionary");
      break;
    }
    if (next() != '\0' || !text_.empty()) fail("has something after the dictionary of its header");
    for (const Key& key : keys_)
      if (!key.seen) fail("has no '" + std::string(key.name) + "' in its header");
    return dict_;
  }

 private:
  struct Key {
    std::string_view name;
    void (Parser::*read)();
    bool seen = false;
  };

  void entry() {
    const std::string name(text());
    expect(':', "a colon");
    for (Key& key : keys_) {
      if (key.name != name) continue;
      if (key.seen) fail("has '" + name + "' twice in its header");
      key.seen = true;
      return (this->*key.read)();
    }
    fail("has the unknown entry '" + printable(name) + "' in its header");
  }

  void read_descr() {
    const char first = next();
    if (first == '[' || first == '(') fail("holds records (a structured dtype); save one field of them");
    dict_.descr = text();
  }

  void read_fortran_order() {
    if (accept_word("True")) dict_.fortran_order = true;
    else if (!accept_word("False")) fail("has a 'fortran_order' that is neither True nor False");
  }

  void read_shape() {
    expect('(', "a tuple as shape");
    while (!accept(')')) {
      if (dict_.shape.size() == most_dimensions)
        fail("has more than " + std::to_string(most_dimensions) + " dimensions");
      dict_.shape.push_back(extent());
      if (accept(',')) continue;
      // In Python, (3) is a number and only (3,) is a tuple.
      if (dict_.shape.size() < 2) expect(',', "a comma");
      expect(')', "a comma or the end of the shape");
      break;
    }
  }

  std::int64_t extent() {
    if (next() == '-') fail("has a negative extent");
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (code == std::errc::result_out_of_range) fail("has an extent larger than any memory");
    if (code != std::errc()) fail("has a damaged header: expected a whole number " + here());
    // Python reads 00, but not 05.
    if (value != 0 && text_.front() == '0')
      fail("has a damaged header: a number that starts with 0 " + here());
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (!text_.empty() && text_.front() == 'L') text_.remove_prefix(1);  // Python 2's long
    return value;
  }

  std::string_view text() {
    const char quote = next();
    if (quote != '\'' && quote != '"') fail("has a damaged header: expected quoted text " + here());
    const std::size_t end = text_.find(quote, 1);
    const std::string_view inside = text_.substr(1, end - 1);
    if (end == text_.npos || inside.find_first_of("\\\n") != text_.npos)
      fail("has a damaged header: text without an end " + here());
    text_.remove_prefix(end + 1);
    return inside;
  }

  // The next character that is not a space; 0 at the end.
  char next() {
    const std::size_t skipped = text_.find_first_not_of(" \t\n\r\f\v");
    text_.remove_prefix(skipped == text_.npos ? text_.size() : skipped);
    return text_.empty() ? '\0' : text_.front();
  }

  bool accept(char wanted) {
    if (next() != wanted || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool accept_word(std::string_view word) {
    next();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  void expect(char wanted, const char* what) {
    if (!accept(wanted)) fail(std::string("has a damaged header: expected ") + what + " " + here());
  }

  std::string here() const {
    return text_.empty() ? "at its end" : "at '" + printable(text_.substr(0, 20)) + "'";
  }

  [[noreturn]] void fail(const std::string& reason) const { throw Error(name_ + ": " + reason); }

  std::string_view text_;  // what is left
  const std::string& name_;
  Dict dict_;
  Key keys_[3] = {{"descr", &Parser::read_descr},
                  {"fortran_order", &Parser::read_fortran_order},
                  {"shape", &Parser::read_shape}};
};

}  // namespace

Dict parse_dict(std::string_view text, const std::string& name) { return Parser(text, name).dict(); }

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string out(text.substr(0, longest));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > longest ? out + "..." : out;
}

}  // namespace tessera::npy
