// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one entry after another, three loops each, one thread.
//
// The serial baseline, of every element. What limits it: what limits the single product's first rung.
#include "matmul_batch.hpp"
#include "ops/matmul/kernels/cpu/serial_loops.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul_batch {
namespace {

void naive_mixed(const Arguments& arguments) {
  const MixedBatch all = MixedBatch::of(arguments);
  if (all.first.m == 0 || all.first.n == 0) return;  // there may be more of them than anybody can count
  for (std::int64_t e = 0; e < all.batch; ++e) matmul::naive_mixed(all.entry(e));
}

Choice for_all_elements() {
  Choice out = choice_of<Problem>([](const auto& p, const Tuning&, Run&) {
    if (p.first.m() == 0 || p.first.n() == 0) return;
    for (std::int64_t e = 0; e < p.batch; ++e) matmul::naive(p.entry(e));
  });
  const auto plain_f32 = out.run.at(Element::f32);
  for (const Element element :
       {Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8, Element::f32})
    out.run[element] = [plain_f32](const Arguments& arguments, const Tuning& tuning, Run& run) {
      if (matmul::is_plain(arguments)) plain_f32(arguments, tuning, run);
      else naive_mixed(arguments);
    };
  out.cannot_hold = [plain = out.cannot_hold](const Arguments& arguments) -> Reason {
    if (!matmul::has_mixed_problem(arguments.element())) return plain(arguments);
    (void)MixedBatch::of(arguments);  // throws where there is no such product
    return std::nullopt;
  };
  return out;
}

const Rung rung{"entry after entry, three loops each, one thread", Where::cpu, {for_all_elements()}};

}  // namespace
}  // namespace tessera::matmul_batch
