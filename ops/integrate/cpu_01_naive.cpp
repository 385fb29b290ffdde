// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one loop over the strips, one thread.
//
// The host's program that a GPU is held against: each strip's height is computed and added before the next.
// With one accumulator (--sum plain, kahan) the order is that of the strips. Every height waits for the
// interpreter's steps one after another: points at a time come next.
#include "partials.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
namespace {

Choice choice() {
  Choice out = choice_of<Problem>([](const auto& p, const Tuning&, Run&) { *p.result = add_everything(p); });
  out.refuses = [](const Arguments& a, const Tuning&, const Device&) { return not_of_strips(a); };
  return out;
}

const Rung rung{"one loop over the strips, one thread", Where::cpu, {choice()}};

}  // namespace
}  // namespace tessera::integration
