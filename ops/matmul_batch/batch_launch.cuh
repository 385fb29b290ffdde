// SPDX-License-Identifier: Apache-2.0
// Launches of the wgmma kernel for many products: of one size (run_batch), or of any sizes (run_group).
#pragma once
#include <utility>
#include <vector>
#include "batch_kernel.cuh"
#include "matmul_batch.hpp"
#include "ops/matmul/kernels/wgmma/wgmma_launch.cuh"
#include "ops/matmul/kernels/wgmma/wgmma_rung.cuh"

namespace tessera::matmul_batch {

using matmul::MatrixRef;
using matmul::MixedProblem;
using matmul::TileConfig;

// An operand of all entries, as layers of one tensor map.
struct Layered {
  cuda::Layers layers;
  bool mn_major = false;
};

inline Layered layered(const matmul::TmaOperand& one, std::int64_t count, std::int64_t step) {
  return {{one.matrix, count, step}, one.mn_major};
}

// Returns the operand in place, or nullopt if the TMA cannot read it.
inline std::optional<Layered> tma_operand(const MatrixRef& f, std::int64_t count, std::int64_t step,
                                          bool supports_mn_major) {
  const Layered along = layered(matmul::k_major_operand(f), count, step),
                across = layered(matmul::mn_major_operand(f), count, step);
  if ((f.k_stride == 1 || f.k == 1) && cuda::has_tensor_map(along.layers, f.bytes)) return along;
  if (supports_mn_major && (f.row_stride == 1 || f.rows == 1) && cuda::has_tensor_map(across.layers, f.bytes))
    return across;
  return std::nullopt;
}

// Packs operands that the TMA cannot read.
class Packing {
 public:
  Packing(void* to, const Run& run)
      : to_(static_cast<char*>(to)), stream_(static_cast<cudaStream_t>(run.stream)) {}

  template <int bytes>
  Layered pack(const MatrixRef& f, std::int64_t count, std::int64_t step) {
    char* const here = to_;
    const std::size_t each = matmul::packed_bytes(f);
    matmul::pack<bytes>({{f, here, step}}, stream_, count);
    to_ += each * static_cast<std::size_t>(count);
    return {{{here, f.rows, f.k, matmul::packed_step(f)}, count, static_cast<std::int64_t>(each) / bytes},
            false};
  }

