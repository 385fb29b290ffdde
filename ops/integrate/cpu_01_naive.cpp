// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one loop over the strips, one thread.
//
// The host's program that a GPU is held against: each strip's sample is computed and added before the next.
// With one accumulator (--sum plain, kahan) the order is that of the strips. Every sample waits for the
// interpreter's steps one after another: points at a time come next.
#include "integrate.hpp"
#include "sum/partials.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
namespace {

template <class T>
void add_in_order(const Problem<T>& p, const Tuning&, Run&) {
  *p.result = add_everything(p);
}

Choice choice() {
  Choice out = choice_of<Problem>([](const auto& p, const Tuning& t, Run& run) { add_in_order(p, t, run); });
  out.refuses = [](const Arguments& a, const Tuning&, const Device&) { return too_slow(a, 1); };
  return out;
}

const Rung rung{"one loop over the strips, one thread", Where::cpu, {choice()}};

}  // namespace
}  // namespace tessera::integration
