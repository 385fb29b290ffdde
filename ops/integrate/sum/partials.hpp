// SPDX-License-Identifier: Apache-2.0
// Partial sums of runs in the device's workspace: writes them, and joins them to the result.
#pragma once
#include <cstddef>
#include <vector>
#include "trapezoid.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

// The first bytes of the workspace hold the counter of finished blocks.
inline constexpr std::size_t counter_bytes = 256;

template <class T>
std::size_t partial_bytes(Sum sum, std::int64_t count) {
  const std::size_t each = sum == Sum::exact ? Exact<T>::words * sizeof(std::int64_t) : sizeof(Pair<T>);
  return counter_bytes + each * static_cast<std::size_t>(count);
}

template <class T, class Self>
SIMT Pair<T>* pairs(const Trapezoid<T, Self>& p) {
  return reinterpret_cast<Pair<T>*>(static_cast<char*>(p.workspace) + counter_bytes);
}
template <class T, class Self>
SIMT std::int64_t* exact_words(const Trapezoid<T, Self>& p, std::int64_t run) {
  return reinterpret_cast<std::int64_t*>(static_cast<char*>(p.workspace) + counter_bytes) +
         run * Exact<T>::words;
}

// Adds the strips of one run and stores the sum at its place.
template <class T, class Self>
SIMT void add_run_to_partials(const Trapezoid<T, Self>& p, const Runs& runs, std::int64_t run) {
  const std::int64_t first = runs.first(run, p.strips), last = runs.first(run + 1, p.strips);
  if (p.sum == Sum::exact) {
    Exact<T> sum;
    p.add_exactly(sum, first, last);
    sum.store(exact_words(p, run));
  } else {
    pairs(p)[run] = p.add_run(first, last);
  }
}

// Joins partial sums, in any memory, by one thread: in the tree of a fixed order, else in the order of the
// runs.
template <class T, class Self>
SIMT T total_of(const Trapezoid<T, Self>& p, const void* partials, std::int64_t count) {
  if (p.sum == Sum::exact) {
    Exact<T> sum;
    for (std::int64_t i = 0; i < count; ++i)
      sum.add_stored(static_cast<const std::int64_t*>(partials) + i * Exact<T>::words);
    sum.carry();
    return p.finished(sum);
  }
  const auto* pair = static_cast<const Pair<T>*>(partials);
  if (has_fixed_order(p.sum)) {
    Tree<T> tree(p.sum);
    for (std::int64_t i = 0; i < count; ++i) tree.add(pair[i]);
    return p.finished(tree.sum());
  }
  Pair<T> sum{};
  for (std::int64_t i = 0; i < count; ++i) sum = join(p.sum, sum, pair[i]);
  return p.finished(sum);
}

// Adds all strips by one thread, in the fixed order if there is one, else from the first to the last.
template <class T, class Self>
SIMT T add_everything(const Trapezoid<T, Self>& p) {
  if (!has_fixed_order(p.sum)) return p.finished(p.add_strips(0, p.strips));
  const Runs runs = p.runs(1);
  if (p.sum == Sum::exact) {
    Exact<T> sum;
    for (std::int64_t run = 0; run < runs.count; ++run)
      p.add_exactly(sum, runs.first(run, p.strips), runs.first(run + 1, p.strips));
    return p.finished(sum);
  }
  Tree<T> tree(p.sum);
  for (std::int64_t run = 0; run < runs.count; ++run)
    tree.add(p.add_run(runs.first(run, p.strips), runs.first(run + 1, p.strips)));
  return p.finished(tree.sum());
}

// Fetches the partial sums of a kernel and adds them on the host.
template <class T, class Self>
T fetched_total(const Trapezoid<T, Self>& p, std::int64_t count, Run& run) {
  Backend& backend = backend_of(*run.device);
  const std::size_t bytes = partial_bytes<T>(p.sum, count) - counter_bytes;
  std::vector<std::int64_t> partials((bytes + 7) / 8);
  backend.copy(run, partials.data(), static_cast<char*>(p.workspace) + counter_bytes, bytes);
  backend.synchronize(run);
  return total_of(p, partials.data(), count);
}

// Writes fetched_total() to p.result.
template <class T, class Self>
void finish_on_host(const Trapezoid<T, Self>& p, std::int64_t count, Run& run) {
  const T total = fetched_total(p, count, run);
  backend_of(*run.device).copy(run, p.result, &total, sizeof total);
}

// Return the number of threads of a launch along x, and the index of one of them.
SIMT std::int64_t workers(const Thread& thread) { return std::int64_t{thread.grid().x} * thread.size().x; }
SIMT std::int64_t worker(const Thread& thread) {
  return std::int64_t{thread.block().x} * thread.size().x + thread.index().x;
}