 private:
  char* to_;
  cudaStream_t stream_;
};

// Entries of one size.
struct BatchJob {
  MixedBatch batch;  // C's rows are contiguous
  int tile;          // requested, counted from 1; 0: the model's choice
};

inline MixedBatch with_row_major_c(MixedBatch batch) {
  if (batch.first.c_col_stride == 1 || batch.first.n == 1) return batch;
  batch.first = matmul::with_row_major_c(batch.first);
  std::swap(batch.a_step, batch.b_step);
  std::swap(batch.scale_a_step, batch.scale_b_step);
  return batch;
}

// The tiles that have kernels for batches: bit i is tile i of the single product.
inline constexpr unsigned batch_tiles = 0b1101;
inline constexpr std::int64_t max_units = std::int64_t{1} << 30;

template <bool promotes, int tile, bool mn_major_b>
inline constexpr TileConfig batch_config = [] {
  TileConfig out = promotes && tile == 0 ? matmul::promoted_large : matmul::tile_configs<promotes>[tile];
  out.mn_major_b = mn_major_b;
  return out;
}();

template <class Traits>
void make_layer_maps(WgmmaArgs& args, const Layered& a, const Layered& b, CUtensorMapDataType type,
                     const cuda::Layers& c) {
  // Rows of A beyond C are not loaded, unless the blocks of a cluster load A in parts.
  const std::int64_t rows = std::min<std::int64_t>((args.m + 7) / 8 * 8, Traits::rows);
  const int a_rows = Traits::cluster_cols == 1 ? static_cast<int>(rows) : Traits::rows / Traits::cluster_cols;
  args.a_tx_bytes = a_rows * Traits::cluster_cols * 128;
  if (args.k_tile_count > 0) {  // an empty sum reads nothing
    args.a = cuda::tensor_map(a.layers, type, Traits::element_bytes, a_rows);
    args.b = cuda::tensor_map(
        b.layers, type, Traits::element_bytes,
        Traits::mn_major_b ? 128 / Traits::element_bytes : Traits::cols / Traits::cluster_rows);
  }
  const auto c_bytes = static_cast<int>(size_of(args.c_element));
  args.use_staged_scalar_epilogue =
      args.use_staged_scalar_epilogue && matmul::use_staged_scalar_epilogue(args);
  args.tma_store =
      args.use_staged_scalar_epilogue && matmul::can_tma_store(args) && cuda::has_tensor_map(c, c_bytes);
  if (args.tma_store) args.c = cuda::tensor_map(c, matmul::map_type(args.c_element), c_bytes, 16);
}

template <class Kind>
std::int64_t k_tiles_of(const MatrixRef& f) {
  return (f.k * Kind::bytes + 127) / 128;
}

inline matmul::TileCost cost_of(TileCosts costs, int tile) { return costs[static_cast<std::size_t>(tile)]; }

template <bool promotes>
TileCosts costs_of() {
  return promotes ? TileCosts(matmul::promoted_costs) : TileCosts(matmul::tile_costs);
}

// Calls make<Traits>() for the kernel of a tile.
template <class Kind, bool promotes, class Make>
void with_kernel(int tile, bool mn_major_b, const Make& make) {
  const auto with_layout = [&]<bool transposed>() {
    if (tile == 0)
      return make.template operator()<matmul::TileTraits<Kind, batch_config<promotes, 0, transposed>>>();
    if (tile == 2)
      return make.template operator()<matmul::TileTraits<Kind, batch_config<promotes, 2, transposed>>>();
    make.template operator()<matmul::TileTraits<Kind, batch_config<promotes, 3, transposed>>>();
  };
  if constexpr (Kind::supports_mn_major)
    if (mn_major_b) return with_layout.template operator()<true>();
  with_layout.template operator()<false>();
}

inline WgmmaArgs args_of(const MixedProblem& p, const TileOrder& order, std::int64_t k_tiles) {
  WgmmaArgs args = matmul::job_of(p, {}).args;
  args.order = order;
  args.units = static_cast<std::int32_t>(order.count());
  args.k_tile_count = args.k_tiles_per_split = static_cast<std::int32_t>(k_tiles);
  args.use_staged_scalar_epilogue = true;  // cleared by make_layer_maps() if it does not hold
  return args;
}

// Sums of 8-bit floats are always promoted, because an entry's bits must not depend on its tile.
template <class Kind, bool promotes>
void run_batch(const BatchJob& job, CUtensorMapDataType type, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  const MixedBatch& all = job.batch;
  const MixedProblem& first = all.first;
  const MatrixRef a_ref = matmul::operand_a(first), b_ref = matmul::operand_b(first);
  Packing packing(run.workspace, run);
  const auto read = [&](const MatrixRef& f, std::int64_t step, bool supports_mn_major) {
    const std::int64_t count = step == 0 ? 1 : all.batch;
    if (const auto direct = tma_operand(f, count, step, supports_mn_major)) return *direct;
    return packing.pack<Kind::bytes>(f, count, step);
  };
  const Layered a = read(a_ref, all.a_step, false), b = read(b_ref, all.b_step, Kind::supports_mn_major);
  const EntrySize size{first.m, first.n, k_tiles_of<Kind>(a_ref)};
  const TileCosts costs = costs_of<promotes>();
  const int tile =
      choose_tile(costs, {&size, 1}, all.batch, run.device->multiprocessors, batch_tiles, job.tile);
  BatchArgs args{};
  args.one = args_of(first, order_of(cost_of(costs, tile), size.m, size.n), size.k_tiles);
  args.one.use_staged_scalar_epilogue = all.scale_a_step == 0 && all.scale_b_step == 0;
  args.entries.each = args.one.units;
  args.units = static_cast<std::int32_t>(args.one.units * all.batch);
  args.a_is_batched = a.layers.count > 1;
  args.b_is_batched = b.layers.count > 1;
  const auto bytes = [](Element element, std::int64_t step) {
    return step * static_cast<std::int64_t>(size_of(element));
  };
  args.steps = {bytes(first.c_element, all.c_step), bytes(first.c_element, all.c0_step),
                bytes(first.bias_element, all.bias_step), bytes(Element::f32, all.scale_a_step),
                bytes(Element::f32, all.scale_b_step)};
  const cuda::Layers c{matmul::output_matrix(args.one), all.batch, all.c_step};
  with_kernel<Kind, promotes>(tile, b.mn_major, [&]<class Traits>() {
    make_layer_maps<Traits>(args.one, a, b, type, c);
    matmul::launch_cluster_kernel<Traits, multiply_entries<Traits>>(
        Traits::threads, args, args.units, matmul::GridMode::persistent, Traits::cluster_size, run,
        [](int) { return false; });
  });
}

// For each element type of A and B, one function for a batch and one for a group, in batch_<names>.sm90.cu.
using Entries = std::span<const MixedProblem>;  // C is row-major; none is empty
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

struct Launches {
  void (*batch)(const BatchJob&, Run&);
  void (*group)(Entries, Run&);
};
inline Launches launches_of(Element element) {
  switch (element) {
    case Element::bf16:
      return {run_bf16, run_group_bf16};
    case Element::f16:
      return {run_f16, run_group_f16};
    case Element::f32:
      return {run_tf32, run_group_tf32};
    case Element::i8:
      return {run_i8, run_group_i8};
    default:
      return {run_fp8, run_group_fp8};
  }
}

// A group computes entries of unequal sizes in one launch. Before it, a small kernel receives each entry's
// tensor maps and sizes as arguments and writes them to device memory: no host memory must persist, so a
// graph may capture the call, and nothing synchronizes.

// The number of entries that fit in a kernel's arguments.
inline constexpr int entries_at_once = static_cast<int>((32764 - 256) / sizeof(GroupEntry));
struct GroupTableChunk {
  GroupEntry entries[entries_at_once];
};

// Writes entry `first` + blockIdx.x of the table, and its index for each of its units.
template <class Chunk>
__global__ void write_group_table(const __grid_constant__ Chunk chunk, GroupEntry* table,
                                  std::int32_t* entry_of, std::int32_t first) {
  const GroupEntry& from = chunk.entries[blockIdx.x];
  const std::int32_t entry = first + static_cast<std::int32_t>(blockIdx.x);
  const auto* const words = reinterpret_cast<const uint4*>(&from);
  auto* const to = reinterpret_cast<uint4*>(table + entry);
  for (unsigned i = threadIdx.x; i < sizeof(GroupEntry) / sizeof(uint4); i += blockDim.x) to[i] = words[i];
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < from.args.units;
       i += static_cast<std::int32_t>(blockDim.x))
    entry_of[from.first_unit + i] = entry;
  ptx::tensormap_release();
}

