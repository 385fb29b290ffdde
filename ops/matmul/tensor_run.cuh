// SPDX-License-Identifier: Apache-2.0
// Which kernel serves a problem, and the launches that it takes. One translation unit for each type that multiplies.
#pragma once
#include "tensor_launch.cuh"

namespace tessera::matmul {

struct TensorJob {
  Factor a, b;
  TensorArgs args;  // but for what the tile decides
  cuda::Lines c;
  TileWish wish;
};

// Kernels for turned operands exist for these tiles; for f32 results for these. The others take what was packed.
inline constexpr unsigned turning_tiles = 0b0101, wide_tiles = 0b0101, all_tiles = 0b1111;

// The tiles in the order of tile_shapes.
template <class Kind, class Out, int tile, bool turn_a, bool turn_b>
struct TileOf;
template <class Kind, class Out, bool turn_a, bool turn_b>
struct TileOf<Kind, Out, 0, turn_a, turn_b> {
  using Config = TileConfig<Kind, Out, 128, 256, 2, 4, 2, 1, turn_a, turn_b>;
};
template <class Kind, class Out, bool turn_a, bool turn_b>
struct TileOf<Kind, Out, 1, turn_a, turn_b> {
  using Config = TileConfig<Kind, Out, 128, 128, 2, 6, 2, 1, turn_a, turn_b>;
};
template <class Kind, class Out, bool turn_a, bool turn_b>
struct TileOf<Kind, Out, 2, turn_a, turn_b> {
  using Config = TileConfig<Kind, Out, 128, 64, 2, 8, 1, 2, turn_a, turn_b>;
};
template <class Kind, class Out, bool turn_a, bool turn_b>
struct TileOf<Kind, Out, 3, turn_a, turn_b> {
  using Config = TileConfig<Kind, Out, 64, 64, 1, 12, 1, 1, turn_a, turn_b>;
};

template <class Kind, class Out, int tile>
void launch_tile(TensorArgs& args, const Readable& a, const Readable& b, const cuda::Lines& c, CUtensorMapDataType type,
                 const Run& run) {
  const auto launch = [&]<bool turn_a, bool turn_b>(std::bool_constant<turn_a>, std::bool_constant<turn_b>) {
    launch_tiles<typename TileOf<Kind, Out, tile, turn_a, turn_b>::Config>(args, a, b, c, type, run);
  };
  using No = std::false_type;
  using Yes = std::true_type;
  if constexpr ((turning_tiles >> tile & 1) != 0 && sizeof(Out) == Kind::bytes) {
    if (a.turned && b.turned) return launch(Yes{}, Yes{});
    if (a.turned) return launch(Yes{}, No{});
    if (b.turned) return launch(No{}, Yes{});
  }
  launch(No{}, No{});
}

template <class Kind, class Out>
void run_tiles(TensorJob& job, CUtensorMapDataType type, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  const auto stream = static_cast<cudaStream_t>(run.stream);
  constexpr bool wide = sizeof(Out) != Kind::bytes;
  std::optional<Readable> a = readable(job.a, !wide), b = readable(job.b, !wide);
  const bool turned = (a && a->turned) || (b && b->turned);
  char* const spare = static_cast<char*>(run.workspace);
  char* to = spare + counter_bytes + partial_bytes;
  if (!a) {
    a = packed(job.a, to, stream);
    to += packed_bytes(job.a);
  }
  if (!b) b = packed(job.b, to, stream);
  TensorArgs& args = job.args;
  const unsigned tiles = wide ? wide_tiles : turned ? turning_tiles : all_tiles;
  const TilePlan plan = plan_tiles(args.m, args.n, job.a.k, 128 / Kind::bytes, run.device->processors, tiles, job.wish);
  args.order = plan.order;
  args.depth = plan.depth;
  args.split_depth = plan.split_depth;
  args.arrived = reinterpret_cast<std::uint32_t*>(spare);
  args.partial = reinterpret_cast<float*>(spare + counter_bytes);
  if (plan.tile == 0) return launch_tile<Kind, Out, 0>(args, *a, *b, job.c, type, run);
  if (plan.tile == 2) return launch_tile<Kind, Out, 2>(args, *a, *b, job.c, type, run);
  if constexpr (!wide) {
    if (plan.tile == 1) return launch_tile<Kind, Out, 1>(args, *a, *b, job.c, type, run);
    launch_tile<Kind, Out, 3>(args, *a, *b, job.c, type, run);
  }
}

// f32: the result's element; else the factors' own.
void run_bf16(TensorJob& job, bool f32, Run& run);
void run_f16(TensorJob& job, bool f32, Run& run);

}  // namespace tessera::matmul
