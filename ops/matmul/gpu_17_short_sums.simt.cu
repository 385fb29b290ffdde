// SPDX-License-Identifier: Apache-2.0
// GPU rung 17, too: sums of at most 64 products, and a C so large that writing it is the limit. Elements of
// 16 and 8 bits are widened on their way to shared memory: multiply-adds of floats are fast enough for few
// products, whatever the alignment.
//
// A block walks along tiles of C. The panel of A stays in shared memory until the tiles have other rows; the
// next tile's panel of B is loaded while this tile is multiplied, and results are stored while the next one
// is. Panels hold all of k, so there is no barrier per step of k. Rows of C need no alignment: if they are
// misaligned, blocks take tiles round-robin, so that a memory sector which lies in two tiles is soon
// complete. For f64 they always do, and both panels are loaded ahead.
#include <typeinfo>
#include "ops/matmul/kernels/small_k/short_kernel.hpp"

namespace tessera::matmul {
namespace {

inline namespace TESSERA_UNIT {

template <class T>
void launch_short_sums(const GemmArguments<T>& given, std::int64_t tile, Run& run) {
  const auto p = by_rows_of_c<T>(given);
  if (p.m() == 0 || p.n() == 0) return;
  const int multiprocessors = run.device->multiprocessors;
  with_short_sums<T>(p.k(), short_sums_tile<T>(p, tile, multiprocessors),
                     [&]<class Kernel>() { start<Kernel>(Kernel::args(p, multiprocessors), run); });
}

template <class T>
PreparedRun prepare_short_sums(const Arguments& arguments, const Tuning& tuning, const Device&) {
  const auto given = GemmArguments<T>::of(arguments);
  if (arguments.array("C").count() == 0) return {};
  return {.launch = [given, tile = tuning["tile"]](std::span<void* const> arrays, Run& run) {
    launch_short_sums<T>(with_addresses(given, arrays), tile, run);
  }};
}

// Returns the footprint for one multiprocessor: the number of blocks depends on the device.
template <class T>
Footprint footprint_of_short_sums(const Arguments& arguments, const Tuning& tuning) {
  const auto p = by_rows_of_c<T>(GemmArguments<T>::of(arguments));
  return with_short_sums<T>(p.k(), short_sums_tile<T>(p, tuning["tile"], 1), [&]<class Kernel>() {
    const Launch launch = Kernel::launch(Kernel::args(p, 1));
    return Footprint{launch.blocks(), launch.threads(), sizeof(typename Kernel::Shared),
                     registers<Kernel, ShortSumsArgs<T>>()};
  });
}

template <class T>
Reason refuses_short_sums(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  const auto p = by_rows_of_c<T>(GemmArguments<T>::of(arguments));
  if (p.k() > longest_short_sum<T>)
    return "the sums have more than " + std::to_string(longest_short_sum<T>) + " products";
  if (Reason reason = exceeds_index_range(arguments)) return reason;
  const std::int64_t bytes = with_short_sums<T>(
      p.k(), short_sums_tile<T>(p, tuning["tile"], device.multiprocessors),
      [&]<class Kernel>() { return static_cast<std::int64_t>(sizeof(typename Kernel::Shared)); });
  if (bytes > device.max_shared_bytes)
    return "needs " + std::to_string(bytes) + " bytes of shared memory in a block";
  return std::nullopt;
}

Variant short_sums() {
  Choice choice;
  choice.ranges = {{.name = "tile", .first = 0, .last = std::size(short_sums_tiles), .value = 0}};
  for (const Element element :
       {Element::f32, Element::f64, Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8})
    with_element_type(element, [&]<class T>() {
      choice.prepare[element] = prepare_short_sums<T>;
#if !defined(__CUDACC__)
      choice.kernels[element] = typeid(ShortSums<T, 64, longest_short_sum<T>>).name();
#endif
    });
  bind_limits<Problem>(choice, Types<float, double>{});
  choice.refuses = [](const Arguments& arguments, const Tuning& tuning, const Device& device) {
    return with_element_type(arguments.element(),
                             [&]<class T>() { return refuses_short_sums<T>(arguments, tuning, device); });
  };
  choice.footprint = [](const Arguments& arguments, const Tuning& tuning) {
    return with_element_type(arguments.element(), [&]<class T>() {
      return std::optional(footprint_of_short_sums<T>(arguments, tuning));
    });
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
