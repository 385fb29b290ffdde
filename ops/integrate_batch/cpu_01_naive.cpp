// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one integral after another.
//
// Each is bisected where its error is largest, until it meets its tolerance. The limits are one core, one
// point at a time, and an interpreter that decodes every operator for every point.
#include <vector>
#include "integrate_batch.hpp"
#include "tessera/rung.hpp"

namespace tessera::integrate_batch {
namespace {

void integrate_one_by_one(const Problem<double>& p, const Tuning&, Run&) {
  std::vector<double> memory(static_cast<std::size_t>(list_bytes(p.cells)) / sizeof(double) + 1);
  for (std::int64_t i = 0; i < p.work.count; ++i) {
    OwnCells cells = OwnCells::of(memory.data(), p.cells, 1, 0);
    Formula f = p.formula_of(p.integrand, i);
    Formula ends = p.ends_of(i);
    store(p.work, i,
          integrate_alone(cells, p.work.nodes, tolerance_of_row(p.work, i), f, ends, p.work.breaks));
  }
}

const Rung rung{"one integral after another, the worst cell halved until the tolerance is met",
                Where::cpu,
                {choice_of<Problem>(integrate_one_by_one)}};

}  // namespace
}  // namespace tessera::integrate_batch