// The layout of a group's workspace: the table, the entry of each unit, packed operands.
struct GroupWorkspace {
  std::size_t units_at, packed_at;

  GroupWorkspace(std::size_t entries, std::int64_t units) {
    const auto rounded = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
    units_at = rounded(entries * sizeof(GroupEntry));
    packed_at = units_at + rounded(static_cast<std::size_t>(units) * sizeof(std::int32_t));
  }
};

inline void upload_group_table(std::span<const GroupEntry> entries, GroupEntry* table, std::int32_t* entry_of,
                               const Run& run) {
  const auto stream = static_cast<cudaStream_t>(run.stream);
  GroupTableChunk chunk{};
  for (std::size_t first = 0; first < entries.size(); first += entries_at_once) {
    const auto some = entries.subspan(first, std::min<std::size_t>(entries_at_once, entries.size() - first));
    std::copy(some.begin(), some.end(), chunk.entries);
    write_group_table<<<static_cast<unsigned>(some.size()), 128, 0, stream>>>(
        chunk, table, entry_of, static_cast<std::int32_t>(first));
    cuda::check(cudaGetLastError());
  }
}

// True if every B can be read as MN-major, so that one kernel serves all entries without transposing any.
template <class Kind>
bool all_b_mn_major(Entries entries) {
  return Kind::supports_mn_major && std::ranges::all_of(entries, [](const MixedProblem& p) {
           const MatrixRef f = matmul::operand_b(p);
           return (f.row_stride == 1 || f.rows == 1) &&
                  cuda::has_tensor_map(matmul::mn_major_operand(f).matrix, f.bytes);
         });
}

template <class Kind, bool promotes>
void run_group(Entries entries, CUtensorMapDataType type, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  std::vector<EntrySize> sizes;
  for (const MixedProblem& p : entries) sizes.push_back({p.m, p.n, k_tiles_of<Kind>(matmul::operand_a(p))});
  const bool transposed = all_b_mn_major<Kind>(entries);
  const TileCosts costs = costs_of<promotes>();
  const int tile = choose_tile(costs, sizes, 1, run.device->multiprocessors, batch_tiles);
  const matmul::TileCost cost = cost_of(costs, tile);
  const GroupOrder order = order_group(cost, sizes);
  const GroupWorkspace layout(entries.size(), order.units);
  char* const workspace = static_cast<char*>(run.workspace);
  Packing packing(workspace + layout.packed_at, run);
  const auto read = [&](const MatrixRef& f, bool as_columns) {
    if (as_columns) return layered(matmul::mn_major_operand(f), 1, 0);
    if (const auto direct = tma_operand(f, 1, 0, false)) return *direct;
    return packing.pack<Kind::bytes>(f, 1, 0);
  };
  BatchArgs args{};
  args.table = reinterpret_cast<const GroupEntry*>(workspace);
  args.entry_of = reinterpret_cast<const std::int32_t*>(workspace + layout.units_at);
  args.units = static_cast<std::int32_t>(order.units);
  with_kernel<Kind, promotes>(tile, transposed, [&]<class Traits>() {
    std::vector<GroupEntry> table;
    for (std::size_t i = 0; i < order.entries.size(); ++i) {
      const auto e = static_cast<std::size_t>(order.entries[i]);
      const MixedProblem& p = entries[e];
      GroupEntry entry{args_of(p, order_of(cost, p.m, p.n), sizes[e].k_tiles), order.first[i]};
      make_layer_maps<Traits>(entry.args, read(matmul::operand_a(p), false),
                              read(matmul::operand_b(p), transposed), type,
                              {matmul::output_matrix(entry.args), 1, 0});
      table.push_back(entry);
    }
    upload_group_table(table, reinterpret_cast<GroupEntry*>(workspace),
                       reinterpret_cast<std::int32_t*>(workspace + layout.units_at), run);
    matmul::launch_cluster_kernel<Traits, multiply_entries<Traits>>(
        Traits::threads, args, args.units, matmul::GridMode::persistent, Traits::cluster_size, run,
        [](int) { return false; });
  });
}

}  // namespace tessera::matmul_batch
