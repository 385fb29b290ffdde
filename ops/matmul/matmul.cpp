// SPDX-License-Identifier: Apache-2.0
// The matrix product as an operation: its arguments, what it costs, how it is checked, what to try.
#include "cases.hpp"
#include "checking.hpp"
#include "elements.hpp"
#include "matmul.hpp"

namespace tessera::matmul {
namespace {

// Elements of their own, how exactly to compute, and what is done to the sum.
std::vector<Parameter> what_follows() {
  using namespace parameter;
  Parameter bias = optional_input("bias", {"n"}, "a vector to add, of C's element (f32 where C is i8)");
  bias.element_from = element_of_bias;
  bias.shaped_by = "bias-along";
  bias.shapes = {{"rows", {"m"}}};
  const auto scale = [](const char* name, const char* size, const char* per) {
    Parameter p = optional_input(name, {size}, std::string("f32 factors of the sum, one for each ") + per);
    p.element = Element::f32;
    p.shaped_by = std::string(name) + "-per";
    p.shapes = {{"tensor", {"1"}}};
    return p;
  };
  return {choice("element-b", {"same", "e4m3", "e5m2"}, "B's type where it is not A's"),
          choice("output-element", {"default", "f32", "f16", "bf16", "i32", "i8"},
                 "C's type [A's; bf16 of 8-bit floats, i32 of i8]"),
          choice("compute", {"strict", "tf32"}, "tf32: f32 factors may lose 13 of their bits"),
          choice("accumulate", {"promoted", "fast"},
                 "of 8-bit floats: promoted to f32 every 128 products, or as the tensor cores sum"),
          scale("scale-a", "m", "row of A"),
          choice("scale-a-per", {"row", "tensor"}, "tensor: one factor for all"),
          scale("scale-b", "n", "column of B"),
          choice("scale-b-per", {"column", "tensor"}, "tensor: one factor for all"),
          bias,
          choice("bias-along", {"columns", "rows"},
                 "columns: one number for each column of C; rows: for each row"),
          choice("activation", {"none", "relu", "gelu", "gelu-tanh", "silu"},
                 "what C is put through; gelu is exact, by erf")};
}

}  // namespace

Signature signature() {
  using namespace parameter;
  Signature out;
  Parameter a = input("A", {"m", "k"}, "the left factor"), b = input("B", {"k", "n"}, "the right factor");
  a.transposed_by = "op-a";
  b.transposed_by = "op-b";
  Parameter c0 = optional_input("C0", {"m", "n"}, "a matrix to add, β times; it is not read where β = 0");
  Parameter c = output("C", {"m", "n"}, "α·s_a·s_b·A·B + β·C0 + bias, through the activation");
  b.element_from = element_of_b;
  c.element_from = c0.element_from = element_of_c;
  Parameter beta = real("beta", 0, "β, the factor of C0, a number as α");
  beta.needs = "C0";
  out.parameters = {
      a,
      b,
      c0,
      real("alpha", 1,
           "α, the factor of the product: what f32 can hold (f64's: f64), but no tiny number that would be "
           "0; i32's "
           "whole, in -2^31 to 2^31 - 1; i8's to i32 whole, in -2^24 to 2^24"),
      beta,
      choice("op-a", {"none", "transpose"}, "transpose: the file holds Aᵀ"),
      choice("op-b", {"none", "transpose"}, "transpose: the file holds Bᵀ"),
  };
  for (Parameter& p : what_follows()) out.parameters.push_back(std::move(p));
  out.parameters.push_back(c);
  return out;
}

namespace {

double flops(const Arguments& arguments) {
  return 2 * static_cast<double>(arguments.dim("m")) * static_cast<double>(arguments.dim("n")) *
         static_cast<double>(arguments.dim("k"));
}

}  // namespace

// What S0's norm can ask of floats whose errors chance cancels.
bool norm_demanded(const Arguments& arguments) {
  constexpr std::int64_t largest_k = 1024;
  return arguments.element() == Element::f32 && is_plain(arguments) &&
         arguments.text("compute") == "strict" && arguments.dim("k") <= largest_k;
}

namespace {

Operation operation() {
  Operation out;
  out.name = "matmul";
  out.summary = "the matrix product C = α·op(A)·op(B) + β·C0";
  out.signature = signature();
  out.elements = {Element::f32, Element::f64,  Element::i32,  Element::bf16,
                  Element::f16, Element::e4m3, Element::e5m2, Element::i8};
  out.output = "C";
  out.flops = flops;
  out.fill = fill;
  out.reference = reference;
  out.suspect_rows = suspect_rows;
  out.sampled_only = sampled_only;
  out.element_text = element_text;
  out.largest_norm_error = 1e-6;
  out.norm_demanded = norm_demanded;
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool matmul_registered = (register_operation(operation()), true);

}  // namespace
}  // namespace tessera::matmul
