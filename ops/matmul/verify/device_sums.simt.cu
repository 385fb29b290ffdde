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

// The type in which elements are stored.
template <Element element>
auto stored() {
  if constexpr (element == Element::f64) return double{};
  else if constexpr (element == Element::f32) return float{};
  else if constexpr (element == Element::i32) return std::int32_t{};
  else if constexpr (element == Element::i8) return std::int8_t{};
  else if constexpr (element == Element::f16 || element == Element::bf16) return Bits16{};
  else return Bits8{};
}
template <Element element>
using Stored = decltype(stored<element>());

// Returns f32 for elements that it holds exactly.
template <Element element>
SIMT auto number(Stored<element> x) {
  if constexpr (sizeof(x) < 4) return static_cast<float>(widened(element, x));
  else if constexpr (element == Element::f32) return x;
  else return static_cast<double>(x);
}

SIMT double sum_of_lanes(Thread thread, double x, int lanes = 32) {
  for (int mask = lanes / 2; mask > 0; mask /= 2) x += thread.shuffle_xor(x, mask);
  return x;
}

// A factor of elements. Sizes of elements shorter than f64 are summed in f32, at twice the rate; those beyond
// its range make a row suspect.
template <Element element>
using SizeOf = std::conditional_t<element == Element::f64, double, float>;
template <class Size>
struct alignas(16) Factor {
  double sum;
  Size size;
};

template <Element element>
SIMT void store(const SumsArgs& args, std::int64_t at, const SumPair& sum) {
  if (args.factors)
    reinterpret_cast<Factor<SizeOf<element>>*>(args.out)[at] = {sum.sum,
                                                                static_cast<SizeOf<element>>(sum.size)};
  else args.out[at] = sum;
}

// Sums a tile of lines over a part of the columns. Threads load chunks of four neighbouring elements: four
// columns of several lines (`along`), whose sums eight lanes add; or four lines, whose sums the warps add.
// `folds`: a part is a group of columns.
template <Element element, bool along, bool folds>
struct Sums {
  using T = Stored<element>;
  using Size = std::conditional_t<folds, double, SizeOf<element>>;
  static constexpr bool many_lines = along && !folds && element != Element::f64;
  static constexpr int lines = many_lines ? 8 : 4, warps = many_lines ? 4 : 8, threads = 32 * warps,
                       lanes = along ? 8 : 1, apart = along ? 4 : 1, tile = along ? warps * 4 * lines : 128,
                       depth = along ? (folds ? 2 : 1) : (folds ? 8 : 4), vectors = folds ? 1 : sum_vectors,
                       min_blocks_per_sm = 2;
  struct Shared {
    SumPair part[along ? 1 : warps][lines][32];
  };
  // Words are unpacked when they are used: if they were unpacked earlier, loads would wait for each other.
  struct alignas(4 * sizeof(T)) Chunk {
    std::uint32_t word[sizeof(T)];

    SIMT T operator[](int e) const {
      T out;
      __builtin_memcpy(&out, reinterpret_cast<const char*>(word) + e * sizeof(T), sizeof(T));
      return out;
    }
  };

  SIMT void operator()(Thread thread, Shared& shared, const SumsArgs& args) const {
    const int warp = thread.warp(), lane = thread.lane(), q = lane % lanes;
    const std::int64_t line =
        std::int64_t{thread.block().x} * tile + (along ? warp * lines * 4 + lane / lanes : lane * 4);
    const std::int64_t part = thread.block().y, end = border(args, part + 1);
    constexpr int between = along ? 32 : 1, per_chunk = along ? 4 : 1;  // columns
    std::int64_t l = border(args, part) + (along ? 4 * q : warp * depth);
    const bool wide = args.wide && (!along || l % 4 == 0);
    // Addresses are kept: computing them takes longer than the sums.
    constexpr int chunks = along ? lines : 1;
    const T* from[chunks];
    SIMT_UNROLL
    for (int r = 0; r < chunks; ++r)
      from[r] = static_cast<const T*>(args.data) +
                std::min(line + r * apart, args.lines - 1) * args.line_stride + l * args.stride;
    double sums[lines][vectors] = {};
    Size sizes[lines][vectors] = {};
    const auto take = [&]<int steps>(std::int64_t valid, int advance) {
      Chunk loaded[steps][chunks];
      SIMT_UNROLL
      for (int at = 0; at < steps * chunks; ++at)
        loaded[at / chunks][at % chunks] =
            along ? load(from[at % chunks] + at / chunks * between * args.stride, args.stride, wide, valid)
                  : load(from[0] + at * args.stride, args.line_stride, wide, args.lines - line);
      SIMT_UNROLL
      for (int at = 0; at < vectors * steps * per_chunk; ++at) {
        const int v = at / (steps * per_chunk), s = at / per_chunk % steps, e = at % per_chunk;
        const std::int64_t column = l + s * between + e;
        Factor<Size> x{};
        if (!along || e < valid) {
          if constexpr (folds) x.sum = args.signs[column];
          else x = reinterpret_cast<const Factor<Size>*>(args.x)[v * args.length + column];
        }
        SIMT_UNROLL
        for (int r = 0; r < lines; ++r) {
          const auto m = number<element>(loaded[s][along ? r : 0][along ? e : r]);
          const auto size = std::fabs(static_cast<Size>(m));
          sums[r][v] = std::fma(static_cast<double>(m), x.sum, sums[r][v]);
          sizes[r][v] = std::fma(size, folds ? size : x.size, sizes[r][v]);
        }
      }
      l += advance;
      SIMT_UNROLL
      for (int r = 0; r < chunks; ++r) from[r] += advance * args.stride;
    };
    while (l + (depth - 1) * between + per_chunk <= end)
      take.template operator()<depth>(4, depth * (along ? between : warps));
    while (l < end) take.template operator()<1>(std::min<std::int64_t>(4, end - l), between);
    SIMT_UNROLL
    for (int v = 0; v < vectors; ++v) {
      if constexpr (!along) thread.sync();
      SIMT_UNROLL
      for (int r = 0; r < lines; ++r) {
        const SumPair sum{sum_of_lanes(thread, sums[r][v], lanes),
                          sum_of_lanes(thread, static_cast<double>(sizes[r][v]), lanes)};
        if constexpr (!along) shared.part[warp][r][lane] = sum;
        else if (q == 0) put(thread, args, line + r * apart, v, sum);
      }
      if constexpr (!along) {
        thread.sync();
        SumPair sum{};
        for (int from_warp = 0; warp < lines && from_warp < warps; ++from_warp) {
          const SumPair& one = shared.part[from_warp][warp][lane];
          sum = {sum.sum + one.sum, sum.size + one.size};
        }
        if (warp < lines) put(thread, args, line + warp, v, sum);
      }
    }
  }

