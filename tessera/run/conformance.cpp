// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/conformance.hpp"
#include <algorithm>
#include "tessera/run/inputs.hpp"
#include "tessera/run/place.hpp"

namespace tessera {
namespace {

// One case with one element: its inputs and expected values serve every variant.
class Trial {
 public:
  Trial(const Operation& operation, Element element, const Case& tried, std::uint64_t seed, Layout layout)
      : element_(element),
        tried_(&tried),
        inputs_(operation, element, tried, seed, layout),
        verifier_(operation, inputs_.arguments(), {.data = Data::random}),
        flops_(operation.flops(inputs_.arguments())) {
    inputs_.seal();
  }

  double flops() const { return flops_; }

  WalkItem run(const Plan& plan, double& ratio) {
    WalkItem item{plan.variant, plan.tuning, element_, tried_, WalkItem::Outcome::passed, {}};
    if (const Reason reason = refused(plan)) {
      item.outcome = WalkItem::Outcome::skipped;
      item.text = *reason;
      return item;
    }
    try {
      item.text = failure_of(plan, ratio, item.harmed);
    } catch (const Error& error) {
      item.text = error.what();
      if (inputs_.check_guards()) inputs_.restore();
    }
    if (!item.text.empty()) item.outcome = WalkItem::Outcome::failed;
    return item;
  }

 private:
  // refuses() may throw if a variant cannot read arguments that are meant for other variants.
  Reason refused(const Plan& plan) const {
    try {
      return refuses(plan, inputs_.arguments());
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::user) throw;
      return error.what();
    }
  }

  std::string failure_of(const Plan& plan, double& ratio, bool& harmed) {
    inputs_.poison();
    PlacedCall placed(plan, inputs_.arguments(), wide_zone);
    placed.poison();
    placed.upload();
    placed.launch();
    placed.fetch();
    // Guards first: the reference is computed from the inputs.
    if (const Reason violation = check_guards_of(placed)) {
      harmed = true;
      return *violation;
    }
    const Verdict verdict = verifier_(inputs_.arguments(), &plan);
    if (!verdict.passed) return describe(verdict);
    if (!inputs_.padding_intact())
      return "wrong result: something was written between the rows of the output";
    ratio = std::max(ratio, verdict.largest_ratio);
    return {};
  }

  // Restores damaged inputs, since later variants read them, too.
  Reason check_guards_of(PlacedCall& placed) {
    Reason violation = placed.check_guards();
    if (!violation) violation = inputs_.check_guards();
    if (violation) inputs_.restore();
    return violation;
  }

  Element element_;
  const Case* tried_;
  Inputs inputs_;
  Verifier verifier_;
  double flops_;
};

// Returns the defaults and, if the choice has ranges, a second configuration: odd values within open ranges,
// the middle of listed values.
std::vector<Tuning> tunings_of(const Choice& choice) {
  constexpr int odd[] = {7, 5, 3};
  std::vector<Tuning> out{choice.defaults()};
  if (choice.ranges.empty()) return out;
  Tuning other = choice.defaults();
  for (std::size_t i = 0; i < choice.ranges.size(); ++i) {
    const Range& range = choice.ranges[i];
    other.set(range.name, range.values.empty()
                              ? std::clamp(odd[std::min<std::size_t>(i, 2)], range.first, range.last)
                              : range.values[range.values.size() / 2]);
  }
  if (!(other == out[0])) out.push_back(std::move(other));
  return out;
}

std::vector<const Variant*> variants_to_walk(const Operation& operation, const Walk& walk) {
  auto out = ladder_of(operation.name);
  std::erase_if(out, [&walk](const Variant* v) {
    return v->where != walk.device.where || v->compares_time_only ||
           (walk.variant && v->name != *walk.variant);
  });
  return out;
}

}  // namespace

std::vector<WalkTotals> walk(const Operation& operation, const Walk& walk,
                             const std::function<void(const WalkItem&)>& each) {
  std::vector<WalkTotals> totals;
  for (const Variant* variant : variants_to_walk(operation, walk)) totals.push_back({.variant = variant});
  std::uint64_t count = 0;
  for (const Element element : operation.elements) {
    if (!walk.elements.empty() && std::ranges::find(walk.elements, element) == walk.elements.end()) continue;
    for (const Case& tried : operation.cases) {
      if (!tried.elements.empty() && std::ranges::find(tried.elements, element) == tried.elements.end())
        continue;
      // Every second case has gaps between its rows.
      Trial trial(operation, element, tried, walk.seed + count,
                  {.padding = count % 2 == 0 ? 0 : 3, .guard_bytes = wide_zone});
      ++count;
      for (WalkTotals& total : totals)
        for (const Choice& choice : total.variant->choices) {
          if (&choice != &total.variant->choices[0] && walk.device.where == Where::simt &&
              trial.flops() > walk.flops_of_other_choices)
            continue;
          for (Tuning& tuning : tunings_of(choice)) {
            const WalkItem item =
                trial.run({total.variant, &choice, std::move(tuning), walk.device}, total.largest_ratio);
            total.passed += item.outcome == WalkItem::Outcome::passed;
            total.skipped += item.outcome == WalkItem::Outcome::skipped;
            total.failed += item.outcome == WalkItem::Outcome::failed;
            total.harmed += item.harmed;
            if (each) each(item);
          }
        }
    }
  }
  return totals;
}

std::string to_string(const Case& tried) {
  std::string out;
  const auto add = [&out](const std::string& word) { out += (out.empty() ? "" : " ") + word; };
  for (const auto& [name, size] : tried.dims) add(name + "=" + std::to_string(size));
  for (const auto& [name, word] : tried.words) add(name + "=" + word);
  for (const auto& name : tried.optional_inputs) add("with " + name);
  if (tried.distribution == Distribution::exact) add("exact");
  if (tried.distribution == Distribution::special) add("special");
  return out;
}

}  // namespace tessera
