// SPDX-License-Identifier: Apache-2.0
// GPU rung 8: several outputs for each thread.
//
// With 1 × 2 or 1 × 4 outputs in a row, an element of A's tile is read once for all of them: four
// multiply-adds take five loads from shared memory, where single outputs take eight. Reuse grows along the
// row only; a patch of rows and columns is the next step. Unrolling and prefetching combine with each, so all
// combinations are listed here, and one tile that exceeds the limits of a block.
#include "ops/matmul/kernels/simt/coarsened.hpp"

namespace tessera::matmul {
namespace {

using Config = Coarsening;

const KernelRung<Problem, Config, Coarsened,                                                          //
                 Config{16, 4, 1, 1}, Config{16, 4, 1, 0}, Config{16, 4, 0, 1}, Config{16, 4, 0, 0},  //
                 Config{16, 2, 1, 1}, Config{16, 2, 1, 0}, Config{16, 2, 0, 1}, Config{16, 2, 0, 0},  //
                 Config{16, 1, 1, 1}, Config{16, 1, 1, 0}, Config{16, 1, 0, 1}, Config{16, 1, 0, 0},  //
                 Config{8, 4, 1, 1}, Config{8, 4, 1, 0}, Config{8, 4, 0, 1}, Config{8, 4, 0, 0},      //
                 Config{8, 2, 1, 1}, Config{8, 2, 1, 0}, Config{8, 2, 0, 1}, Config{8, 2, 0, 0},      //
                 Config{8, 1, 1, 1}, Config{8, 1, 1, 0}, Config{8, 1, 0, 1}, Config{8, 1, 0, 0},      //
                 Config{4, 4, 1, 1}, Config{4, 4, 1, 0}, Config{4, 4, 0, 1}, Config{4, 4, 0, 0},      //
                 Config{4, 2, 1, 1}, Config{4, 2, 1, 0}, Config{4, 2, 0, 1}, Config{4, 2, 0, 0},      //
                 Config{4, 1, 1, 1}, Config{4, 1, 1, 0}, Config{4, 1, 0, 1}, Config{4, 1, 0, 0},      //
                 Config{64, 1, 0, 0}>
    rung{"several outputs for each thread: an element of A is read once for all of them"};

}  // namespace
}  // namespace tessera::matmul
