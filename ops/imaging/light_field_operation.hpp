// SPDX-License-Identifier: Apache-2.0
// Host code shared by the operations on light fields.
#pragma once
#include <functional>
#include "ops/imaging/light_field.hpp"
#include "ops/imaging/image_operation.hpp"
#include "tessera/rung.hpp"

namespace tessera::lightfield {

// Sets the members that follow from an operation's plan alone: elements, cost, test inputs, reference and
// checks. `compute` is the fastest CPU rung. operation.output must be set before.
void set_checks(Operation& operation, LightFieldPlan (*plan_of)(const Arguments&),
                std::function<void(const Arguments&)> compute);

template <template <class> class Problem>
void sum_of(const Arguments& arguments) {
  with_problem<Problem>(arguments, [](const auto& p) { sum_views(p, host_threads()); });
}

// Returns the CPU rung `naive`: each sample looks up every view.
template <template <class> class Problem>
Choice naive_choice() {
  return choice_of<Problem>([](const auto& p, const Tuning&, Run&) {
    for (int plane = 0; plane < p.planes(); ++plane)
      for (int y = 0; y < p.height(); ++y)
        for (int x = 0; x < p.width(); ++x)
          for (int c = 0; c < p.channels(); ++c) p.compute(plane, y, x, c);
  });
}

// Returns the CPU rung `simd` of the operation with this output.
template <template <class> class Problem>
Choice simd_choice(const char* output) {
  Choice out =
      choice_of<Problem>([](const auto& p, const Tuning&, Run& run) { sum_views(p, run.device->threads); });
  out.refuses = [output](const Arguments& arguments, const Tuning&, const Device&) {
    return refuses_scattered(arguments.array(output));
  };
  return out;
}

}  // namespace tessera::lightfield
