// SPDX-License-Identifier: Apache-2.0
#include "tessera/rung.hpp"
#include "twice.hpp"

namespace tessera::twice {
namespace {

template <class T>
void run(const Problem<T>& p) {
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t j = 0; j < p.n(); ++j) p.b(i, j) = 2 * p.a(i, j);
  p.b(p.m(), 0) = 0;
}

const Rung rung{"right, and writes one element past the end of B",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { run(p); })}};

}  // namespace
}  // namespace tessera::twice
