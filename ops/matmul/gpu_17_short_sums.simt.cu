// SPDX-License-Identifier: Apache-2.0
// GPU rung 17, too: sums of at most 64 products, and a C so large that writing it is the limit.
//
// A block walks along a row of tiles of C. The panel of A stays in shared memory all the way; the next tile's
// panel of B arrives while this tile is multiplied, and results leave while the next one is. Panels hold the
// whole sum: there is one barrier a tile, none a step of k. Rows of C need no alignment: what a store leaves
// of a sector of memory, the next store or the block's next tile fills while it is in the cache. Doubles are
// multiplied by tensor cores where there are any, to the same bits.
#include <algorithm>
#include <bit>
#include <typeinfo>
#include "ops/matmul/problem/operands.hpp"
#include "ops/matmul/kernels/simt/vectorized.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/overlapped_launch.cuh"
#include "tessera/cuda/ptx/cp_async.cuh"
#include "tessera/cuda/ptx/mma.cuh"
#endif

namespace tessera::matmul {
namespace {

inline namespace TESSERA_UNIT {

// An operand by its lines: rows of A, columns of B.
template <class T>
struct ShortLines {
  const T* data;
  std::int64_t lines, step, k_step;
  std::int32_t
      shift;  // log2 of the threads that bring a line, along k; -1: neighbours are of different lines
  bool wide;  // 16 bytes a thread
};

template <class T>
struct ShortSumsArgs {
  Problem<T> p;
  ShortLines<T> a, b;
  std::int32_t depth;       // k, and zeros up to what is multiplied at once
  std::int32_t wide;        // tiles of a row of them
  std::int32_t each, more;  // tiles of a block; of so many blocks, one more
  bool near;                // neighbours in rows of C, and of C0, are neighbours in memory
  bool lots;                // 16-byte stores reach those of C
};

// Tiles of `lines` rows and as many columns of C. A lane sums element (i, j), of row `row` + below(i) and of
// column `column` + beside(j), whose place in the panel of B is `place` + j · pitch. Strip after strip: so
// stores are spread over the time.
template <class T, int lines>
struct ShortSumsLane {
  static constexpr int rows = lines == 32 ? 8 : 16, columns = lines / 32, warps = lines / rows;
  static constexpr int strips = 1, strip = lines, pitch = 32, at_once = 4;
  static constexpr int blocks = lines == 128 ? 2 : lines == 64 ? 5 : 6;  // as registers allow
  int row, column, place;

  SIMT explicit ShortSumsLane(Thread thread)
      : row(thread.warp() * rows), column(thread.lane()), place(thread.lane()) {}
  SIMT static constexpr int below(int i) { return i; }
  SIMT static constexpr int beside(int j) { return 32 * j; }
  SIMT static constexpr int place_of(int column) { return column; }
};
// As tensor cores have them: lane 4·g + t has columns g and g + 8 of sixteen, where columns 2·g and 2·g + 1
// of C are put, and rows 2·t and 2·t + 1 of eight.
template <int lines>
struct ShortSumsLane<double, lines> {
  static constexpr int side = lines / 2, rows = side / 4, columns = 2, warps = 4;
  static constexpr int strips = side / 16, strip = 16, pitch = 8, at_once = 16;
  static constexpr int blocks = lines == 64 ? 4 : 6;
  int row, column, place;

  SIMT explicit ShortSumsLane(Thread thread)
      : row(thread.warp() / 2 * side + thread.lane() % 4 * 2),
        column(thread.warp() % 2 * side + thread.lane() / 4 * 2),
        place(thread.warp() % 2 * side + thread.lane() / 4) {}
  SIMT static constexpr int below(int i) { return i / 2 * 8 + i % 2; }
  SIMT static constexpr int beside(int j) { return j; }
  SIMT static constexpr int place_of(int column) {
    return column / 16 * 16 + column % 2 * 8 + column % 16 / 2;
  }
};

template <class T, int lines_, int most_depth>
struct ShortSums {
  static constexpr int lines = lines_;
  using Lane = ShortSumsLane<T, lines>;
  static constexpr int threads = 32 * Lane::warps, lot = Lot<T>::count;
  static constexpr int rows = Lane::rows, columns = Lane::columns;
  // Lots of lines that are read together lie in different banks.
  static constexpr int stride = most_depth + 4;

  struct Shared {
    alignas(16) T a[lines * stride];
    alignas(16) T b[2][lines * stride];
  };
  static constexpr int blocks_per_processor =
      std::min<int>(Lane::blocks, 227 * 1024 / (sizeof(Shared) + 1024));

  SIMT void operator()(Thread thread, Shared& shared, const ShortSumsArgs<T>& args) const {
    const int block = thread.block().x;
    const int first = block * args.each + (block < args.more ? block : args.more);
    int left = args.each + (block < args.more ? 1 : 0);
    int row = first / args.wide, column = first % args.wide;
    bring_a(thread, shared.a, args, row);
    bring_b(thread, shared.b[0], args, column);
    for (int turn = 0; left > 0; --left, turn ^= 1) {
      wait_for_copies();
      thread.sync();
      const bool last = column + 1 == args.wide;
      if (left > 1 && !last) bring_b(thread, shared.b[turn ^ 1], args, column + 1);
      SIMT_NO_UNROLL
      for (int strip = 0; strip < Lane::strips; ++strip) {
        Lane lane(thread);
        lane.column += strip * Lane::strip;
        lane.place += strip * Lane::strip;
        T sum[unsigned{rows}][unsigned{columns}];
        multiply_panels(thread, lane, shared.a, shared.b[turn], args.depth, sum);
        store(thread, args, std::int64_t{row} * lines + lane.row, std::int64_t{column} * lines + lane.column,
              sum);
      }
      ++column;
      if (left > 1 && last) {
        thread.sync();
        column = 0;
        bring_a(thread, shared.a, args, ++row);
        bring_b(thread, shared.b[turn ^ 1], args, column);
      }
    }
  }

 private:
  // Other blocks read it, too.
  template <int bytes>
  SIMT static void copy(Thread thread, T* to, const T* from) {
#if defined(__CUDA_ARCH__)
    (void)thread;
    cuda::ptx::copy_async<bytes, true>(to, from);
#else
    if constexpr (bytes == 16) thread.store16(to, thread.load16(from));
    else *to = *from;
#endif
  }
  SIMT static void wait_for_copies() {
#if defined(__CUDA_ARCH__)
    cuda::ptx::commit_copies();
    cuda::ptx::wait_for_copies<0>();
#endif
  }

  SIMT static void bring_a(Thread thread, T* panel, const ShortSumsArgs<T>& args, int tile_row) {
    bring(thread, panel, args.a, args, tile_row, [](int line) { return line; });
  }
  SIMT static void bring_b(Thread thread, T* panel, const ShortSumsArgs<T>& args, int tile_column) {
    bring(thread, panel, args.b, args, tile_column, [](int line) { return Lane::place_of(line); });
  }

  // Beyond the operand there are zeros.
  template <class PlaceOf>
  SIMT static void bring(Thread thread, T* panel, const ShortLines<T>& x, const ShortSumsArgs<T>& args,
                         int number, const PlaceOf& place_of) {
    const std::int64_t first = std::int64_t{number} * lines;
    const T* from = x.data + first * x.step;
    const int valid = x.lines - first < lines ? static_cast<int>(x.lines - first) : lines;
    const int k = static_cast<int>(args.p.k());
    if (x.shift < 0) {
      const int line = thread.rank() % lines;
      T* const to = panel + place_of(line) * stride;
      from += line * x.step;
      for (int l = thread.rank() / lines; l < args.depth; l += threads / lines) {
        if (line < valid && l < k) copy<sizeof(T)>(thread, to + l, from + l * x.k_step);
        else to[l] = T{0};
      }
      return;
    }
    const int l = (thread.rank() & ((1 << x.shift) - 1)) * (x.wide ? lot : 1);
    if (l >= args.depth) return;
    int line = thread.rank() >> x.shift;
    const int by = threads >> x.shift, there = l < k ? valid : 0;
    from += line * x.step + l * x.k_step;
    panel += l;
    const std::int64_t further = by * x.step;
    if (x.wide) {
      for (; line < lines; line += by, from += further) {
        T* const to = panel + place_of(line) * stride;
        if (line < there) copy<16>(thread, to, from);
        else thread.store16(to, Bytes16{});
      }
    } else {
      for (; line < lines; line += by, from += further) {
        T* const to = panel + place_of(line) * stride;
        if (line < there) copy<sizeof(T)>(thread, to, from);
        else *to = T{0};
      }
    }
  }

  SIMT static void multiply_panels(Thread thread, const Lane& lane, const T* a, const T* b, int depth,
                                   T (&sum)[unsigned{rows}][unsigned{columns}]) {
    SIMT_UNROLL
    for (int i = 0; i < rows; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < columns; ++j) sum[i][j] = T{0};
    }
    b += lane.place * stride;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 8) {
      multiply_by_tensor_cores(thread, lane, a, b, depth, sum);
      return;
    }
#endif
    a += lane.row * stride;
    SIMT_NO_UNROLL
    for (int l = 0; l < depth; l += lot) {
      Lot<T> of_b[columns];
      SIMT_UNROLL
      for (int j = 0; j < columns; ++j)
        of_b[j] = __builtin_bit_cast(Lot<T>, thread.load16(b + j * Lane::pitch * stride + l));
      SIMT_UNROLL
      for (int i = 0; i < rows; ++i) {
        const auto of_a = __builtin_bit_cast(Lot<T>, thread.load16(a + Lane::below(i) * stride + l));
        SIMT_UNROLL
        for (int e = 0; e < lot; ++e) {
          SIMT_UNROLL
          for (int j = 0; j < columns; ++j)
            sum[i][j] = multiply_add(of_a.element[e], of_b[j].element[e], sum[i][j]);
        }
      }
    }
  }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // The left factor is the columns of C.
  SIMT static void multiply_by_tensor_cores(Thread thread, const Lane& lane, const T* a, const T* b,
                                            int depth, T (&sum)[unsigned{rows}][unsigned{columns}]) {
    const int group = thread.lane() / 4, of_k = thread.lane() % 4;
    a += (lane.row - 2 * of_k + group) * stride + of_k;
    b += of_k;
#pragma unroll 1
    for (int l = 0; l < depth; l += 16) {
      T left[8];
#pragma unroll
      for (int q = 0; q < 8; ++q) left[q] = b[q % 2 * Lane::pitch * stride + q / 2 * 4 + l];
#pragma unroll
      for (int i = 0; i < rows; i += 2) {
        T right[4], sums[4] = {sum[i][0], sum[i + 1][0], sum[i][1], sum[i + 1][1]};
#pragma unroll
        for (int q = 0; q < 4; ++q) right[q] = a[Lane::below(i) * stride + 4 * q + l];
        cuda::ptx::mma_f64(sums, left, right);
        sum[i][0] = sums[0], sum[i + 1][0] = sums[1], sum[i][1] = sums[2], sum[i + 1][1] = sums[3];
      }
    }
  }
#endif

