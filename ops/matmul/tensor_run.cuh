// SPDX-License-Identifier: Apache-2.0
// Which kernel serves a problem, and the launches that it takes. One translation unit for each type that multiplies.
#pragma once
#include <utility>
#include "tensor_launch.cuh"

namespace tessera::matmul {

struct TensorJob {
  Factor a, b;
  TensorArgs args;  // but for what the tile decides
  TileWish wish;
};

// Both factors as they lie where that can be, else packed into spare memory.
template <class Kind>
std::pair<Readable, Readable> read_factors(const TensorJob& job, bool turns, Run& run) {
  char* const to_a = static_cast<char*>(run.workspace) + counter_bytes + partial_bytes;
  char* const to_b = to_a + packed_bytes(job.a);
  const auto stream = static_cast<cudaStream_t>(run.stream);
  const auto packed = [](const Factor& f, const void* there) -> Readable {
    return {{there, f.lines, f.k, packed_step(f)}, false};
  };
  const std::optional<Readable> a = readable(job.a, turns), b = readable(job.b, turns);
  if (!a && !b) pack<Kind::bytes>({{job.a, to_a}, {job.b, to_b}}, stream);
  else if (!a) pack<Kind::bytes>({{job.a, to_a}}, stream);
  else if (!b) pack<Kind::bytes>({{job.b, to_b}}, stream);
  return {a ? *a : packed(job.a, to_a), b ? *b : packed(job.b, to_b)};
}

inline void follow(const TilePlan& plan, TensorArgs& args, const Run& run) {
  args.order = plan.order;
  args.strips = plan.strips;
  args.tiles = static_cast<std::int32_t>(plan.order.count());
  args.units = static_cast<std::int32_t>(plan.units);
  args.depth = plan.depth;
  args.split_depth = plan.split_depth;
  args.together = plan.together;
  args.arrived = static_cast<std::uint32_t*>(run.workspace);
  args.partial = static_cast<char*>(run.workspace) + counter_bytes;
}

// How much longer results take than those of 16 bits in boxes: by their bytes, and element by element.
inline double results_of(const TensorArgs& args) {
  return std::max(1.0, static_cast<double>(size_of(args.out_element)) / 2) * (has_boxes(args) ? 1 : 2);
}

// The kernels of tile_shapes and promoted_shapes, in their order.
template <bool promoted>
inline constexpr TileConfig tile_configs[] = {
    {.rows = 128, .cols = 256, .consumers = 2, .stages = 4, .cluster_rows = 2},
    {.rows = 128, .cols = 128, .consumers = 2, .stages = 6, .joined = true, .promoted = promoted},
    {.rows = 128, .cols = 64, .consumers = 2, .stages = 8, .joined = true, .promoted = promoted},
    {.rows = 64, .cols = 64, .consumers = 1, .stages = 12, .promoted = promoted},
    {.rows = 128, .cols = 128, .consumers = 2, .stages = 6, .cluster_rows = 2, .in_turn = true}};
// The sums of a stage need registers of their own: half the columns, twice the rows.
inline constexpr TileConfig promoted_large{
    .rows = 256, .cols = 128, .consumers = 2, .stages = 4, .cluster_cols = 2, .promoted = true};
// Kernels for turned operands exist for these tiles, where they can. The others take what was packed.
inline constexpr unsigned turning_tiles = 0b00101, all_tiles = (1u << tile_count) - 1;

template <class C>
void launch(TensorArgs& args, const Readable& a, const Readable& b, CUtensorMapDataType type, const Run& run) {
  launch_tiles<C>(multiply_tiles<C>, C::threads, args, a, b, type, Blocks::stay, run);
}

template <class Kind, TileConfig config>
void launch_turned(TensorArgs& args, const Readable& a, const Readable& b, CUtensorMapDataType type, const Run& run) {
  const auto with = [&]<bool turn_a, bool turn_b>() {
    constexpr TileConfig turned = [] {
      TileConfig out = config;
      out.turn_a = turn_a;
      out.turn_b = turn_b;
      return out;
    }();
    launch<Tile<Kind, turned>>(args, a, b, type, run);
  };
  if (a.turned && b.turned) return with.template operator()<true, true>();
  if (a.turned) return with.template operator()<true, false>();
  with.template operator()<false, true>();
}

// `promotes`: the kind's sums are too short to go on for long.
template <class Kind, bool promotes, int tile>
void launch_tile(TensorArgs& args, const Readable& a, const Readable& b, CUtensorMapDataType type, bool fast,
                 const Run& run) {
  constexpr TileConfig config = tile_configs<promotes>[tile];
  if constexpr (Kind::turns && (turning_tiles >> tile & 1) != 0)
    if (a.turned || b.turned) return launch_turned<Kind, config>(args, a, b, type, run);
  if constexpr (promotes && tile == 0)
    if (!fast) return launch<Tile<Kind, promoted_large>>(args, a, b, type, run);
  launch<Tile<Kind, config>>(args, a, b, type, run);
}

// fast: where there is a kernel whose sums are not promoted, it may be taken.
template <class Kind, bool promotes = false>
void run_tiles(TensorJob& job, CUtensorMapDataType type, bool fast, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  const auto [a, b] = read_factors<Kind>(job, Kind::turns, run);
  TensorArgs& args = job.args;
  const TileShapes shapes = promotes && !fast ? TileShapes(promoted_shapes) : TileShapes(tile_shapes);
  const TilePlan plan = plan_tiles(shapes, args.m, args.n, job.a.k, 128 / Kind::bytes, run.device->processors,
                                   a.turned || b.turned ? turning_tiles : all_tiles, job.wish, results_of(args));
  follow(plan, args, run);
  using Launch = decltype(&launch_tile<Kind, promotes, 0>);
  static constexpr Launch launches[] = {launch_tile<Kind, promotes, 0>, launch_tile<Kind, promotes, 1>,
                                        launch_tile<Kind, promotes, 2>, launch_tile<Kind, promotes, 3>,
                                        launch_tile<Kind, promotes, 4>};
  static_assert(std::size(launches) == tile_count);
  launches[plan.tile](args, a, b, type, fast, run);
}

// By what A and B hold. `tensor_<name>.sm90.cu` has each.
void run_bf16(TensorJob& job, Run& run);
void run_f16(TensorJob& job, Run& run);
void run_tf32(TensorJob& job, Run& run);
void run_i8(TensorJob& job, Run& run);
void run_e4m3(TensorJob& job, bool b_is_e5m2, bool fast, Run& run);
void run_e5m2(TensorJob& job, bool b_is_e5m2, bool fast, Run& run);

// The steps that lead there, of bf16 and f16.
enum class Step { one_warpgroup, warps_with_roles, blocks_that_stay };
void run_step(TensorJob& job, Step step, bool f16, Run& run);

}  // namespace tessera::matmul
