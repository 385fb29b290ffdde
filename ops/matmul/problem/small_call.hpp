// SPDX-License-Identifier: Apache-2.0
// The fast path of multiply(): a plain product in host memory that the processors compute at once goes from
// the views to the loops, without arguments, words, registry, locks or allocations.
#pragma once
#include <optional>
#include "ops/matmul/kernels/cpu/simd.hpp"
#include "ops/matmul/problem/multiply.hpp"

namespace tessera::matmul {

// Whether the call was plain and right for certain, and is done: `outcome` then says so. Else nothing was
// written, and the long way computes it or tells what is wrong.
bool multiply_at_once(const detail::AnyMatrix& a, const detail::AnyMatrix& b, const detail::AnyMatrix& c,
                      const Options& options, Outcome& outcome);

// The same of a product that is made many times.
class SmallCall {
 public:
  // Of what the plan, made before, would run in host memory. Nothing: it is no plain product of the
  // processors.
  static std::optional<SmallCall> of(const detail::AnyMatrix& a, const detail::AnyMatrix& b,
                                     const detail::AnyMatrix& c, const Options& options, const Plan& plan);

  // False: it is not small, and nothing was written. C lies apart from A and B; β·C is added in place.
  bool multiply(const void* a, const void* b, void* c) const;

 private:
  SmallCall() = default;

  Element element_ = Element::f32;
  int threads_ = 1;
  Product<float> f32_ = {};
  Product<double> f64_ = {};
};

}  // namespace tessera::matmul
