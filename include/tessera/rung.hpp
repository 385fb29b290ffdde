// SPDX-License-Identifier: Apache-2.0
// Included by a rung in plain C++ (.cpp) or plain CUDA (.cu): declaring a Rung registers it.
#pragma once
#include <utility>
#include "tessera/core/operation/operation.hpp"

namespace tessera {

namespace detail {
template <template <class> class Problem, class F, class... T>
void bind_elements(Choice& choice, const F& f, const WorkspaceBytes& workspace_bytes, Types<T...>) {
  ((choice.prepare[element_of<T>] = without_plan([f](const Arguments& arguments, const Tuning& tuning,
                                                     Run& run) { f(Problem<T>::of(arguments), tuning, run); },
                                                 workspace_bytes)),
   ...);
}
}  // namespace detail

// Forwards Choice::unsupported_arguments to Problem<T>::unsupported_arguments(), where Problem has it.
template <template <class> class Problem, class... T>
void bind_limits(Choice& choice, Types<T...>) {
  if constexpr (requires(const Arguments& arguments) { (Problem<T>::unsupported_arguments(arguments), ...); })
    choice.unsupported_arguments = [](const Arguments& arguments) {
      Reason reason;
      ((arguments.element() == element_of<T> ? void(reason = Problem<T>::unsupported_arguments(arguments))
                                             : void()),
       ...);
      return reason;
    };
}

// Returns a choice that runs f(problem, tuning, run) for each of the given elements, with a zeroed workspace.
template <template <class> class Problem, class Elements = typename Problem<float>::Elements, class F>
Choice choice_of(F f, Tuning tuning = {}, std::vector<Range> ranges = {},
                 const WorkspaceBytes& workspace_bytes = {}) {
  Choice choice;
  choice.tuning = std::move(tuning);
  choice.ranges = std::move(ranges);
  detail::bind_elements<Problem>(choice, f, workspace_bytes, Elements{});
  bind_limits<Problem>(choice, Elements{});
  return choice;
}

struct Rung {
  Rung(std::string idea, Where where, std::vector<Choice> choices, std::optional<std::string> parent = {},
       SourceLocation location = SourceLocation::current()) {
    Variant variant;
    variant.idea = std::move(idea);
    variant.where = where;
    variant.choices = std::move(choices);
    variant.parent = std::move(parent);
    register_variant(std::move(variant), location);
  }
  // For members that the short form does not set: baseline, unsupported_device.
  explicit Rung(Variant variant, SourceLocation location = SourceLocation::current()) {
    register_variant(std::move(variant), location);
  }
};

}  // namespace tessera
