// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/problem/mixed_problem.hpp"
#include <cmath>
#include <limits>
#include <utility>
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/problem/accuracy.hpp"

namespace tessera::matmul {
namespace {

Operand operand(const Arguments& arguments, const char* name) {
  if (!arguments.has(name)) return {};
  const ArrayView v = arguments.oriented(name, arguments.array(name).element, 2);
  return {v.data, v.element, v.strides[0], v.strides[1]};
}

// Throws where f32 cannot hold it; as a 0, a tiny one would mean that nothing is read.
float factor(const Arguments& arguments, const char* name, bool whole) {
  const double value = arguments.real(name);
  const auto held = static_cast<float>(value);
  constexpr double most = 1 << 24;
  const bool fits = std::isfinite(held) && (value == 0) == (held == 0);
  if (!fits || (whole && (value != std::nearbyint(value) || std::fabs(value) > most)))
    throw Error(std::string("--") + name + " " + arguments.text(name) + " is not a number that " +
                (whole ? "a whole product can take" : "f32 can hold"));
  return held;
}

void take_scales(MixedProblem& p, const Arguments& arguments) {
  const auto take = [&](const char* name, std::int64_t& step) -> const float* {
    if (!arguments.has(name)) return nullptr;
    const ArrayView& v = arguments.array(name);
    step = arguments.text(std::string(name) + "-per") == "tensor" ? 0 : v.strides[0];
    return static_cast<const float*>(v.data);
  };
  p.scale_a = take("scale-a", p.scale_a_step);
  p.scale_b = take("scale-b", p.scale_b_step);
}

void take_bias(MixedProblem& p, const Arguments& arguments) {
  if (!arguments.has("bias")) return;
  const ArrayView& v = arguments.array("bias");
  p.bias = v.data;
  p.bias_element = v.element;
  (arguments.text("bias-along") == "rows" ? p.bias_row : p.bias_col) = v.strides[0];
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

MixedProblem MixedProblem::of(const Arguments& arguments) {
  MixedProblem p;
  p.a = operand(arguments, "A");
  p.b = operand(arguments, "B");
  const ArrayView& c = arguments.array("C");
  p.c = c.data;
  p.c_element = c.element;
  p.c_row = c.strides[0];
  p.c_col = c.strides[1];
  p.m = arguments.dim("m");
  p.n = arguments.dim("n");
  const bool whole = c.element == Element::i32;
  p.alpha = factor(arguments, "alpha", whole);
  p.beta = arguments.has("C0") ? factor(arguments, "beta", whole) : 0;
  p.k = p.alpha == 0 ? 0 : arguments.dim("k");
  if (p.beta != 0) p.c0 = operand(arguments, "C0");
  take_scales(p, arguments);
  take_bias(p, arguments);
  p.activation = activation_of(arguments.text("activation"));
  if (arguments.element() == Element::f32) p.compute = compute_of(arguments);
  p.fast = arguments.text("accumulate") == "fast";
  if (whole && (p.scale_a != nullptr || p.scale_b != nullptr))
    throw Error("a scaled product is no i32: --output-element f32 or i8");
  if (whole && p.activation != Activation::none && p.activation != Activation::relu)
    throw Error("--activation " + arguments.text("activation") + " is for floats, C holds i32");
  return p;
}

MixedProblem MixedProblem::transposed() const {
  MixedProblem t = *this;
  const auto exchanged = [](const Operand& x) { return Operand{x.data, x.element, x.col, x.row}; };
  t.a = exchanged(b);
  t.b = exchanged(a);
  t.c0 = exchanged(c0);
  std::swap(t.m, t.n);
  std::swap(t.c_row, t.c_col);
  std::swap(t.bias_row, t.bias_col);
  std::swap(t.scale_a, t.scale_b);
  std::swap(t.scale_a_step, t.scale_b_step);
  return t;
}

}  // namespace tessera::matmul
