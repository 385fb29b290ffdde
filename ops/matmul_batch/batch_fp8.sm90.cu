// SPDX-License-Identifier: Apache-2.0
// Tensor core kernels for batches and groups of 8-bit floats in any mix.
#include <vector>
#include "batch_launch.cuh"

namespace tessera::matmul_batch {

namespace {

constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;

// Calls run<Kind>() for the elements of A and B.
template <class F>
void with_kind(const MixedProblem& p, const F& run) {
  const bool a_is_e5m2 = p.a.element == Element::e5m2, b_is_e5m2 = p.b.element == Element::e5m2;
  if (a_is_e5m2 && b_is_e5m2) run.template operator()<ptx::E5m2E5m2>();
  else if (a_is_e5m2) run.template operator()<ptx::E5m2E4m3>();
  else if (b_is_e5m2) run.template operator()<ptx::E4m3E5m2>();
  else run.template operator()<ptx::E4m3E4m3>();
}

}  // namespace

void run_fp8(const BatchJob& job, Run& run) {
  with_kind(job.batch.first, [&]<class Kind>() { run_batch<Kind, true>(job, type, run); });
}
// Entries with a column-major C have been transposed, which exchanges the element types of A and B. The two
// kinds of entries are launched one after the other, with the same workspace.
void run_group_fp8(Entries entries, Run& run) {
  const auto is_first_kind = [&](const MixedProblem& p) {
    return p.a.element == entries.front().a.element && p.b.element == entries.front().b.element;
  };
  std::vector<MixedProblem> kinds[2];
  for (const MixedProblem& p : entries) kinds[is_first_kind(p) ? 0 : 1].push_back(p);
  for (const auto& kind : kinds)
    if (!kind.empty()) with_kind(kind.front(), [&]<class Kind>() { run_group<Kind, true>(kind, type, run); });
}

}  // namespace tessera::matmul_batch
