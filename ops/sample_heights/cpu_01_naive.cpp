// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one sample after another, one thread.
//
// Every height waits for the interpreter's steps one after another: many samples at a time come next.
#include <algorithm>
#include "sample_heights.hpp"
#include "tessera/core/interrupt.hpp"
#include "tessera/rung.hpp"

namespace tessera::sample_heights {
namespace {

template <class T>
void one_by_one(const Problem<T>& p) {
  constexpr std::int64_t some = 1024;
  for (std::int64_t first = 0; first < p.count(); first += some) {
    leave_if_interrupted();
    for (std::int64_t i = first; i < std::min(first + some, p.count()); ++i) p.compute(i);
  }
}

const Rung rung{"a sample at a time, one thread",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { one_by_one(p); })}};

}  // namespace
}  // namespace tessera::sample_heights