  // The row and column of C are those of the element that a lane has first.
  SIMT static void store(Thread thread, const ShortSumsArgs<T>& args, std::int64_t row, std::int64_t column,
                         T (&sum)[unsigned{rows}][unsigned{columns}]) {
    if (!args.near) store_apart(args.p, row, column, sum);
    else if (args.p.beta == T{0}) store_near<false>(thread, args, row, column, sum);
    else store_near<true>(thread, args, row, column, sum);
  }

  template <bool with_c0>
  SIMT static void store_near(Thread thread, const ShortSumsArgs<T>& args, std::int64_t row,
                              std::int64_t column, const T (&sum)[unsigned{rows}][unsigned{columns}]) {
    const Problem<T>& p = args.p;
    const int high = static_cast<int>(p.m() - row < lines ? p.m() - row : lines),
              wide = static_cast<int>(p.n() - column < lines ? p.n() - column : lines);
    T* const to = p.c.data + row * p.c.stride[0] + column;
    const T* const add = with_c0 ? p.c0.data + row * p.c0.stride[0] + column : nullptr;
    SIMT_UNROLL
    for (int i = 0; i < rows; ++i) {
      if (Lane::below(i) >= high) continue;
      T* const line = to + Lane::below(i) * p.c.stride[0];
      const auto value = [&](int j) {
        const T product = multiply(p.alpha, sum[i][j]);
        if constexpr (!with_c0) return product;
        else return multiply_add(p.beta, add[Lane::below(i) * p.c0.stride[0] + Lane::beside(j)], product);
      };
      if constexpr (sizeof(T) == 8)
        if (args.lots && wide > 1) {
          thread.store16(line, __builtin_bit_cast(Bytes16, Lot<T>{value(0), value(1)}));
          continue;
        }
      SIMT_UNROLL
      for (int j = 0; j < columns; ++j)
        if (Lane::beside(j) < wide) line[Lane::beside(j)] = value(j);
    }
  }

