// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/condition.hpp"
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

constexpr int deepest = 100;  // nested parentheses; hostile text must not overflow the stack

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The first place outside parentheses where one of `marks` stands, and which.
struct Found {
  std::size_t at;
  std::string_view mark;
};
template <std::size_t count>
std::optional<Found> find_outside(std::string_view text, const std::array<std::string_view, count>& marks) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (depth != 0) continue;
    for (const std::string_view mark : marks)
      if (text.substr(at).starts_with(mark)) return Found{at, mark};
  }
  return std::nullopt;
}

class Condition {
 public:
  explicit Condition(const Dims& names) : names_(names) {}

  bool any(std::string_view text, int depth) const {
    if (depth > deepest) fail(text, "nested too deeply");
    for (;;) {
      const auto mark = find_outside<1>(text, {"||"});
      if (all(mark ? text.substr(0, mark->at) : text, depth)) return check_rest(text, mark, depth), true;
      if (!mark) return false;
      text.remove_prefix(mark->at + 2);
    }
  }

 private:
  [[noreturn]] static void fail(std::string_view text, const std::string& why) {
    throw Error("'" + std::string(text) + "': " + why);
  }

  // What need not be known any more must still be written correctly.
  void check_rest(std::string_view text, const std::optional<Found>& mark, int depth) const {
    if (mark) (void)any(text.substr(mark->at + 2), depth + 1);
  }

  bool all(std::string_view text, int depth) const {
    bool out = true;
    for (;;) {
      const auto mark = find_outside<1>(text, {"&&"});
      out = one(trimmed(mark ? text.substr(0, mark->at) : text), depth) && out;
      if (!mark) return out;
      text.remove_prefix(mark->at + 2);
    }
  }

  bool one(std::string_view text, int depth) const {
    if (text.starts_with('!') && !text.starts_with("!=")) {
      if (depth > deepest) fail(text, "nested too deeply");
      return !one(trimmed(text.substr(1)), depth + 1);
    }
    const auto mark = find_outside<6>(text, {"==", "!=", "<=", ">=", "<", ">"});
    if (mark) return compare(text, *mark);
    if (text.starts_with('(') && text.ends_with(')')) return any(text.substr(1, text.size() - 2), depth + 1);
    fail(text, "is no comparison: write one with ==, !=, <=, >=, < or >");
  }

  bool compare(std::string_view text, const Found& found) const {
    const std::int64_t left = evaluate(trimmed(text.substr(0, found.at)), names_),
                       right = evaluate(trimmed(text.substr(found.at + found.mark.size())), names_);
    if (found.mark == "==") return left == right;
    if (found.mark == "!=") return left != right;
    if (found.mark == "<=") return left <= right;
    if (found.mark == ">=") return left >= right;
    return found.mark == "<" ? left < right : left > right;
  }

  const Dims& names_;
};

}  // namespace

bool holds(std::string_view condition, const Dims& names) { return Condition(names).any(condition, 0); }

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from < text.size();) {
    std::size_t to = from;
    while (to < text.size() && in_word(text[to])) ++to;
    const std::string word(text.substr(from, to - from));
    if (is_name(word) && std::ranges::find(out, word) == out.end()) out.push_back(word);
    from = to + 1;
  }
  return out;
}

}  // namespace tessera
