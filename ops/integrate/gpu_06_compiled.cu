// SPDX-License-Identifier: Apache-2.0
// GPU rung 6: the formula compiled at run time.
//
// The compiler resolves once what the interpreter looks up for every strip: operators become instructions,
// intermediate results stay in registers, and several strips overlap. NVRTC compiles the text, and the result
// is cached on disk, because compiling takes as long as thousands of launches. Operations and their order are
// unchanged, so results are bitwise identical. It is now limited by the square root, which IEEE arithmetic
// rounds correctly.
#include "ops/integrate/kernels/compiled.cuh"

namespace tessera::integration {
namespace {

const Rung rung(cuda::compiled_variant("the formula compiled when it is typed, one launch",
                                       compiled_choice(false, [](const Arguments&) -> Reason {
                                         return std::nullopt;
                                       })));

}  // namespace
}  // namespace tessera::integration
