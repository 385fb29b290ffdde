// SPDX-License-Identifier: Apache-2.0
// Included by programs that check a product of any library: is C as right as its arithmetic allows?
// docs/check.md says what is promised.
#pragma once
#include <string>
#include "tessera/matmul.hpp"
#include "tessera/matmul_batch.hpp"

namespace tessera {

namespace matmul::detail {
Finding check_any(const AnyMatrix& c, const AnyMatrix& a, const AnyMatrix& b, const Options& options,
                  const std::string& arithmetic);
}
namespace matmul_batch::detail {
Finding check_any(const AnyBatch& c, const AnyBatch& a, const AnyBatch& b, const matmul::Options& options,
                  const std::string& arithmetic);
}

// Checks C = convert(activation(α·s_a[i]·s_b[j]·op(A)·op(B) + β·C0 + bias)), whoever computed it. Element
// types, layouts and Options: those of matmul::multiply; Options::c0 is what C held before. All arrays lie in
// host memory, or in that of one GPU: then its default stream does the work, so that work in non-blocking
// streams that makes them must be over.
//
// `arithmetic`: how C was computed, from which the bound of each element follows: words separated by commas.
// Without them, the products' type is that of the operands, sums are kept in f32 (f64, i32).
//   tf32 or bf16     f32 operands are rounded to it; also tf32x3, bf16x6, f16x3
//   sums=f16         or bf16: each sum of 16-bit or 8-bit floats is rounded to it
//   parts=N          sums of up to N parts of k are rounded to C's 16 bits before they are added (split-K)
//   fast             8-bit floats: sums are not promoted to f32
//
// Throws Error as multiply() does, if β is not 0 and there is no C0, or if the arithmetic does not fit.
//
// Views of batches: each entry is checked; an A or B of one matrix serves all. The Finding is that of the
// first wrong entry, and its text has the number of the entry.
template <template <class> class View, class Out, class T, class TB>
[[nodiscard]] Finding check(View<Out> c, View<T> a, View<TB> b, const matmul::Options& options = {},
                            const std::string& arithmetic = {}) {
  using matmul::detail::any, matmul_batch::detail::any;
  return check_any(any(c), any(a), any(b), options, arithmetic);
}

}  // namespace tessera
