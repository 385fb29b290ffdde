// SPDX-License-Identifier: Apache-2.0
// GPU rung 7: square roots by the instruction for their reciprocals. The GPU's summit.
//
// A correctly rounded root takes a dozen instructions to repair an estimate that was good already. What is
// left out here is that repair; the few roots that need care are products with the reciprocal root, within 5
// units of the last place (f64: 3), which the bound of a check takes into account for all. Bits differ from
// the other rungs': it runs where --roots fast allows it. What limits it now is double arithmetic itself.
#include "ops/integrate/kernels/compiled.cuh"

namespace tessera::integration {
namespace {

const Rung rung(cuda::compiled_variant(
    "as compiled, square roots within 5 ulp by the reciprocal root",
    compiled_choice(true, [](const Arguments& arguments) -> Reason {
      if (arguments.text("roots") == "fast") return std::nullopt;
      return "its roots are within 5 units of the last place: --roots fast allows them";
    })));

}  // namespace
}  // namespace tessera::integration
