// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: one entry after another, three loops each, one thread.
//
// The serial baseline, for every element. The bottleneck is that of the single product's first rung.
#include "matmul_batch.hpp"
#include "ops/matmul/kernels/cpu/serial_loops.hpp"

namespace tessera::matmul_batch {
namespace {

// There may be too many empty entries to loop over.
template <class T>
void naive(const Problem<T>& p) {
  if (p.first.m() == 0 || p.first.n() == 0) return;
  for (std::int64_t e = 0; e < p.batch; ++e) matmul::naive(p.entry(e));
}
void naive_mixed(const MixedBatch& p) {
  if (p.first.m == 0 || p.first.n == 0) return;
  for (std::int64_t e = 0; e < p.batch; ++e) matmul::naive_mixed(p.entry(e));
}

const Rung rung{"entry after entry, three loops each, one thread",
                Where::cpu,
                {matmul::serial_choice<Problem, MixedBatch>([](const auto& p) { naive(p); }, naive_mixed)}};

}  // namespace
}  // namespace tessera::matmul_batch
