// SPDX-License-Identifier: Apache-2.0
// The matrix product as an operation: its arguments, what it costs, how it is checked, what to try.
#include "checking.hpp"
#include "matmul.hpp"

namespace tessera::matmul {
namespace {

Signature signature() {
  using namespace parameter;
  Signature out;
  Parameter a = input("A", {"m", "k"}, "the left factor"), b = input("B", {"k", "n"}, "the right factor");
  a.transposed_by = "op-a";
  b.transposed_by = "op-b";
  Parameter beta = real("beta", 0, "β, the factor of C0, a number as α");
  beta.needs = "C0";
  out.parameters = {
      a,
      b,
      optional_input("C0", {"m", "n"}, "a matrix to add, β times; it is not read where β = 0"),
      real("alpha", 1, "α, the factor of the product: a finite number within the elements' range"),
      beta,
      choice("op-a", {"none", "transpose"}, "transpose: the file holds Aᵀ"),
      choice("op-b", {"none", "transpose"}, "transpose: the file holds Bᵀ"),
      output("C", {"m", "n"}, "α·A·B + β·C0")};
  return out;
}

double flops(const Arguments& arguments) {
  return 2 * static_cast<double>(arguments.dim("m")) * static_cast<double>(arguments.dim("n")) *
         static_cast<double>(arguments.dim("k"));
}

// What S0's norm can ask of floats whose errors chance cancels.
bool norm_demanded(const Arguments& arguments) {
  constexpr std::int64_t largest_k = 1024;
  return arguments.element() == Element::f32 && arguments.dim("k") <= largest_k;
}

Case sized(std::int64_t m, std::int64_t n, std::int64_t k, Distribution distribution = Distribution::normal) {
  return {.dims = {{"m", m}, {"n", n}, {"k", k}}, .distribution = distribution};
}

Case with(Case base, Arguments::Words words, bool c0 = false) {
  base.words = std::move(words);
  if (c0) base.optional_inputs = {"C0"};
  return base;
}

// Sizes on both sides of every tile's edge, every op, every way of scaling; small, for they are tried on
// every choice of every rung.
std::vector<Case> cases() {
  using enum Distribution;
  const Arguments::Words scaled{{"alpha", "2"}, {"beta", "-3"}};
  std::vector<Case> out = {
      sized(1, 1, 1, exact),
      sized(1, 1, 2, exact),
      sized(5, 3, 17, exact),
      sized(33, 65, 17),
      sized(33, 65, 17, exact),
      sized(17, 33, 40, special),
      with(sized(31, 33, 35, exact), scaled, true),
      with(sized(20, 36, 44), {{"op-a", "transpose"}}),
      with(sized(36, 20, 44), {{"op-b", "transpose"}}),
      with(sized(19, 37, 23, exact),
           {{"op-a", "transpose"}, {"op-b", "transpose"}, {"alpha", "-1"}, {"beta", "2"}}, true),
      with(sized(16, 16, 16), {{"alpha", "0"}}),
      with(sized(16, 24, 16), {{"alpha", "0"}, {"beta", "3"}}, true),
      with(sized(9, 10, 11), {{"beta", "0"}}, true),
      sized(0, 8, 8),
      sized(8, 0, 8),
      with(sized(8, 9, 0), {{"beta", "2"}}, true),
      sized(8, 9, 0),
      sized(1, 300, 3),
      sized(300, 1, 5),
      sized(2, 3, 1000, exact),
      sized(64, 64, 64),
      sized(64, 64, 64, exact),
      sized(130, 70, 200),
      with(sized(129, 127, 65), scaled, true)};
  return out;
}

Operation operation() {
  Operation out;
  out.name = "matmul";
  out.summary = "the matrix product C = α·op(A)·op(B) + β·C0";
  out.signature = signature();
  out.elements = {Element::f32, Element::f64, Element::i32};
  out.output = "C";
  out.flops = flops;
  out.fill = fill;
  out.reference = reference;
  out.suspect_rows = suspect_rows;
  out.largest_norm_error = 1e-6;
  out.norm_demanded = norm_demanded;
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool enlisted = (enlist(operation()), true);

}  // namespace
}  // namespace tessera::matmul
