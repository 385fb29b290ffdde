// SPDX-License-Identifier: Apache-2.0
// Calls of a product that is described already: of an entry of a group.
#pragma once
#include "ops/matmul/api/multiply.hpp"
#include "ops/matmul/gemm/gemm.hpp"

namespace tessera::matmul {

// As matmul::enqueue(); an empty product leaves the plan empty.
const Plan& enqueue(void* stream, const Gemm& gemm, const Request& request, const Workspace& workspace = {});

// True if all arrays lie in the device's memory, and C apart from the others; false if that is not certain.
bool lies_in_place(const Gemm& gemm, const Device& device);

}  // namespace tessera::matmul
