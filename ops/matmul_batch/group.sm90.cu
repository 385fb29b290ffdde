// SPDX-License-Identifier: Apache-2.0
// Groups on Hopper's tensor cores, for those who call multiply_group.
#include <numeric>
#include "group_kernel.hpp"
#include "batch_launch.cuh"

namespace tessera::matmul_batch {
namespace {

// As the kernel takes them; without those that have no elements.
std::vector<MixedProblem> problems_of(std::span<const Arguments> entries) {
  std::vector<MixedProblem> out;
  for (const Arguments& entry : entries)
    if (const MixedProblem p = matmul::with_rows(MixedProblem::of(entry)); p.m != 0 && p.n != 0)
      out.push_back(p);
  return out;
}

std::int64_t most_units_of_all(const std::vector<MixedProblem>& all) {
  return std::accumulate(
      all.begin(), all.end(), std::int64_t{0},
      [](std::int64_t sum, const MixedProblem& p) { return sum + most_units_of(p.m, p.n); });
}

Reason refuses(std::span<const Arguments> entries, const Device& device) {
  if (Reason reason = matmul::needs_hopper(device)) return reason;
  const Element element = entries.front().element();
  if (!matmul::has_mixed_problem(element))
    return "tensor cores here have no " + std::string(name_of(element));
  for (const Arguments& entry : entries)
    if (Reason reason = matmul::wgmma_refuses(entry, {}, device)) return reason;
  if (most_units_of_all(problems_of(entries)) > most_units)
    return "it counts tiles of all entries up to 2^30";
  return std::nullopt;
}

std::size_t workspace_bytes(std::span<const Arguments> entries) {
  const auto all = problems_of(entries);
  std::size_t bytes = GroupRoom(all.size(), most_units_of_all(all)).packed_at;
  for (const MixedProblem& p : all)
    bytes += matmul::packed_bytes(matmul::left_of(p)) + matmul::packed_bytes(matmul::right_of(p));
  return bytes;
}

void run(std::span<const Arguments> entries, Run& here) {
  const auto all = problems_of(entries);
  if (!all.empty()) launches_of(all.front().a.element).group(all, here);
}

[[maybe_unused]] const bool registered =
    (register_group_kernel(GroupKernel{"cluster", refuses, workspace_bytes, run}), true);

}  // namespace
}  // namespace tessera::matmul_batch
