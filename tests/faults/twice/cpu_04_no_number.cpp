// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include "tessera/rung.hpp"
#include "twice.hpp"

namespace tessera::twice {
namespace {

template <class T>
void run(const Problem<T>& p) {
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t j = 0; j < p.n(); ++j) p.b(i, j) = 2 * p.a(i, j);
  if (p.m() > wrong_row && p.n() > wrong_column)
    p.b(wrong_row, wrong_column) = std::numeric_limits<T>::quiet_NaN();
}

const Rung rung{"one element is NaN",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { run(p); })}};

}  // namespace
}  // namespace tessera::twice
