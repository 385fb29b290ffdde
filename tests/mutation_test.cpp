// SPDX-License-Identifier: Apache-2.0
// Every kernel of every ladder, in every choice, traced: as it is, it breaks no rule; without any one of its
// barriers it does. A tracer that overlooks a missing barrier, or cries without need, fails here.
#include <gtest/gtest.h>
#include <algorithm>
#include "tessera/bench/trace.hpp"
#include "tessera/run/conformance.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera {
namespace {

constexpr double max_flops = 1e6;

std::string told(const bench::Traced& traced) {
  std::string out;
  for (const auto& f : traced.findings) out += f.file + ":" + std::to_string(f.line) + ": " + f.text + "\n";
  return out;
}

struct Rung {
  const Operation* operation;
  const Variant* variant;
  Element element = operation->elements.front();  // that it is traced in
};

std::vector<Rung> rungs() {
  std::vector<Rung> out;
  for (const Operation& operation : operations())
    for (const Variant* variant : ladder_of(operation.name))
      if (variant->where == Where::simt) out.push_back({&operation, variant});
  return out;
}

bench::Traced traced(const Rung& rung, const Choice& choice, Element element, const Case& tried,
                     std::vector<SourceLocation> without = {}, bool check = true) {
  const Device device = find_backend(Where::simt)->devices().at(0);
  bench::Tracing tracing;
  tracing.without = std::move(without);
  tracing.check = check;
  try {
    return bench::trace(*rung.operation, element, tried, {rung.variant, &choice, choice.defaults(), device},
                        tracing);
  } catch (const Error& error) {  // a rung may not even be able to read what is meant for others
    if (error.kind() != Error::Kind::user) throw;
    bench::Traced out;
    out.absent = error.what();
    return out;
  }
}

struct Sized {
  double flops;
  Case tried;
};

// Those of the rung's element that its first choice takes, the least work first.
std::vector<Sized> cases_of(const Rung& rung) {
  const Choice& choice = rung.variant->choices[0];
  const Plan plan{rung.variant, &choice, choice.defaults(), find_backend(Where::simt)->devices().at(0)};
  std::vector<Sized> out;
  for (const Case& tried : rung.operation->cases) {
    if (!tried.elements.empty() && std::ranges::find(tried.elements, rung.element) == tried.elements.end())
      continue;
    try {
      const Inputs inputs(*rung.operation, rung.element, tried, 1);
      if (!refuses(plan, inputs.arguments()))
        out.push_back({rung.operation->flops(inputs.arguments()), tried});
    } catch (const Error& error) {  // a rung may not even be able to read what is meant for others
      if (error.kind() != Error::Kind::user) throw;
    }
  }
  std::ranges::stable_sort(out, {}, &Sized::flops);
  return out;
}

TEST(Mutation, EveryKernelHasATracedBuildAndBreaksNoRule) {
  ASSERT_EQ(simt::tracing_absent(), std::nullopt);  // loads the traced kernels
  ASSERT_FALSE(rungs().empty());
  for (const Rung& rung : rungs()) {
    const auto cases = cases_of(rung);
    for (const Choice& choice : rung.variant->choices) {
      ASSERT_NE(instrumented_choice(*rung.variant, choice), nullptr)
          << rung.variant->name << " " << to_string(choice.tuning);
      const double most = max_flops / (&choice == &rung.variant->choices[0] ? 5 : 100);
      for (const auto& [flops, tried] : cases) {
        if (flops > most) break;
        const bench::Traced result = traced(rung, choice, rung.element, tried);
        EXPECT_TRUE(result.findings.empty())
            << rung.variant->name << " " << to_string(choice.tuning) << " " << to_string(tried) << "\n"
            << told(result);
      }
    }
  }
}

// Whether leaving out the barrier is noticed in one of the cases, of which the last has the least work.
bool is_caught(const Rung& rung, const Choice& choice, const std::vector<Case>& cases,
               SourceLocation barrier) {
  return std::any_of(cases.rbegin(), cases.rend(), [&](const Case& tried) {
    const auto result = traced(rung, choice, rung.element, tried, {barrier});
    return std::ranges::any_of(result.findings, [](const bench::TracedFinding& f) {
      return f.kind == simt::Finding::Kind::race && f.line != 0;
    });
  });
}

// Of a choice: how many barriers order what threads share.
std::size_t removed_and_caught(const Rung& rung, const Choice& choice, const std::vector<Case>& cases) {
  std::size_t out = 0;
  const bench::Traced whole = traced(rung, choice, rung.element, cases[0], {}, false);
  // A choice may be too large for any device; the first is not.
  EXPECT_FALSE(whole.absent && &choice == &rung.variant->choices[0]) << *whole.absent;
  for (const simt::BarrierCounts& barrier : whole.barrier_sites) {
    // A barrier of a kernel whose threads share nothing only keeps them in step: no rule needs it.
    const bool shares = whole.total(simt::Space::shared, simt::Act::read).requests != 0;
    EXPECT_EQ(is_caught(rung, choice, cases, barrier.location), shares)
        << rung.variant->name << " " << to_string(choice.tuning) << " without " << barrier.location.file
        << ":" << barrier.location.line;
    out += shares;
  }
  return out;
}

// Of those that are traced quickly, the most work first: several steps of every loop. Of a rung that takes
// only more work, the least of it.
std::vector<Case> largest_of(std::vector<Sized> all) {
  constexpr std::size_t count = 3;
  if (all.empty() || all[0].flops > 10 * max_flops) return {};
  if (all[0].flops > max_flops) return {all[0].tried};
  std::erase_if(all, [](const Sized& one) { return one.flops > max_flops; });
  std::ranges::stable_sort(all, std::ranges::greater{}, &Sized::flops);
  std::vector<Case> out;
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i) out.push_back(all[i].tried);
  return out;
}

TEST(Mutation, DetectsEveryRemovedBarrier) {
  std::size_t removed = 0;
  for (Rung rung : rungs()) {
    std::vector<Case> cases;
    for (const Element element : rung.operation->elements) {
      rung.element = element;
      cases = largest_of(cases_of(rung));
      if (!cases.empty()) break;
    }
    ASSERT_FALSE(cases.empty()) << rung.variant->name;
    for (const Choice& choice : rung.variant->choices) removed += removed_and_caught(rung, choice, cases);
  }
  EXPECT_GE(removed, 100u);
}

}  // namespace
}  // namespace tessera
