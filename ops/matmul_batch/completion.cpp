// SPDX-License-Identifier: Apache-2.0
// What a batch's rungs leave to do: the single product's conclusion, of all entries in one pass.
#include "ops/matmul/completion.hpp"

namespace tessera::matmul_batch {
namespace {
[[maybe_unused]] const bool completion_registered =
    (register_epilogue_pass(matmul::completion("matmul_batch")), true);
}  // namespace
}  // namespace tessera::matmul_batch
