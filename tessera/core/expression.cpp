// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/expression.hpp"
#include <cctype>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

constexpr int deepest = 100;  // nested parentheses and signs; hostile text must not overflow the stack

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Recursive descent: sum = product {(+|-) product}, product = factor {(*|/) factor}, factor = atom [^
// factor].
class Reader {
 public:
  Reader(std::string_view text, const Dims& names) : text_(text), names_(names) {}

  std::int64_t whole() {
    const std::int64_t value = sum();
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

  std::int64_t sum() {
    std::int64_t value = product();
    for (;;) {
      const bool plus = accept('+');
      if (!plus && !accept('-')) return value;
      const std::int64_t other = product();
      if (plus ? __builtin_add_overflow(value, other, &value) : __builtin_sub_overflow(value, other, &value))
        fail("larger than 2^63");
    }
  }

  std::int64_t product() {
    std::int64_t value = factor();
    for (;;) {
      if (accept('*')) {
        if (__builtin_mul_overflow(value, factor(), &value)) fail("larger than 2^63");
      } else if (accept('/')) {
        const std::int64_t divisor = factor();
        if (divisor == 0) fail("division by zero");
        value = divisor == -1 ? negated(value) : value / divisor;
      } else {
        return value;
      }
    }
  }

  std::int64_t factor() {
    if (++depth_ > deepest) fail("nested too deeply");
    const std::int64_t value = power();
    --depth_;
    return value;
  }

  // Binds more than a sign, and groups from the right.
  std::int64_t power() {
    if (accept('-')) return negated(factor());
    std::int64_t base = atom(), out = 1;
    if (!accept('^')) return base;
    std::int64_t exponent = factor();
    if (exponent < 0) fail("a negative power is no whole number");
    if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    for (; exponent > 0; --exponent)
      if (__builtin_mul_overflow(out, base, &out)) fail("larger than 2^63");
    return out;
  }

  std::int64_t atom() {
    if (accept('(')) {
      const std::int64_t value = sum();
      if (!accept(')')) fail("expected ')'");
      return value;
    }
    if (is_digit(peek())) return number();
    if (starts_name(peek())) return named();
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

  // "1e6": a name cannot follow a number, so this is none.
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
    const std::size_t from = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    const std::string name(text_.substr(from, at_ - from));
    const auto found = names_.find(name);
    if (found == names_.end()) fail("nothing is called '" + name + "'");
    return found->second;
  }

  std::string_view text_;
  const Dims& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::int64_t evaluate(std::string_view text, const Dims& names) { return Reader(text, names).whole(); }

bool is_name(std::string_view text) {
  if (text.empty() || !starts_name(text.front())) return false;
  for (const char c : text)
    if (!in_name(c)) return false;
  return true;
}

}  // namespace tessera
