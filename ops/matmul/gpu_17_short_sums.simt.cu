// SPDX-License-Identifier: Apache-2.0
// GPU rung 17, too: sums of at most 64 products, and a C so large that writing it is the limit.
//
// A block walks along a row of tiles of C. The panel of A stays in shared memory all the way; the next tile's
// panel of B arrives while this tile is multiplied, and results leave while the next one is. Panels hold the
// whole sum: there is one barrier a tile, none a step of k. Rows of C need no alignment: what a store leaves
// of a sector of memory, the next store or the block's next tile fills while it is in the cache.
#include <typeinfo>
#include "ops/matmul/kernels/simt/short_kernel.hpp"
#include "ops/matmul/problem/operands.hpp"
#include "ops/matmul/problem/transposed.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/overlapped_launch.cuh"
#endif

namespace tessera::matmul {
namespace {

inline namespace TESSERA_UNIT {

#if defined(__CUDACC__)
template <class Kernel, class T>
void start(const ShortSumsArgs<T>& args, Run& run) {
  launch_overlapped<Kernel>(Kernel::launch(args), args, run);
}
template <class Kernel, class T>
std::optional<int> registers() {
  return overlapped_registers_of<Kernel, ShortSumsArgs<T>>();
}
#else
template <class Kernel, class T>
void start(const ShortSumsArgs<T>& args, Run& run) {
  launch_kernel<Kernel>(Kernel::launch(args), args, run);
}
template <class Kernel, class T>
std::optional<int> registers() {
  return registers_of<Kernel, ShortSumsArgs<T>>();
}
#endif

// Lanes lie along what is contiguous in C: its rows.
template <class T>
Problem<T> by_rows_of_c(const Problem<T>& p) {
  return p.c.stride[1] <= p.c.stride[0] ? p : transposed(p);
}

template <class T>
void launch_short_sums(const Problem<T>& given, std::int64_t tile, Run& run) {
  const Problem<T> p = by_rows_of_c(given);
  if (p.m() == 0 || p.n() == 0) return;
  const int processors = run.device->processors;
  with_short_sums<T>(p.k(), short_sums_tile(p, tile, processors),
                     [&]<class Kernel>() { start<Kernel>(Kernel::args(p, processors), run); });
}

template <class T>
void run_short_sums(const Arguments& arguments, const Tuning& tuning, Run& run) {
  launch_short_sums(Problem<T>::of(arguments), tuning["tile"], run);
}

template <class T>
PreparedRun prepare_short_sums(const Arguments& arguments, const Tuning& tuning, const Device&) {
  const auto given = Problem<T>::of(arguments);
  if (given.m() == 0 || given.n() == 0) return {};
  return {.launch = [given, tile = tuning["tile"], places = ProductArrays(arguments.signature())](
                        std::span<void* const> arrays, Run& run) {
    launch_short_sums(places.put(given, arrays), tile, run);
  }};
}

// Of one multiprocessor: how many blocks there are depends on the device.
template <class T>
std::optional<Footprint> footprint_of_short_sums(const Arguments& arguments, const Tuning& tuning) {
  const Problem<T> p = by_rows_of_c(Problem<T>::of(arguments));
  return with_short_sums<T>(p.k(), short_sums_tile(p, tuning["tile"], 1), [&]<class Kernel>() {
    const Launch launch = Kernel::launch(Kernel::args(p, 1));
    return Footprint{launch.blocks(), launch.threads(), sizeof(typename Kernel::Shared),
                     registers<Kernel, T>()};
  });
}

template <class T>
std::int64_t line_of_c(const Arguments& arguments) {
  return by_rows_of_c(Problem<T>::of(arguments)).n();
}

template <class T>
std::int64_t shared_bytes(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  const Problem<T> p = by_rows_of_c(Problem<T>::of(arguments));
  return with_short_sums<T>(
      p.k(), short_sums_tile(p, tuning["tile"], device.processors),
      [&]<class Kernel>() { return static_cast<std::int64_t>(sizeof(typename Kernel::Shared)); });
}

Reason refuses_long_sums(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  constexpr std::int64_t least_line = 32, most_tf32 = 16;
  const int longest =
      arguments.element() == Element::f64 ? longest_short_sum<double> : longest_short_sum<float>;
  if (arguments.dim("k") > longest) return "the sums have more than " + std::to_string(longest) + " products";
  if (arguments.dim("k") > most_tf32 && arguments.element() == Element::f32 &&
      MixedProblem::of(arguments).compute == Compute::tf32)
    return "tensor cores take TF32's sums of more than " + std::to_string(most_tf32) + " products faster";
  const std::int64_t line =
      arguments.element() == Element::f64 ? line_of_c<double>(arguments) : line_of_c<float>(arguments);
  if (line < least_line)
    return "lines of C have fewer than " + std::to_string(least_line) + " elements, a warp's";
  if (const Reason reason = counts_beyond(arguments)) return reason;
  const std::int64_t bytes = arguments.element() == Element::f64
                                 ? shared_bytes<double>(arguments, tuning, device)
                                 : shared_bytes<float>(arguments, tuning, device);
  if (bytes > device.max_shared_bytes)
    return "needs " + std::to_string(bytes) + " bytes of shared memory in a block";
  return std::nullopt;
}

Variant short_sums() {
  Choice choice;
  choice.ranges = {{.name = "tile", .first = 0, .last = std::size(short_sums_tiles), .value = 0}};
  const auto add = [&]<class T>() {
    choice.run[element_of<T>] = run_short_sums<T>;
    choice.prepare[element_of<T>] = prepare_short_sums<T>;
#if !defined(__CUDACC__)
    choice.kernels[element_of<T>] = typeid(ShortSums<T, 64, longest_short_sum<T>>).name();
#endif
  };
  add.template operator()<float>();
  add.template operator()<double>();
  bind_limits<Problem>(choice, Types<float, double>{});
  choice.refuses = refuses_long_sums;
  choice.footprint = [](const Arguments& arguments, const Tuning& tuning) {
    return arguments.element() == Element::f64 ? footprint_of_short_sums<double>(arguments, tuning)
                                               : footprint_of_short_sums<float>(arguments, tuning);
  };
  Variant out;
  out.idea = "short sums: panels stay in shared memory, results leave while the next tile is multiplied";
  out.where = kernels_run_on;
  out.choices.push_back(std::move(choice));
  return out;
}

#if defined(TESSERA_TRACED)
[[maybe_unused]] const bool registered = (register_traced(short_sums()), true);
#else
const Rung rung(short_sums());
#endif

}  // namespace TESSERA_UNIT
}  // namespace
}  // namespace tessera::matmul
