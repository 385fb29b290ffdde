// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/known_tunings.hpp"
#include <algorithm>
#include <map>
#include <set>
#include "tessera/core/suggest.hpp"

namespace tessera {
namespace {

// Parameters of some choices: the values that were fixed when they were compiled, and ranges left to the run.
struct Known {
  std::vector<std::string> names;
  std::map<std::string, std::set<int>> fixed;

  void add(const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
};

Known known_of(const std::vector<const Choice*>& choices) {
  Known out;
  for (const Choice* choice : choices) {
    for (const auto& [name, value] : choice->tuning) {
      out.add(name);
      out.fixed[name].insert(value);
    }
    for (const Range& range : choice->ranges) out.add(range.name);
  }
  return out;
}

std::string some_of(const std::vector<const Choice*>& choices) {
  constexpr std::size_t most = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(most, choices.size()); ++i)
    out += (i == 0 ? "" : "; ") + to_string(choices[i]->defaults());
  return choices.size() > most ? out + "; …" : out;
}

// Each value may be there, but not with the others.
std::string has_instead(const std::vector<const Choice*>& choices, const Tuning& wanted) {
  const Known known = known_of(choices);
  if (known.names.empty()) return "; it takes no tuning";
  std::string out;
  for (const auto& [name, value] : wanted) {
    if (std::ranges::find(known.names, name) == known.names.end())
      return ": '" + name + "' is none of its parameters" + suggestion(name, known.names);
    const auto fixed = known.fixed.find(name);
    if (fixed == known.fixed.end() || fixed->second.contains(value)) continue;
    out += (out.empty() ? "; it has " : "; ") + name + "=";
    for (const int there : fixed->second)
      out += (there == *fixed->second.begin() ? "" : ", ") + std::to_string(there);
  }
  return out.empty() ? "; it has " + some_of(choices) : out;
}

}  // namespace

std::string no_choice_with(const Variant& variant, const Tuning& wanted, std::optional<Element> element) {
  std::vector<const Choice*> choices;
  for (const Choice& choice : variant.choices)
    if (!element || choice.run.contains(*element)) choices.push_back(&choice);
  if (element && choices.empty()) return "does not compute " + std::string(name_of(*element));
  const bool another = element && variant.find(wanted) != nullptr;  // of another element
  return "has no choice with " + to_string(wanted) +
         (another ? " for " + std::string(name_of(*element)) : "") + has_instead(choices, wanted);
}

}  // namespace tessera
