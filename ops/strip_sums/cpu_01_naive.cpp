// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one segment after another, one thread.
//
// Every height waits for the interpreter's steps one after another: points at a time come next.
#include "strip_sums.hpp"
#include "tessera/core/interrupt.hpp"
#include "tessera/rung.hpp"

namespace tessera::strip_sums {
namespace {

template <class T>
void add_in_turn(const Problem<T>& p) {
  for (std::int64_t i = 0; i < p.segments; ++i) {
    leave_if_interrupted();
    p.compute(p.first + i);
  }
}

const Rung rung{"a segment after another, a strip at a time, one thread",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { add_in_turn(p); })}};

}  // namespace
}  // namespace tessera::strip_sums
