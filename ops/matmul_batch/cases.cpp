// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

namespace tessera::matmul_batch {
namespace {

struct Size {
  std::int64_t batch, m, n, k;
};

Case sized(const Size& s, Distribution distribution = Distribution::normal) {
  return {.dims = {{"batch", s.batch}, {"m", s.m}, {"n", s.n}, {"k", s.k}}, .distribution = distribution};
}

Case with(Case base, Arguments::Words words, std::vector<std::string> given = {}) {
  base.words = std::move(words);
  base.optional_inputs = std::move(given);
  return base;
}

// What only some elements know.
std::vector<Case> cases_of_few_bits() {
  using enum Distribution;
  const std::vector<Element> bytes{Element::e4m3, Element::e5m2},
      floats{Element::f32, Element::bf16, Element::f16, Element::e4m3, Element::e5m2}, i8{Element::i8},
      shorter{Element::bf16, Element::f16, Element::e4m3, Element::e5m2}, own{Element::f64, Element::i32};
  const auto of = [](const std::vector<Element>& elements, Case base, Arguments::Words words,
                     std::vector<std::string> given = {}) {
    base = with(std::move(base), std::move(words), std::move(given));
    base.elements = elements;
    return base;
  };
  return {
      of(shorter, sized({3, 17, 40, 70}), {{"output-element", "f32"}, {"b-for", "all"}}),
      of(bytes, sized({2, 20, 24, 150}), {{"element-b", "e5m2"}, {"op-a", "transpose"}}),
      of(bytes, sized({2, 24, 40, 130}), {{"accumulate", "fast"}}),
      of({Element::f32}, sized({3, 20, 25, 30}), {{"compute", "tf32"}}),
      of(i8, sized({3, 20, 30, 40}), {{"beta", "-2"}, {"alpha", "3"}}, {"C0", "bias"}),
      of(i8, sized({2, 21, 31, 33}), {{"output-element", "i8"}, {"bias-for", "all"}}, {"scale-b", "bias"}),
      of(floats, sized({3, 17, 33, 24}), {{"activation", "relu"}, {"bias-along", "rows"}}, {"bias"}),
      of(floats, sized({2, 18, 20, 30}), {{"alpha", "-2"}, {"beta", "0.5"}, {"scale-a-for", "all"}},
         {"C0", "bias", "scale-a", "scale-b"}),
      of(floats, sized({3, 15, 21, 30}, exact), {{"scale-a-per", "tensor"}, {"scale-b-per", "tensor"}},
         {"scale-a", "scale-b"}),
      of(floats, sized({2, 8, 16, 16}), {{"activation", "gelu"}}, {"bias"}),
      of(own, sized({3, 17, 33, 24}, exact), {{"beta", "-1"}, {"activation", "relu"}, {"bias-along", "rows"}},
         {"C0", "bias"}),
      of({Element::f64}, sized({2, 18, 20, 30}), {{"activation", "silu"}, {"bias-for", "all"}}, {"bias"})};
}

}  // namespace

std::vector<Case> cases() {
  using enum Distribution;
  std::vector<Case> out = {sized({1, 1, 1, 1}, exact),
                           sized({1, 33, 34, 17}, exact),
                           sized({5, 17, 13, 9}),
                           sized({70, 2, 3, 5}, exact),
                           sized({300, 1, 1, 3}),
                           sized({3, 65, 33, 40}, exact),
                           sized({3, 17, 33, 20}, special),
                           with(sized({4, 19, 21, 23}), {{"a-for", "all"}}),
                           with(sized({4, 20, 36, 28}, exact), {{"b-for", "all"}, {"op-b", "transpose"}}),
                           with(sized({3, 16, 24, 20}), {{"op-a", "transpose"}}),
                           with(sized({3, 21, 19, 35}, exact), {{"alpha", "2"}, {"beta", "-3"}}, {"C0"}),
                           with(sized({3, 9, 10, 11}, exact), {{"beta", "2"}, {"c-for", "all"}}, {"C0"}),
                           with(sized({2, 9, 10, 11}), {{"beta", "0"}}, {"C0"}),
                           with(sized({2, 16, 16, 16}), {{"alpha", "0"}, {"beta", "3"}}, {"C0"}),
                           sized({0, 8, 8, 8}),
                           sized({3, 0, 8, 8}),
                           sized({3, 8, 0, 8}),
                           sized({3, 8, 9, 0}),
                           with(sized({3, 8, 9, 0}), {{"beta", "2"}}, {"C0"}),
                           sized({2, 64, 64, 64}, exact)};
  for (Case& more : cases_of_few_bits()) out.push_back(std::move(more));
  return out;
}

}  // namespace tessera::matmul_batch
