// SPDX-License-Identifier: Apache-2.0
// CUDA's bf16, as far as rung 12 takes it.
#pragma once
#include "tessera/core/array/element.hpp"

struct __nv_bfloat16 {
  tessera::bf16 value;
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(float x) : value(tessera::bf16::from(x)) {}
  explicit operator float() const { return static_cast<float>(value); }
};
