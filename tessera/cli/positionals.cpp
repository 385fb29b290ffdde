// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/positionals.hpp"
#include <algorithm>
#include "tessera/cli/ranges.hpp"

namespace tessera::cli {
namespace {

using Kind = Parameter::Kind;

// "m=…" for a dimension or a whole number of the operation, or "(m,n)=…".
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
