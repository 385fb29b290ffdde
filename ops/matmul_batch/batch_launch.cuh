// SPDX-License-Identifier: Apache-2.0
// From many products to one launch of the tensor core kernel: who reads what how, in which tiles.
#pragma once
#include <utility>
#include <vector>
#include "batch_tiles.cuh"
#include "matmul_batch.hpp"
#include "ops/matmul/tensor_run.cuh"
#include "ops/matmul/tensor_rung.cuh"

namespace tessera::matmul_batch {

using matmul::Factor;
using matmul::LowProblem;
using matmul::TileConfig;

// An operand of many entries: along k, or where `turned` along columns of B.
struct Layered {
  cuda::Layers layers;
  bool turned = false;
};

inline Layered layered(const matmul::Readable& one, std::int64_t count, std::int64_t step) {
  return {{one.lines, count, step}, one.turned};
}

// As it lies, if the engine can read that.
inline std::optional<Layered> readable(const Factor& f, std::int64_t count, std::int64_t step, bool turns) {
  const Layered along = layered(matmul::along_k(f), count, step),
                across = layered(matmul::along_lines(f), count, step);
  if ((f.k_step == 1 || f.k == 1) && cuda::has_tensor_map(along.layers, f.bytes)) return along;
  if (turns && (f.line_step == 1 || f.lines == 1) && cuda::has_tensor_map(across.layers, f.bytes))
    return across;
  return std::nullopt;
}

// Where operands that the engine cannot read are packed to.
class Packing {
 public:
  Packing(void* to, const Run& run)
      : to_(static_cast<char*>(to)), stream_(static_cast<cudaStream_t>(run.stream)) {}

  template <int bytes>
  Layered pack(const Factor& f, std::int64_t count, std::int64_t step) {
    char* const here = to_;
    const std::size_t each = matmul::packed_bytes(f);
    matmul::pack<bytes>({{f, here, step}}, stream_, count);
    to_ += each * static_cast<std::size_t>(count);
    return {{{here, f.lines, f.k, matmul::packed_step(f)}, count, static_cast<std::int64_t>(each) / bytes},
            false};
  }

