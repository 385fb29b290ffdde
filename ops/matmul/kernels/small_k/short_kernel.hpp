// SPDX-License-Identifier: Apache-2.0
// The kernel of rung 17 for short sums, and the partition of a product into its tiles.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include "ops/matmul/kernels/simt/gemm_problem.hpp"
#include "ops/matmul/kernels/simt/vectorized.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/cp_async.cuh"
#endif

namespace tessera::matmul {

inline namespace TESSERA_UNIT {

// The type of panels and sums: narrow elements are widened while they are loaded. Floats hold sums of few
// products of 8-bit integers exactly.
template <class T>
using ShortPanel = std::conditional_t<is_narrow<T>, float, T>;

// An operand as lines: rows of A, columns of B.
template <class T>
struct ShortLines {
  const T* data;
  std::int64_t lines, step, k_step;
  std::int32_t
      shift;  // log2 of the threads that load a line, along k; -1: adjacent threads load different lines
  bool wide;  // 16-byte loads
};

// A warp's stores of its rows of results. near: rows of C, and of C0, are contiguous. pairs: also, elements
// have 16 bits, and two are an aligned word. apart: all other cases, and narrow elements with more than a
// scale in the epilogue.
enum class ShortStore : std::uint8_t { apart, near, pairs };

template <class T>
struct ShortSumsArgs {
  GemmProblem<T> p;
  ShortLines<T> a, b;
  std::int32_t depth;  // k, padded with zeros to full vectors
  std::int32_t wide;   // tiles in a row of tiles
  std::int32_t blocks;
  std::int32_t each, more;  // tiles per block; `more` blocks have one more
  std::int32_t step;        // from a block's tile to its next one: 1, or round-robin, the number of blocks
  ShortStore store;
};

// True if all rows of C start at multiples of `bytes`.
template <class T>
bool are_rows_of_c_aligned(const GemmProblem<T>& p, std::uintptr_t bytes) {
  const auto are_aligned = [&](const void* data, std::int64_t stride, std::size_t size) {
    const auto row = static_cast<std::uintptr_t>(p.m() == 1 ? 0 : stride) * size;
    return (reinterpret_cast<std::uintptr_t>(data) | row) % bytes == 0;
  };
  if constexpr (is_narrow<T>)
    return are_aligned(p.problem.c, p.problem.c_row_stride, size_of(p.problem.c_element));
  else return are_aligned(p.c.data, p.c.stride[0], sizeof(T));
}

// Tiles of `lines_` rows and as many columns of C. A warp has some of the rows; a lane has columns 32 apart,
// or pairs of columns 64 apart.
template <class T, int lines_, int max_depth>
struct ShortSums {
  using Sum = ShortPanel<T>;
  static constexpr int lines = lines_, vector = Vector<Sum>::count;
  static constexpr int rows = lines == 32 || sizeof(Sum) == 8 ? 8 : 16, columns = lines / 32;  // per lane
  static constexpr int threads = 32 * (lines / rows);
  // Vectors of lines that are read together are in different banks.
  static constexpr int stride = max_depth + vector;

  // Large elements are stored faster round-robin, aligned or not.
  static constexpr bool always_round_robin = sizeof(Sum) == 8;

  struct Shared {
    alignas(16) Sum a[always_round_robin ? 2 : 1][lines * stride];
    alignas(16) Sum b[is_narrow<T> ? 1 : 2][lines * stride];
  };
  static constexpr int by_registers = lines == 128 ? 2 : lines == 32 ? 6 : sizeof(Sum) == 8 ? 4 : 5;
  static constexpr int min_blocks_per_sm = std::min<int>(by_registers, 227 * 1024 / (sizeof(Shared) + 1024));

  // The tiles are shared by all blocks that can be resident at once.
  static ShortSumsArgs<T> args(const GemmProblem<T>& p, int multiprocessors) {
    const std::int64_t depth = whole(p.k(), vector) * vector;
    const std::int64_t wide = whole(p.n(), lines), tiles = whole(p.m(), lines) * wide,
                       blocks = std::clamp<std::int64_t>(tiles, 1,
                                                         std::int64_t{multiprocessors} * min_blocks_per_sm);
    // Round-robin, concurrent stores are adjacent in memory, so that a sector which lies in two tiles,
    // because rows of C are misaligned, is soon complete. Most tiles then need another panel of A.
    // Times of both orders: results/nvidia-h200/matmul/matmul-short-sums.csv.
    const bool round_robin = always_round_robin || !are_rows_of_c_aligned<T>(p, 32);
    return {.p = p,
            .a = lines_of(p.a, 0, depth),
            .b = lines_of(p.b, 1, depth),
            .depth = static_cast<std::int32_t>(depth),
            .wide = static_cast<std::int32_t>(wide),
            .blocks = static_cast<std::int32_t>(blocks),
            .each = static_cast<std::int32_t>(tiles / blocks),
            .more = static_cast<std::int32_t>(tiles % blocks),
            .step = round_robin ? static_cast<std::int32_t>(blocks) : 1,
            .store = store_of(p)};
  }
  static Launch launch(const ShortSumsArgs<T>& args) { return {.grid = {args.blocks}, .block = {threads}}; }

  SIMT void operator()(Thread thread, Shared& shared, const ShortSumsArgs<T>& args) const {
    const int block = thread.block().x;
    const int first = args.step != 1 ? block : block * args.each + (block < args.more ? block : args.more),
              count = args.each + (block < args.more ? 1 : 0);
    const int row = first / args.wide, column = first % args.wide;
    if constexpr (is_narrow<T>) run_narrow_tiles(thread, shared, args, row, column, count);
    else run_tiles(thread, shared, args, row, column, count);
  }

 private:
  // Computes `left` tiles. The next tile's panels are loaded while this one is multiplied; if there is one
  // panel of A, that is loaded later.
  SIMT void run_tiles(Thread thread, Shared& shared, const ShortSumsArgs<T>& args, int row, int column,
                      int left) const {
    load_panel(thread, shared.a[0], args.a, args, row);
    load_panel(thread, shared.b[0], args.b, args, column);
    for (int turn = 0; left > 0; --left, turn ^= 1) {
      cp_async_wait_all();
      thread.sync();
      const int further = column + args.step, next_row = row + further / args.wide,
                next_column = further % args.wide;
      if (left > 1) {
        if constexpr (always_round_robin) load_panel(thread, shared.a[turn ^ 1], args.a, args, next_row);
        load_panel(thread, shared.b[turn ^ 1], args.b, args, next_column);
      }
      multiply_and_store(thread, shared.a[always_round_robin ? turn : 0], shared.b[turn], args, row, column);
      if (!always_round_robin && left > 1 && next_row != row) {
        thread.sync();
        load_panel(thread, shared.a[0], args.a, args, next_row);
      }
      row = next_row, column = next_column;
    }
  }

  // Elements that pass through registers are not prefetched: other blocks multiply meanwhile. One piece of
  // code loads both operands: at small sizes, fetching a kernel's code dominates the time.
  SIMT void run_narrow_tiles(Thread thread, Shared& shared, const ShortSumsArgs<T>& args, int row, int column,
                             int left) const {
    for (int loaded_row = -1, loaded_column = -1; left > 0; --left) {
      if (loaded_row >= 0) thread.sync();
      SIMT_NO_UNROLL
      for (int of_b = row != loaded_row ? 0 : 1; of_b < (column != loaded_column ? 2 : 1); ++of_b) {
        ShortLines<T> x = args.a;
        if (of_b != 0) x = args.b;
        load_widened(thread, of_b != 0 ? shared.b[0] : shared.a[0], x,
                     of_b != 0 ? args.p.problem.b.element : args.p.problem.a.element, args,
                     of_b != 0 ? column : row, of_b != 0 && args.store == ShortStore::pairs);
      }
      thread.sync();
      multiply_and_store(thread, shared.a[0], shared.b[0], args, row, column);
      loaded_row = row, loaded_column = column, column += args.step;
      row += column / args.wide, column %= args.wide;
    }
  }

  SIMT static void multiply_and_store(Thread thread, const Sum* a, const Sum* b, const ShortSumsArgs<T>& args,
                                      int row, int column) {
    const int first_row = thread.warp() * rows, first_column = thread.lane();
    Sum sum[unsigned{rows}][unsigned{columns}];
    multiply_panels(thread, a + first_row * stride, b + first_column * stride, args.depth, sum);
    const int stored = args.store == ShortStore::pairs ? 2 * first_column : first_column;
    store(args, std::int64_t{row} * lines + first_row, std::int64_t{column} * lines + stored, sum);
  }

  static std::int64_t whole(std::int64_t extent, std::int64_t part) { return (extent + part - 1) / part; }

  static ShortLines<T> lines_of(const Matrix<const T>& x, int line, std::int64_t depth) {
    const int deep = 1 - line;
    ShortLines<T> out{x.data, x.extent[line], x.stride[line], x.stride[deep], -1, false};
    if (x.extent[line] != 1 && out.k_step >= out.step) return out;
    constexpr int at_once = Vector<T>::count;
    out.wide = x.extent[deep] % at_once == 0 &&
               is_vector_aligned(out.data, out.k_step, out.lines == 1 ? 0 : out.step);
    const auto of_line = static_cast<unsigned>(std::max<std::int64_t>(depth / (out.wide ? at_once : 1), 1));
    out.shift = std::bit_width(of_line - 1);
    return out;
  }

  static ShortStore store_of(const GemmProblem<T>& p) {
    if constexpr (is_narrow<T>) {
      const MixedProblem& problem = p.problem;
      const bool is_simple = problem.beta == 0 && problem.bias == nullptr && problem.scale_a == nullptr &&
                             problem.scale_b == nullptr && problem.post_op.is_identity() &&
                             is_normal(problem.alpha);
      const Element c = problem.c_element;
      const bool has_kind = std::is_same_v<T, std::int8_t> ? c == Element::i32 : size_of(c) > 1;
      if (!is_simple || !has_kind || problem.c_col_stride != 1) return ShortStore::apart;
      const bool in_pairs = size_of(c) == 2 && columns % 2 == 0 &&
                            (problem.c_row_stride % 2 == 0 || problem.m == 1) &&
                            reinterpret_cast<std::uintptr_t>(problem.c) % 4 == 0;
      return in_pairs ? ShortStore::pairs : ShortStore::near;
    } else {
      return p.c.stride[1] == 1 && (p.beta == T{0} || p.c0.stride[1] == 1) ? ShortStore::near
                                                                           : ShortStore::apart;
    }
  }

  // Copies through L1, because other blocks read the same elements.
  template <int bytes>
  SIMT static void copy(Thread thread, T* to, const T* from) {
#if defined(__CUDA_ARCH__)
    (void)thread;
    cuda::ptx::cp_async<bytes, true>(to, from);
#else
    if constexpr (bytes == 16) thread.store16(to, thread.load16(from));
    else *to = *from;
#endif
  }
  SIMT static void cp_async_wait_all() {
#if defined(__CUDA_ARCH__)
    cuda::ptx::cp_async_commit_group();
    cuda::ptx::cp_async_wait_group<0>();
#endif
  }

  // Returns the row of a line in its panel. Two neighbours that are stored together are 32 rows apart.
  SIMT static int panel_row(int line, bool paired) {
    return paired ? (line & ~63) | (line & 1) << 5 | (line & 63) >> 1 : line;
  }

  // Loads elements that are widened, by way of registers, with several loads in flight.
  SIMT static void load_widened(Thread thread, Sum* panel, const ShortLines<T>& x, Element element,
                                const ShortSumsArgs<T>& args, int number, bool paired) {
    constexpr int piece = Vector<T>::count;
    const std::int64_t first = std::int64_t{number} * lines;
    const T* const from = x.data + first * x.step;
    const int valid = x.lines - first < lines ? static_cast<int>(x.lines - first) : lines;
    const int k = static_cast<int>(args.p.k()), rank = thread.rank();
    // Loads numbers at, at + by, … below `end`; only those below `present` come from memory.
    const auto load_each = [&](int at, int by, int end, int present, const T* data, std::int64_t step,
                               const auto& address) {
      const auto load_some = [&]<int count>() {
        T some[unsigned{count}];
        SIMT_UNROLL
        for (int q = 0; q < count; ++q) some[q] = at + q * by < present ? data[(at + q * by) * step] : T{};
        SIMT_UNROLL
        for (int q = 0; q < count; ++q)
          if (at + q * by < end) *address(at + q * by) = static_cast<Sum>(widened(element, some[q]));
        at += count * by;
      };
      SIMT_NO_UNROLL
      while (at + 2 * by < end) load_some.template operator()<8>();
      if (at < end) load_some.template operator()<2>();
    };
    if (x.shift < 0) {
      const int line = rank % lines;
      Sum* const to = panel + panel_row(line, paired) * stride;
      load_each(rank / lines, threads / lines, args.depth, line < valid ? k : 0, from + line * x.step,
                x.k_step, [&](int l) { return to + l; });
      return;
    }
    const int by = threads >> x.shift, of_line = rank & ((1 << x.shift) - 1);
    const int l = of_line * (x.wide ? piece : 1), valid_lines = l < k ? valid : 0;
    if (l >= args.depth) return;
    const T* const deep = from + l * x.k_step;
    const auto address = [&](int line) { return panel + panel_row(line, paired) * stride + l; };
    if (!x.wide) return load_each(rank >> x.shift, by, lines, valid_lines, deep, x.step, address);
    SIMT_NO_UNROLL
    for (int line = rank >> x.shift; line < lines; line += by) {
      const Bytes16 bytes = line < valid_lines ? thread.load16(deep + line * x.step) : Bytes16{};
      Sum* const to = address(line);
      SIMT_UNROLL
      for (int e = 0; e < piece; e += vector) {
        SumOf<T> some[4];
        widen(T{}, element, bytes, e, some);
        Vector<Sum> out;
        SIMT_UNROLL
        for (int q = 0; q < vector; ++q) out.element[q] = static_cast<Sum>(some[q]);
        thread.store16(to + e, __builtin_bit_cast(Bytes16, out));
      }
    }
  }

  // Loads a panel, with zeros beyond the operand.
  SIMT static void load_panel(Thread thread, T* panel, const ShortLines<T>& x, const ShortSumsArgs<T>& args,
                              int number) {
    const std::int64_t first = std::int64_t{number} * lines;
    const T* from = x.data + first * x.step;
    const int valid = x.lines - first < lines ? static_cast<int>(x.lines - first) : lines;
    const int k = static_cast<int>(args.p.k());
    if (x.shift < 0) {
      const int line = thread.rank() % lines;
      T* const to = panel + line * stride;
      from += line * x.step;
      for (int l = thread.rank() / lines; l < args.depth; l += threads / lines) {
        if (line < valid && l < k) copy<sizeof(T)>(thread, to + l, from + l * x.k_step);
        else to[l] = T{0};
      }
      return;
    }
    const int l = (thread.rank() & ((1 << x.shift) - 1)) * (x.wide ? vector : 1);
    if (l >= args.depth) return;
    int line = thread.rank() >> x.shift;
    const int by = threads >> x.shift, present = l < k ? valid : 0;
    from += line * x.step + l * x.k_step;
    panel += l;
    const std::int64_t further = by * x.step;
    if (x.wide) {
      for (; line < lines; line += by, from += further) {
        T* const to = panel + line * stride;
        if (line < present) copy<16>(thread, to, from);
        else thread.store16(to, Bytes16{});
      }
    } else {
      for (; line < lines; line += by, from += further) {
        T* const to = panel + line * stride;
        if (line < present) copy<sizeof(T)>(thread, to, from);
        else *to = T{0};
      }
    }
  }

  // Multiplies from a lane's first row and column on.
  SIMT static void multiply_panels(Thread thread, const Sum* a, const Sum* b, int depth,
                                   Sum (&sum)[unsigned{rows}][unsigned{columns}]) {
    SIMT_UNROLL
    for (int i = 0; i < rows; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < columns; ++j) sum[i][j] = Sum{0};
    }
    SIMT_NO_UNROLL
    for (int l = 0; l < depth; l += vector) {
      Vector<Sum> of_b[columns];
      SIMT_UNROLL
      for (int j = 0; j < columns; ++j)
        of_b[j] = __builtin_bit_cast(Vector<Sum>, thread.load16(b + 32 * j * stride + l));
      SIMT_UNROLL
      for (int i = 0; i < rows; ++i) {
        const auto of_a = __builtin_bit_cast(Vector<Sum>, thread.load16(a + i * stride + l));
        SIMT_UNROLL
        for (int e = 0; e < vector; ++e) {
          SIMT_UNROLL
          for (int j = 0; j < columns; ++j)
            sum[i][j] = multiply_add(of_a.element[e], of_b[j].element[e], sum[i][j]);
        }
      }
    }
  }

  // `row`, `column`: position in C of the lane's first element.
  SIMT static void store(const ShortSumsArgs<T>& args, std::int64_t row, std::int64_t column,
                         Sum (&sum)[unsigned{rows}][unsigned{columns}]) {
    if (args.store == ShortStore::apart) store_apart(args.p, row, column, sum);
    else if constexpr (is_narrow<T>) store_narrow(args, row, column, sum);
    else if (args.p.beta == T{0}) store_near<false>(args, row, column, sum);
    else store_near<true>(args, row, column, sum);
  }

  SIMT static void store_narrow(const ShortSumsArgs<T>& args, std::int64_t row, std::int64_t column,
                                const Sum (&sum)[unsigned{rows}][unsigned{columns}]) {
    const MixedProblem& p = args.p.problem;
    const int high = static_cast<int>(p.m - row < lines ? p.m - row : lines),
              wide = static_cast<int>(p.n - column < lines ? p.n - column : lines);
    // Calls put(address of the lane's first element, its sums) for each row.
    const auto each_row = [&]<class Word>(const auto& put) {
      Word* const to = static_cast<Word*>(p.c) + row * p.c_row_stride + column;
      SIMT_UNROLL
      for (int i = 0; i < rows; ++i)
        if (i < high) put(to + i * p.c_row_stride, sum[i]);
    };
    const auto each = [&]<class Word>(const auto& value) {
      each_row.template operator()<Word>([&](Word* line, const Sum(&of_row)[unsigned{columns}]) {
        SIMT_UNROLL
        for (int j = 0; j < columns; ++j)
          if (32 * j < wide) line[32 * j] = value(of_row[j]);
      });
    };
    const auto rounded16 = [&](Sum x) { return rounded(p.c_element, p.alpha * x).bits; };
    if constexpr (std::is_same_v<T, std::int8_t>) {
      const auto alpha = static_cast<std::int32_t>(p.alpha);
      each.template operator()<std::int32_t>(
          [&](Sum x) { return multiply(alpha, static_cast<std::int32_t>(x)); });
    } else if (p.c_element == Element::f32) {
      each.template operator()<float>([&](Sum x) { return p.alpha * x; });
    } else if (args.store == ShortStore::near) {
      each.template operator()<std::uint16_t>(rounded16);
    } else if constexpr (columns % 2 == 0) {
      each_row.template operator()<std::uint16_t>(
          [&](std::uint16_t* line, const Sum(&of_row)[unsigned{columns}]) {
            SIMT_UNROLL
            for (int j = 0; j < columns; j += 2) {
              const std::uint16_t one = rounded16(of_row[j]), other = rounded16(of_row[j + 1]);
              if (32 * j + 1 < wide)
                *reinterpret_cast<std::uint32_t*>(line + 32 * j) = one | std::uint32_t{other} << 16;
              else if (32 * j < wide) line[32 * j] = one;
            }
          });
    }
  }

  template <bool with_c0>
  SIMT static void store_near(const ShortSumsArgs<T>& args, std::int64_t row, std::int64_t column,
                              const Sum (&sum)[unsigned{rows}][unsigned{columns}]) {
    const Problem<T>& p = args.p;
    const int high = static_cast<int>(p.m() - row < lines ? p.m() - row : lines),
              wide = static_cast<int>(p.n() - column < lines ? p.n() - column : lines);
    T* const to = p.c.data + row * p.c.stride[0] + column;
    const T* const add = with_c0 ? p.c0.data + row * p.c0.stride[0] + column : nullptr;
    SIMT_UNROLL
    for (int i = 0; i < rows; ++i) {
      if (i >= high) continue;
      T* const line = to + i * p.c.stride[0];
      const auto value = [&](int j) {
        const T product = multiply(p.alpha, sum[i][j]);
        if constexpr (!with_c0) return product;
        else return multiply_add(p.beta, add[i * p.c0.stride[0] + 32 * j], product);
      };
      SIMT_UNROLL
      for (int j = 0; j < columns; ++j)
        if (32 * j < wide) line[32 * j] = value(j);
    }
  }

  // Stores in a loop instead of unrolled code, which is slow, but short.
  SIMT static void store_apart(const GemmProblem<T>& p, std::int64_t row, std::int64_t column,
                               Sum (&sum)[unsigned{rows}][unsigned{columns}]) {
    SIMT_NO_UNROLL
    for (int i = 0; i < rows; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < columns; ++j) {
        p.store(row + i, column + 32 * j, static_cast<SumOf<T>>(sum[0][j]));
        SIMT_UNROLL
        for (int next = 1; next < rows; ++next) sum[next - 1][j] = sum[next][j];
      }
    }
  }
};