// Returns the launch that a run's tuning describes.
inline Launch launch_of(const Tuning& tuning) {
  return {.grid = {tuning["block"]}, .block = {tuning["thread"]}};
}
inline std::int64_t workers(const Tuning& tuning) { return std::int64_t{tuning["block"]} * tuning["thread"]; }
inline std::vector<Range> launch_ranges(int block, int thread) {
  return {{.name = "block", .first = 1, .last = 8192, .value = block},
          {.name = "thread", .first = 1, .last = 1024, .value = thread}};
}

// Partial sums that the lanes of a warp and the warps of a block join before one is written.

// A block's shared memory for joining.
template <class T>
struct ReductionScratch {
  Pair<T> value[1024];
  std::int64_t column[Exact<T>::words];
  int last;
};

// Returns the sum of a warp's lanes, in every active lane, added as a binary tree of neighbours.
template <class T>
SIMT Pair<T> join_lanes(const Thread& thread, Sum way, Pair<T> mine) {
  const int lanes = std::min(32, thread.size().x - thread.warp() * 32), lane = thread.lane();
  const std::uint32_t all = lanes == 32 ? Thread::all_lanes : (1u << lanes) - 1;
  for (int apart = 1; apart < 32; apart *= 2) {
    const int other_lane = (lane ^ apart) < lanes ? lane ^ apart : lane;
    const Pair<T> other{thread.shuffle(mine.high, other_lane, all),
                        thread.shuffle(mine.low, other_lane, all)};
    if (other_lane > lane) mine = join(way, mine, other);
    if (other_lane < lane) mine = join(way, other, mine);
  }
  return mine;
}

constexpr int lanes_in_node = 32;  // runs whose sums a warp joins

template <class T>
SIMT std::int64_t nodes_of(const Runs& runs) {
  return (runs.count + lanes_in_node - 1) / lanes_in_node;
}

// Returns the number of partial sums that a launch leaves.
template <class T, class Self>
SIMT std::int64_t joined_count(const Trapezoid<T, Self>& p, std::int64_t blocks, std::int64_t all) {
  if (!has_fixed_order(p.sum)) return blocks;
  return p.sum == Sum::exact ? p.runs(all).count : nodes_of<T>(p.runs(all));
}

// Adds run 32 · node and the 31 after it by one thread, in the order of a warp's lanes.
template <class T, class Self>
SIMT Pair<T> add_node(const Trapezoid<T, Self>& p, const Runs& runs, std::int64_t node) {
  Tree<T> tree(p.sum);
  for (std::int64_t run = node * lanes_in_node; run < std::min((node + 1) * lanes_in_node, runs.count); ++run)
    tree.add(p.add_run(runs.first(run, p.strips), runs.first(run + 1, p.strips)));
  return tree.sum();
}

// With a fixed order, a warp's lanes take 32 neighbouring runs; in blocks with a partial warp each thread
// adds entire nodes, with bitwise identical results.
template <class T, class Self>
SIMT void leave_nodes(const Thread& thread, const Trapezoid<T, Self>& p) {
  const std::int64_t all = workers(thread), me = worker(thread);
  const Runs runs = p.runs(all);
  const std::int64_t nodes = nodes_of<T>(runs);
  if (thread.size().x % lanes_in_node != 0) {
    for (std::int64_t node = me; node < nodes; node += all) pairs(p)[node] = add_node(p, runs, node);
    return;
  }
  for (std::int64_t node = me / lanes_in_node; node < nodes; node += all / lanes_in_node) {
    const std::int64_t run = node * lanes_in_node + thread.lane();
    Pair<T> sum{};
    if (run < runs.count) sum = p.add_run(runs.first(run, p.strips), runs.first(run + 1, p.strips));
    sum = join_lanes(thread, p.sum, sum);
    if (thread.lane() == 0) pairs(p)[node] = sum;
  }
}

// Adds the strips of the block's threads, striding over the grid, to one partial sum.
template <class T, class Self>
SIMT void leave_block_sum(const Thread& thread, ReductionScratch<T>& shared, const Trapezoid<T, Self>& p) {
  const Pair<T> sum = join_lanes(thread, p.sum, p.add_strips(worker(thread), p.strips, workers(thread)));
  if (thread.lane() == 0) shared.value[thread.warp()] = sum;
  thread.sync();
  const int warps = (thread.size().x + 31) / 32;
  if (thread.rank() == 0) {
    Pair<T> total = shared.value[0];
    for (int i = 1; i < warps; ++i) total = join(p.sum, total, shared.value[i]);
    pairs(p)[thread.block().x] = total;
  }
}

template <class T, class Self>
SIMT void leave_partials(const Thread& thread, ReductionScratch<T>& shared, const Trapezoid<T, Self>& p) {
  if (p.sum == Sum::exact) {
    const Runs runs = p.runs(1);
    for (std::int64_t run = worker(thread); run < runs.count; run += workers(thread))
      add_run_to_partials(p, runs, run);
  } else if (has_fixed_order(p.sum)) {
    leave_nodes(thread, p);
  } else {
    leave_block_sum(thread, shared, p);
  }
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
