// SPDX-License-Identifier: Apache-2.0
// Partial sums joined by the lanes of a warp and the warps of a block before anybody writes them.
// Installed: for whoever writes a rung.
#pragma once
#include "partials.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

// What a block shares while it joins.
template <class T>
struct Joining {
  Pair<T> value[1024];
  std::int64_t column[Exact<T>::words];
  int last;
};

// The sum of a warp's lanes, in every lane that counts: neighbours first, then neighbouring pairs, and so on.
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

constexpr int lanes_in_node = 32;  // runs, whose sums a warp joins

template <class T>
SIMT std::int64_t nodes_of(const Runs& runs) {
  return (runs.count + lanes_in_node - 1) / lanes_in_node;
}

// How many partial sums a launch leaves.
template <class T, class Self>
SIMT std::int64_t joined_count(const Trapezoid<T, Self>& p, std::int64_t blocks, std::int64_t all) {
  if (!has_fixed_order(p.sum)) return blocks;
  return p.sum == Sum::exact ? p.runs(all).count : nodes_of<T>(p.runs(all));
}

// Runs 32 · node and the 31 behind it, by one thread: as a warp's lanes would.
template <class T, class Self>
SIMT Pair<T> add_node(const Trapezoid<T, Self>& p, const Runs& runs, std::int64_t node) {
  Tree<T> tree(p.sum);
  for (std::int64_t run = node * lanes_in_node; run < std::min((node + 1) * lanes_in_node, runs.count); ++run)
    tree.add(p.add_run(runs.first(run, p.strips), runs.first(run + 1, p.strips)));
  return tree.sum();
}

// Where the order is fixed a warp's lanes take 32 neighbouring runs; warps that are not whole leave each
// thread to itself, with the same bits.
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

// Every strip of the block's threads, striding over the grid, as one partial sum.
template <class T, class Self>
SIMT void leave_block_sum(const Thread& thread, Joining<T>& shared, const Trapezoid<T, Self>& p) {
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
SIMT void leave_partials(const Thread& thread, Joining<T>& shared, const Trapezoid<T, Self>& p) {
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
