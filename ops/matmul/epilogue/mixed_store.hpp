// SPDX-License-Identifier: Apache-2.0
// The epilogue of a MixedProblem for kernels of every build: stores an element of C as Epilogue defines it.
#pragma once
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/gemm/widened.hpp"
#include "ops/matmul/matmul.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

SIMT float real_element(Element element, const void* data, std::int64_t offset) {
  switch (element) {
    case Element::bf16:
    case Element::f16:
      return widened(element, static_cast<const Bits16*>(data)[offset]);
    case Element::i8:
      return static_cast<const std::int8_t*>(data)[offset];
    default:
      return static_cast<const float*>(data)[offset];
  }
}

SIMT void store_element(Element element, void* data, std::int64_t offset, float value) {
  switch (element) {
    case Element::bf16:
    case Element::f16:
      static_cast<Bits16*>(data)[offset] = rounded(element, value);
      return;
    case Element::i8: {
      // Rounds to nearest, ties to even, and clamps; NaN gives 0.
      const float whole = std::rint(value);
      const float held = whole > 127.0f ? 127.0f : whole < -128.0f ? -128.0f : whole;
      static_cast<std::int8_t*>(data)[offset] = static_cast<std::int8_t>(held == held ? held : 0.0f);
      return;
    }
    default:
      static_cast<float*>(data)[offset] = value;
  }
}

SIMT void store_sum(const MixedProblem& p, std::int64_t i, std::int64_t j, float sum) {
  const float scale_a = p.scale_a != nullptr && p.k != 0 ? p.scale_a[i * p.scale_a_stride] : 1.0f,
              scale_b = p.scale_b != nullptr && p.k != 0 ? p.scale_b[j * p.scale_b_stride] : 1.0f;
  float value = scaled_sum(p.alpha, scale_a, scale_b, sum);
  if (p.beta != 0)
    value += p.beta * real_element(p.c_element, p.c0.data, i * p.c0.row_stride + j * p.c0.col_stride);
  if (p.bias != nullptr)
    value += real_element(p.bias_element, p.bias, i * p.bias_row_stride + j * p.bias_col_stride);
  store_element(p.c_element, p.c, i * p.c_row_stride + j * p.c_col_stride, apply(p.post_op, value));
}

// Stores an integer sum, modulo 2^32 if C is i32.
SIMT void store_sum(const MixedProblem& p, std::int64_t i, std::int64_t j, std::int32_t sum) {
  if (p.c_element != Element::i32) return store_sum(p, i, j, static_cast<float>(sum));
  const auto whole = [](float factor) { return static_cast<std::int32_t>(factor); };
  std::int32_t value = multiply_add(whole(p.alpha), sum, 0);
  if (p.beta != 0)
    value = multiply_add(
        whole(p.beta), static_cast<const std::int32_t*>(p.c0.data)[i * p.c0.row_stride + j * p.c0.col_stride],
        value);
  if (p.bias != nullptr)
    value =
        plus(value, static_cast<const std::int32_t*>(p.bias)[i * p.bias_row_stride + j * p.bias_col_stride]);
  static_cast<std::int32_t*>(p.c)[i * p.c_row_stride + j * p.c_col_stride] = apply(p.post_op, value);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
