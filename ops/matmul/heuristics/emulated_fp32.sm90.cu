// SPDX-License-Identifier: Apache-2.0
// Heuristic: does not select emulated FP32 on a Hopper GPU if strict f32 takes less time.
#include "ops/matmul/emulated_fp32/emulated_fp32_launch.cuh"
#include "ops/matmul/plans/warp_plan.hpp"
#include "tessera/run/heuristics.hpp"

namespace tessera::matmul {
namespace {

// Estimates the time in microseconds, to compare with strict f32 of rung 11: the passes read and write each
// operand once, and launches run one after another. The constants are for one NVIDIA H100.
double emulated_us(const WgmmaJob& job, const EmulatedPlan& planned, const ReadyComponents& ready) {
  constexpr double passes = 8.5, bytes = 2.75e6, launches = 8;
  const std::int64_t lines = (ready.a == nullptr ? job.args.m : 0) + (ready.b == nullptr ? job.args.n : 0);
  return passes + 8.0 * static_cast<double>(lines) * static_cast<double>(job.a.k) / bytes +
         planned.launches.microseconds + launches;
}
double strict_us(const WgmmaJob& job, const Device& device) {
  constexpr double cycles = 1900, launch = 2;
  // Assumes row-major operands with rows of multiples of 16 bytes, the best case of strict f32.
  const WarpPlan plan = plan_warp_tiles(job.args.m, job.args.n, job.a.k,
                                        {device.multiprocessors, device.max_shared_bytes}, ~0u);
  return plan.cycles / cycles + launch;
}

Reason slower_than_strict(const Arguments& arguments, const Device& device) {
  if (device.where != Where::cuda) return std::nullopt;
  const MixedProblem p = with_row_major_c(MixedProblem::of(arguments));
  if (p.m == 0 || p.n == 0 || p.k == 0) return "an empty product needs no parts";
  const WgmmaJob job = emulated_job(p, {{"tile", 0}, {"splits", 0}, {"group", 0}, {"cuts", 0}});
  const double us =
      emulated_us(job, plan_emulated(job, p.compute, device), ReadyComponents::of(job, p.compute, device));
  constexpr double margin = 1.1;  // for the errors of both estimates
  if (margin * us <= strict_us(job, device)) return std::nullopt;
  return "strict f32 takes less time at this size";
}

[[maybe_unused]] const bool emulated_fp32_heuristic_registered =
    (register_heuristic("matmul", {"tf32x3", "bf16x6", "f16x3"}, slower_than_strict), true);

}  // namespace
}  // namespace tessera::matmul
