// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: three loops, one thread: each element of C is a row of A times a column of B.
//
// The serial baseline that every other rung is measured against. The sum runs in the order of k,
// rounding each product and each sum. Stepping down a column of B touches a new cache line for every
// element, which is what the next rung mends.
#include "ops/matmul/kernels/cpu/serial_loops.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {
namespace {

Choice for_all_elements() {
  Choice out = choice_of<Problem>([](const auto& p, const Tuning&, Run&) { naive(p); });
  const auto plain_f32 = out.run.at(Element::f32);
  for (const Element element :
       {Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8, Element::f32})
    out.run[element] = [plain_f32](const Arguments& arguments, const Tuning& tuning, Run& run) {
      if (is_plain(arguments)) plain_f32(arguments, tuning, run);
      else naive_mixed(MixedProblem::of(arguments));
    };
  out.cannot_hold = [plain = out.cannot_hold](const Arguments& arguments) -> Reason {
    if (!has_mixed_problem(arguments.element())) return plain(arguments);
    (void)MixedProblem::of(arguments);  // throws where there is no such product
    return std::nullopt;
  };
  return out;
}

const Rung rung{"three loops, row times column, one thread", Where::cpu, {for_all_elements()}};

}  // namespace
}  // namespace tessera::matmul
