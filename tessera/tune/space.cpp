// SPDX-License-Identifier: Apache-2.0
#include "tessera/tune/space.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <unordered_set>
#include "tessera/core/text/expression.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/run/choose.hpp"

namespace tessera::tune {
namespace {

constexpr std::size_t max_configs = 1'000'000;

// Returns the listed values; otherwise powers of two and the default.
std::vector<int> values_of(const Range& range) {
  if (!range.values.empty()) return range.values;
  std::vector<int> out{range.value};
  for (std::int64_t at = 1; at <= range.last; at *= 2)
    if (at >= range.first) out.push_back(static_cast<int>(at));
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Every value of the open ranges combined with each of `tunings`.
std::vector<Tuning> opened(std::vector<Tuning> tunings, const Choice& choice, const Tuning& wanted) {
  for (const Range& range : choice.ranges) {
    if (wanted.find(range.name)) continue;
    std::vector<Tuning> more;
    for (const Tuning& tuning : tunings)
      for (const int value : values_of(range)) {
        more.push_back(tuning);
        more.back().set(range.name, value);
      }
    if (more.size() > max_configs)
      throw Error("more than " + std::to_string(max_configs) + " configurations");
    tunings = std::move(more);
  }
  return tunings;
}

// Returns the requested values that this variant has as parameters.
Tuning wanted_of(const Variant& variant, const Dims& values, const Tuning& fixed) {
  Tuning out;
  for (const auto& [name, value] : fixed)
    if (has_parameter(variant, name)) out.set(name, value);
  for (const auto& [name, value] : values) {
    if (value > 1'000'000'000) throw Error(name + " = " + std::to_string(value) + " is out of range");
    if (has_parameter(variant, name)) out.set(name, static_cast<int>(value));
  }
  return out;
}

// Keeps each configuration once, in the order of insertion.
class Configs {
 public:
  void add(Config config) {
    const std::string name =
        std::to_string(config.choice - config.variant->choices.data()) + ' ' + to_string(config.tuning);
    if (names_.insert(name).second) all_.push_back(std::move(config));
    if (all_.size() > max_configs)
      throw Error("more than " + std::to_string(max_configs) + " configurations");
  }
  std::vector<Config> taken() { return std::move(all_); }

 private:
  std::vector<Config> all_;
  std::unordered_set<std::string> names_;
};

void add_fitting(Configs& out, const Variant& variant, const Tuning& wanted, bool open_ranges) {
  bool any = false;
  for (const Choice& choice : variant.choices) {
    if (!choice.allows(wanted)) continue;
    any = true;
    Tuning first = choice.defaults();
    for (const auto& [name, value] : wanted) first.set(name, value);
    for (Tuning& tuning : open_ranges ? opened({first}, choice, wanted) : std::vector<Tuning>{first})
      out.add({&variant, &choice, std::move(tuning)});
  }
  if (!any) out.add({&variant, &variant.choices.at(0), wanted, no_choice_with(variant, wanted)});
}

Dims values_known(const Config& config, const Dims& sizes) {
  Dims out;
  for (const auto& [name, value] : config.tuning) out[name] = value;
  out.insert(sizes.begin(), sizes.end());
  return out;
}

// True if everything that the condition names is a parameter of the configuration or a size.
bool concerns(const std::vector<std::string>& names, const Dims& known) {
  return std::ranges::all_of(names, [&known](const std::string& name) { return known.contains(name); });
}

void apply(const std::string& condition, const Dims& sizes, Space& space) {
  const auto names = names_in(condition);
  const std::size_t before = space.configs.size();
  bool any = space.configs.empty();
  std::erase_if(space.configs, [&](const Config& config) {
    const Dims known = values_known(config, sizes);
    if (!concerns(names, known)) return false;
    any = true;
    return !holds(condition, known);
  });
  if (!any) throw Error("--where " + condition + ": no variant asked for has all that it names");
  space.dropped.emplace_back(condition, before - space.configs.size());
}

std::string grouped(std::size_t number) {
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

}  // namespace

std::vector<std::string> parameters_of(const Variant& variant) {
  std::vector<std::string> out;
  const auto add_name = [&out](const std::string& name) {
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  };
  for (const Choice& choice : variant.choices) {
    for (const auto& [name, value] : choice.tuning) add_name(name);
    for (const Range& range : choice.ranges) add_name(range.name);
  }
  return out;
}

bool has_parameter(const Choice& choice, const std::string& name) {
  return choice.tuning.find(name) ||
         std::ranges::find(choice.ranges, name, &Range::name) != choice.ranges.end();
}

bool has_parameter(const Variant& variant, const std::string& name) {
  return std::ranges::any_of(variant.choices,
                             [&name](const Choice& choice) { return has_parameter(choice, name); });
}

void require_parameter(const std::vector<const Variant*>& variants, const std::string& name) {
  std::vector<std::string> known;
  for (const Variant* variant : variants)
    for (const std::string& parameter : parameters_of(*variant))
      if (std::ranges::find(known, parameter) == known.end()) known.push_back(parameter);
  if (std::ranges::find(known, name) != known.end()) return;
  throw Error("no variant asked for has a parameter '" + name + "'" +
              (known.empty() ? "; they have none" : suggestion(name, known)));
}

Space space_of(const std::vector<const Variant*>& variants, const SpaceOptions& options) {
  for (const auto& [name, value] : options.fixed) require_parameter(variants, name);
  if (!options.over.empty())
    for (const auto& [name, value] : options.over[0]) require_parameter(variants, name);
  Space out;
  for (const Variant* variant : variants) {
    Configs found;
    for (const Dims& values : options.over.empty() ? std::vector<Dims>{{}} : options.over)
      add_fitting(found, *variant, wanted_of(*variant, values, options.fixed), options.open_ranges);
    for (Config& config : found.taken()) out.configs.push_back(std::move(config));
  }
  out.all = out.configs.size();
  for (const std::string& condition : options.where) apply(condition, options.sizes, out);
  return out;
}

std::string describe(const Space& space) {
  std::string out =
      fmt::format("{} of {} configurations kept", grouped(space.configs.size()), grouped(space.all));
  for (const auto& [condition, count] : space.dropped)
    out += fmt::format("; {} dropped by {}", grouped(count), condition);
  return out;
}

}  // namespace tessera::tune
