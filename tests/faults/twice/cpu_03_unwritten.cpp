// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include "tessera/rung.hpp"
#include "twice.hpp"

namespace tessera::twice {
namespace {

template <class T>
void run(const Problem<T>& p) {
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t j = 0; j < p.n(); ++j)
      if (i != wrong_row || j != wrong_column) p.b(i, j) = 2 * p.a(i, j);
}

const Rung rung{"one element stays as it was",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { run(p); })}};

}  // namespace
}  // namespace tessera::twice
