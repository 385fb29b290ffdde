// SPDX-License-Identifier: Apache-2.0
// A pass after a variant. Callers may ask for more than a variant's argument type can express, such as a bias
// or an activation. An operation's epilogue pass, if it has one, does the rest on the same device and stream.
// Other calls pay nothing.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include "tessera/core/operation/variant.hpp"

namespace tessera {

struct EpiloguePass {
  std::string operation;
  std::string description;  // the rungs that need the pass, and for what, for `list`
  // True if the pass does the rest. Throws Error if nothing can.
  std::function<bool(const Arguments&)> supports;
  // The bytes of spare memory for the variant's results (0: they go into the output), and the variant's
  // arguments.
  std::function<std::size_t(const Arguments&)> workspace_bytes;
  std::function<Arguments(const Arguments&, void* spare)> before;
  // The pass. `spare`: holds the variant's results; null: the output does.
  std::function<void(const Arguments&, void* spare, Run&)> after;
};

void register_epilogue_pass(EpiloguePass pass);
const EpiloguePass* epilogue_pass_of(std::string_view operation);  // null: it has none

// Arguments that a choice cannot hold then go to the operation's epilogue pass. Baselines are left out: their
// timings must not include our code.
void attach_epilogue_pass(Variant& variant);

}  // namespace tessera