  // Elements of a row that are no neighbours in memory: nobody minds the time.
  SIMT static void store_apart(const Problem<T>& p, std::int64_t row, std::int64_t column,
                               T (&sum)[unsigned{rows}][unsigned{columns}]) {
    SIMT_NO_UNROLL
    for (int i = 0; i < rows; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < columns; ++j) {
        p.store(row + Lane::below(i), column + Lane::beside(j), sum[0][j]);
        SIMT_UNROLL
        for (int next = 1; next < rows; ++next) sum[next - 1][j] = sum[next][j];
      }
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

constexpr std::int64_t most_k = 64;

constexpr int tile_lines[] = {128, 64, 32};
template <class T>
constexpr int largest_tile = sizeof(T) == 4 ? 128 : 64;

// Calls use.template operator()<Kernel>() with the kernel of tiles of so many lines.
template <class T, int largest = largest_tile<T>, class Use>
auto with_short_sums(std::int64_t k, int lines, const Use& use) {
  if constexpr (largest > 32)
    if (lines < largest) return with_short_sums<T, largest / 2>(k, lines, use);
  return k <= most_k / 2 ? use.template operator()<ShortSums<T, largest, most_k / 2>>()
                         : use.template operator()<ShortSums<T, largest, most_k>>();
}

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// The largest tile of which there are enough for all multiprocessors; or as the tuning says.
template <class T>
int lines_of_tile(const Problem<T>& p, std::int64_t wanted, int processors) {
  if (wanted != 0) return std::min(tile_lines[wanted - 1], largest_tile<T>);
  const auto enough = [&](int lines, std::int64_t each) {
    return parts(p.m(), lines) * parts(p.n(), lines) >= each * processors;
  };
  if (enough(largest_tile<T>, 4)) return largest_tile<T>;
  return sizeof(T) == 4 && enough(64, 1) ? 64 : 32;
}

template <class Kernel, class T>
ShortLines<T> lines_of(const Matrix<const T>& x, int line, std::int64_t depth) {
  const int deep = 1 - line;
  ShortLines<T> out{x.data, x.extent[line], x.stride[line], x.stride[deep], -1, false};
  const bool along_k = x.extent[line] == 1 || out.k_step < out.step;
  if (!along_k) return out;
  out.wide =
      x.extent[deep] % Kernel::lot == 0 && lies_in_lots(out.data, out.k_step, out.lines == 1 ? 0 : out.step);
  const auto threads = static_cast<unsigned>(std::max<std::int64_t>(depth / (out.wide ? Kernel::lot : 1), 1));
  out.shift = std::bit_width(threads - 1);
  return out;
}

template <class Kernel>
constexpr std::int64_t blocks_of(std::int64_t tiles, int processors) {
  return std::min(tiles, std::int64_t{processors} * Kernel::blocks_per_processor);
}

template <class Kernel, class T>
ShortSumsArgs<T> args_of(const Problem<T>& p, int processors) {
  const std::int64_t depth = parts(p.k(), Kernel::Lane::at_once) * Kernel::Lane::at_once;
  const std::int64_t wide = parts(p.n(), Kernel::lines), tiles = parts(p.m(), Kernel::lines) * wide,
                     blocks = blocks_of<Kernel>(tiles, processors);
  return {.p = p,
          .a = lines_of<Kernel>(p.a, 0, depth),
          .b = lines_of<Kernel>(p.b, 1, depth),
          .depth = static_cast<std::int32_t>(depth),
          .wide = static_cast<std::int32_t>(wide),
          .each = static_cast<std::int32_t>(tiles / blocks),
          .more = static_cast<std::int32_t>(tiles % blocks),
          .near = p.c.stride[1] == 1 && (p.beta == T{0} || p.c0.stride[1] == 1),
          .lots = lies_in_lots(p.c.data, p.c.stride[1], p.m() == 1 ? 0 : p.c.stride[0])};
}

template <class Kernel, class T>
Launch launch_of(const ShortSumsArgs<T>& args, int processors) {
  const std::int64_t tiles = parts(args.p.m(), Kernel::lines) * args.wide;
  return {.grid = {blocks_of<Kernel>(tiles, processors)}, .block = {Kernel::threads}};
}

#if defined(__CUDACC__)
template <class Kernel, class T>
void start(const Launch& launch, const ShortSumsArgs<T>& args, Run& run) {
  launch_overlapped<Kernel>(launch, args, run);
}
template <class Kernel, class T>
std::optional<int> registers() {
  return overlapped_registers_of<Kernel, ShortSumsArgs<T>>();
}
#else
template <class Kernel, class T>
void start(const Launch& launch, const ShortSumsArgs<T>& args, Run& run) {
  launch_kernel<Kernel>(launch, args, run);
}
template <class Kernel, class T>
std::optional<int> registers() {
  return registers_of<Kernel, ShortSumsArgs<T>>();
}
#endif

template <class T>
void launch_short_sums(const Problem<T>& given, std::int64_t tile, Run& run) {
  const Problem<T> p = by_rows_of_c(given);
  if (p.m() == 0 || p.n() == 0) return;
  const int processors = run.device->processors;
  with_short_sums<T>(p.k(), lines_of_tile(p, tile, processors), [&]<class Kernel>() {
    const ShortSumsArgs<T> args = args_of<Kernel>(p, processors);
    start<Kernel>(launch_of<Kernel>(args, processors), args, run);
  });
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
  return with_short_sums<T>(p.k(), lines_of_tile(p, tuning["tile"], 1), [&]<class Kernel>() {
    const Launch launch = launch_of<Kernel>(args_of<Kernel>(p, 1), 1);
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
  return with_short_sums<T>(p.k(), lines_of_tile(p, tuning["tile"], device.processors), [&]<class Kernel>() {
    return static_cast<std::int64_t>(sizeof(typename Kernel::Shared));
  });
}

Reason refuses_long_sums(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  constexpr std::int64_t least_line = 32, most_tf32 = 16;
  if (arguments.dim("k") > most_k) return "the sums have more than " + std::to_string(most_k) + " products";
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
  choice.ranges = {{.name = "tile", .first = 0, .last = std::size(tile_lines), .value = 0}};
  const auto add = [&]<class T>() {
    choice.run[element_of<T>] = run_short_sums<T>;
    choice.prepare[element_of<T>] = prepare_short_sums<T>;
#if !defined(__CUDACC__)
    choice.kernels[element_of<T>] = typeid(ShortSums<T, 64, most_k>).name();
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
