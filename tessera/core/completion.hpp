// SPDX-License-Identifier: Apache-2.0
// What a variant leaves to do. An operation may be asked for more than the type in which a variant takes its
// arguments has room for. Where the operation has a completion, the variant computes what it can hold, and a
// step after it, on the same device and in the same stream, makes the rest of that: nobody who does not ask
// for more pays for it.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include "tessera/core/variant.hpp"

namespace tessera {

struct Completion {
  std::string operation;
  std::string told;  // which rungs leave what to the step, for those who read the ladder
  // Whether the step makes the rest. Throws Error where nobody does.
  std::function<bool(const Arguments&)> serves;
  // What the variant computes: into the output, or into spare memory of that size.
  std::function<std::size_t(const Arguments&)> spare_bytes;
  std::function<Arguments(const Arguments&, void* spare)> before;
  // The step. `spare`: where the variant's results lie; null: in the output.
  std::function<void(const Arguments&, void* spare, Run&)> after;
};

void register_completion(Completion completion);
const Completion* completion_of(std::string_view operation);  // null: it has none

// Every choice that may refuse what its type does not hold hands that to the operation's completion from
// then on. Baselines do not: what they are timed for is theirs alone.
void complete(Variant& variant);

}  // namespace tessera