 private:
  char* to_;
  cudaStream_t stream_;
};

// Entries of one size, as the kernel is told of them.
struct BatchJob {
  LowBatch batch;  // C's columns lie next to each other
  int tile;        // wished for, counted from 1; 0: the model's choice
};

inline LowBatch with_rows(LowBatch batch) {
  if (batch.first.c_col == 1 || batch.first.n == 1) return batch;
  batch.first = matmul::with_rows(batch.first);
  std::swap(batch.a_step, batch.b_step);
  std::swap(batch.scale_a_step, batch.scale_b_step);
  return batch;
}

// The tiles that kernels of batches are made for, by the places that the single product gives them.
inline constexpr unsigned batch_tiles = 0b1101;
inline constexpr std::int64_t most_units = std::int64_t{1} << 30;

template <bool promotes, int tile, bool turn_b>
inline constexpr TileConfig batch_config = [] {
  TileConfig out = promotes && tile == 0 ? matmul::promoted_large : matmul::tile_configs<promotes>[tile];
  out.turn_b = turn_b;
  return out;
}();

template <class C>
void make_layer_maps(TensorArgs& args, const Layered& a, const Layered& b, CUtensorMapDataType type,
                     const cuda::Layers& c) {
  // Rows that C has not need not be copied, where nobody shares them.
  const std::int64_t rows = std::min<std::int64_t>((args.m + 7) / 8 * 8, C::rows);
  const int a_rows = C::cluster_cols == 1 ? static_cast<int>(rows) : C::rows / C::cluster_cols;
  args.a_bytes = a_rows * C::cluster_cols * 128;
  if (args.depth > 0) {  // of an empty sum nothing is read
    args.a = cuda::tensor_map(a.layers, type, C::element_bytes, a_rows);
    args.b = cuda::tensor_map(b.layers, type, C::element_bytes,
                              C::turn_b ? 128 / C::element_bytes : C::cols / C::cluster_rows);
  }
  const auto out_bytes = static_cast<int>(size_of(args.out_element));
  args.plain = args.plain && matmul::is_plain(args);
  args.boxed = args.plain && matmul::has_boxes(args) && cuda::has_tensor_map(c, out_bytes);
  if (args.boxed) args.c = cuda::tensor_map(c, matmul::map_type(args.out_element), out_bytes, 16);
}

template <class Kind>
std::int64_t stages_of(const Factor& f) {
  return (f.k * Kind::bytes + 127) / 128;
}

inline matmul::TileShape shape_of(TileShapes shapes, int tile) {
  return shapes[static_cast<std::size_t>(tile)];
}

template <bool promotes>
TileShapes shapes_of() {
  return promotes ? TileShapes(matmul::promoted_shapes) : TileShapes(matmul::tile_shapes);
}

// Calls make<C>() for the kernel of a tile.
template <class Kind, bool promotes, class Make>
void with_kernel(int tile, bool turn_b, const Make& make) {
  const auto of = [&]<bool turned>() {
    if (tile == 0) return make.template operator()<matmul::Tile<Kind, batch_config<promotes, 0, turned>>>();
    if (tile == 2) return make.template operator()<matmul::Tile<Kind, batch_config<promotes, 2, turned>>>();
    make.template operator()<matmul::Tile<Kind, batch_config<promotes, 3, turned>>>();
  };
  if constexpr (Kind::turns)
    if (turn_b) return of.template operator()<true>();
  of.template operator()<false>();
}

inline TensorArgs args_of(const LowProblem& p, const TileOrder& order, std::int64_t stages) {
  TensorArgs args = matmul::job_of(p, {}).args;
  args.order = order;
  args.units = static_cast<std::int32_t>(order.count());
  args.depth = args.split_depth = static_cast<std::int32_t>(stages);
  args.plain = true;  // where it can be
  return args;
}

// Sums of 8-bit floats are always promoted: of which tile an entry is must not show.
template <class Kind, bool promotes>
void run_batch(const BatchJob& job, CUtensorMapDataType type, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  const LowBatch& all = job.batch;
  const LowProblem& first = all.first;
  const Factor left = matmul::left_of(first), right = matmul::right_of(first);
  Packing packing(run.workspace, run);
  const auto read = [&](const Factor& f, std::int64_t step, bool turns) {
    const std::int64_t count = step == 0 ? 1 : all.batch;
    if (const auto as_it_lies = readable(f, count, step, turns)) return *as_it_lies;
    return packing.pack<Kind::bytes>(f, count, step);
  };
  const Layered a = read(left, all.a_step, false), b = read(right, all.b_step, Kind::turns);
  const EntrySize size{first.m, first.n, stages_of<Kind>(left)};
  const TileShapes shapes = shapes_of<promotes>();
  const int tile = choose_tile(shapes, {&size, 1}, all.batch, run.device->processors, batch_tiles, job.tile);
  BatchArgs args{};
  args.one = args_of(first, order_of(shape_of(shapes, tile), size.m, size.n), size.stages);
  args.one.plain = all.scale_a_step == 0 && all.scale_b_step == 0;
  args.entries.each = args.one.units;
  args.units = static_cast<std::int32_t>(args.one.units * all.batch);
  args.a_moves = a.layers.count > 1;
  args.b_moves = b.layers.count > 1;
  const auto bytes = [](Element element, std::int64_t step) {
    return step * static_cast<std::int64_t>(size_of(element));
  };
  args.steps = {bytes(first.c_element, all.c_step), bytes(first.c_element, all.c0_step),
                bytes(first.bias_element, all.bias_step), bytes(Element::f32, all.scale_a_step),
                bytes(Element::f32, all.scale_b_step)};
  const cuda::Layers c{matmul::result_lines(args.one), all.batch, all.c_step};
  with_kernel<Kind, promotes>(tile, b.turned, [&]<class C>() {
    make_layer_maps<C>(args.one, a, b, type, c);
    matmul::launch_clusters<C, multiply_entries<C>>(C::threads, args, args.units, matmul::Blocks::stay, 1,
                                                    run, [](int) { return false; });
  });
}

// By what A and B hold. `batch_<names>.sm90.cu` have them, of a batch and of a group.
using Entries = std::span<const LowProblem>;  // C's columns next to each other; none of them without elements
void run_bf16(const BatchJob& job, Run& run);
void run_f16(const BatchJob& job, Run& run);
void run_tf32(const BatchJob& job, Run& run);
void run_i8(const BatchJob& job, Run& run);
void run_fp8(const BatchJob& job, Run& run);
void run_group_bf16(Entries entries, Run& run);
void run_group_f16(Entries entries, Run& run);
void run_group_tf32(Entries entries, Run& run);
void run_group_i8(Entries entries, Run& run);
void run_group_fp8(Entries entries, Run& run);

}  // namespace tessera::matmul_batch
