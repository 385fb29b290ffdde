// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/candidates.hpp"
#include <algorithm>
#include "tessera/cli/select.hpp"
#include "tessera/run/known_tunings.hpp"

namespace tessera::cli {
namespace {

bool is_serial(const Variant& variant) { return variant.where == Where::cpu && variant.place == 1; }

bool has(const Choice& choice, const std::string& parameter) {
  return choice.tuning.find(parameter) ||
         std::ranges::find(choice.ranges, parameter, &Range::name) != choice.ranges.end();
}

// The choice's values under the tuning asked for; nothing where they contradict it.
std::optional<Tuning> fitted(const Variant& variant, const Choice& choice, const Tuning& wanted) {
  Tuning out = choice.defaults();
  for (const auto& [name, value] : wanted) {
    if (const auto fixed = choice.tuning.find(name); fixed && *fixed != value) return std::nullopt;
    if (has(choice, name)) out.set(name, value);
    else if (std::ranges::any_of(variant.choices, [&n = name](const Choice& c) { return has(c, n); }))
      return std::nullopt;
  }
  return out;
}

void add_choices(const Variant& variant, const Device& device, const Selection& selection,
                 std::vector<bench::Candidate>& out) {
  const std::size_t before = out.size();
  for (const Choice& choice : variant.choices) {
    const auto tuning = fitted(variant, choice, selection.tuning);
    if (!tuning) continue;
    const Plan plan{&variant, &choice, *tuning, device};
    if (selection.all_tunings || out.size() == before) out.push_back({.plan = plan});
    else out.back().instead.push_back(plan);
  }
  if (out.size() == before)
    out.push_back({.plan = {&variant, &variant.choices.at(0), selection.tuning, device},
                   .absent = no_choice_with(variant, selection.tuning)});
}

bool runs_on_one_of(const std::vector<const Variant*>& variants, const std::vector<Device>& devices) {
  return std::ranges::any_of(devices,
                             [&](const Device& d) { return variant_on(variants, d.where) != nullptr; });
}

// On each device its own ladder, or those named that it has. A name that none of the devices has
// keeps a row, which says so, unless it is the serial rung, which comes anyway.
void add_device(const Operation& operation, const Device& device, const Selection& selection,
                std::vector<bench::Candidate>& out) {
  if (selection.variants.empty())
    for (const Variant* variant : ladder_of(operation.name))
      if (variant->where == device.where) add_choices(*variant, device, selection, out);
  auto names = selection.variants;
  if (!selection.versus.empty()) names.push_back(selection.versus);
  for (const std::string& name : names) {
    const auto named = variants_named(operation, name);
    const Variant* variant = variant_on(named, device.where);
    if (variant == nullptr && !runs_on_one_of(named, selection.devices))
      variant = selection.serial && is_serial(*named.front()) ? nullptr : named.front();
    const bool known = std::ranges::any_of(out, [&](const bench::Candidate& c) {
      return c.plan.variant == variant && bench::label_of(c.plan.device) == bench::label_of(device);
    });
    if (variant != nullptr && !known) add_choices(*variant, device, selection, out);
  }
}

void mark_serial(const Operation& operation, std::vector<bench::Candidate>& out) {
  const auto listed = std::ranges::find_if(out, [&](const bench::Candidate& c) {
    return is_serial(*c.plan.variant) && c.plan.device.where == Where::cpu;
  });
  if (listed != out.end()) {
    listed->serial = true;
    return;
  }
  const auto ladder = ladder_of(operation.name);
  const auto found = std::ranges::find_if(ladder, [](const Variant* v) { return is_serial(*v); });
  if (found == ladder.end()) return;
  const Choice& choice = (*found)->choices.at(0);
  out.insert(out.begin(), {.plan = {*found, &choice, choice.defaults(), find_device("cpu")}, .serial = true});
}

}  // namespace

std::vector<bench::Candidate> candidates(const Operation& operation, const Selection& selection) {
  std::vector<bench::Candidate> out;
  for (const Device& device : selection.devices) add_device(operation, device, selection, out);
  if (selection.serial) mark_serial(operation, out);
  return out;
}

}  // namespace tessera::cli
