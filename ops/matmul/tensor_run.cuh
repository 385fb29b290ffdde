// SPDX-License-Identifier: Apache-2.0
// Which kernel a launch takes. One translation unit for each type that multiplies.
#pragma once
#include <iterator>
#include "tensor_launch.cuh"

namespace tessera::matmul {

// One launch: C's rows and columns that it makes, and the lines of A and B that they need.
struct TensorPart {
  Readable a, b;
  TensorArgs args;  // but for what the tile decides
  TilePlan plan;
};

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

// The kernels of tile_shapes and promoted_shapes, in their order.
template <bool promoted>
inline constexpr TileConfig tile_configs[] = {
    {.rows = 128, .cols = 256, .consumers = 2, .stages = 4, .cluster_rows = 2},
    {.rows = 128, .cols = 128, .consumers = 2, .stages = 6, .joined = true, .promoted = promoted},
    {.rows = 128, .cols = 64, .consumers = 2, .stages = 8, .joined = true, .promoted = promoted},
    {.rows = 64, .cols = 64, .consumers = 1, .stages = 12, .promoted = promoted},
    {.rows = 128, .cols = 128, .consumers = 2, .stages = 6, .cluster_rows = 2, .in_turn = true},
    {.rows = 128, .cols = 256, .consumers = 2, .stages = 4},
    {.rows = 64, .cols = 128, .consumers = 1, .stages = 8}};
// The sums of a stage need registers of their own: half the columns, twice the rows.
inline constexpr TileConfig promoted_large{
    .rows = 256, .cols = 128, .consumers = 2, .stages = 4, .cluster_cols = 2, .promoted = true};
// Kernels for turned operands exist for these tiles, where they can. The others take what was packed.
inline constexpr unsigned turning_tiles = 0b00101, all_tiles = (1u << tile_count) - 1;

template <class C>
void launch(TensorArgs& args, const Readable& a, const Readable& b, CUtensorMapDataType type,
            const Run& run) {
  launch_tiles<C, multiply_tiles<C>>(C::threads, args, a, b, type, Blocks::stay, run);
}

template <class Kind, TileConfig config>
void launch_turned(TensorArgs& args, const Readable& a, const Readable& b, CUtensorMapDataType type,
                   const Run& run) {
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
void run_tiles(TensorPart& part, CUtensorMapDataType type, bool fast, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  follow(part.plan, part.args, run);
  using Launch = decltype(&launch_tile<Kind, promotes, 0>);
  static constexpr Launch launches[] = {launch_tile<Kind, promotes, 0>, launch_tile<Kind, promotes, 1>,
                                        launch_tile<Kind, promotes, 2>, launch_tile<Kind, promotes, 3>,
                                        launch_tile<Kind, promotes, 4>, launch_tile<Kind, promotes, 5>,
                                        launch_tile<Kind, promotes, 6>};
  static_assert(std::size(launches) == tile_count);
  launches[part.plan.tile](part.args, part.a, part.b, type, fast, run);
}

// By what A and B hold. `tensor_<name>.sm90.cu` has each.
void run_bf16(TensorPart& part, Run& run);
void run_f16(TensorPart& part, Run& run);
void run_tf32(TensorPart& part, Run& run);
void run_i8(TensorPart& part, Run& run);
void run_e4m3(TensorPart& part, bool b_is_e5m2, bool fast, Run& run);
void run_e5m2(TensorPart& part, bool b_is_e5m2, bool fast, Run& run);

}  // namespace tessera::matmul
