// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/gemm/mixed_problem.hpp"
#include <cmath>
#include <utility>
#include "ops/matmul/gemm/gemm.hpp"

namespace tessera::matmul {
namespace {

// Throws if f32 cannot hold the value: a tiny one rounded to 0 would mean that nothing is read.
float factor(double value, const char* name, bool whole) {
  const auto held = static_cast<float>(value);
  constexpr double most = 1 << 24;
  const bool fits = std::isfinite(held) && (value == 0) == (held == 0);
  if (!fits || (whole && (value != std::nearbyint(value) || std::fabs(value) > most)))
    throw Error(std::string("--") + name + " " + tessera::text_of(value) + " is not a number that " +
                (whole ? "a whole product can take" : "f32 can hold"));
  return held;
}

}  // namespace

std::string_view text_of(Compute compute) {
  constexpr std::string_view texts[] = {"strict", "tf32", "tf32x3", "bf16x6", "f16x3"};
  return texts[static_cast<std::size_t>(compute)];
}

Compute compute_of(std::string_view text) {
  for (const Compute one : {Compute::strict, Compute::tf32, Compute::tf32x3, Compute::bf16x6, Compute::f16x3})
    if (text_of(one) == text) return one;
  throw Error(Error::Kind::internal, "no arithmetic is called " + std::string(text));
}

bool has_mixed_problem(Element element) {
  return element != Element::f64 && element != Element::i32 && element != Element::u8;
}

MixedProblem MixedProblem::of(const Gemm& g) {
  const bool whole = g.c_element == Element::i32;
  MixedProblem p;
  p.a = {g.a.data, g.a_element, g.a.row_stride, g.a.col_stride};
  p.b = {g.b.data, g.b_element, g.b.row_stride, g.b.col_stride};
  p.c = const_cast<void*>(g.c.data);
  p.c_element = g.c_element;
  p.c_row_stride = g.c.row_stride;
  p.c_col_stride = g.c.col_stride;
  p.m = g.m;
  p.n = g.n;
  p.alpha = factor(g.alpha, "alpha", whole);
  p.beta = factor(g.beta, "beta", whole);
  p.k = p.alpha == 0 ? 0 : g.k;
  if (p.beta != 0) p.c0 = {g.c0.data, g.c_element, g.c0.row_stride, g.c0.col_stride};
  p.scale_a = static_cast<const float*>(g.scale_a.data);
  p.scale_b = static_cast<const float*>(g.scale_b.data);
  p.scale_a_stride = g.scale_a.stride;
  p.scale_b_stride = g.scale_b.stride;
  p.bias = g.bias.data;
  p.bias_element = g.bias_element;
  (g.bias_along_rows ? p.bias_row_stride : p.bias_col_stride) = g.bias.stride;
  p.post_op = g.post_op;
  p.compute = g.compute;
  // Not all tiles of `fast` sums add in the same order.
  p.fast = g.accumulates_fast && !g.batch_invariant;
  if (whole && (p.scale_a != nullptr || p.scale_b != nullptr))
    throw Error("a scaled product is no i32: --output-element f32 or i8");
  return p;
}

MixedProblem MixedProblem::of(const Arguments& arguments) { return of(Gemm::of(arguments)); }

MixedProblem MixedProblem::transposed() const {
  MixedProblem t = *this;
  const auto exchanged = [](const Operand& x) {
    return Operand{x.data, x.element, x.col_stride, x.row_stride};
  };
  t.a = exchanged(b);
  t.b = exchanged(a);
  t.c0 = exchanged(c0);
  std::swap(t.m, t.n);
  std::swap(t.c_row_stride, t.c_col_stride);
  std::swap(t.bias_row_stride, t.bias_col_stride);
  std::swap(t.scale_a, t.scale_b);
  std::swap(t.scale_a_stride, t.scale_b_stride);
  return t;
}

}  // namespace tessera::matmul
