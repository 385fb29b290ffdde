// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/ranges.hpp"
#include <algorithm>
#include <cctype>
#include "tessera/cli/words.hpp"
#include "tessera/core/error.hpp"

namespace tessera::cli {
namespace {

constexpr std::size_t most_combinations = 100'000;

struct Word {
  std::string name, text;
};

bool multiplies(const std::string& step) {
  return step.size() > 1 &&
         (step[0] == '*' || (step[0] == 'x' && std::isdigit(static_cast<unsigned char>(step[1])) != 0));
}

void add_range(const std::string& item, const std::vector<std::string>& parts, const Dims& known,
               std::vector<std::int64_t>& out) {
  if (parts.size() != 3) throw Error("'" + item + "' is not a range: write first:last:step or first:last:x2");
  const std::int64_t first = evaluate(parts[0], known), last = evaluate(parts[1], known);
  const bool by_factor = multiplies(parts[2]);
  const std::int64_t step = evaluate(by_factor ? parts[2].substr(1) : parts[2], known);
  if (step < (by_factor ? 2 : 1) || (by_factor && first < 1) || first > last)
    throw Error("the range '" + item + "' never reaches its end");
  for (std::int64_t at = first; at <= last;) {
    out.push_back(at);
    if (out.size() > most_combinations) throw Error("'" + item + "' are too many sizes");
    if (by_factor ? __builtin_mul_overflow(at, step, &at) : __builtin_add_overflow(at, step, &at)) return;
  }
}

std::vector<std::int64_t> values_of(const Word& word, const Dims& known) {
  std::vector<std::int64_t> out;
  for (const std::string& item : split(word.text, ',')) {
    const auto parts = split(item, ':');
    if (parts.size() > 1) add_range(item, parts, known, out);
    else out.push_back(evaluate(item, known));
  }
  if (out.empty()) throw Error(word.name + "= needs a size");
  if (std::ranges::min(out) < 0)
    throw Error(word.name + " = " + std::to_string(std::ranges::min(out)) + " is negative");
  return out;
}

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether every name in the text has a value by now.
bool settled(const std::string& text, const Dims& known) {
  for (std::size_t from = 0; from < text.size();) {
    std::size_t to = from;
    while (to < text.size() && in_word(text[to])) ++to;
    const std::string word = text.substr(from, to - from);
    const bool factor = from > 0 && text[from - 1] == ':' && multiplies(word);
    if (is_name(word) && !factor && !known.contains(word)) return false;
    from = to + 1;
  }
  return true;
}

void expand(std::vector<Word> open, const Dims& known, std::vector<Dims>& out) {
  if (open.empty()) {
    out.push_back(known);
    if (out.size() > most_combinations)
      throw Error("more than " + std::to_string(most_combinations) + " combinations of sizes");
    return;
  }
  auto next = std::ranges::find_if(open, [&known](const Word& w) { return settled(w.text, known); });
  if (next == open.end()) next = open.begin();  // reading it says what is wrong
  const Word word = *next;
  open.erase(next);
  for (const std::int64_t value : values_of(word, known)) {
    Dims more = known;
    more[word.name] = value;
    expand(open, more, out);
  }
}

}  // namespace

std::vector<Dims> combinations(const std::vector<std::string>& words, const std::vector<std::string>& names) {
  std::vector<Word> open;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw Error("'" + word + "' is not a size: write name=size");
    const std::string name = word.substr(0, equals);
    if (std::ranges::find(names, name) == names.end()) unknown("the size", name, names);
    if (std::ranges::find(open, name, &Word::name) != open.end())
      throw Error("the size " + name + " is given twice");
    open.push_back({name, word.substr(equals + 1)});
  }
  for (const std::string& name : names)
    if (std::ranges::find(open, name, &Word::name) == open.end())
      throw Error("the size " + name + " is missing: add " + name + "=…");
  std::vector<Dims> out;
  expand(open, {}, out);
  return out;
}

}  // namespace tessera::cli
