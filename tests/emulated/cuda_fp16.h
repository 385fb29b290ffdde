// SPDX-License-Identifier: Apache-2.0
// CUDA's f16, as far as rung 12 takes it.
#pragma once
#include "tessera/core/array/element.hpp"

struct __half {
  tessera::f16 value;
  __half() = default;
  explicit __half(float x) : value(tessera::f16::from(x)) {}
  explicit operator float() const { return static_cast<float>(value); }
};
