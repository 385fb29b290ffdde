// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include "tessera/rung.hpp"
#include "twice.hpp"

namespace tessera::twice {
namespace {

template <class T>
void run(const Problem<T>& p) {
  const auto shortened = [](T value) {
    if constexpr (std::is_same_v<T, float>) return static_cast<float>(bf16::from(value));
    else return static_cast<float>(value);
  };
  for (std::int64_t i = 0; i < p.m(); ++i)
    for (std::int64_t j = 0; j < p.n(); ++j) p.b(i, j) = shortened(2 * p.a(i, j));
}

const Rung rung{"computed one precision lower",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { run(p); })}};

}  // namespace
}  // namespace tessera::twice
