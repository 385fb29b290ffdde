// SPDX-License-Identifier: Apache-2.0
// The matrix product as an operation: its arguments, cost and checks, and the cases of `verify`.
#include "ops/matmul/operation/matmul_operation.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/accuracy.hpp"
#include "ops/matmul/gemm/gemm.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "tessera/core/operation/promise.hpp"

namespace tessera::matmul {

namespace {

Case sized(std::int64_t m, std::int64_t n, std::int64_t k, Distribution distribution = Distribution::normal) {
  return {.dims = {{"m", m}, {"n", n}, {"k", k}}, .distribution = distribution};
}

Case with(Case base, Arguments::Words words, bool c0 = false) {
  base.words = std::move(words);
  if (c0) base.optional_inputs = {"C0"};
  return base;
}

std::vector<Case> mixed_cases() {
  using enum Distribution;
  const std::vector<Element> halves{Element::bf16, Element::f16}, bytes{Element::e4m3, Element::e5m2},
      floats{Element::f32, Element::bf16, Element::f16, Element::e4m3, Element::e5m2}, i8{Element::i8},
      shorter{Element::bf16, Element::f16, Element::e4m3, Element::e5m2}, own{Element::f64, Element::i32},
      reals{Element::f32, Element::f64},  // sums of their own
      narrow{Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8};
  const auto of = [](const std::vector<Element>& elements, Case base, Arguments::Words words,
                     std::vector<std::string> given = {}) {
    base.elements = elements;
    base.words = std::move(words);
    base.optional_inputs = std::move(given);
    return base;
  };
  return {
      of(shorter, sized(65, 33, 130), {{"output-element", "f32"}}),
      of(shorter, sized(17, 40, 200, exact), {{"output-element", "f32"}, {"op-b", "transpose"}}),
      of(shorter, sized(40, 24, 300), {{"output-element", "f16"}, {"op-a", "transpose"}}),
      of({Element::f16}, sized(40, 24, 300), {{"output-element", "bf16"}, {"op-a", "transpose"}}),
      of(halves, sized(33, 47, 60), {{"output-element", "f16"}, {"alpha", "-2"}, {"beta", "0.5"}},
         {"C0", "bias", "scale-a"}),
      of({Element::f16}, sized(33, 47, 60, exact),
         {{"output-element", "bf16"}, {"beta", "2"}, {"activation", "relu"}}, {"C0", "bias"}),
      of(bytes, sized(33, 47, 260), {{"element-b", "e5m2"}, {"output-element", "f32"}}),
      of(bytes, sized(33, 47, 260, exact), {{"element-b", "e4m3"}}),
      of(bytes, sized(24, 40, 500), {{"accumulate", "fast"}}),
      of(reals, sized(1, 130, 700), {}),
      of(reals, sized(3, 83, 2812, exact), {{"op-b", "transpose"}}),
      of(reals, sized(150, 16, 257), {{"op-a", "transpose"}, {"beta", "2"}}, {"C0"}),
      of(reals, sized(97, 9, 1300), {{"op-b", "transpose"}, {"alpha", "-2"}}),
      of(narrow, sized(1, 530, 261), {}),
      of(halves, sized(3, 83, 1311, exact), {{"op-b", "transpose"}}),
      of(narrow, sized(1, 528, 260), {{"alpha", "-2"}, {"beta", "3"}}, {"C0"}),
      of(narrow, sized(90, 1, 1040, exact), {{"op-b", "transpose"}}),
      of(halves, sized(4, 75, 700), {{"op-a", "transpose"}}),
      of(floats, sized(130, 1, 320), {{"alpha", "-2"}, {"beta", "0.5"}, {"activation", "gelu"}},
         {"C0", "bias", "scale-a", "scale-b"}),
      of(bytes, sized(1, 47, 260), {{"element-b", "e5m2"}, {"output-element", "f32"}}),
      of(bytes, sized(47, 1, 384, exact), {{"element-b", "e4m3"}, {"output-element", "f16"}}),
      of(i8, sized(1, 51, 163), {{"output-element", "i8"}, {"activation", "relu"}}, {"scale-b", "bias"}),
      of(i8, sized(90, 1, 256), {{"beta", "-2"}, {"alpha", "3"}, {"activation", "relu"}}, {"C0", "bias"}),
      of({Element::f32}, sized(40, 50, 60), {{"compute", "tf32"}}),
      of({Element::f32}, sized(21, 34, 55, exact), {{"compute", "tf32"}, {"op-a", "transpose"}}),
      of({Element::f32}, sized(33, 21, 150), {{"compute", "tf32x3"}, {"op-b", "transpose"}}),
      of({Element::f32}, sized(21, 34, 55, exact), {{"compute", "tf32x3"}}),
      of({Element::f32}, sized(33, 21, 150), {{"compute", "bf16x6"}, {"op-a", "transpose"}}),
      of({Element::f32}, sized(21, 34, 55, exact), {{"compute", "bf16x6"}}),
      of({Element::f32}, sized(35, 41, 300), {{"compute", "f16x3"}, {"op-a", "transpose"}}),
      of({Element::f32}, sized(21, 34, 155, exact), {{"compute", "f16x3"}, {"beta", "2"}}, {"C0"}),
      of({Element::f32}, sized(17, 19, 70, special), {{"compute", "f16x3"}, {"op-b", "transpose"}}),
      of({Element::f32}, sized(20, 36, 130), {{"compute", "f16x3"}, {"alpha", "-2"}, {"activation", "gelu"}},
         {"bias", "scale-a"}),
      of({Element::f32}, sized(8, 9, 0), {{"compute", "f16x3"}, {"beta", "2"}}, {"C0"}),
      of(i8, sized(40, 50, 64), {{"output-element", "f32"}}, {"scale-a", "scale-b"}),
      of(i8, sized(41, 51, 63), {{"output-element", "i8"}, {"activation", "relu"}}, {"scale-b", "bias"}),
      of(i8, sized(20, 30, 40), {{"beta", "-2"}, {"alpha", "3"}, {"activation", "relu"}}, {"C0", "bias"}),
      of(floats, sized(33, 65, 40), {}, {"bias"}),
      of(floats, sized(33, 65, 40, exact), {{"bias-along", "rows"}, {"activation", "relu"}}, {"bias"}),
      of(floats, sized(36, 20, 50), {{"alpha", "-2"}, {"beta", "0.5"}}, {"C0", "bias", "scale-a", "scale-b"}),
      of(floats, sized(35, 21, 50, exact), {{"scale-a-per", "tensor"}, {"scale-b-per", "tensor"}},
         {"scale-a", "scale-b"}),
      of(floats, sized(16, 40, 32), {{"activation", "gelu"}}, {"bias"}),
      of(floats, sized(16, 40, 32), {{"activation", "gelu-tanh"}}, {"bias"}),
      of(floats, sized(16, 40, 32), {{"activation", "silu"}}),
      of(floats, sized(8, 9, 0), {{"beta", "2"}, {"activation", "relu"}}, {"C0", "bias", "scale-a"}),
      of(own, sized(33, 37, 41, exact), {{"alpha", "2"}, {"beta", "-3"}, {"bias-along", "rows"}},
         {"C0", "bias"}),
      of(own, sized(35, 29, 40), {{"op-a", "transpose"}, {"activation", "relu"}}, {"bias"}),
      of(own, sized(8, 9, 0), {{"beta", "2"}, {"activation", "relu"}}, {"C0", "bias"}),
      of(reals, sized(19, 21, 30, special), {{"activation", "relu"}}, {"bias"}),
      of(reals, sized(37, 43, 50), {{"beta", "0.5"}, {"activation", "gelu"}}, {"C0", "bias"}),
      of(reals, sized(21, 40, 50), {{"bias-along", "rows"}, {"activation", "gelu-tanh"}}, {"bias"}),
      of(reals, sized(17, 40, 50, special), {{"activation", "silu"}})};
}

}  // namespace

std::vector<Case> cases() {
  using enum Distribution;
  const Arguments::Words scaled{{"alpha", "2"}, {"beta", "-3"}};
  std::vector<Case> out = {
      sized(1, 1, 1, exact), sized(1, 1, 2, exact), sized(5, 3, 17, exact), sized(33, 65, 17),
      sized(33, 65, 17, exact), sized(17, 33, 40, special), with(sized(31, 33, 35, exact), scaled, true),
      with(sized(20, 36, 44), {{"op-a", "transpose"}}), with(sized(36, 20, 44), {{"op-b", "transpose"}}),
      with(sized(19, 37, 23, exact),
           {{"op-a", "transpose"}, {"op-b", "transpose"}, {"alpha", "-1"}, {"beta", "2"}}, true),
      with(sized(16, 16, 16), {{"alpha", "0"}}),
      with(sized(16, 24, 16), {{"alpha", "0"}, {"beta", "3"}}, true),
      with(sized(9, 10, 11), {{"beta", "0"}}, true), sized(0, 8, 8), sized(8, 0, 8),
      with(sized(8, 9, 0), {{"beta", "2"}}, true), sized(8, 9, 0), sized(1, 300, 3), sized(300, 1, 5),
      // Short sums.
      with(sized(67, 45, 12, exact), scaled, true), with(sized(33, 130, 5), {{"op-b", "transpose"}}),
      with(sized(70, 257, 16, special), {{"op-a", "transpose"}}), sized(2, 3, 1000, exact), sized(64, 64, 64),
      sized(64, 64, 64, exact), sized(130, 70, 200), with(sized(129, 127, 65), scaled, true)};
  for (Case& more : mixed_cases()) out.push_back(std::move(more));
  return out;
}

namespace {

std::vector<Parameter> what_follows() {
  using namespace parameter;
  Parameter bias = optional_input("bias", {"n"}, "a vector to add, of C's element (f32 where C is i8)");
  bias.element_from = element_of_bias;
  bias.shaped_by = "bias-along";
  bias.shapes = {{"rows", {"m"}}};
  const auto scale = [](const char* name, const char* size, const char* per) {
    Parameter p = optional_input(name, {size}, std::string("f32 scale factors, one for each ") + per);
    p.element = Element::f32;
    p.shaped_by = std::string(name) + "-per";
    p.shapes = {{"tensor", {"1"}}};
    return p;
  };
  return {
      choice("element-b", {"same", "e4m3", "e5m2"}, "B's type where it is not A's"),
      choice("output-element", {"default", "f32", "f16", "bf16", "i32", "i8"},
             "C's type [A's; bf16 of 8-bit floats, i32 of i8]"),
      choice("compute", {"strict", "tf32", "tf32x3", "bf16x6", "f16x3"},
             "tf32: f32 operands may lose 13 of their bits; the others: tensor cores multiply the "
             "components of decomposed f32 operands"),
      text("accuracy", "",
           "of f32 and f64, how far C may be from the exact result, relative to |A||B|: f32 or f64, as far "
           "as that type's own product; or a number. The cheapest arithmetic that is as accurate is taken"),
      choice("accumulate", {"promoted", "fast"},
             "of 8-bit floats: promoted to f32 every 128 products, or as the tensor cores sum"),
      choice(batch_invariant_option, {"no", "yes"},
             "yes: the bits of a row of C depend neither on the number of rows nor on the other rows"),
      scale("scale-a", "m", "row of A"),
      choice("scale-a-per", {"row", "tensor"}, "tensor: one factor for all"),
      scale("scale-b", "n", "column of B"),
      choice("scale-b-per", {"column", "tensor"}, "tensor: one factor for all"),
      bias,
      choice("bias-along", {"columns", "rows"},
             "columns: one number for each column of C; rows: for each row")};
}

}  // namespace

Signature signature() {
  using namespace parameter;
  Signature out;
  Parameter a = input("A", {"m", "k"}, "the left operand"), b = input("B", {"k", "n"}, "the right operand");
  a.transposed_by = "op-a";
  b.transposed_by = "op-b";
  Parameter c0 = optional_input("C0", {"m", "n"}, "a matrix to add, β times; it is not read where β = 0");
  Parameter c = output("C", {"m", "n"}, "α·s_a·s_b·A·B + β·C0 + bias, through the activation");
  b.element_from = element_of_b;
  c.element_from = c0.element_from = element_of_c;
  Parameter beta = real("beta", 0, "β, the factor of C0, a number as α");
  beta.requires_input = "C0";
  out.parameters = {
      a,
      b,
      c0,
      real("alpha", 1,
           "α, the factor of the product: representable in f32 (for f64: in f64) without underflow; for "
           "i32 an integer from -2^31 to 2^31 - 1; for i8 to i32 an integer from -2^24 to 2^24"),
      beta,
      choice("op-a", {"none", "transpose"}, "transpose: the file holds Aᵀ"),
      choice("op-b", {"none", "transpose"}, "transpose: the file holds Bᵀ"),
  };
  for (Parameter& p : what_follows()) out.parameters.push_back(std::move(p));
  for (Parameter& p : post_op_parameters()) out.parameters.push_back(std::move(p));
  out.parameters.push_back(c);
  out.default_sizes = {{"n", "m"}, {"k", "m"}};
  return out;
}

namespace {

double flops(const Arguments& arguments) {
  return 2 * static_cast<double>(arguments.dim("m")) * static_cast<double>(arguments.dim("n")) *
         static_cast<double>(arguments.dim("k"));
}

}  // namespace

bool sampled_only(const Arguments& arguments) {
  if (!is_mixed(arguments)) return !is_plain(arguments);
  return !PostOp::of(arguments).is_identity() || arguments.array("C").element == Element::i8;
}

// Roundoff partly cancels at random: the limit of the norm holds for strict f32 up to this k.
bool norm_demanded(const Arguments& arguments) {
  constexpr std::int64_t largest_k = 1024;
  return arguments.element() == Element::f32 && is_plain(arguments) &&
         compute_of(arguments) == Compute::strict && arguments.dim("k") <= largest_k;
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
  out.check = [](const Arguments& arguments) {
    (void)compute_of(arguments);
  };  // throws if accuracy is too small
  out.flops = flops;
  out.fill = fill;
  out.reference = [](const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
                     Expected& expected) { reference(arguments, rows, data, expected); };
  out.report_values = [](const Arguments& arguments, Values& values) {
    if (const std::string text = accuracy_text(arguments); !text.empty()) values["arithmetic"] = text;
  };
  out.suspect_rows = [](const Arguments& arguments, Data data, std::uint64_t seed) {
    return suspect_rows(arguments, data, seed);
  };
  out.sampled_only = sampled_only;
  out.examine = examine;
  out.element_text = element_text;
  out.largest_norm_error = 1e-6;
  out.norm_demanded = norm_demanded;
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool matmul_registered =
    (register_operation(operation()), register_promise("matmul", batch_invariant_option), true);

}  // namespace

}  // namespace tessera::matmul
