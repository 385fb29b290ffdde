// SPDX-License-Identifier: Apache-2.0
// From a problem to launches of the tensor core kernel: who reads what how, in which tiles.
#pragma once
#include <algorithm>
#include <mutex>
#include <optional>
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

inline Readable along_k(const Factor& f) { return {{f.data, f.lines, f.k, f.line_step}, false}; }
inline Readable along_lines(const Factor& f) { return {{f.data, f.k, f.lines, f.k_step}, true}; }

// As it lies, if the engine can read that; `turns`: whether a kernel for turned operands will be there.
inline std::optional<Readable> readable(const Factor& f, bool turns) {
  if ((f.k_step == 1 || f.k == 1) && cuda::has_tensor_map(along_k(f).lines, f.bytes)) return along_k(f);
  if (turns && (f.line_step == 1 || f.lines == 1) && cuda::has_tensor_map(along_lines(f).lines, f.bytes))
    return along_lines(f);
  return std::nullopt;
}

inline cuda::Lines result_lines(const TensorArgs& args) { return {args.out, args.m, args.n, args.out_row}; }

inline CUtensorMapDataType map_type(Element element) {
  switch (element) {
    case Element::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case Element::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case Element::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case Element::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

inline bool is_plain(const TensorArgs& args) {
  return args.epilogue.plain() && size_of(args.out_element) > 1;
}

// Whether the engine may store C: it writes lines to their last 16 bytes, whatever the map says.
inline bool has_boxes(const TensorArgs& args) {
  const auto bytes = static_cast<int>(size_of(args.out_element));
  return is_plain(args) && cuda::has_tensor_map(result_lines(args), bytes) && args.n * bytes % 16 == 0;
}

enum class Blocks { stay, one_for_each_tile };

// How many clusters of a kernel are at work at the same time, asked of each kernel, device and size once:
// nvcc gives each file a kernel of its own of one Config. A part of a GPU and all of it share their index:
// who comes second asks each time.
template <class C, auto kernel>
int clusters_at_work(const Device& device, int together, const cudaLaunchConfig_t& config) {
  struct Known {
    std::once_flag asked;
    int processors = 0, clusters = 0;
  };
  const auto ask = [&] {
    int clusters = 0;
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::shared_bytes));
    cuda::check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
    return clusters;
  };
  static Known known[most_devices][most_together];
  Known& here = known[device.index % most_devices][together - 1];
  std::call_once(here.asked, [&] {
    here.processors = device.processors;
    here.clusters = ask();
  });
  return here.processors == device.processors ? here.clusters : ask();
}

// `type`: how the engine takes A's and B's elements.
template <class C>
void make_maps(TensorArgs& args, const Readable& a, const Readable& b, CUtensorMapDataType type) {
  constexpr int box = 128 / C::element_bytes;
  // Rows that C has not need not be copied, where nobody shares them.
  const std::int64_t rows = std::min<std::int64_t>((args.m + 7) / 8 * 8, C::rows);
  const int a_rows = C::cluster_cols == 1 && !C::turn_a ? static_cast<int>(rows) : C::rows / C::cluster_cols;
  args.a_bytes = a_rows * C::cluster_cols * 128;
  if (args.depth > 0) {  // of an empty sum nothing is read
    args.a = cuda::tensor_map(a.lines, type, C::element_bytes, C::turn_a ? box : a_rows);
    args.b = cuda::tensor_map(b.lines, type, C::element_bytes, C::turn_b ? box : C::cols / C::cluster_rows);
  }
  args.plain = is_plain(args);
  args.boxed = has_boxes(args);
  if constexpr (can_wait<C>)
    args.waits = args.boxed && size_of(args.out_element) == 2 && args.order.splits == 1 &&
                 args.units == args.tiles && args.depth >= least_waiting_depth<2>;
  if (args.boxed)
    args.c = cuda::tensor_map(result_lines(args), map_type(args.out_element),
                              static_cast<int>(size_of(args.out_element)), 16);
}

// `meets(at_work)`: whether blocks wait for each other, of which `at_work` clusters run at once; args may
// note it.
template <class C, auto kernel, class Args, class Meets>
void launch_clusters(int threads, const Args& args, std::int32_t units, Blocks blocks, int together,
                     const Run& run, const Meets& meets) {
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  const int cluster = C::cluster * together;
  attributes[0].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(cluster);
  config.blockDim = static_cast<unsigned>(threads);
  config.dynamicSmemBytes = C::shared_bytes;
  config.stream = static_cast<cudaStream_t>(run.stream);
  config.attrs = attributes;
  config.numAttrs = 1;
  const int at_work = clusters_at_work<C, kernel>(*run.device, together, config);
  // Blocks that wait for each other must all be there, whatever else the device does; others may begin while
  // the kernel before is at its end.
  if (meets(at_work)) {
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
  } else {
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
  }
  config.numAttrs = 2;
  const int clusters = blocks == Blocks::stay ? std::min(at_work, units) : units;
  config.gridDim = static_cast<unsigned>(clusters * cluster);
  cuda::check(cudaLaunchKernelEx(&config, kernel, args));
}

template <class C, auto kernel>
void launch_tiles(int threads, TensorArgs& args, const Readable& a, const Readable& b,
                  CUtensorMapDataType type, Blocks blocks, const Run& run) {
  make_maps<C>(args, a, b, type);
  // Where blocks leave their parts, stages of another tile cannot come.
  if (args.together > 1) blocks = Blocks::one_for_each_tile;
  launch_clusters<C, kernel>(threads, args, args.units, blocks, args.together, run, [&](int at_work) {
    // Of one slice of columns nobody waits for others: who comes last adds.
    return args.all_at_work = split_slices<C> > 1 && args.order.splits > 1 && args.units <= at_work;
  });
}

}  // namespace tessera::matmul
