// SPDX-License-Identifier: Apache-2.0
#include "tessera/rung.hpp"
#include "twice.hpp"

namespace tessera::twice {
namespace {

template <class T>
void run(const Problem<T>& p) {
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t j = 0; j < p.n(); ++j) p.b(i, j) = 2 * p.a(i, j);
  const_cast<T&>(p.a(0, 0)) += 1;
}

const Rung rung{"right, and changes an element of A",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { run(p); })}};

}  // namespace
}  // namespace tessera::twice
