// SPDX-License-Identifier: Apache-2.0
// The steps that lead to rung 16: rungs 13 to 15, each with one fixed tile shape.
#include "ops/matmul/kernels/wgmma/wgmma_launch.cuh"
#include "ops/matmul/kernels/wgmma/wgmma_rung.cuh"
#include "tessera/core/array/rounding.hpp"

namespace tessera::matmul {
namespace {

constexpr TileConfig one_warpgroup_tile{.rows = 128, .cols = 128, .consumer_warpgroups = 1, .stages = 6},
    warp_specialized_tile{.rows = 128, .cols = 256, .consumer_warpgroups = 2, .stages = 4};

// Plans tiles of one shape without split-K. `raster_rows`: rows of tiles that are traversed together, column
// by column; 0: all.
TilePlan plan_of(const TileConfig& config, const WgmmaJob& job, int raster_rows) {
  const auto tiles_along = [](std::int64_t extent, std::int64_t tile) {
    return static_cast<std::int32_t>(ceil_div(extent, tile));
  };
  TilePlan out;
  out.order = {.rows = tiles_along(job.args.m, config.rows), .cols = tiles_along(job.args.n, config.cols)};
  out.order.raster_rows = raster_rows > 0 ? raster_rows : out.order.rows;
  out.k_tile_count = out.k_tiles_per_split = tiles_along(job.a.k * job.a.bytes, 128);
  return out;
}

template <class Kind>
void run_kind(WgmmaJob& job, CUtensorMapDataType type, Step step, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  const auto packing_bytes_of = [](const MatrixRef& f) {
    return tma_operand(f, false) ? 0 : packed_bytes(f);
  };
  const WorkspaceLayout layout{.packed_a = packing_bytes_of(job.a), .packed_b = packing_bytes_of(job.b)};
  const auto [a, b] = tma_operands(job.a, job.b, false, layout, run);
  constexpr int persistent_raster_rows = 16;
  apply_plan(plan_of(step == Step::one_warpgroup ? one_warpgroup_tile : warp_specialized_tile, job,
                     step == Step::persistent ? persistent_raster_rows : 0),
             job.args, run);
  using OneWarpgroupTile = TileTraits<Kind, one_warpgroup_tile>;
  using WarpSpecializedTile = TileTraits<Kind, warp_specialized_tile>;
  if (step == Step::one_warpgroup)
    return launch_tiles<OneWarpgroupTile, multiply_one_warpgroup<OneWarpgroupTile>>(
        one_warpgroup_threads, job.args, a, b, type, GridMode::one_per_tile, run);
  launch_tiles<WarpSpecializedTile, multiply_tiles<WarpSpecializedTile>>(
      WarpSpecializedTile::threads, job.args, a, b, type,
      step == Step::persistent ? GridMode::persistent : GridMode::one_per_tile, run);
}

}  // namespace

void run_step(WgmmaJob& job, Step step, bool f16, Run& run) {
  if (f16) run_kind<ptx::F16>(job, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, step, run);
  else run_kind<ptx::Bf16>(job, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, step, run);
}

}  // namespace tessera::matmul
