// SPDX-License-Identifier: Apache-2.0
// The description of a product, from which its other forms are derived:
//
//   C = convert(activation(α·s_a[i]·s_b[j]·op(A)·op(B) + β·C0 + bias))
//
// It is made from a typed call, without text, or from Arguments.
#pragma once
#include <cstdint>
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/gemm/product_options.hpp"
#include "tessera/core/operation/arguments.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera::matmul {

// All members fill whole words, so that descriptions can be compared byte by byte.
struct Gemm {
  struct Strided {
    const void* data = nullptr;                   // null: not given, or not read
    std::int64_t row_stride = 0, col_stride = 0;  // strides in elements, op applied
  };
  struct Vector {
    const void* data = nullptr;
    std::int64_t stride = 0;  // from one element to the next; 0: one number for all
  };
  enum class AccuracyOf : std::uint8_t { none, f32, f64, number };

  Strided a, b, c0, c;  // m × k, k × n, m × n, m × n
  std::int64_t m = 0, n = 0, k = 0;
  double alpha = 1, beta = 0;
  Vector scale_a, scale_b, bias;
  double accuracy = 0;  // only used if `accuracy_of` is `number`
  PostOp post_op;

  Element a_element = Element::f32, b_element = Element::f32, c_element = Element::f32,
          bias_element = Element::f32;
  Compute compute = Compute::strict;
  AccuracyOf accuracy_of = AccuracyOf::none;
  bool accumulates_fast = false;
  bool a_is_transposed = false, b_is_transposed = false;  // memory holds the transpose
  bool bias_along_rows = false, scale_a_of_each = false, scale_b_of_each = false;
  bool adds_in_place = false;  // β multiplies C itself
  bool batch_invariant = false;
  std::uint8_t unused[2] = {};

  // Sets everything but arrays and sizes. Throws Error if an enumerator is out of range.
  static Gemm of(Element a, Element b, Element c, const Options& options);
  // Throws Error if shapes, elements, leading dimensions or alignment to elements do not fit.
  static Gemm of(const detail::AnyMatrix& a, const detail::AnyMatrix& b, const detail::AnyMatrix& c,
                 const Options& options);
  static Gemm of(const Arguments& arguments);

  bool is_empty() const { return m == 0 || n == 0; }
  Addresses addresses() const;
  // Returns the array as stored, op not applied; its data is null if it is not given.
  ArrayView in_memory(ProductArray array) const;
  void set(ProductArray array, const ArrayView& in_memory);
  ByteRange range_of(ProductArray array) const;  // from the first element to the last
  // Returns a copy in which each address is replaced by its alignment, up to the 128 bytes of a cache line,
  // or for CPUs by its presence. One plan serves all products with the same key.
  Gemm key(bool on_processors) const;
  Arguments::Words words() const;
  Arguments arguments() const;
};
static_assert(sizeof(PostOp) % 8 == 0 && sizeof(Gemm) == 26 * 8 + sizeof(PostOp));

// The option of Options::batch_invariant.
inline constexpr const char* batch_invariant_option = "batch-invariant";
bool is_batch_invariant(const Arguments& arguments);

// Throws Error if `scaled` and products of this element do not support scales.
void check_scales(Element element, bool scaled);

}  // namespace tessera::matmul
