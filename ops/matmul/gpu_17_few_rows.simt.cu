// SPDX-License-Identifier: Apache-2.0
// GPU rung 17: C has at most four rows, or columns. Then each element of the large operand is used so few
// times that memory is the limit, and tiles in shared memory do not help. Elements of 16 and 8 bits are
// widened in registers and summed in f32 or i32.
//
// The large operand goes from memory to registers once, 16 bytes per lane; the few rows stay in the L1 cache.
// If lines of the large operand lie along k, each warp has one or four lines, whose sums its lanes share. If
// they lie across k, each lane has its own columns, and warps share the sums. Loads are a step ahead, and
// warps do not wait for one another before the end. Sums are split so that all multiprocessors have work; the
// last block to arrive adds the parts, in their order.
#include <algorithm>
#include <limits>
#include <typeinfo>
#include "ops/matmul/plans/tile_order.hpp"
#include "ops/matmul/kernels/gemv/few_rows_config.hpp"
#include "tessera/core/array/rounding.hpp"

namespace tessera::matmul {
namespace {

inline namespace TESSERA_UNIT {

template <class T>
struct FewRowsArgs {
  GemmProblem<T> p;
  std::int32_t splits;     // per sum
  std::int64_t chunk;      // k of each split
  SumOf<T>* partial;       // sums of the splits: tile after tile, split after split
  std::uint32_t* arrived;  // splits that have arrived, per tile; 0 before and after
};

template <class T, FewRowsConfig config>
struct FewRows {
  using Sum = SumOf<T>;
  using Piece = std::conditional_t<is_narrow<T>, Bytes16, Vector<T>>;  // 16 bytes of elements
  using Problem = GemmProblem<T>;
  static constexpr int rows = config.rows, vector = Vector<T>::count;
  // The number of blocks that registers allow without spilling.
  static constexpr int threads = 256, warps = threads / 32;
  static constexpr int min_blocks_per_sm = rows == 4 || !config.wide || sizeof(T) == 1 ? 2 : 3;
  static constexpr int step = 32 * vector;  // elements that a warp loads at once
  static constexpr bool one_row = config.along_k && rows == 1;
  // Lines of B per warp; if they lie across k, the rows of B that are loaded together.
  static constexpr int lines = one_row ? config.lines : config.along_k || sizeof(T) > 1 ? 4 : 2;
  // Steps along k that a warp loads together.
  static constexpr int steps = one_row ? 4 / lines : 1;
  static constexpr int columns = config.along_k ? warps * lines : step;        // columns of C per block
  static constexpr int depth = config.along_k ? steps * step : warps * lines;  // k per step of a block
  static constexpr int count = rows * (config.along_k ? lines : vector);       // accumulators per lane

  struct Shared {
    alignas(16) Sum a[config.along_k ? 1 : warps * rows * lines];
    alignas(16) Sum sums[config.along_k ? 1 : warps / 2 * count * 32];
    Sum tile[is_narrow<T> ? rows * columns : 1];
    bool last;
  };

  static std::int64_t tiles(const Problem& p) { return (p.n() + columns - 1) / columns; }
  static Launch launch(const FewRowsArgs<T>& args) {
    return {.grid = {tiles(args.p) * args.splits}, .block = {threads}};
  }

  SIMT void operator()(Thread thread, Shared& shared, const FewRowsArgs<T>& args) const {
    const Problem& p = args.p;
    const int tile = thread.block().x / args.splits, split = thread.block().x % args.splits;
    const std::int64_t first = split * args.chunk;
    const std::int64_t end = first + args.chunk < p.k() ? first + args.chunk : p.k();
    Sum sum[unsigned{count}];
    SIMT_UNROLL
    for (int q = 0; q < count; ++q) sum[q] = Sum{0};
    if constexpr (one_row) add_to_row(thread, p, tile, int(first), int(end), sum);
    else if constexpr (config.along_k) add_lines(thread, p, tile, first, end, sum);
    else add_rows(thread, shared, p, tile, first, end, sum);
    // for_each() passes the row and column in the tile of each accumulator that this thread holds at the end;
    // sum[q] has the number base + q.
    int base = 0, valid = 0;
    if constexpr (config.along_k) valid = reduce_lanes(thread, sum, base);
    else valid = reduce_warps(thread, shared, sum);
    const auto for_each = [&](const auto& put) {
      SIMT_UNROLL
      for (int q = 0; q < count; ++q)
        if (q < valid) {
          const int at = base + q;
          if constexpr (config.along_k) put(at / lines, line_of(thread, at % lines), sum[q]);
          else put(at / vector, column_of(thread, at % vector), sum[q]);
        }
    };
    const std::int64_t column = std::int64_t{tile} * columns;
    if (args.splits == 1) {
      if constexpr (is_narrow<T>) {
        // The epilogue may be long: a loop that is not unrolled holds its code once.
        for_each([&](int i, int j, Sum value) { shared.tile[i * columns + j] = value; });
        thread.sync();
        SIMT_NO_UNROLL
        for (int e = thread.rank(); e < rows * columns; e += threads)
          p.store(e / columns, column + e % columns, shared.tile[e]);
      } else {
        for_each([&](int i, int j, Sum value) { p.store(i, column + j, value); });
      }
      return;
    }
    Sum* const parts = args.partial + std::int64_t{tile} * args.splits * rows * columns;
    Sum* const mine = parts + std::int64_t{split} * rows * columns;
    for_each([&](int i, int j, Sum value) { mine[i * columns + j] = value; });
    thread.fence();
    thread.sync();
    if (thread.rank() == 0) {
      shared.last = thread.atomic_add(args.arrived + tile, 1u) + 1 == static_cast<std::uint32_t>(args.splits);
      if (shared.last) (void)thread.atomic_exchange(args.arrived + tile, 0u);
      thread.fence();
    }
    thread.sync();
    if (!shared.last) return;
    for (int e = thread.rank(); e < rows * columns; e += threads) {
      const Sum* const from = parts + e;
      const auto part = [&](int of) { return from[std::int64_t{of} * rows * columns]; };
      Sum all = part(0);
      int other = 1;
      constexpr int at_once = 16;  // loads in flight, to hide their latency
      for (; other + at_once <= args.splits; other += at_once) {
        Sum some[unsigned{at_once}];
        SIMT_UNROLL
        for (int q = 0; q < at_once; ++q) some[q] = part(other + q);
        SIMT_UNROLL
        for (int q = 0; q < at_once; ++q) all += some[q];
      }
      for (; other + 4 <= args.splits; other += 4) {
        const Sum one = part(other), two = part(other + 1), three = part(other + 2), four = part(other + 3);
        all = all + one + two + three + four;
      }
      for (; other < args.splits; ++other) all += part(other);
      p.store(e / columns, column + e % columns, all);
    }
  }

 private:
  // Loads a vector; load_some() loads `valid` elements and fills up with zeros.
  SIMT static Piece load(Thread thread, const T* from) {
    return __builtin_bit_cast(Piece, thread.load16(from));
  }
  SIMT static Piece load_some(const T* from, std::int64_t stride, std::int64_t valid) {
    Piece out = {};
    SIMT_UNROLL
    for (int e = 0; e < vector; ++e) set(out, e, e < valid ? from[e * stride] : T{});
    return out;
  }
  SIMT static void set(Piece& to, int e, T value) {
    if constexpr (is_narrow<T>) put_element(to, e, value);
    else to.element[e] = value;
  }

  // Returns the column of element e of a lane's vector, across k. Loads of neighbouring lanes are coalesced.
  SIMT static int column_of(Thread thread, int e) {
    return config.wide ? thread.lane() * vector + e : thread.lane() + 32 * e;
  }

  // With 16-byte loads along k, a warp's lines are eight apart, so aligned lines start at the same offset in
  // a cache line of 128 bytes. The warp starts earlier by that offset, so that each of its steps reads whole
  // cache lines.
  static constexpr bool in_cache_lines = config.along_k && config.wide;
  SIMT static int line_of(Thread thread, int j) {
    return in_cache_lines ? j * warps + thread.warp() : thread.warp() * lines + j;
  }

  // Adds a warp's lines of B to one row. Lanes load consecutive 16 bytes of B, from the start of the cache
  // line in which the warp's first line begins: all full pieces of B are aligned. Partial pieces, and A where
  // its offset differs, are loaded element by element.
  SIMT void add_to_row(Thread thread, const Problem& p, int tile, int first, int end,
                       Sum (&sum)[unsigned{count}]) const {
    const std::int64_t column = std::int64_t{tile} * columns + thread.warp();
    if (first >= end || column >= p.n()) return;
    const T* b_line[lines];  // beyond the last line, the warp's first one
    SIMT_UNROLL
    for (int j = 0; j < lines; ++j)
      b_line[j] = p.b.data + (column + j * warps < p.n() ? column + j * warps : column) * p.b.stride[1];
    const auto earlier = static_cast<int>(reinterpret_cast<std::uintptr_t>(b_line[0]) % 128 / sizeof(T));
    if (end < p.k()) end -= earlier;
    // Returns the vector at l, with zeros before element 0 and from `end` on.
    const auto load_piece = [&](const T* data, std::int64_t stride, bool wide, int l) {
      if (wide && l >= 0 && l + vector <= end) return load(thread, data + l);
      Piece out = {};
      if (l + vector > 0 && l < end) {  // most lanes skip this
        SIMT_UNROLL
        for (int e = 0; e < vector; ++e)
          if (l + e >= 0 && l + e < end) set(out, e, data[(l + e) * stride]);
      }
      return out;
    };
    // One branch for all steps.
    const auto load_steps = [&](const T* data, std::int64_t stride, bool wide, int l, Piece(&to)[steps]) {
      if (wide && l >= 0 && l + (steps - 1) * step + vector <= end) {
        SIMT_UNROLL
        for (int u = 0; u < steps; ++u) to[u] = load(thread, data + l + u * step);
      } else {
        SIMT_UNROLL
        for (int u = 0; u < steps; ++u) to[u] = load_piece(data, stride, wide, l + u * step);
      }
    };
    const auto load_b = [&](int l, Piece(&to)[lines][steps]) {
      SIMT_UNROLL
      for (int j = 0; j < lines; ++j) load_steps(b_line[j], 1, true, l, to[j]);
    };
    const bool a_wide = is_vector_aligned(p.a.data, p.a.stride[1], 0) && earlier % vector == 0;
    Piece a[steps], b[lines][steps], next[lines][steps] = {};
    int l = first - earlier + thread.lane() * vector;
    load_b(l, b);
    for (; l < end; l += depth) {
      if (l + depth < end) load_b(l + depth, next);
      load_steps(p.a.data, p.a.stride[1], a_wide, l, a);
      SIMT_UNROLL
      for (int j = 0; j < lines; ++j) {
        SIMT_UNROLL
        for (int u = 0; u < steps; ++u) {
          if constexpr (is_narrow<T>) {
            SIMT_UNROLL
            for (int e = 0; e < vector; e += 4)
              sum[j] = add_products(T{}, p.problem.a.element, p.problem.b.element, a[u], b[j][u], e, sum[j]);
          } else {
            SIMT_UNROLL
            for (int e = 0; e < vector; ++e)
              sum[j] = multiply_add(a[u].element[e], b[j][u].element[e], sum[j]);
          }
          b[j][u] = next[j][u];
        }
      }
    }
  }

  // Adds a warp's lines of B; consecutive lanes load 16 bytes each, or one element each. Beyond A's rows and
  // B's lines, the last ones are read again, and their sums are not stored.
  SIMT void add_lines(Thread thread, const Problem& p, int tile, std::int64_t first, std::int64_t end,
                      Sum (&sum)[unsigned{count}]) const {
    constexpr int apart = config.wide ? 1 : 32;
    const int at = config.wide ? thread.lane() * vector : thread.lane();
    const T* b_line[lines];
    SIMT_UNROLL
    for (int j = 0; j < lines; ++j) {
      const std::int64_t column = std::int64_t{tile} * columns + line_of(thread, j);
      b_line[j] = p.b.data + (column < p.n() ? column : p.n() - 1) * p.b.stride[1] + at;
    }
    const auto earlier = static_cast<int>(
        in_cache_lines ? reinterpret_cast<std::uintptr_t>(b_line[0] - at) % 128 / sizeof(T) : 0);
    if (end < p.k()) end -= earlier;
    // True if all of this lane's elements exist; valid_of() counts those that do.
    const auto is_whole = [&](std::int64_t l) {
      return l + (config.wide ? at + vector : step) <= end && (!in_cache_lines || l + at >= 0);
    };
    const auto valid_of = [&](std::int64_t l) {
      return in_cache_lines && l + at < 0 ? 0 : (end - l - at + apart - 1) / apart;
    };
    const auto load_line = [&](std::int64_t l, int j) {
      if (!is_whole(l)) return load_some(b_line[j] + l, apart, valid_of(l));
      return config.wide ? load(thread, b_line[j] + l) : load_some(b_line[j] + l, apart, vector);
    };
    // One branch for all lines: with a branch for each, packing would wait for the loads of each line.
    constexpr bool one_branch = is_narrow<T> || in_cache_lines;
    const auto load_b = [&](std::int64_t l, Piece(&b)[lines]) {
      if (one_branch && is_whole(l)) {
        SIMT_UNROLL
        for (int j = 0; j < lines; ++j)
          b[j] = config.wide ? load(thread, b_line[j] + l) : load_some(b_line[j] + l, apart, vector);
      } else if (one_branch && valid_of(l) <= 0) {
        SIMT_UNROLL
        for (int j = 0; j < lines; ++j) b[j] = {};
      } else {
        SIMT_UNROLL
        for (int j = 0; j < lines; ++j) b[j] = load_line(l, j);
      }
    };
    const bool a_wide = config.wide && is_a_vector_aligned(p);
    const auto load_a = [&](std::int64_t l, int i) {
      const T* const row = p.a.data + (i < p.m() ? i : p.m() - 1) * p.a.stride[0] + (l + at) * p.a.stride[1];
      if (one_branch && valid_of(l) <= 0) return Piece{};
      if (!is_whole(l)) return load_some(row, apart * p.a.stride[1], valid_of(l));
      if (a_wide) return load(thread, row);
      return load_some(row, apart * p.a.stride[1], vector);
    };
    const auto add = [&](std::int64_t l, const Piece(&b)[lines]) {
      if constexpr (is_narrow<T>) {
        Piece a[rows];
        SIMT_UNROLL
        for (int i = 0; i < rows; ++i) a[i] = i < p.m() ? load_a(l, i) : Piece{};
        SIMT_UNROLL
        for (int e = 0; e < vector; e += 4) {
          SIMT_UNROLL
          for (int j = 0; j < lines; ++j) {
            SIMT_UNROLL
            for (int i = 0; i < rows; ++i)
              sum[i * lines + j] = add_products(T{}, p.problem.a.element, p.problem.b.element, a[i], b[j], e,
                                                sum[i * lines + j]);
          }
        }
      } else {
        SIMT_UNROLL
        for (int i = 0; i < rows; ++i) {
          const Piece a = load_a(l, i);
          SIMT_UNROLL
          for (int j = 0; j < lines; ++j) {
            SIMT_UNROLL
            for (int e = 0; e < vector; ++e)
              sum[i * lines + j] = multiply_add(a.element[e], b[j].element[e], sum[i * lines + j]);
          }
        }
      }
    };
    if (first >= end) return;
    Piece b[lines], next[lines] = {};
    load_b(first - earlier, b);
    for (std::int64_t l = first - earlier; l < end; l += step) {
      if (l + step < end) load_b(l + step, next);
      add(l, b);
      SIMT_UNROLL
      for (int j = 0; j < lines; ++j) b[j] = next[j];
    }
  }

  // Adds rows of B, `lines` at a time; the warps take them in turn. The lanes of a warp load the matching
  // elements of A into the warp's part of shared memory, from where all of them read these.
  SIMT void add_rows(Thread thread, Shared& shared, const Problem& p, int tile, std::int64_t first,
                     std::int64_t end, Sum (&sum)[unsigned{count}]) const {
    constexpr int apart = config.wide ? 1 : 32;
    const std::int64_t column = std::int64_t{tile} * columns + column_of(thread, 0),
                       left = (p.n() - column + apart - 1) / apart;
    const T* const from = p.b.data + column * p.b.stride[1];
    const auto load_b = [&](std::int64_t l, Piece(&b)[lines]) {
      SIMT_UNROLL
      for (int u = 0; u < lines; ++u) {
        const T* const row = from + (l + u) * p.b.stride[0];
        if (config.wide && left >= vector && l + u < end) b[u] = load(thread, row);
        else b[u] = load_some(row, apart * p.b.stride[1], l + u < end ? left : 0);
      }
    };
    constexpr int loads_per_lane = (rows * lines + 31) / 32;
    const auto load_a = [&](std::int64_t l, T(&a)[loads_per_lane]) {
      SIMT_UNROLL
      for (int q = 0; q < loads_per_lane; ++q) {
        const int e = q * 32 + thread.lane(), i = e / lines;
        const std::int64_t deep = l + e % lines;
        a[q] = i < p.m() && i < rows && deep < end ? p.a(i, deep) : T{};
      }
    };
    Sum* const own = shared.a + thread.warp() * rows * lines;
    std::int64_t l = first + thread.warp() * lines;
    if (l >= end) return;
    Piece b[lines], next[lines] = {};
    T a[loads_per_lane];
    load_a(l, a);
    load_b(l, b);
    for (; l < end; l += depth) {
      thread.sync_warp();
      SIMT_UNROLL
      for (int q = 0; q < loads_per_lane; ++q)
        if (q * 32 + thread.lane() < rows * lines) own[q * 32 + thread.lane()] = widened_a(p, a[q]);
      thread.sync_warp();
      if (l + depth < end) {
        load_b(l + depth, next);
        load_a(l + depth, a);
      }
      if constexpr (is_narrow<T>) {
        SIMT_UNROLL
        for (int u = 0; u < lines; ++u) {
          SIMT_UNROLL
          for (int e = 0; e < vector; e += 4) {
            Sum of_b[4];
            widen(T{}, p.problem.b.element, b[u], e, of_b);
            SIMT_UNROLL
            for (int i = 0; i < rows; ++i) {
              SIMT_UNROLL
              for (int q = 0; q < 4; ++q)
                sum[i * vector + e + q] = multiply_add(own[i * lines + u], of_b[q], sum[i * vector + e + q]);
            }
          }
        }
      } else {
        SIMT_UNROLL
        for (int i = 0; i < rows; ++i) {
          T of_row[lines];
          SIMT_UNROLL
          for (int u = 0; u < lines; u += vector)
            __builtin_bit_cast(Vector<T>, thread.load16(own + i * lines + u)).copy_to(of_row + u);
          SIMT_UNROLL
          for (int u = 0; u < lines; ++u) {
            SIMT_UNROLL
            for (int e = 0; e < vector; ++e)
              sum[i * vector + e] = multiply_add(of_row[u], b[u].element[e], sum[i * vector + e]);
          }
        }
      }
      SIMT_UNROLL
      for (int u = 0; u < lines; ++u) b[u] = next[u];
    }
  }

  SIMT static Sum widened_a(const Problem& p, T x) {
    if constexpr (is_narrow<T>) return widened(p.problem.a.element, x);
    else return x;
  }

  // Reduces over the lanes of a warp: each exchanges half of its accumulators with another lane, until it
  // holds a few sums over all lanes. Returns their number; `base` is the first. If there are fewer sums than
  // lanes, neighbouring lanes hold the same sum, and only one of them returns it.
  template <int n = count, int mask = 16>
  SIMT static int reduce_lanes(Thread thread, Sum (&sum)[unsigned{count}], int& base) {
    if constexpr (mask == 0) {
      constexpr int same = count < 32 ? 32 / count : 1;
      return thread.lane() % same == 0 ? n : 0;
    } else if constexpr (n == 1) {
      sum[0] += thread.shuffle_xor(sum[0], mask);
      return reduce_lanes<1, mask / 2>(thread, sum, base);
    } else {
      constexpr int half = n / 2;
      const bool upper = (thread.lane() & mask) != 0;
      SIMT_UNROLL
      for (int q = 0; q < half; ++q) {
        // Loads both, then selects: with a runtime index the compiler would keep the array in local memory.
        const Sum one = sum[q], other = sum[q + half];
        Sum keep = one, give = other;
        if (upper) keep = other, give = one;
        sum[q] = keep + thread.shuffle_xor(give, mask);
      }
      base += upper ? half : 0;
      return reduce_lanes<half, mask / 2>(thread, sum, base);
    }
  }

  // Reduces over the warps: the upper half passes its accumulators to the lower one, until the first warp has
  // them all.
  SIMT int reduce_warps(Thread thread, Shared& shared, Sum (&sum)[unsigned{count}]) const {
    const int warp = thread.warp(), lane = thread.lane();
    SIMT_UNROLL
    for (int half = warps / 2; half >= 1; half /= 2) {
      thread.sync();
      if (warp >= half && warp < 2 * half) {
        SIMT_UNROLL
        for (int q = 0; q < count; ++q) shared.sums[((warp - half) * count + q) * 32 + lane] = sum[q];
      }
      thread.sync();
      if (warp < half) {
        SIMT_UNROLL
        for (int q = 0; q < count; ++q) sum[q] += shared.sums[(warp * count + q) * 32 + lane];
      }
    }
    return warp == 0 ? count : 0;
  }
};

// False if tensor cores can read the large operand directly and are as fast.
template <class T>
constexpr bool has_kernel(const FewRowsConfig& config) {
  return config.rows <= max_rows<T> && !(is_narrow<T> && config.rows > 1 && config.wide);
}

// Calls use.template operator()<Kernel>() with the kernel for a configuration.
template <class T, class Use>
auto with_kernel(const FewRowsConfig& config, const Use& use) {
  const auto with_layout = [&]<int rows, bool along_k>() {
    if constexpr (rows == 1 && along_k) {
      if (config.lines == 1) return use.template operator()<FewRows<T, FewRowsConfig{1, true, true, 1}>>();
      return use.template operator()<FewRows<T, FewRowsConfig{1, true, true, 4}>>();
    } else {
      if constexpr (has_kernel<T>({rows, along_k, true}))
        if (config.wide) return use.template operator()<FewRows<T, FewRowsConfig{rows, along_k, true}>>();
      return use.template operator()<FewRows<T, FewRowsConfig{rows, along_k, false}>>();
    }
  };
  const auto with_rows = [&]<int rows>() {
    return config.along_k ? with_layout.template operator()<rows, true>()
                          : with_layout.template operator()<rows, false>();
  };
  if (config.rows == 1) return with_rows.template operator()<1>();
  return with_rows.template operator()<max_rows<T>>();
}

// The plan of a problem with few rows: lines per warp, splits, the k of each, bytes of workspace, and the
// modelled time.
struct FewRowsPlan {
  int lines = 1;
  std::int32_t splits = 1;
  std::int64_t chunk = 0;
  std::size_t bytes = 0;
  std::int64_t time = std::numeric_limits<std::int64_t>::max();
};

// The workspace holds at most five waves of blocks.
inline std::int64_t max_splits(std::int64_t tiles, std::int64_t steps, std::int64_t blocks) {
  return std::max<std::int64_t>(std::min({std::int64_t{64}, steps, 5 * blocks / tiles}), 1);
}
// Returns the modelled time of the waves of blocks, in steps: each wave takes its steps and one more to
// start; splits take three more to store and add the parts.
inline std::int64_t time_of(std::int64_t tiles, std::int64_t steps, std::int64_t splits,
                            std::int64_t blocks) {
  return ceil_div(tiles * splits, blocks) * (ceil_div(steps, splits) + 1) + (splits > 1 ? 3 : 0);
}

// Returns the plan whose splits minimize time_of(), or with `wanted` splits if that is not 0. Beyond one
// wave, splits have at least `min_steps` steps.
template <class Kernel>
FewRowsPlan plan_of_kernel(const typename Kernel::Problem& p, std::int64_t wanted, const Device& device) {
  constexpr std::int64_t min_steps = 8;
  const std::int64_t tiles = Kernel::tiles(p),
                     steps = std::max<std::int64_t>(ceil_div(p.k(), std::int64_t{Kernel::depth}), 1),
                     blocks = std::int64_t{device.multiprocessors} * Kernel::min_blocks_per_sm;
  FewRowsPlan out;
  std::int64_t best = wanted;
  if (wanted == 0)
    for (std::int64_t splits = 1; splits <= max_splits(tiles, steps, blocks); ++splits) {
      const bool allowed = splits == 1 || tiles * splits <= blocks || ceil_div(steps, splits) >= min_steps;
      const std::int64_t time = time_of(tiles, steps, splits, blocks);
      if (!allowed || time >= out.time) continue;
      best = splits;
      out.time = time;
    }
  const std::int64_t each = ceil_div(steps, tiles > max_split_tiles ? 1 : best);
  out.splits = static_cast<std::int32_t>(ceil_div(steps, each));
  out.chunk = each * Kernel::depth;
  if (out.splits > 1)
    out.bytes =
        counter_bytes + static_cast<std::size_t>(tiles * out.splits * Kernel::rows * Kernel::columns) *
                            sizeof(typename Kernel::Sum);
  return out;
}

// Returns the plan with the faster of one and four lines per warp; with one if splits are requested. Four
// lines, eight apart, must have equal offsets modulo 16 bytes.
template <class T>
FewRowsPlan plan_of(const GemmProblem<T>& p, int wanted, const Device& device) {
  const auto plan_with = [&](int lines) {
    const FewRowsConfig config = config_of<T>(p, lines);
    FewRowsPlan out =
        with_kernel<T>(config, [&]<class Kernel>() { return plan_of_kernel<Kernel>(p, wanted, device); });
    out.lines = lines;
    return out;
  };
  const FewRowsPlan one = plan_with(1);
  const bool equal_offsets = sizeof(T) > 1 || p.b.stride[1] % 2 == 0;
  if (wanted != 0 || p.m() > 1 || !config_of<T>(p).along_k || !equal_offsets) return one;
  const FewRowsPlan four = plan_with(4);
  return four.time < one.time ? four : one;
}

template <class T>
void launch_few_rows(const GemmProblem<T>& p, const FewRowsPlan& plan, Run& run) {
  char* const workspace = static_cast<char*>(run.workspace);
  const FewRowsArgs<T> args{p, plan.splits, plan.chunk,
                            reinterpret_cast<SumOf<T>*>(workspace + counter_bytes),
                            reinterpret_cast<std::uint32_t*>(workspace)};
  with_kernel<T>(config_of<T>(p, plan.lines), [&]<class Kernel>() { start<Kernel>(args, run); });
}

template <class T>
PreparedRun prepare_few_rows(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  const auto given = GemmArguments<T>::of(arguments);
  const auto p = few_rows_first<T>(given);
  if (p.m() == 0 || p.n() == 0) return {};
  const FewRowsPlan plan = plan_of<T>(p, tuning["splits"], device);
  return {.launch =
              [given, plan](std::span<void* const> arrays, Run& run) {
                launch_few_rows<T>(few_rows_first<T>(with_addresses(given, arrays)), plan, run);
              },
          .workspace_bytes = plan.bytes,
          .zeroed_bytes = std::min(plan.bytes, counter_bytes)};
}

// Known only if the number of splits is not left to the model, which depends on the device.
template <class T>
std::optional<Footprint> footprint_of_few_rows(const Arguments& arguments, const Tuning& tuning) {
  const auto p = few_rows_first<T>(GemmArguments<T>::of(arguments));
  if (tuning["splits"] == 0 || p.m() == 0 || p.n() == 0) return std::nullopt;
  const FewRowsPlan plan = plan_of<T>(p, tuning["splits"], {});
  return with_kernel<T>(config_of<T>(p, plan.lines), [&]<class Kernel>() {
    return Footprint{Kernel::tiles(p) * plan.splits, Kernel::threads, sizeof(typename Kernel::Shared),
                     registers<Kernel, FewRowsArgs<T>>()};
  });
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device& device) {
  const std::int64_t m = arguments.dim("m"), n = arguments.dim("n");
  const int most = with_element_type(arguments.element(), [&]<class T>() { return max_rows<T>; });
  if (std::min(m, n) > most)
    return "C has more than " + std::to_string(most) + (most == 1 ? " row and column" : " rows and columns");
  if (const Reason reason = exceeds_index_range(arguments)) return reason;
  constexpr std::int64_t bytes =
      std::max(sizeof(FewRows<float, FewRowsConfig{max_rows<float>, false, true}>::Shared),
               sizeof(FewRows<Bits16, FewRowsConfig{max_rows<Bits16>, false, false}>::Shared));
  if (bytes > device.max_shared_bytes)
    return "needs " + std::to_string(bytes) + " bytes of shared memory in a block";
  return std::nullopt;
}

Variant few_rows() {
  Choice choice;
  choice.ranges = {{.name = "splits", .first = 0, .last = 64, .value = 0}};
  for (const Element element :
       {Element::f32, Element::f64, Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8})
    with_element_type(element, [&]<class T>() {
      choice.prepare[element] = prepare_few_rows<T>;
#if !defined(__CUDACC__)
      choice.kernels[element] = typeid(FewRows<T, FewRowsConfig{.rows = is_narrow<T> ? 1 : 4}>).name();
#endif
    });
  bind_limits<Problem>(choice, Types<float, double>{});
  choice.refuses = refuses;
  choice.footprint = [](const Arguments& arguments, const Tuning& tuning) {
    return with_element_type(arguments.element(),
                             [&]<class T>() { return footprint_of_few_rows<T>(arguments, tuning); });
  };
  Variant out;
  out.idea = "few rows or columns: the large operand goes to registers once, and memory is the limit";
  out.where = kernels_run_on;
  out.choices.push_back(std::move(choice));
  return out;
}

#if defined(TESSERA_TRACED)
[[maybe_unused]] const bool registered = (register_traced(few_rows()), true);
#else
const Rung rung(few_rows());
#endif

}  // namespace TESSERA_UNIT
}  // namespace
}  // namespace tessera::matmul
