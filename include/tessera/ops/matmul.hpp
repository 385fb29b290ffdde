// SPDX-License-Identifier: Apache-2.0
// An older path, for programs that use it.
#pragma once
#include "tessera/matmul.hpp"
#include "tessera/matmul_variants.hpp"
