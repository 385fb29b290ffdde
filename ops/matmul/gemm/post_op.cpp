// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/gemm/post_op.hpp"
#include <array>
#include <string>
#include "ops/matmul/gemm/product_options.hpp"

namespace tessera::matmul {
namespace {

constexpr std::array<const char*, 5> activations{"none", "relu", "gelu", "gelu-tanh", "silu"};

}  // namespace

PostOp PostOp::of(const Arguments& arguments) {
  PostOp out;
  const std::string& word = arguments.text("activation");
  while (activations[static_cast<std::size_t>(out.activation)] != word)
    out.activation = static_cast<Activation>(static_cast<int>(out.activation) + 1);
  out.check(arguments.array("C").element);
  return out;
}

void PostOp::check(Element c) const {
  if (c == Element::i32 && activation > Activation::relu)
    throw Error(std::string("--activation ") + activations[static_cast<std::size_t>(activation)] +
                " is for floats, C holds i32");
}

PostOp PostOp::of(const Options& options) {
  check_enumerator("activation", options.activation, Activation::silu);
  return {.activation = options.activation};
}

void PostOp::add_to(Arguments::Words& words) const {
  words["activation"] = activations[static_cast<std::size_t>(activation)];
}

std::vector<Parameter> post_op_parameters() {
  return {parameter::choice("activation", {activations.begin(), activations.end()},
                            "activation applied to C; gelu is exact, by erf")};
}

Arguments::Words identity_words() {
  Arguments::Words out;
  PostOp().add_to(out);
  return out;
}

}  // namespace tessera::matmul
