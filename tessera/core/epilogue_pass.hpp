// SPDX-License-Identifier: Apache-2.0
// A pass after a variant. Callers may ask for more than a variant's argument type can express, such as a bias
// or an activation. Where the operation has an epilogue pass, the variant computes what it can, and the pass
// does the rest on the same device and stream. Calls that ask for nothing more pay nothing.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include "tessera/core/variant.hpp"

namespace tessera {

struct EpiloguePass {
  std::string operation;
  std::string description;  // which rungs leave what to the pass, for `list`
  // Whether the pass does the rest. Throws Error where nobody does.
  std::function<bool(const Arguments&)> serves;
  // What the variant computes: into the output, or into spare memory of that size.
  std::function<std::size_t(const Arguments&)> spare_bytes;
  std::function<Arguments(const Arguments&, void* spare)> before;
  // The pass. `spare`: where the variant's results lie; null: in the output.
  std::function<void(const Arguments&, void* spare, Run&)> after;
};

void register_epilogue_pass(EpiloguePass pass);
const EpiloguePass* epilogue_pass_of(std::string_view operation);  // null: it has none

// From then on, arguments that a choice cannot hold go to the operation's epilogue pass. Baselines are left
// out: what they are timed for is theirs alone.
void attach_epilogue_pass(Variant& variant);

}  // namespace tessera
