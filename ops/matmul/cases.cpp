// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

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

// What only some elements know.
std::vector<Case> cases_of_few_bits() {
  using enum Distribution;
  const std::vector<Element> halves{Element::bf16, Element::f16}, bytes{Element::e4m3, Element::e5m2},
      floats{Element::f32, Element::bf16, Element::f16, Element::e4m3, Element::e5m2}, i8{Element::i8},
      shorter{Element::bf16, Element::f16, Element::e4m3, Element::e5m2}, own{Element::f64, Element::i32},
      reals{Element::f32, Element::f64};  // sums of their own
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
      of({Element::f32}, sized(40, 50, 60), {{"compute", "tf32"}}),
      of({Element::f32}, sized(21, 34, 55, exact), {{"compute", "tf32"}, {"op-a", "transpose"}}),
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
  for (Case& more : cases_of_few_bits()) out.push_back(std::move(more));
  return out;
}

}  // namespace tessera::matmul