  // Chunks begin at multiples of four columns.
  SIMT static std::int64_t border(const SumsArgs& args, std::int64_t part) {
    const std::int64_t at = args.length * part / args.parts;
    return folds || part == args.parts ? at : at / 4 * 4;
  }

  SIMT static Chunk load(const T* from, std::int64_t stride, bool wide, std::int64_t valid) {
    if (wide && valid >= 4) return *reinterpret_cast<const Chunk*>(from);
    T each[4] = {};
    SIMT_UNROLL
    for (int e = 0; e < 4; ++e)
      if (e < valid) each[e] = from[e * stride];
    Chunk out;
    __builtin_memcpy(out.word, each, sizeof out);
    return out;
  }

  SIMT static void put(Thread thread, const SumsArgs& args, std::int64_t line, int v, const SumPair& sum) {
    if (line >= args.lines) return;
    if constexpr (folds) {
      store<element>(args, thread.block().y * args.lines + line, {sum.sum, args.scale * std::sqrt(sum.size)});
    } else {
      SumPair* const to = args.out + v * args.lines + line;
      thread.atomic_add(&to->sum, sum.sum);
      thread.atomic_add(&to->size, sum.size);
    }
  }
};

template <Element element>
struct Gather {
  static constexpr int threads = 256;
  struct Shared {};

  SIMT void operator()(Thread thread, Shared&, const SumsArgs& args) const {
    const std::int64_t l = std::int64_t{thread.block().x} * threads + thread.rank();
    for (int v = 0; l < args.length && v < sum_vectors; ++v) {
      const std::int64_t from = args.picked[v] * args.line_stride + l * args.stride;
      const double x = args.scales[v] * number<element>(static_cast<const Stored<element>*>(args.data)[from]);
      const auto bits = __builtin_bit_cast(std::uint64_t, std::fabs(x));
      store<element>(args, v * args.length + l,
                     {x, __builtin_bit_cast(double, bits >> args.dropped_bits << args.dropped_bits)});
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

// Calls f.operator()<element>().
template <class F>
void with_element(Element element, const F& f) {
  const auto try_all = [&]<Element... all>() {
    (void)((element == all && (f.template operator()<all>(), true)) || ...);
  };
  try_all.template operator()<Element::f64, Element::f32, Element::i32, Element::i8, Element::f16,
                              Element::bf16, Element::e4m3, Element::e5m2>();
}

// True if chunks of four elements that are neighbours in the direction of `stride` are aligned.
bool in_chunks(const SumsArgs& args, std::int64_t stride, std::int64_t other) {
  const auto bytes = 4 * size_of(args.element);
  return stride == 1 && other % 4 == 0 && reinterpret_cast<std::uintptr_t>(args.data) % bytes == 0;
}

template <class Kernel>
void launch_sums(SumsArgs args, bool wide, Run& run) {
  constexpr std::int64_t tile = Kernel::tile;
  args.wide = wide;
  launch_kernel<Kernel>({.grid = {(args.lines + tile - 1) / tile, args.parts}, .block = {Kernel::threads}},
                        args, run);
}

template <bool folds>
void sum(const SumsArgs& args, Run& run) {
  with_element(args.element, [&]<Element element>() {
    if (std::abs(args.stride) <= std::abs(args.line_stride))
      launch_sums<Sums<element, true, folds>>(args, in_chunks(args, args.stride, args.line_stride), run);
    else launch_sums<Sums<element, false, folds>>(args, in_chunks(args, args.line_stride, args.stride), run);
  });
}

void gather(const SumsArgs& args, Run& run) {
  with_element(args.element, [&]<Element element>() {
    launch_kernel<Gather<element>>({.grid = {(args.length + 255) / 256}, .block = {256}}, args, run);
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
