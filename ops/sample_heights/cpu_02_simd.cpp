// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: a thousand samples at a time, every core.
//
// Each step of the formula is done for all of them before the next one, in vectors, from and to a core's own
// cache. What limits it: short formulas, the memory that the table comes from; long ones, their steps.
#include <algorithm>
#include "sample_heights.hpp"
#include "tessera/core/interrupt.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/formula/evaluate.hpp"
#include "tessera/rung.hpp"

namespace tessera::sample_heights {
namespace {

constexpr std::int64_t together = 1024;

template <class T>
void compute_some(const Problem<T>& p, std::int64_t first, std::int64_t last) {
  double x[together], y[together], heights[together];
  const formula::Input<double> inputs[2] = {{x}, {y}};
  for (; first < last; first += together) {
    leave_if_interrupted();
    const std::int64_t count = std::min(together, last - first);
    for (std::int64_t i = 0; i < count; ++i) {
      x[i] = p.x.data[(first + i) * p.x.stride[0]];
      y[i] = p.y.data[(first + i) * p.y.stride[0]];
    }
    formula::evaluate_many<double>(p.program, inputs, static_cast<std::size_t>(count), heights);
    for (std::int64_t i = 0; i < count; ++i) p.heights.data[(first + i) * p.heights.stride[0]] = heights[i];
  }
}

template <class T>
void on_all_cores(const Problem<T>& p, int threads) {
  const std::int64_t blocks = (p.count() + together - 1) / together;
  const int parts = static_cast<int>(std::clamp<std::int64_t>(blocks, 1, threads));
  parallel(parts, [&](int part) {
    const auto at = [&](int i) { return std::min(p.count(), blocks * i / parts * together); };
    compute_some(p, at(part), at(part + 1));
  });
}

const Rung rung{"a thousand samples at a time in vectors, all cores",
                Where::cpu,
                {choice_of<Problem>(
                    [](const auto& p, const Tuning&, Run& run) { on_all_cores(p, run.device->threads); })}};

}  // namespace
}  // namespace tessera::sample_heights
