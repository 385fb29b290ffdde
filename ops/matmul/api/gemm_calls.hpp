// SPDX-License-Identifier: Apache-2.0
// Calls for a product given as a Gemm, such as an entry of a group.
#pragma once
#include "tessera/matmul.hpp"
#include "ops/matmul/gemm/gemm.hpp"

namespace tessera::matmul {

// Like the public enqueue(); an empty product has an empty plan.
const Plan& enqueue(void* stream, const Gemm& gemm, const Request& request, const Workspace& workspace = {});

// True if all arrays are in the device's memory and C overlaps none of the others; false if that is not
// certain.
bool lies_in_place(const Gemm& gemm, const Device& device);

}  // namespace tessera::matmul
