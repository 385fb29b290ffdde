// SPDX-License-Identifier: Apache-2.0
// The functions of formulas for one number, on the host, on the executor and in kernels: the same IEEE
// operations in the same order everywhere, fused only where `fused` says so. docs/formulas.md states how far
// each may err. The same text, included elsewhere, serves vectors (simd-inl.h) and NVRTC (emit.hpp).
#pragma once
#include <math.h>
#include "tessera/core/device/thread.hpp"

#define FORMULA_FN SIMT
namespace tessera::formula::elementary {
inline namespace TESSERA_UNIT {
#include "tessera/formula/elementary/number-inl.h"
#include "tessera/formula/elementary/exact-inl.h"
#include "tessera/formula/elementary/exponential-inl.h"
#include "tessera/formula/elementary/huge_angle-inl.h"
#include "tessera/formula/elementary/trigonometric-inl.h"
#include "tessera/formula/elementary/library-inl.h"
}  // namespace TESSERA_UNIT
}  // namespace tessera::formula::elementary
#undef FORMULA_FN