// For element types other than f32, tensor cores are as fast on longer sums.
template <class T>
inline constexpr int longest_short_sum = std::is_same_v<T, float> ? 64 : 32;
inline constexpr int short_sums_tiles[] = {128, 64, 32};  // their lines
template <class T>
inline constexpr int largest_short_sums_tile = sizeof(T) == 8 ? 64 : 128;

// Calls use.template operator()<Kernel>() with the kernel whose tiles have `lines` lines.
template <class T, int largest = largest_short_sums_tile<T>, class Use>
auto with_short_sums(std::int64_t k, int lines, const Use& use) {
  if constexpr (largest > 32)
    if (lines < largest) return with_short_sums<T, largest / 2>(k, lines, use);
  constexpr int most = longest_short_sum<T>;
  if constexpr (most > 32)
    if (k > 32) return use.template operator()<ShortSums<T, largest, most>>();
  return use.template operator()<ShortSums<T, largest, 32>>();
}

// Returns the faster tile, by the number of tiles for each multiprocessor, or the one that is requested. The
// cost of a tile of the next size relative to the largest, and the cost of its start, are fitted to 60
// products on one NVIDIA H200; when that number is rounded up, to 20 more.
template <class T>
int short_sums_tile(const GemmProblem<T>& p, std::int64_t wanted, int multiprocessors) {
  constexpr int largest = largest_short_sums_tile<T>;
  if (wanted != 0) return std::min(short_sums_tiles[wanted - 1], largest);
  const auto tiles = [&](std::int64_t lines) {
    return (p.m() + lines - 1) / lines * ((p.n() + lines - 1) / lines);
  };
  const auto each = [&](std::int64_t lines) { return static_cast<double>(tiles(lines)) / multiprocessors; };
  constexpr double share = std::is_same_v<T, std::int8_t> ? 0.24
                           : is_narrow<T>                 ? 0.28
                           : sizeof(T) == 8               ? 0.26
                                                          : 0.27,
                   beginning = is_narrow<T> ? 0.5 : 1;
  if (std::min(p.m(), p.n()) <= 32) return 32;  // larger tiles would be mostly empty
  const bool rounds_up = is_narrow<T> ? p.k() > 12 : sizeof(T) == 4;
  const double large = rounds_up ? std::ceil(each(largest)) : std::max(each(largest), 1.0);
  if (large <= share * (each(largest / 2) + beginning)) return largest;
  return largest == 64 || tiles(64) < multiprocessors ? 32 : 64;
}

// Returns the problem whose C has contiguous rows, along which lanes store; a contiguous column becomes one.
template <class T>
GemmProblem<T> by_rows_of_c(const GemmArguments<T>& given) {
  const auto p = gemm_problem<T>(given);
  const auto is_by_rows = [&](std::int64_t row_stride, std::int64_t col_stride) {
    return col_stride < row_stride || (col_stride == row_stride && p.n() != 1);
  };
  if constexpr (is_narrow<T>) return is_by_rows(given.c_row_stride, given.c_col_stride) ? p : transposed(p);
  else return is_by_rows(given.c.stride[0], given.c.stride[1]) ? p : transposed(p);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
