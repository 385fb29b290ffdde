// SPDX-License-Identifier: Apache-2.0
// A product of mixed precision, with separate element types for operands and result, scales, a bias and an
// activation:
//
//   C = convert(activation(α·s_a[i]·s_b[j]·op(A)·op(B) + β·C0 + bias))
//
// One struct, passed by value, describes it for all element types, so that all kernels have the same
// interface; also f32 products that use TF32 or have an epilogue.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include "post_op.hpp"
#include "tessera/core/operation/arguments.hpp"

namespace tessera::matmul {

// The arithmetic of products of f32 operands. tf32: operands may lose 13 bits. The others decompose each
// operand for tensor cores, multiply the components, and promote the sums to f32: tf32x3 and f16x3 have two
// components and three products; bf16x6 has three components and six products, and replaces f16x3 for ranges
// that f16 lacks. A strict f32 rung may be used instead.
enum class Compute : std::uint8_t { strict, tf32, tf32x3, bf16x6, f16x3 };
std::string_view text_of(Compute compute);
[[nodiscard]] Compute compute_of(std::string_view text);
inline bool is_emulated_fp32(Compute compute) { return compute > Compute::tf32; }

// A matrix with op applied: m × k, k × n, m × n.
struct Operand {
  const void* data = nullptr;  // null: not given, or not read
  Element element = Element::f32;
  std::int64_t row_stride = 0, col_stride = 0;  // strides in elements
};

struct Gemm;  // gemm.hpp

struct MixedProblem {
  Operand a, b, c0;  // c0: of C's element type
  void* c = nullptr;
  Element c_element = Element::f32;
  std::int64_t c_row_stride = 0, c_col_stride = 0;
  std::int64_t m = 0, n = 0, k = 0;  // k = 0 if α = 0: then neither A nor B is read
  float alpha = 1, beta = 0;         // integers if C is i32; β = 0 if no C0 was given

  // Vectors and their strides in elements (0: one for all). The entry for row i and column j is
  // bias[i·bias_row_stride + j·bias_col_stride].
  const void* bias = nullptr;  // null: none
  Element bias_element = Element::f32;
  std::int64_t bias_row_stride = 0, bias_col_stride = 0;
  const float* scale_a = nullptr;  // null: 1; for row i: scale_a[i·scale_a_stride]
  const float* scale_b = nullptr;
  std::int64_t scale_a_stride = 0, scale_b_stride = 0;

  PostOp post_op;
  Compute compute = Compute::strict;  // f32 only
  bool fast = false;  // 8-bit floats: no promotion of the tensor cores' accumulators is needed

  // Throws Error if the options are not supported: a scale or a GELU with an i32 result.
  static MixedProblem of(const Gemm& gemm);
  static MixedProblem of(const Arguments& arguments);

  MixedProblem transposed() const;  // Cᵀ = Bᵀ·Aᵀ
};

// True for all element types but f64 and i32, whose products have no options.
bool has_mixed_problem(Element element);

}  // namespace tessera::matmul
