// SPDX-License-Identifier: Apache-2.0
// An entry of a batch as arguments of the single product, whose reference, bound and inputs then serve.
#pragma once
#include "tessera/core/operation.hpp"

namespace tessera::matmul_batch {

Signature signature();

// Arrays without memory stay so.
Arguments entry_of(const Arguments& batch, std::int64_t entry);

}  // namespace tessera::matmul_batch
