// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one loop over the strips, one thread.
//
// The host's program that a GPU is held against: each strip's height is computed and added before the next.
// With one accumulator (--sum plain, kahan) the order is that of the strips. Every height waits for the
// interpreter's steps one after another: points at a time come next.
#include "partials.hpp"
#include "within_time.hpp"

namespace tessera::integration {
namespace {

// From the first strip to the last, in the order that `add_strips` has.
template <class T>
Pair<T> add_in_turn(const Problem<T>& p, const Clock& clock) {
  constexpr std::int64_t between_looks = 1 << 12;
  Pair<T> sum{};
  T x = p.a;
  for (std::int64_t first = 0; first < p.strips && !clock.over(); first += between_looks)
    for (std::int64_t i = first; i < std::min(first + between_looks, p.strips); ++i) {
      if (!p.accumulated) x = p.abscissa(i);
      sum = plus(p.sum, sum, p.term(x));
      if (p.accumulated) x = p.advanced(x, p.step);
    }
  return sum;
}

template <class T>
T add_within(const Problem<T>& p, const Clock& clock) {
  if (!has_fixed_order(p.sum)) return p.concluded(add_in_turn(p, clock));
  const Runs runs = p.runs(1);
  Exact<T> exact;
  Tree<T> tree(p.sum);
  for (std::int64_t run = 0; run < runs.count && !clock.over(); ++run) {
    const std::int64_t first = runs.first(run, p.strips), last = runs.first(run + 1, p.strips);
    if (p.sum == Sum::exact) p.add_exactly(exact, first, last);
    else tree.add(p.add_run(first, last));
  }
  return p.sum == Sum::exact ? p.concluded(exact) : p.concluded(tree.sum());
}

Choice choice() {
  Choice out =
      choice_within_time([](const auto& p, const Run&, const Clock& clock) { return add_within(p, clock); });
  out.refuses = [](const Arguments& a, const Tuning&, const Device&) { return not_of_strips(a); };
  return out;
}

const Rung rung{"one loop over the strips, one thread", Where::cpu, {choice()}};

}  // namespace
}  // namespace tessera::integration
