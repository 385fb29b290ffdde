// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one sample after another, one thread.
//
// Every height waits for the interpreter's steps one after another: many samples at a time come next.
#include "sample_heights.hpp"
#include "tessera/rung.hpp"

namespace tessera::sample_heights {
namespace {

template <class T>
void one_by_one(const Problem<T>& p) {
  for (std::int64_t i = 0; i < p.count(); ++i) p.compute(i);
}

const Rung rung{"a sample at a time, one thread",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { one_by_one(p); })}};

}  // namespace
}  // namespace tessera::sample_heights
