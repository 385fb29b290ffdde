// SPDX-License-Identifier: Apache-2.0
// From a problem to launches: operands that can be read, and parts of C with a plan each.
#pragma once
#include <utility>
#include "tensor_run.cuh"
#include "tile_parts.hpp"

namespace tessera::matmul {

struct TensorJob {
  Factor a, b;
  TensorArgs args;  // but for what the tile decides
  TileWish wish;
  Cuts cuts = Cuts::model;
};

inline void pack_of(int bytes, std::initializer_list<Packing> all, cudaStream_t stream) {
  if (bytes == 1) pack<1>(all, stream);
  else if (bytes == 2) pack<2>(all, stream);
  else pack<4>(all, stream);
}

// Both factors as they lie where that can be, else packed into spare memory.
inline std::pair<Readable, Readable> read_factors(const TensorJob& job, bool turns, Run& run) {
  char* const to_a = static_cast<char*>(run.workspace) + counter_bytes + partial_bytes;
  char* const to_b = to_a + packed_bytes(job.a);
  const auto stream = static_cast<cudaStream_t>(run.stream);
  const auto packed = [](const Factor& f, const void* there) -> Readable {
    return {{there, f.lines, f.k, packed_step(f)}, false};
  };
  const std::optional<Readable> a = readable(job.a, turns), b = readable(job.b, turns);
  if (!a && !b) pack_of(job.a.bytes, {{job.a, to_a}, {job.b, to_b}}, stream);
  else if (!a) pack_of(job.a.bytes, {{job.a, to_a}}, stream);
  else if (!b) pack_of(job.b.bytes, {{job.b, to_b}}, stream);
  return {a ? *a : packed(job.a, to_a), b ? *b : packed(job.b, to_b)};
}

// Results with nothing but a factor whose rows are no whole 16 bytes: the engine cannot store them.
inline bool goes_by_elements(const TensorArgs& args) { return is_plain(args) && !has_boxes(args); }

// How much longer results take than those of 16 bits in boxes: by their bytes, and element by element.
inline double results_of(const TensorArgs& args) {
  const auto bytes = static_cast<double>(size_of(args.out_element));
  if (goes_by_elements(args) && bytes == 2) return 4;
  return std::max(1.0, bytes / 2) * (has_boxes(args) ? 1 : 2);
}

// Tiles that took longer than another in most of eight products whose results go by elements, by up to a
// half: of blocks that are no cluster; of TF32 also the one whose consumers take turns, which took a third
// longer at 5000×4111×4500.
inline unsigned slow_tiles(const TensorArgs& args, int bytes) {
  if (!goes_by_elements(args)) return 0;
  return bytes == 4 ? 0b0110000 : 0b0100000;
}

// Whether the engine finds 128 bytes of a line within one of the cache's.
inline int cache_lines(const Readable& x, int bytes) {
  return reinterpret_cast<std::uintptr_t>(x.lines.data) % 128 == 0 && x.lines.stride * bytes % 128 == 0 ? 1
                                                                                                        : 2;
}

// Some of an operand's lines along k. Cuts are multiples of 16 bytes, so what the engine could read it still
// can.
inline Readable lines_of(const Readable& whole, int bytes, std::int64_t first, std::int64_t count) {
  Readable out = whole;
  const std::int64_t offset = whole.turned ? first : first * whole.lines.stride;
  out.lines.data = static_cast<const char*>(whole.lines.data) + offset * bytes;
  (whole.turned ? out.lines.length : out.lines.count) = count;
  return out;
}

// What follows the sums of some rows and columns of C.
inline TensorArgs args_of(const TensorArgs& whole, std::int64_t row, std::int64_t col, std::int64_t rows,
                          std::int64_t cols) {
  TensorArgs out = whole;
  const auto moved = [](const void* from, std::int64_t elements, Element element) -> const void* {
    return from == nullptr
               ? nullptr
               : static_cast<const char*>(from) + elements * static_cast<std::int64_t>(size_of(element));
  };
  const auto scale = [](const float* from, std::int64_t elements) {
    return from == nullptr ? nullptr : from + elements;
  };
  TensorEpilogue& e = out.epilogue;
  out.m = rows;
  out.n = cols;
  out.out = const_cast<void*>(moved(whole.out, row * whole.out_row + col, whole.out_element));
  e.c0 = moved(e.c0, row * e.c0_row + col * e.c0_col, whole.out_element);
  e.bias = moved(e.bias, row * e.bias_row + col * e.bias_col, e.bias_element);
  e.scale_a = scale(e.scale_a, row * e.scale_a_step);
  e.scale_b = scale(e.scale_b, col * e.scale_b_step);
  return out;
}

// Calls launch(part) for each part of the product, in one stream. Parts write apart from each other, so each
// begins beside the one before, unless both need the spare memory where sums of splits meet.
template <class Launch>
void run_parts(const TensorJob& job, TileShapes shapes, bool turns, Run& run, const Launch& launch) {
  const cuda::OnDevice on_device(run.device->index);
  const auto [a, b] = read_factors(job, turns, run);
  const unsigned tiles = a.turned || b.turned ? turning_tiles : all_tiles;
  const CacheLines lines{cache_lines(a, job.a.bytes), cache_lines(b, job.b.bytes)};
  const auto plan = [&](std::int64_t rows, std::int64_t cols, bool is_large) {
    const TensorArgs args = args_of(job.args, 0, 0, rows, cols);
    const TileWish wish = is_large ? job.wish : TileWish{};
    const unsigned taken = wish.tile == 0 ? tiles & ~slow_tiles(args, job.a.bytes) : tiles;
    return plan_tiles(shapes, rows, cols, job.a.k, 128 / job.a.bytes, run.device->processors, taken, wish,
                      results_of(args), lines);
  };
  const PlannedParts parts = plan_parts(job.args.m, job.args.n, job.cuts, plan);
  bool has_split = false;
  for (int i = 0; i < parts.count; ++i) {
    const PlannedPart& p = parts.part[i];
    TensorPart part{lines_of(a, job.a.bytes, p.row, p.rows), lines_of(b, job.b.bytes, p.col, p.cols),
                    args_of(job.args, p.row, p.col, p.rows, p.cols), p.plan};
    const bool splits = p.plan.order.splits > 1;
    part.args.beside = i > 0 && !(has_split && splits);
    has_split = has_split || splits;
    launch(part);
  }
}

// The steps that lead there, of bf16 and f16.
enum class Step { one_warpgroup, warps_with_roles, blocks_that_stay };
void run_step(TensorJob& job, Step step, bool f16, Run& run);

}  // namespace tessera::matmul
