// SPDX-License-Identifier: Apache-2.0
// GPU rung 17, too: sums of at most sixteen products. Then C is nearly all that is moved, and the rung is as
// fast as memory takes it.
//
// A lane keeps its columns of B in registers, a few elements each, and goes down the rows; of a row of A all
// lanes of a warp read the same elements, which lie in shared memory. So an element of C costs its few
// multiply-adds and one store. Lanes have neighbouring columns, one element each: a warp's store is 128 bytes
// in a row, wherever they begin, so that lines of C need no alignment.
#include <algorithm>
#include <typeinfo>
#include "ops/matmul/problem/operands.hpp"
#include "ops/matmul/kernels/simt/vectorized.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/overlapped_launch.cuh"
#endif

namespace tessera::matmul {
namespace {

inline namespace TESSERA_UNIT {

template <class T>
struct ShortSumsArgs {
  Problem<T> p;
  std::int32_t rows;    // of C, a block's
  std::int32_t across;  // blocks beside each other along C's columns
};

template <class T, int most_steps>
struct ShortSums {
  static constexpr int steps = most_steps, lot = Lot<T>::count;
  static constexpr int threads = 256, blocks_per_processor = 4, warps = threads / 32;
  static constexpr int each = std::clamp(128 / (most_steps * int(sizeof(T))), 1, 4);  // columns of a lane
  static constexpr int columns = 32 * each, most_rows = 64;                           // of C, a block's
  static_assert(steps % lot == 0);

  struct Shared {
    alignas(16) T a[most_rows][steps];
    T b[steps][columns + 1];
  };

  SIMT void operator()(Thread thread, Shared& shared, const ShortSumsArgs<T>& args) const {
    const Problem<T>& p = args.p;
    const int k = static_cast<int>(p.k());
    const std::int64_t row = std::int64_t{thread.block().x / args.across} * args.rows,
                       column = std::int64_t{thread.block().x % args.across} * columns;
    // Neighbouring threads bring what lies nearer to each other.
    const bool b_along_k = p.b.stride[0] < p.b.stride[1], a_along_k = p.a.stride[1] < p.a.stride[0];
    for (int e = thread.rank(); e < steps * columns; e += threads) {
      const int l = b_along_k ? e % steps : e / columns, j = b_along_k ? e / steps : e % columns;
      shared.b[l][j] = l < k && column + j < p.n() ? p.b(l, column + j) : T{0};
    }
    const int high = p.m() - row < args.rows ? static_cast<int>(p.m() - row) : args.rows;
    for (int e = thread.rank(); e < steps * args.rows; e += threads) {
      const int l = a_along_k ? e % steps : e / args.rows, i = a_along_k ? e / steps : e % args.rows;
      shared.a[i][l] = l < k && i < high ? p.a(row + i, l) : T{0};
    }
    thread.sync();
    T b[unsigned{steps}][unsigned{each}];
    SIMT_UNROLL
    for (int l = 0; l < steps; ++l) {
      SIMT_UNROLL
      for (int j = 0; j < each; ++j) b[l][j] = shared.b[l][thread.lane() + 32 * j];
    }
    for (int i = thread.warp(); i < high; i += warps) {
      T sum[unsigned{each}];
      SIMT_UNROLL
      for (int j = 0; j < each; ++j) sum[j] = T{0};
      SIMT_UNROLL
      for (int first = 0; first < steps; first += lot) {
        const auto a = __builtin_bit_cast(Lot<T>, thread.load16(&shared.a[i][first]));
        SIMT_UNROLL
        for (int e = 0; e < lot; ++e) {
          SIMT_UNROLL
          for (int j = 0; j < each; ++j) sum[j] = multiply_add(a.element[e], b[first + e][j], sum[j]);
        }
      }
      SIMT_UNROLL
      for (int j = 0; j < each; ++j) p.store(row + i, column + thread.lane() + 32 * j, sum[j]);
    }
  }
};

// Lanes lie along what is contiguous in C: its rows.
template <class T>
Problem<T> by_rows_of_c(const Problem<T>& p) {
  if (p.c.stride[1] <= p.c.stride[0]) return p;
  Problem<T> out = p;
  const auto exchange = [](auto& matrix) {
    std::swap(matrix.extent[0], matrix.extent[1]);
    std::swap(matrix.stride[0], matrix.stride[1]);
  };
  std::swap(out.a, out.b);
  exchange(out.a), exchange(out.b), exchange(out.c), exchange(out.c0);
  return out;
}

// Calls use.template operator()<Kernel>() with the kernel of sums of k products.
template <class T, class Use>
auto with_short_sums(std::int64_t k, const Use& use) {
  if (k <= 4) return use.template operator()<ShortSums<T, 4>>();
  if (k <= 8) return use.template operator()<ShortSums<T, 8>>();
  return use.template operator()<ShortSums<T, 16>>();
}

// Blocks are as high as leaves two to each multiprocessor: what a block brings of B is a part of its time.
template <class Kernel, class T>
ShortSumsArgs<T> args_of(const Problem<T>& p, int processors) {
  const std::int64_t across = (p.n() + Kernel::columns - 1) / Kernel::columns,
                     wanted = std::int64_t{processors} * 2;
  std::int64_t rows = Kernel::most_rows;
  while (rows > Kernel::warps && across * ((p.m() + rows - 1) / rows) < wanted) rows /= 2;
  return {p, static_cast<std::int32_t>(rows), static_cast<std::int32_t>(across)};
}
template <class Kernel, class T>
Launch launch_of(const ShortSumsArgs<T>& args) {
  return {.grid = {args.across * ((args.p.m() + args.rows - 1) / args.rows)}, .block = {Kernel::threads}};
}

template <class T>
void launch_short_sums(const Problem<T>& given, Run& run) {
  const Problem<T> p = by_rows_of_c(given);
  if (p.m() == 0 || p.n() == 0) return;
  with_short_sums<T>(p.k(), [&]<class Kernel>() {
    const ShortSumsArgs<T> args = args_of<Kernel>(p, run.device->processors);
#if defined(__CUDACC__)
    launch_overlapped<Kernel>(launch_of<Kernel>(args), args, run);
#else
    launch_kernel<Kernel>(launch_of<Kernel>(args), args, run);
#endif
  });
}

template <class T>
void run_short_sums(const Arguments& arguments, const Tuning&, Run& run) {
  launch_short_sums(Problem<T>::of(arguments), run);
}

template <class T>
PreparedRun prepare_short_sums(const Arguments& arguments, const Tuning&, const Device&) {
  const auto given = Problem<T>::of(arguments);
  if (given.m() == 0 || given.n() == 0) return {};
  return {.launch = [given, places = ProductArrays(arguments.signature())](std::span<void* const> arrays,
                                                                           Run& run) {
    launch_short_sums(places.put(given, arrays), run);
  }};
}

// Of the highest blocks: how high they are depends on the device.
template <class T>
std::optional<Footprint> footprint_of_short_sums(const Arguments& arguments) {
  const Problem<T> p = by_rows_of_c(Problem<T>::of(arguments));
  return with_short_sums<T>(p.k(), [&]<class Kernel>() {
    const Launch launch = launch_of<Kernel>(args_of<Kernel>(p, 1));
    return Footprint{launch.blocks(), launch.threads(), sizeof(typename Kernel::Shared)};
  });
}

template <class T>
std::int64_t line_of_c(const Arguments& arguments) {
  return by_rows_of_c(Problem<T>::of(arguments)).n();
}

Reason refuses_long_sums(const Arguments& arguments, const Tuning&, const Device& device) {
  constexpr std::int64_t most_k = 16, least_line = 32;
  if (arguments.dim("k") > most_k) return "the sums have more than " + std::to_string(most_k) + " products";
  const std::int64_t line =
      arguments.element() == Element::f64 ? line_of_c<double>(arguments) : line_of_c<float>(arguments);
  if (line < least_line)
    return "lines of C have fewer than " + std::to_string(least_line) + " elements, a warp's";
  if (const Reason reason = counts_beyond(arguments)) return reason;
  constexpr std::int64_t bytes = sizeof(ShortSums<double, 16>::Shared);
  if (bytes > device.max_shared_bytes)
    return "needs " + std::to_string(bytes) + " bytes of shared memory in a block";
  return std::nullopt;
}

Variant short_sums() {
  Choice choice;
  const auto add = [&]<class T>() {
    choice.run[element_of<T>] = run_short_sums<T>;
    choice.prepare[element_of<T>] = prepare_short_sums<T>;
#if !defined(__CUDACC__)
    choice.kernels[element_of<T>] = typeid(ShortSums<T, 16>).name();
#endif
  };
  add.template operator()<float>();
  add.template operator()<double>();
  bind_limits<Problem>(choice, Types<float, double>{});
  choice.refuses = refuses_long_sums;
  choice.footprint = [](const Arguments& arguments, const Tuning&) {
    return arguments.element() == Element::f64 ? footprint_of_short_sums<double>(arguments)
                                               : footprint_of_short_sums<float>(arguments);
  };
  Variant out;
  out.idea = "short sums: columns of B stay in registers, and writing C is the limit";
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
