// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/sizes.hpp"
#include <algorithm>
#include <cctype>
#include "tessera/cli/option_parser.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::cli {
namespace {

constexpr std::size_t max_combinations = 100'000;

// "m=…", or several that go together: "(m,n)=(…,…),…".
struct Word {
  std::vector<std::string> names;
  std::string text;
  bool tuples = false;

  bool gives(const std::string& name) const { return std::ranges::find(names, name) != names.end(); }
};

// Splits at the commas that no parentheses enclose.
std::vector<std::string> split_outside(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

bool enclosed(const std::string& text) {
  return text.size() > 2 && text.front() == '(' && text.back() == ')';
}
std::string inside(const std::string& text) { return text.substr(1, text.size() - 2); }

Word read_word(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) throw Error("'" + word + "' is not a size: write name=size");
  const std::string left = word.substr(0, equals);
  Word out{{left}, word.substr(equals + 1), enclosed(left)};
  if (out.tuples) out.names = split(inside(left), ',');
  for (const std::string& name : out.names)
    if (std::ranges::count(out.names, name) > 1) throw Error("'" + word + "' names " + name + " twice");
  return out;
}

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
    if (out.size() > max_combinations) throw Error("'" + item + "' are too many sizes");
    if (by_factor ? __builtin_mul_overflow(at, step, &at) : __builtin_add_overflow(at, step, &at)) return;
  }
}

void require_size(const std::string& name, std::int64_t value) {
  if (value < 0) throw Error(name + " = " + std::to_string(value) + " is negative");
}

std::vector<std::int64_t> values_of(const Word& word, const Dims& known) {
  const std::string& name = word.names[0];
  std::vector<std::int64_t> out;
  for (const std::string& item : split(word.text, ',')) {
    const auto parts = split(item, ':');
    if (parts.size() > 1) add_range(item, parts, known, out);
    else out.push_back(evaluate(item, known));
  }
  if (out.empty()) throw Error(name + "= needs a size");
  require_size(name, std::ranges::min(out));
  return out;
}

// Returns the entries that the word adds, one for each of its values or tuples.
std::vector<Dims> entries_of(const Word& word, const Dims& known) {
  std::vector<Dims> out;
  if (!word.tuples) {
    for (const std::int64_t value : values_of(word, known)) out.push_back({{word.names[0], value}});
    return out;
  }
  for (const std::string& item : split_outside(word.text)) {
    const auto parts = enclosed(item) ? split_outside(inside(item)) : std::vector<std::string>{};
    if (parts.size() != word.names.size())
      throw Error("'" + item + "' does not give " + std::to_string(word.names.size()) +
                  " values: write (first,second),(first,second)");
    Dims& entry = out.emplace_back();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      entry[word.names[i]] = evaluate(parts[i], known);
      require_size(word.names[i], entry[word.names[i]]);
    }
  }
  return out;
}

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// True if every name in the text has a value already.
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
    if (out.size() > max_combinations)
      throw Error("more than " + std::to_string(max_combinations) + " combinations of sizes");
    return;
  }
  auto next = std::ranges::find_if(open, [&known](const Word& w) { return settled(w.text, known); });
  if (next == open.end()) next = open.begin();  // reading it reports the error
  const Word word = *next;
  open.erase(next);
  for (Dims more : entries_of(word, known)) {
    more.insert(known.begin(), known.end());
    expand(open, more, out);
  }
}

}  // namespace

std::vector<Dims> combinations(const std::vector<std::string>& words, const std::vector<std::string>& names) {
  std::vector<Word> open;
  const auto given = [&open](const std::string& name) {
    return std::ranges::any_of(open, [&name](const Word& w) { return w.gives(name); });
  };
  for (const std::string& text : words) {
    Word word = read_word(text);
    for (const std::string& name : word.names) {
      if (std::ranges::find(names, name) == names.end()) unknown("the size", name, names);
      if (given(name)) throw Error("the size " + name + " is given twice");
    }
    open.push_back(std::move(word));
  }
  for (const std::string& name : names)
    if (!given(name)) throw Error("the size " + name + " is missing: add " + name + "=…");
  std::vector<Dims> out;
  expand(open, {}, out);
  return out;
}

std::vector<std::string> names_given(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words)
    for (const std::string& name : read_word(word).names)
      if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  return out;
}

namespace {

using Kind = Parameter::Kind;

// True for "m=…", a dimension or an integer of the operation, or "(m,n)=…".
bool is_size(const Operation& operation, const std::string& word) {
  if (word.starts_with('(') && word.find(")=") != std::string::npos) return true;
  const std::string name = word.substr(0, word.find('='));
  const Parameter* p = operation.signature.find(name);
  return std::ranges::count(operation.signature.dimensions(), name) > 0 ||
         (p != nullptr && p->kind == Kind::integer);
}

}  // namespace

Positionals positionals_of(const Operation& operation, const std::vector<std::string>& words) {
  Positionals out;
  std::size_t next = 1;
  const Parameter* rest = nullptr;
  for (const Parameter* p : operation.signature.positional_texts()) {
    if (p->rest) {
      rest = p;
    } else {
      if (next >= words.size()) throw Error("the " + p->name + " is missing: " + p->help);
      out.words[p->name] = words[next++];
    }
  }
  for (; next < words.size(); ++next)
    if (rest == nullptr || is_size(operation, words[next])) out.sizes.push_back(words[next]);
    else out.words[rest->name] += (out.words[rest->name].empty() ? "" : " ") + words[next];
  return out;
}

std::vector<Case> problems_of(const Operation& operation, std::vector<std::string> sizes, const Case& base) {
  std::vector<std::string> names = operation.signature.dimensions();
  // A whole-number argument is a size that has a default.
  for (const Parameter* p : operation.signature.of(Kind::integer))
    if (std::ranges::any_of(sizes, [p](const std::string& w) { return w.starts_with(p->name + "="); }))
      names.push_back(p->name);
  if (sizes.empty() && !names.empty())
    throw Error("the sizes are missing: add " + names[0] + "=…, for example " + names[0] + "=256:1024:x2");
  const std::vector<std::string> given = names_given(sizes);
  for (const auto& [name, size] : operation.signature.default_sizes)
    if (std::ranges::find(given, name) == given.end()) sizes.push_back(name + "=" + size);
  std::vector<Case> out;
  for (const Dims& dims : combinations(sizes, names)) {
    Case& problem = out.emplace_back(base);
    for (const auto& [name, size] : dims) {
      if (operation.signature.find(name) != nullptr) problem.words[name] = std::to_string(size);
      else problem.dims[name] = size;
    }
  }
  return out;
}

std::string title_of(const Operation& operation, const Case& problem) {
  std::string out = operation.name, sizes;
  const auto word = [&problem](const std::string& name) {
    const auto found = problem.words.find(name);
    return found == problem.words.end() ? std::string() : found->second;
  };
  for (const Parameter* p : operation.signature.positional_texts())
    if (const std::string text = word(p->name); !text.empty())
      out += p->rest ? " " + text : " \"" + text + "\"";
  const auto add = [&sizes](const std::string& name, const std::string& value) {
    sizes += (sizes.empty() ? " " : ", ") + name + " = " + value;
  };
  for (const std::string& name : operation.signature.dimensions())
    if (const auto found = problem.dims.find(name); found != problem.dims.end())
      add(name, std::to_string(found->second));
  for (const Parameter* p : operation.signature.of(Kind::integer))
    if (const std::string value = word(p->name); !value.empty()) add(p->name, value);
  return out + sizes;
}

}  // namespace tessera::cli
