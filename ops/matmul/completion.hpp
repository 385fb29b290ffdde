// SPDX-License-Identifier: Apache-2.0
// The conclusion as what rungs that know α and β alone leave to do.
#pragma once
#include "tessera/core/epilogue_pass.hpp"

namespace tessera::matmul {

// Of an operation whose arguments are the product's, or a batch's.
EpiloguePass completion(const char* operation);

}  // namespace tessera::matmul
