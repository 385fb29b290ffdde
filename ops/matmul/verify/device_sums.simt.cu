// SPDX-License-Identifier: Apache-2.0
// The sums of the randomised check where the arrays lie. A matrix is read once, at the memory's speed: lanes
// follow its contiguous direction, and each thread has several loads in flight.
#include <algorithm>
#include "ops/matmul/gemm/widened.hpp"
#include "ops/matmul/verify/judge.hpp"
#include "tessera/kernel.hpp"

#if !defined(TESSERA_TRACED)
namespace tessera::matmul {
namespace {

template <class T>
SIMT double number(Element element, T x) {
  if constexpr (sizeof(T) < 4) return static_cast<double>(widened(element, x));
  else return static_cast<double>(x);
}

SIMT double sum_of_lanes(Thread thread, double x) {
  SIMT_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) x += thread.shuffle_xor(x, mask);
  return x;
}

// Sums of a tile of lines and a part of the columns. `along`: a warp reads four lines along their columns;
// else its lanes read two lines each, and warps take turns at columns. `folds`: a part is a group of columns.
template <class T, bool along, bool folds>
struct Sums {
  static constexpr int warps = 8, threads = 32 * warps, lines = along ? 4 : 2, tile = along ? 32 : 64,
                       apart = along ? 1 : 32,
                       depth = !along  ? 8
                               : folds ? 4
                                       : 3,
                       vectors = folds ? 1 : sum_vectors, min_blocks_per_sm = 2;
  struct Shared {
    SumPair part[along ? 1 : warps][lines][vectors][32];
  };

  SIMT void operator()(Thread thread, Shared& shared, const SumsArgs& args) const {
    const int warp = thread.warp(), lane = thread.lane();
    const std::int64_t line = std::int64_t{thread.block().x} * tile + (along ? warp * lines : lane);
    const std::int64_t part = thread.block().y, end = args.length * (part + 1) / args.parts;
    constexpr std::int64_t step = along ? 32 : warps;
    std::int64_t l = args.length * part / args.parts + (along ? lane : warp);
    // Addresses are kept: computing them takes longer than the sums.
    const T* from[lines];
    const std::int64_t jump = step * args.stride;
    SIMT_UNROLL
    for (int r = 0; r < lines; ++r)
      from[r] = static_cast<const T*>(args.data) +
                std::min(line + r * apart, args.lines - 1) * args.line_stride + l * args.stride;
    SumPair sums[lines][vectors] = {};
    const auto take = [&]<int columns>() {
      T loaded[columns][lines];
      SIMT_UNROLL
      for (int at = 0; at < columns * lines; ++at)
        loaded[at / lines][at % lines] = from[at % lines][at / lines * jump];
      SIMT_UNROLL
      for (int at = 0; at < columns * vectors; ++at) {
        const int c = at / vectors, v = at % vectors;
        const SumPair x =
            folds ? SumPair{args.signs[l + c * step], 0} : args.x[v * args.length + l + c * step];
        SIMT_UNROLL
        for (int r = 0; r < lines; ++r) {
          const double m = number(args.element, loaded[c][r]);
          SumPair& sum = sums[r][v];
          sum.sum = std::fma(m, x.sum, sum.sum);
          sum.size = std::fma(std::fabs(m), folds ? std::fabs(m) : x.size, sum.size);
        }
      }
      l += columns * step;
      SIMT_UNROLL
      for (int r = 0; r < lines; ++r) from[r] += columns * jump;
    };
    while (l + (depth - 1) * step < end) take.template operator()<depth>();
    while (l < end) take.template operator()<1>();
    SIMT_UNROLL
    for (int at = 0; at < lines * vectors; ++at) {
      const int r = at / vectors, v = at % vectors;
      if constexpr (along) {
        const SumPair sum{sum_of_lanes(thread, sums[r][v].sum), sum_of_lanes(thread, sums[r][v].size)};
        if (lane == 0) put(thread, args, line + r, v, sum);
      } else {
        shared.part[warp][r][v][lane] = sums[r][v];
      }
    }
    if constexpr (!along) {
      thread.sync();
      const int r = warp / vectors, v = warp % vectors;
      if (r >= lines) return;
      SumPair sum{};
      for (const auto& one : shared.part)
        sum = {sum.sum + one[r][v][lane].sum, sum.size + one[r][v][lane].size};
      put(thread, args, line + r * apart, v, sum);
    }
  }

