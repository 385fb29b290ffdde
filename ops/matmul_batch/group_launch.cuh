// SPDX-License-Identifier: Apache-2.0
// Entries of unequal sizes in one launch of the tensor core kernel. What each brings, its maps and sizes,
// travels as the arguments of a small kernel that writes it to device memory before: nothing in host memory
// must stay, so a graph may note it down, and nobody waits.
#pragma once
#include "batch_launch.cuh"

namespace tessera::matmul_batch {

// As many as a kernel's arguments hold.
inline constexpr int entries_at_once = static_cast<int>((32764 - 256) / sizeof(GroupEntry));
struct Entered {
  GroupEntry entries[entries_at_once];
};

// Entry `first` + blockIdx.x of the table, and of which entry its units are.
template <class Chunk>
__global__ void enter(const __grid_constant__ Chunk chunk, GroupEntry* table, std::int32_t* entry_of,
                      std::int32_t first) {
  const GroupEntry& from = chunk.entries[blockIdx.x];
  const std::int32_t entry = first + static_cast<std::int32_t>(blockIdx.x);
  const auto* const words = reinterpret_cast<const uint4*>(&from);
  auto* const to = reinterpret_cast<uint4*>(table + entry);
  for (unsigned i = threadIdx.x; i < sizeof(GroupEntry) / sizeof(uint4); i += blockDim.x) to[i] = words[i];
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < from.args.units;
       i += static_cast<std::int32_t>(blockDim.x))
    entry_of[from.first_unit + i] = entry;
  ptx::release_maps();
}

// The workspace of a group: the table, the entry of each unit, packed operands.
struct GroupRoom {
  std::size_t units_at, packed_at;

  GroupRoom(std::size_t entries, std::int64_t units) {
    const auto rounded = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
    units_at = rounded(entries * sizeof(GroupEntry));
    packed_at = units_at + rounded(static_cast<std::size_t>(units) * sizeof(std::int32_t));
  }
};

inline void enter_all(std::span<const GroupEntry> entries, GroupEntry* table, std::int32_t* entry_of,
                      const Run& run) {
  const auto stream = static_cast<cudaStream_t>(run.stream);
  Entered chunk{};
  for (std::size_t first = 0; first < entries.size(); first += entries_at_once) {
    const auto some = entries.subspan(first, std::min<std::size_t>(entries_at_once, entries.size() - first));
    std::copy(some.begin(), some.end(), chunk.entries);
    enter<<<static_cast<unsigned>(some.size()), 128, 0, stream>>>(chunk, table, entry_of,
                                                                  static_cast<std::int32_t>(first));
    cuda::check(cudaGetLastError());
  }
}

// Whether the kernel for a B that lies along columns serves all: what lies otherwise would have to be turned
// for it.
template <class Kind>
bool all_turned(Entries entries) {
  return Kind::turns && std::ranges::all_of(entries, [](const LowProblem& p) {
           const Factor f = matmul::right_of(p);
           return (f.line_step == 1 || f.lines == 1) &&
                  cuda::has_tensor_map(matmul::along_lines(f).lines, f.bytes);
         });
}

template <class Kind, bool promotes>
void run_group(Entries entries, CUtensorMapDataType type, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  std::vector<EntrySize> sizes;
  for (const LowProblem& p : entries) sizes.push_back({p.m, p.n, stages_of<Kind>(matmul::left_of(p))});
  const bool turned = all_turned<Kind>(entries);
  const TileShapes shapes = shapes_of<promotes>();
  const int tile = choose_tile(shapes, sizes, 1, run.device->processors, batch_tiles);
  const matmul::TileShape shape = shape_of(shapes, tile);
  const GroupOrder order = order_group(shape, sizes);
  const GroupRoom room(entries.size(), order.units);
  char* const workspace = static_cast<char*>(run.workspace);
  Packing packing(workspace + room.packed_at, run);
  const auto read = [&](const Factor& f, bool as_columns) {
    if (as_columns) return layered(matmul::along_lines(f), 1, 0);
    if (const auto as_it_lies = readable(f, 1, 0, false)) return *as_it_lies;
    return packing.pack<Kind::bytes>(f, 1, 0);
  };
  BatchArgs args{};
  args.table = reinterpret_cast<const GroupEntry*>(workspace);
  args.entry_of = reinterpret_cast<const std::int32_t*>(workspace + room.units_at);
  args.units = static_cast<std::int32_t>(order.units);
  with_kernel<Kind, promotes>(tile, turned, [&]<class C>() {
    std::vector<GroupEntry> table;
    for (std::size_t i = 0; i < order.entries.size(); ++i) {
      const auto e = static_cast<std::size_t>(order.entries[i]);
      const LowProblem& p = entries[e];
      GroupEntry entry{args_of(p, order_of(shape, p.m, p.n), sizes[e].stages), order.first[i]};
      make_layer_maps<C>(entry.args, read(matmul::left_of(p), false), read(matmul::right_of(p), turned), type,
                         {matmul::result_lines(entry.args), 1, 0});
      table.push_back(entry);
    }
    enter_all(table, reinterpret_cast<GroupEntry*>(workspace),
              reinterpret_cast<std::int32_t*>(workspace + room.units_at), run);
    matmul::launch_clusters<C, multiply_entries<C>>(C::threads, args, args.units, matmul::Blocks::stay, 1,
                                                    run, [](int) { return false; });
  });
}

}  // namespace tessera::matmul_batch
