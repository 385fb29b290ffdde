// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/kernels/pack/pack_operands.cuh"
#include <algorithm>
#include "ops/matmul/kernels/pack/pack_kernels.cuh"
#include "tessera/cuda/launch.cuh"
#include "tessera/cuda/resources.hpp"
#include "tessera/core/array/rounding.hpp"

namespace tessera::matmul {
namespace {

// Programmatic dependent launch needs compute capability 9.0.
bool supports_pdl() {
  int device = 0, major = 0;
  cuda::check(cudaGetDevice(&device));
  cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major >= 9;
}

// The launches of one call.
struct Launches {
  cudaStream_t stream;
  std::int64_t layers;  // operands of each kind
  int done = 0;

  template <class Kernel, class Args>
  void launch(Kernel kernel, const Launch::Grid& grid, int threads, Args args) {
    args.is_first = done++ == 0;
    launch_grid(kernel, {.grid = grid, .block = {threads}}, 0, stream, supports_pdl(), args);
  }

  // A block writes `wide` words of `high` lines. Grids are limited along y and z, so there are as many
  // launches as needed.
  template <class Kernel>
  void launch_all(Kernel kernel, PackPair pair, int bytes, std::int64_t wide, std::int64_t high,
                  int threads) {
    constexpr std::int64_t max_layers = 32767;
    const std::int64_t most = 65535 * high;
    for (;;) {
      PackPair now = pair;
      std::int64_t lines = 0, words = 0;
      for (int i = 0; i < pair.count; ++i) {
        now.of[i].lines = std::min(most, pair.of[i].lines);
        lines = std::max(lines, now.of[i].lines);
        words = std::max(words, now.of[i].to_step);
        pair.of[i].lines -= now.of[i].lines;
        pair.of[i].from += most * pair.of[i].row_stride * bytes;
        pair.of[i].to += most * pair.of[i].to_step;
      }
      if (lines == 0) return;
      for (std::int64_t layer = 0; layer < layers; layer += max_layers) {
        PackPair some = now;
        for (PackArgs& args : some.of) {
          args.from += layer * args.from_layer * bytes;
          args.to += layer * args.to_layer;
        }
        const std::int64_t deep = std::min(max_layers, layers - layer) * pair.count;
        launch(kernel, {ceil_div(words, wide), ceil_div(lines, high), deep}, threads, some);
      }
    }
  }
};

}  // namespace

std::int64_t packed_step(const MatrixRef& f) {
  constexpr std::int64_t long_line = 1024;
  const std::int64_t piece = (f.k * f.bytes >= long_line ? 128 : 16) / f.bytes;
  return round_up(f.k, piece);
}

std::size_t packed_bytes(const MatrixRef& f) {
  return static_cast<std::size_t>(round_up(f.rows * packed_step(f) * f.bytes, 256));
}

template <int bytes>
void pack(std::initializer_list<Packing> all, cudaStream_t stream, std::int64_t layers) {
  PackPair misaligned, transposed;
  for (const auto& [f, to, from_layer] : all) {
    if (f.rows == 0 || f.k == 0) continue;
    PackPair& pair = f.k_stride == 1 && f.row_stride != 1 ? misaligned : transposed;
    pair.of[pair.count++] = {static_cast<const unsigned char*>(f.data),
                             f.rows,
                             f.k,
                             f.row_stride,
                             f.k_stride,
                             static_cast<std::uint32_t*>(to),
                             packed_step(f) * bytes / 4,
                             from_layer,
                             static_cast<std::int64_t>(packed_bytes(f) / 4)};
  }
  Launches launches{stream, layers};
  launches.launch_all(realign_copy<bytes>, misaligned, bytes, 4 * RealignShape::pieces_of_warp,
                      RealignShape::lines, RealignShape::threads);
  using Shape = TransposeShape<bytes>;
  launches.launch_all(transpose_copy<bytes>, transposed, bytes, Shape::line_words, Shape::lines,
                      Shape::threads);
}

MatrixRef copies_of(const MatrixRef& f, const RowAlignment& alignment) {
  MatrixRef out = f;
  out.rows = f.rows * alignment.classes();
  out.k = f.k + 16 / f.bytes - 1;
  return out;
}

void pack_copies(const MatrixRef& f, const RowAlignment& alignment, void* to, cudaStream_t stream) {
  const CopyArgs args{static_cast<const unsigned char*>(f.data),
                      f.k,
                      f.row_stride,
                      static_cast<std::int32_t>(f.rows),
                      static_cast<std::int32_t>(packed_step(copies_of(f, alignment)) * f.bytes / 16),
                      static_cast<uint4*>(to),
                      alignment};
  Launches{stream, 1}.launch(f.bytes == 1   ? make_copies<1>
                             : f.bytes == 2 ? make_copies<2>
                                            : make_copies<4>,
                             {ceil_div(f.rows * args.pieces, RealignShape::threads), alignment.classes()},
                             RealignShape::threads, args);
}

template void pack<1>(std::initializer_list<Packing>, cudaStream_t, std::int64_t);
template void pack<2>(std::initializer_list<Packing>, cudaStream_t, std::int64_t);
template void pack<4>(std::initializer_list<Packing>, cudaStream_t, std::int64_t);

}  // namespace tessera::matmul
