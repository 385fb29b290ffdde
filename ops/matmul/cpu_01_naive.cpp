// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: three loops, one thread: each element of C is a row of A times a column of B.
//
// The serial baseline that every other rung is measured against. The sum runs in the order of k,
// rounding each product and each sum. Stepping down a column of B touches a new cache line for every
// element; the next rung avoids that.
#include "ops/matmul/kernels/cpu/serial_loops.hpp"

namespace tessera::matmul {
namespace {

const Rung rung{"three loops, row times column, one thread",
                Where::cpu,
                {serial_choice<Problem, MixedProblem>([](const auto& p) { naive(p); }, naive_mixed)}};

}  // namespace
}  // namespace tessera::matmul
