// SPDX-License-Identifier: Apache-2.0
// The sums of the randomised check where the arrays lie. A matrix is read once, at the memory's speed: lanes
// follow its contiguous direction, and each thread has several loads in flight.
#include "ops/matmul/verify/device_sums.hpp"
#include <algorithm>
#include "ops/matmul/gemm/widened.hpp"
#include "tessera/kernel.hpp"

#if !defined(TESSERA_TRACED)
namespace tessera::matmul {
namespace {

template <class T>
SIMT double number(Element element, T x) {
  if constexpr (sizeof(T) < 4) return static_cast<double>(widened(element, x));
  else return static_cast<double>(x);
}
SIMT bool has_fraction(double x) {
  return !(std::fabs(x) <= 0x1p53 && static_cast<double>(static_cast<std::int64_t>(x)) == x);
}

// Sums of 32 lines of a part of the columns. `along`: a warp reads four lines along their columns; else its
// lanes read 32 lines at a time, and warps take turns at columns. `folds`: a part is a group of columns.
template <class T, bool along, bool folds>
struct Sums {
  static constexpr int warps = 8, threads = 32 * warps, tile = 32;
  static constexpr int lines = along ? tile / warps : 1, depth = along ? 4 : 8,
                       vectors = folds ? 1 : sum_vectors;
  struct Shared {
    SumPair part[along ? 1 : warps][tile][vectors];
  };

  SIMT void operator()(Thread thread, Shared& shared, const SumsArgs& args) const {
    const auto* const data = static_cast<const T*>(args.data);
    const int warp = thread.warp(), lane = thread.lane();
    const std::int64_t line = std::int64_t{thread.block().x} * tile + (along ? warp * lines : lane);
    const std::int64_t part = thread.block().y, end = args.length * (part + 1) / args.parts;
    constexpr std::int64_t step = along ? 32 : warps;
    SumPair sums[lines][vectors] = {};
    for (std::int64_t l = args.length * part / args.parts + (along ? lane : warp); l < end;
         l += depth * step) {
      T loaded[depth][lines];
      SIMT_UNROLL
      for (int d = 0; d < depth; ++d) {
        SIMT_UNROLL
        for (int r = 0; r < lines; ++r)
          loaded[d][r] = data[std::min(line + r, args.lines - 1) * args.line_stride +
                              std::min(l + d * step, end - 1) * args.stride];
      }
      SIMT_UNROLL
      for (int d = 0; d < depth; ++d) {
        const std::int64_t here = l + d * step;
        if (here >= end) continue;
        SIMT_UNROLL
        for (int v = 0; v < vectors; ++v) {
          SumPair x{0, 1};
          if constexpr (folds) x.sum = args.signs[here];
          else if (!args.fractions) x = args.x[here * sum_vectors + v];
          SIMT_UNROLL
          for (int r = 0; r < lines; ++r) {
            double m = number(args.element, loaded[d][r]);
            if (!folds && args.fractions) m = has_fraction(m) ? 1 : 0;
            sums[r][v].sum = std::fma(m, x.sum, sums[r][v].sum);
            sums[r][v].size = std::fma(std::fabs(m), folds ? std::fabs(m) : x.size, sums[r][v].size);
          }
        }
      }
    }
    SIMT_UNROLL
    for (int v = 0; v < vectors; ++v) {
      SIMT_UNROLL
      for (int r = 0; r < lines; ++r) {
        if constexpr (along) {
          SIMT_UNROLL
          for (int mask = 16; mask > 0; mask /= 2) {
            sums[r][v].sum += thread.shuffle_xor(sums[r][v].sum, mask);
            sums[r][v].size += thread.shuffle_xor(sums[r][v].size, mask);
          }
          if (lane == 0) put(thread, args, line + r, v, sums[r][v]);
        } else {
          shared.part[warp][lane][v] = sums[r][v];
        }
      }
    }
    if constexpr (!along) {
      thread.sync();
      // Warps take turns at vectors, too.
      if (warp >= vectors) return;
      SumPair sum = shared.part[0][lane][warp];
      for (int w = 1; w < warps; ++w) {
        sum.sum += shared.part[w][lane][warp].sum;
        sum.size += shared.part[w][lane][warp].size;
      }
      put(thread, args, line, warp, sum);
    }
  }

  SIMT static void put(Thread thread, const SumsArgs& args, std::int64_t line, int v, const SumPair& sum) {
    if (line >= args.lines) return;
    SumPair* const to = args.out + line * sum_vectors + (folds ? thread.block().y : v);
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

  SIMT void operator()(Thread thread, Shared&, const GatherArgs& args) const {
    const std::int64_t l = std::int64_t{thread.block().x} * threads + thread.rank();
    if (l >= args.from.length) return;
    for (int v = 0; v < sum_vectors; ++v) {
      const double x =
          number(args.from.element,
                 static_cast<const T*>(
                     args.from.data)[args.lines[v] * args.from.line_stride + l * args.from.stride]);
      if (args.pairs != nullptr) args.pairs[l * sum_vectors + v] = {x, std::fabs(x)};
      else args.plain[l * sum_vectors + v] = x;
      if (args.fractional != nullptr && has_fraction(x)) thread.atomic_exchange(args.fractional + v, 1);
    }
  }
};

struct Ratios {
  static constexpr int threads = 64;
  struct Shared {};

  SIMT void operator()(Thread thread, Shared&, const JudgeArgs& args) const {
    const std::int64_t i = std::int64_t{thread.block().x} * threads + thread.rank();
    if (i >= args.rows) return;
    double ratio = 0, bound = 0;
    for (std::int64_t g = 0; g < args.groups; ++g) {
      const std::int64_t at = i * sum_vectors + g;
      const Residual found = residual(args.judge, i, g, args.c[at], args.products[at],
                                      args.c0 == nullptr ? SumPair{} : args.c0[at]);
      ratio = std::max(ratio, found.ratio());
      bound = std::max(bound, found.bound);
    }
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

template <bool folds>
void sum(const SumsArgs& args, Run& run) {
  constexpr std::int64_t tile = 32;
  const Launch launch{.grid = {(args.lines + tile - 1) / tile, args.parts}, .block = {256}};
  if (args.lines == 0) return;
  with_stored(args.element, [&]<class T>(T) {
    if (std::abs(args.stride) <= std::abs(args.line_stride))
      launch_kernel<Sums<T, true, folds>>(launch, args, run);
    else launch_kernel<Sums<T, false, folds>>(launch, args, run);
  });
}

// Columns are cut, so that matrices of few lines occupy every multiprocessor, too.
void multiply(const SumsArgs& args, Run& run) {
  SumsArgs cut = args;
  cut.parts = std::clamp<std::int64_t>(args.length / 2048, 1, 16);
  sum<false>(cut, run);
}

void gather(const GatherArgs& args, Run& run) {
  if (args.from.length == 0) return;
  with_stored(args.from.element, [&]<class T>(T) {
    launch_kernel<Gather<T>>({.grid = {(args.from.length + 255) / 256}, .block = {256}}, args, run);
  });
}

void judge(const JudgeArgs& args, Run& run) {
  launch_kernel<Ratios>({.grid = {(args.rows + 63) / 64}, .block = {64}}, args, run);
}

const DeviceSums sums{sum<true>, multiply, gather, judge};
[[maybe_unused]] const bool sums_registered = (register_device_sums(kernels_run_on, sums), true);

}  // namespace
}  // namespace tessera::matmul
#endif
