// SPDX-License-Identifier: Apache-2.0
// GPU rung 6: the formula compiled when it is typed.
//
// What the interpreter looks up for every strip, the compiler settles once: operators become instructions,
// intermediate results registers, and several strips overlap. The text goes to NVRTC, and what comes back is
// kept on disk, for compiling takes as long as thousands of launches. The same operations in the same order:
// the same bits. What limits it now is the root, which IEEE arithmetic rounds correctly.
#include "ops/integrate/kernels/compiled.cuh"

namespace tessera::integration {
namespace {

const Rung rung(cuda::compiled_variant("the formula compiled when it is typed, one launch",
                                       compiled_choice(false, [](const Arguments&) -> Reason {
                                         return std::nullopt;
                                       })));

}  // namespace
}  // namespace tessera::integration