  SIMT static void put(Thread thread, const SumsArgs& args, std::int64_t line, int v, const SumPair& sum) {
    if (line >= args.lines) return;
    SumPair* const to = args.out + (folds ? thread.block().y : v) * args.lines + line;
    if constexpr (folds) {
      *to = {sum.sum, args.scale * std::sqrt(sum.size)};
    } else {
      thread.atomic_add(&to->sum, sum.sum);
      thread.atomic_add(&to->size, sum.size);
    }
  }
};

template <class T>
struct Gather {
  static constexpr int threads = 256;
  struct Shared {};

  SIMT void operator()(Thread thread, Shared&, const SumsArgs& args) const {
    const std::int64_t l = std::int64_t{thread.block().x} * threads + thread.rank();
    for (int v = 0; l < args.length && v < sum_vectors; ++v) {
      const std::int64_t from = args.picked[v] * args.line_stride + l * args.stride;
      const double x = args.scales[v] * number(args.element, static_cast<const T*>(args.data)[from]);
      const auto bits = __builtin_bit_cast(std::uint64_t, std::fabs(x));
      args.out[v * args.length + l] = {
          x, __builtin_bit_cast(double, bits >> args.dropped_bits << args.dropped_bits)};
    }
  }
};

struct Ratios {
  static constexpr int threads = 64;
  struct Shared {};

  SIMT void operator()(Thread thread, Shared&, const JudgeArgs& args) const {
    const std::int64_t i = std::int64_t{thread.block().x} * threads + thread.rank();
    double ratio = 0, bound = 0, totals[totals_of_judge] = {};
    for (std::int64_t g = 0; i < args.rows && g < args.groups; ++g) {
      const std::int64_t at = g * args.rows + i;
      const Residual found = residual(args.judge, i, args.group[g], args.c[at], args.products[at],
                                      args.c0 == nullptr ? SumPair{} : args.c0[at]);
      ratio = std::max(ratio, found.ratio());
      bound = std::max(bound, found.bound);
      const bool whole = std::fabs(found.right) <= 0x1p24 && std::floor(found.right) == found.right;
      const double of_one[] = {found.bound,
                               std::fabs(found.right),
                               found.value * found.value,
                               found.right * found.right,
                               whole ? 1.0 : 0.0,
                               found.value > args.judge.of_c * args.c[at].size ? 1.0 : 0.0};
      SIMT_UNROLL
      for (int t = 0; t < totals_of_judge; ++t) totals[t] += of_one[t];
    }
    SIMT_UNROLL
    for (int t = 0; t < totals_of_judge; ++t) {
      const double sum = sum_of_lanes(thread, totals[t]);
      if (thread.lane() == 0) thread.atomic_add(args.totals + t, sum);
    }
    if (i >= args.rows) return;
    args.ratios[i] = ratio;
    args.bounds[i] = bound;
  }
};

// Calls f with a number of the type in which elements are stored.
template <class F>
void with_stored(Element element, const F& f) {
  switch (element) {
    case Element::f64:
      return f(double{});
    case Element::f32:
      return f(float{});
    case Element::i32:
      return f(std::int32_t{});
    case Element::i8:
      return f(std::int8_t{});
    case Element::f16:
    case Element::bf16:
      return f(Bits16{});
    default:
      return f(Bits8{});
  }
}

template <class Kernel>
void launch_sums(const SumsArgs& args, Run& run) {
  constexpr std::int64_t tile = Kernel::tile;
  launch_kernel<Kernel>({.grid = {(args.lines + tile - 1) / tile, args.parts}, .block = {Kernel::threads}},
                        args, run);
}

template <bool folds>
void sum(const SumsArgs& args, Run& run) {
  with_stored(args.element, [&]<class T>(T) {
    if (std::abs(args.stride) <= std::abs(args.line_stride)) launch_sums<Sums<T, true, folds>>(args, run);
    else launch_sums<Sums<T, false, folds>>(args, run);
  });
}

void gather(const SumsArgs& args, Run& run) {
  with_stored(args.element, [&]<class T>(T) {
    launch_kernel<Gather<T>>({.grid = {(args.length + 255) / 256}, .block = {256}}, args, run);
  });
}

void judge(const JudgeArgs& args, Run& run) {
  launch_kernel<Ratios>({.grid = {(args.rows + 63) / 64}, .block = {64}}, args, run);
}

const DeviceSums device_kernels{sum<true>, sum<false>, gather, judge};
[[maybe_unused]] const bool sums_registered = (device_sums(kernels_run_on) = &device_kernels, true);

}  // namespace
}  // namespace tessera::matmul
#endif
