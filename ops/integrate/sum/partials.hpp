// SPDX-License-Identifier: Apache-2.0
// Partial sums of runs in the device's spare memory: who writes them, and how they become the result.
// Installed: for whoever writes a rung.
#pragma once
#include <cstddef>
#include <vector>
#include "trapezoid.hpp"
#include "tessera/core/device.hpp"
#include "tessera/core/variant.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

// The first bytes of the workspace are for blocks to count in.
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

// Adds the strips of one run and leaves the sum at its place.
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

// The result from partial sums, wherever they lie now, by one thread: where the order is fixed, in its tree;
// else in the order of the runs.
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

// All strips by one thread, in the order that the way prescribes, else from the first to the last.
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

// What a kernel has left, fetched and added by the host.
template <class T, class Self>
T fetched_total(const Trapezoid<T, Self>& p, std::int64_t count, Run& run) {
  Backend& backend = backend_of(*run.device);
  const std::size_t bytes = partial_bytes<T>(p.sum, count) - counter_bytes;
  std::vector<std::int64_t> partials((bytes + 7) / 8);
  backend.copy(run, partials.data(), static_cast<char*>(p.workspace) + counter_bytes, bytes);
  backend.synchronize(run);
  return total_of(p, partials.data(), count);
}

// The same, and the result written where it is wanted.
template <class T, class Self>
void finish_on_host(const Trapezoid<T, Self>& p, std::int64_t count, Run& run) {
  const T total = fetched_total(p, count, run);
  backend_of(*run.device).copy(run, p.result, &total, sizeof total);
}

// Threads of a launch along x.
SIMT std::int64_t workers(const Thread& thread) { return std::int64_t{thread.grid().x} * thread.size().x; }
SIMT std::int64_t worker(const Thread& thread) {
  return std::int64_t{thread.block().x} * thread.size().x + thread.index().x;
}

// The launch that a run's parameters ask for.
inline Launch launch_of(const Tuning& tuning) {
  return {.grid = {tuning["block"]}, .block = {tuning["thread"]}};
}
inline std::int64_t workers(const Tuning& tuning) { return std::int64_t{tuning["block"]} * tuning["thread"]; }
inline std::vector<Range> launch_ranges(int block, int thread) {
  return {{.name = "block", .first = 1, .last = 8192, .value = block},
          {.name = "thread", .first = 1, .last = 1024, .value = thread}};
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
