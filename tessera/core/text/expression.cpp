// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/text/expression.hpp"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include "tessera/core/text/error.hpp"

namespace tessera {
namespace {

constexpr int deepest = 100;  // nested parentheses and signs; hostile text must not overflow the stack

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Recursive descent. Conditions: any = all {|| all}, all = one {&& one}, one = ! one | sum [comparison sum].
// Numbers: sum = product {(+|-) product}, product = factor {(*|/) factor}, factor = atom [^ factor]. An atom
// in parentheses may be either.
class Reader {
 public:
  Reader(std::string_view text, const Dims& names) : text_(text), names_(names) {}

  std::int64_t number_alone() {
    const std::int64_t value = number_of(any());
    if (peek() != '\0') fail("expected an operator");
    return value;
  }

  bool condition_alone() {
    const bool value = condition_of(any());
    if (peek() != '\0') fail("expected an operator");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error("'" + std::string(text_) + "', at character " + std::to_string(at_ + 1) + ": " + why);
  }

  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  struct Value {
    std::int64_t number = 0;
    bool is_condition = false;
  };

  std::int64_t number_of(Value value) const {
    if (value.is_condition) fail("a condition is no number");
    return value.number;
  }

  bool condition_of(Value value) const {
    if (!value.is_condition) fail("is no comparison: write one with ==, !=, <=, >=, < or >");
    return value.number != 0;
  }

  bool accept(std::string_view mark) {
    (void)peek();
    if (!text_.substr(at_).starts_with(mark)) return false;
    at_ += mark.size();
    return true;
  }

  Value any() {
    Value value = all();
    while (accept("||")) {
      const bool left = condition_of(value), right = condition_of(all());
      value = {left || right, true};
    }
    return value;
  }

  Value all() {
    Value value = one();
    while (accept("&&")) {
      const bool left = condition_of(value), right = condition_of(one());
      value = {left && right, true};
    }
    return value;
  }

  Value one() {
    if (accept('!')) {
      if (++depth_ > deepest) fail("nested too deeply");
      const bool value = condition_of(one());
      --depth_;
      return {!value, true};
    }
    const Value left = sum();
    for (const std::string_view mark : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!accept(mark)) continue;
      const std::int64_t a = number_of(left), b = number_of(sum());
      const bool holds = mark == "=="   ? a == b
                         : mark == "!=" ? a != b
                         : mark == "<=" ? a <= b
                         : mark == ">=" ? a >= b
                         : mark == "<"  ? a < b
                                        : a > b;
      return {holds, true};
    }
    return left;
  }

  Value sum() {
    const Value first = product();
    if (first.is_condition) return first;
    std::int64_t value = first.number;
    for (;;) {
      const bool plus = accept('+');
      if (!plus && !accept('-')) return {value};
      const std::int64_t other = number_of(product());
      if (plus ? __builtin_add_overflow(value, other, &value) : __builtin_sub_overflow(value, other, &value))
        fail("larger than 2^63");
    }
  }

  Value product() {
    const Value first = factor();
    if (first.is_condition) return first;
    std::int64_t value = first.number;
    for (;;) {
      if (accept('*')) {
        if (__builtin_mul_overflow(value, number_of(factor()), &value)) fail("larger than 2^63");
      } else if (accept('/')) {
        const std::int64_t divisor = number_of(factor());
        if (divisor == 0) fail("division by zero");
        value = divisor == -1 ? negated(value) : value / divisor;
      } else {
        return {value};
      }
    }
  }

  Value factor() {
    if (++depth_ > deepest) fail("nested too deeply");
    const Value value = power();
    --depth_;
    return value;
  }

  // Binds tighter than a sign, and associates to the right.
  Value power() {
    if (accept('-')) return {negated(number_of(factor()))};
    const Value first = atom();
    if (!accept('^')) return first;
    const std::int64_t base = number_of(first);
    std::int64_t exponent = number_of(factor()), out = 1;
    if (exponent < 0) fail("a negative power is no whole number");
    if (base == 0 || base == 1) return {exponent == 0 ? 1 : base};
    if (base == -1) return {exponent % 2 == 0 ? 1 : -1};
    for (; exponent > 0; --exponent)
      if (__builtin_mul_overflow(out, base, &out)) fail("larger than 2^63");
    return {out};
  }

