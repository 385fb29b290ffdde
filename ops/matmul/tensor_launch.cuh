// SPDX-License-Identifier: Apache-2.0
// From a problem to launches of the tensor core kernel: who reads what how, in which tiles.
#pragma once
#include <algorithm>
#include <mutex>
#include <optional>
#include "low_precision.hpp"
#include "tensor_pack.cuh"
#include "tensor_tiles.cuh"
#include "tessera/core/device.hpp"
#include "tessera/cuda/check.hpp"
#include "tessera/cuda/device.hpp"
#include "tessera/cuda/tensor_map.hpp"
#include "tile_plan.hpp"

namespace tessera::matmul {

// Spare memory: counters, then sums of splits, then packed operands.
inline constexpr std::size_t counter_bytes = most_split_tiles * sizeof(std::uint32_t);
inline constexpr std::size_t partial_bytes = most_split_bytes;
inline constexpr int most_devices = 64;

// An operand as lines along k or, where `turned`, lines along rows (of A; columns of B).
struct Readable {
  cuda::Lines lines;
  bool turned = false;
};

// An operand by its lines along k: rows of A, columns of B.
struct Factor {
  const void* data;
  std::int64_t lines, k, line_step, k_step;

  Readable along_k() const { return {{data, lines, k, line_step}, false}; }
  Readable along_lines() const { return {{data, k, lines, k_step}, true}; }
};

inline std::int64_t packed_step(std::int64_t k) { return (k + 7) / 8 * 8; }
inline std::size_t packed_bytes(const Factor& f) {
  return (static_cast<std::size_t>(f.lines) * static_cast<std::size_t>(packed_step(f.k)) * 2 + 255) / 256 * 256;
}

// As it lies, if the engine can read that; `turns`: whether a kernel for turned operands will be there.
inline std::optional<Readable> readable(const Factor& f, bool turns) {
  if ((f.k_step == 1 || f.k == 1) && cuda::has_tensor_map(f.along_k().lines, 2)) return f.along_k();
  if (turns && (f.line_step == 1 || f.lines == 1) && cuda::has_tensor_map(f.along_lines().lines, 2))
    return f.along_lines();
  return std::nullopt;
}

inline Readable packed(const Factor& f, void* to, cudaStream_t stream) {
  const PackArgs args{static_cast<const std::uint16_t*>(f.data), f.lines,      f.k, f.line_step, f.k_step,
                      static_cast<std::uint16_t*>(to),           packed_step(f.k)};
  const auto tiles = [](std::int64_t n) { return static_cast<unsigned>((n + pack_tile - 1) / pack_tile); };
  // Grids are short along y.
  constexpr std::int64_t most = std::int64_t{65535} * pack_tile;
  for (std::int64_t first = 0; first < f.lines && f.k > 0; first += most) {
    PackArgs part = args;
    part.lines = std::min(most, f.lines - first);
    part.from += first * f.line_step;
    part.to += first * args.to_step;
    pack_lines<std::uint16_t><<<dim3(tiles(args.to_step), tiles(part.lines)), 256, 0, stream>>>(part);
    cuda::check(cudaGetLastError());
  }
  return {{to, f.lines, f.k, args.to_step}, false};
}

template <class C>
void launch_tiles(TensorArgs& args, const Readable& a, const Readable& b, const cuda::Lines& c, CUtensorMapDataType type,
                  const Run& run) {
  constexpr int box = 128 / C::element_bytes;
  // Rows that C has not need not be copied, where nobody shares them.
  const std::int64_t rows = std::min<std::int64_t>((args.m + 7) / 8 * 8, C::rows);
  const int a_rows = C::cluster_cols == 1 && !C::turn_a ? static_cast<int>(rows) : C::rows / C::cluster_cols;
  args.a_bytes = a_rows * C::cluster_cols * C::row_bytes;
  if (args.depth > 0) {  // of an empty sum nothing is read
    args.a = cuda::tensor_map(a.lines, type, C::element_bytes, C::turn_a ? box : a_rows);
    args.b = cuda::tensor_map(b.lines, type, C::element_bytes, C::turn_b ? box : C::cols / C::cluster_rows);
  }
  // The engine writes lines to their last 16 bytes, whatever the map says.
  args.boxed = C::boxes > 0 && cuda::has_tensor_map(c, C::element_bytes) && c.length * C::element_bytes % 16 == 0;
  if (args.boxed) args.c = cuda::tensor_map(c, type, C::element_bytes, 64);
  const auto kernel = multiply_tiles<C>;
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {C::cluster, 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.blockDim = C::threads;
  config.dynamicSmemBytes = C::shared_bytes;
  config.stream = static_cast<cudaStream_t>(run.stream);
  config.attrs = attributes;
  config.numAttrs = 2;
  config.gridDim = C::cluster;
  // How many clusters are at work at the same time, asked of each device once.
  struct Known {
    std::once_flag asked;
    int clusters = 0;
  };
  static Known known[most_devices];
  Known& here = known[run.device->index % most_devices];
  std::call_once(here.asked, [&] {
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::shared_bytes));
    cuda::check(cudaOccupancyMaxActiveClusters(&here.clusters, kernel, &config));
  });
  config.gridDim = static_cast<unsigned>(std::min<std::int64_t>(here.clusters, args.order.count()) * C::cluster);
  cuda::check(cudaLaunchKernelEx(&config, kernel, args));
}

}  // namespace tessera::matmul
