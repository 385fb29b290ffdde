// SPDX-License-Identifier: Apache-2.0
// GPU rung 7: square roots from the reciprocal-root instruction; the fastest trapezoid sum on GPUs.
//
// A correctly rounded root spends a dozen instructions on correcting an estimate that is already good. This
// rung leaves out the correction; the few roots that need care are products with the reciprocal root, within
// 5 ulp (f64: 3), which the error bound of a check assumes for all roots. Results are not bitwise identical
// to the other rungs', so it runs only with --roots fast. It is now limited by double arithmetic itself.
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