  Value atom() {
    if (accept('(')) {
      const Value value = any();
      if (!accept(')')) fail("expected ')'");
      return value;
    }
    if (is_digit(peek())) return {number()};
    if (starts_name(peek())) return {named()};
    fail("expected a whole number or a name");
  }

  std::int64_t negated(std::int64_t value) const {
    if (__builtin_sub_overflow(0, value, &value)) fail("larger than 2^63");
    return value;
  }

  std::int64_t number() {
    std::int64_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value))
        fail("larger than 2^63");
    return with_exponent(value);
  }

  // "1e6" is an exponent: a name cannot follow a number.
  std::int64_t with_exponent(std::int64_t value) {
    const auto digit_at = [this](std::size_t i) { return i < text_.size() && is_digit(text_[i]); };
    if (at_ >= text_.size() || (text_[at_] != 'e' && text_[at_] != 'E')) return value;
    const std::size_t digits = at_ + (at_ + 1 < text_.size() && text_[at_ + 1] == '+' ? 2 : 1);
    if (!digit_at(digits)) return value;
    int exponent = 0;
    for (at_ = digits; digit_at(at_); ++at_) exponent = std::min(1000, exponent * 10 + (text_[at_] - '0'));
    for (; exponent > 0 && value != 0; --exponent)
      if (__builtin_mul_overflow(value, 10, &value)) fail("larger than 2^63");
    return value;
  }

  std::int64_t named() {
    std::size_t end = at_;
    while (end < text_.size() && in_name(text_[end])) ++end;
    const std::string name(text_.substr(at_, end - at_));
    const auto found = names_.find(name);
    if (found == names_.end()) fail("nothing is called '" + name + "'");
    at_ = end;
    return found->second;
  }

  std::string_view text_;
  const Dims& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

double number_in(const std::string& text, const std::string& word) {
  try {
    return number_of(word);
  } catch (const Error& error) {
    throw Error("'" + text + "' is neither a list of numbers nor a:b:n: " + error.what());
  }
}

// Splits the text and trims blanks.
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
  if (!(count >= 1) || count != std::nearbyint(count) || count > static_cast<double>(max_numbers))
    throw Error("'" + text + "' asks for " + parts[2] + " numbers; 1 to " + std::to_string(max_numbers) +
                " there may be");
  const auto n = static_cast<std::size_t>(count);
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(i == 0 ? first
                         : first + (last - first) * static_cast<double>(i) / static_cast<double>(n - 1));
  return out;
}

}  // namespace

std::int64_t evaluate(std::string_view text, const Dims& names) { return Reader(text, names).number_alone(); }

bool holds(std::string_view condition, const Dims& names) {
  return Reader(condition, names).condition_alone();
}

bool is_name(std::string_view text) {
  if (text.empty() || !starts_name(text.front())) return false;
  return std::ranges::all_of(text, in_name);
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from < text.size();) {
    std::size_t to = from;
    while (to < text.size() && in_name(text[to])) ++to;
    const std::string word(text.substr(from, to - from));
    if (is_name(word) && std::ranges::find(out, word) == out.end()) out.push_back(word);
    from = to + 1;
  }
  return out;
}

std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

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

// Reads numbers separated by commas, or by blanks if there are none.
std::vector<double> numbers_of(const std::string& text) {
  if (text.find(':') != std::string::npos) return spaced(text);
  std::vector<double> out;
  if (text.empty()) return out;
  const bool commas = text.find(',') != std::string::npos;
  for (const std::string& word : parts_of(text, commas ? ',' : ' '))
    if (commas || !word.empty()) out.push_back(number_in(text, word));
  if (out.empty()) throw Error("'" + text + "' has no number in it");
  if (static_cast<std::int64_t>(out.size()) > max_numbers)
    throw Error("more than " + std::to_string(max_numbers) + " numbers in a list");
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
