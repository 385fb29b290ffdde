// SPDX-License-Identifier: Apache-2.0
// The kernel of rung 12, in four parts: the multiplied elements (MmaF64, MmaHalf), asynchronous copies into
// shared memory (MmaCopier), stores of sums to C or of partial sums to the workspace (store_sums,
// store_partial), and the mainloop (MmaTile).
#pragma once
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/kernels/split_k_reduction.cuh"
#include "ops/matmul/plans/mma_plan.hpp"
#include "ops/matmul/kernels/copy_part.cuh"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/cuda/ptx/cp_async.cuh"
#include "tessera/cuda/ptx/mma.cuh"

namespace tessera::matmul {

namespace ptx = cuda::ptx;

struct MmaF64 {
  using Element = double;
  using Sum = double;
  using Problem = matmul::Problem<double>;
  template <class Panel>
  using Loads = MmaLoads64<Panel>;
  static constexpr int bytes = 8;
  static constexpr auto& tiles = mma_f64_tiles;

  struct Fragment {
    double half[2][4];  // half[h][s]: line g of half h, step 4·s + t of k (lane = 4·g + t)
  };

  template <class Panel>
  static __device__ __forceinline__ void load(Fragment& to, const unsigned char* panel,
                                              const Loads<Panel>& loads, int fragment, int /*step*/) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int s = 0; s < 4; ++s)
        to.half[half][s] = *reinterpret_cast<const double*>(panel + loads.offset(fragment, half, s));
  }

  // `half`: the eight columns of b by which a is multiplied.
  static __device__ __forceinline__ void multiply(double (&d)[4], const Fragment& a, const Fragment& b,
                                                  int half) {
    const double both[8] = {a.half[0][0], a.half[1][0], a.half[0][1], a.half[1][1],
                            a.half[0][2], a.half[1][2], a.half[0][3], a.half[1][3]};
    ptx::mma_f64(d, both, b.half[half]);
  }

  static __device__ __forceinline__ double epilogue(const Problem& p, std::int64_t i, std::int64_t j,
                                                    double sum) {
    return p.scaled(i, j, sum);
  }
  static __device__ __forceinline__ void put(const Problem& p, std::int64_t i, std::int64_t j, double value) {
    p.c(i, j) = value;
  }
  static bool is_row_major(const Problem& p) { return p.c.stride[1] <= p.c.stride[0]; }
  // True if β = 0 and a warp's stores fill sectors of C: by pairs of doubles, or by eight lanes if the
  // operands' product is column-major in C.
  static bool from_registers(const Problem& p, bool column_major) {
    const bool pairs =
        p.c.stride[0] * p.c.stride[1] % 2 == 0 && reinterpret_cast<std::uintptr_t>(p.c.data) % 16 == 0;
    return p.beta == 0 && (p.c.stride[0] == 1 || p.c.stride[1] == 1) && (column_major || pairs);
  }
};

template <class Element_>
struct MmaHalf {
  using Element = Element_;
  using Sum = float;
  using Problem = MixedProblem;
  template <class Panel>
  using Loads = MmaLoads16<Panel>;
  static constexpr int bytes = 2;
  static constexpr auto& tiles = mma_half_tiles;

  struct Fragment {
    std::uint32_t r[4];
  };

  template <class Panel>
  static __device__ __forceinline__ void load(Fragment& to, const unsigned char* panel,
                                              const Loads<Panel>& loads, int fragment, int step) {
    ptx::ldmatrix_x4<Panel::along == Along::lines>(to.r, panel + loads.offset(fragment, step));
  }

  static __device__ __forceinline__ void multiply(float (&d)[4], const Fragment& a, const Fragment& b,
                                                  int half) {
    if constexpr (std::is_same_v<Element, __nv_bfloat16>) ptx::mma_bf16(d, a.r, b.r[half], b.r[half + 2]);
    else ptx::mma_f16(d, a.r, b.r[half], b.r[half + 2]);
  }

  // Applies the epilogue. C's element type has 16 bits or is f32; C0 and bias have the same.
  static __device__ __forceinline__ float epilogue(const Problem& p, std::int64_t i, std::int64_t j,
                                                   float sum) {
    const float scale_a = p.scale_a != nullptr && p.k != 0 ? p.scale_a[i * p.scale_a_stride] : 1.0f,
                scale_b = p.scale_b != nullptr && p.k != 0 ? p.scale_b[j * p.scale_b_stride] : 1.0f;
    float value = scaled_sum(p.alpha, scale_a, scale_b, sum);
    if (p.beta != 0) value += p.beta * read(p, p.c0.data, i * p.c0.row_stride + j * p.c0.col_stride);
    if (p.bias != nullptr) value += read(p, p.bias, i * p.bias_row_stride + j * p.bias_col_stride);
    return apply(p.post_op, value);
  }
  static __device__ __forceinline__ void put(const Problem& p, std::int64_t i, std::int64_t j, float value) {
    const std::int64_t at = i * p.c_row_stride + j * p.c_col_stride;
    if (p.c_element == tessera::Element::f32) static_cast<float*>(p.c)[at] = value;
    else if (p.c_element == tessera::Element::f16) static_cast<__half*>(p.c)[at] = __half(value);
    else static_cast<__nv_bfloat16*>(p.c)[at] = __nv_bfloat16(value);
  }
  static bool is_row_major(const Problem& p) { return p.c_col_stride <= p.c_row_stride; }
  static bool from_registers(const Problem&, bool) { return false; }

 private:
  static __device__ __forceinline__ float read(const Problem& p, const void* data, std::int64_t at) {
    if (p.c_element == tessera::Element::f32) return static_cast<const float*>(data)[at];
    if (p.c_element == tessera::Element::f16) return static_cast<float>(static_cast<const __half*>(data)[at]);
    return static_cast<float>(static_cast<const __nv_bfloat16*>(data)[at]);
  }
};

// --- Copies ---

// An operand as lines: rows of A, columns of B.
template <class Element>
struct MmaOperand {
  const Element* data;
  std::int64_t lines, line_stride, k_stride;
  bool in_pieces;  // it can be copied in 16-byte pieces along its panel's contiguous dimension
};

template <class Kind>
MmaOperand<typename Kind::Element> operand_of(const MmaMatrixRef& x, std::int64_t k) {
  using Element = typename Kind::Element;
  return {static_cast<const Element*>(x.data), x.lines, x.line_stride, x.k_stride,
          x.has_aligned_lines(Kind::bytes, k) && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0};
}

// Copies an operand into shared memory, one stage a call; each thread copies its part. Pieces of 16 bytes are
// copied if the operand's layout allows, else single elements: doubles asynchronously, 16-bit elements
// through registers.
template <class Kind, class Panel, int threads>
class MmaCopier {
  using Element = typename Kind::Element;
  using ThreadMap = MmaThreadMap<Panel, threads>;
  static constexpr bool along_k = Panel::along == Along::k;
  static constexpr int bytes = Kind::bytes;

 public:
  // `thread`: index among the threads that copy this panel.
  __device__ MmaCopier(const MmaOperand<Element>& x, int thread, std::int64_t first_line,
                       std::int64_t first_k)
      : x_(x) {
    // One thread copies all elements of a piece of 16-bit elements, even one by one.
    const auto own = ThreadMap::first(thread, x.in_pieces || bytes == 2 ? Panel::piece : 1);
    row_ = own.row;
    at_ = own.at;
    smem_offset_ = Panel::offset_in_row(row_, at_);
    const std::int64_t line = first_line + (along_k ? row_ : at_), k = first_k + (along_k ? at_ : row_);
    const std::int64_t left = x.lines - line;
    lines_left_ = left > 1 << 20 ? 1 << 20 : static_cast<int>(left);
    next_ = x.data + line * x.line_stride + k * x.k_stride;
  }

  // `k_left`: the number of steps of k from this stage to the end. Lines beyond the operand need not be
  // copied, because their results are not stored. `in_pieces`: both operands are copied in pieces.
  template <bool in_pieces>
  __device__ __forceinline__ void copy(unsigned char* panel, int k_left) {
    // From the thread's first line to its last one, or to the end of the piece.
    constexpr int own_lines =
        along_k ? (ThreadMap::passes(Panel::piece) - 1) * ThreadMap::step(Panel::piece) + 1 : Panel::piece;
    const bool full_stage = k_left >= Panel::depth;
    if (!in_pieces && !(bytes == 2 && x_.in_pieces)) {
      copy_single(panel, k_left);
    } else if (full_stage && lines_left_ >= own_lines) {
      copy_pieces<true>(panel, k_left);
    } else if (full_stage && along_k) {
      copy_lines(panel);
    } else if (along_k || lines_left_ > 0) {
      copy_pieces<false>(panel, k_left);
    }
    next_ += Panel::depth * x_.k_stride;
  }

 private:
  // Returns the number of a piece's elements that exist.
  __device__ __forceinline__ int valid(int pass, int step, int k_left, int unit) const {
    const int rows = (along_k ? lines_left_ : k_left - row_) - pass * step;
    const int width = along_k ? k_left - at_ : lines_left_;
    return rows <= 0 || width <= 0 ? 0 : width < unit ? width : unit;
  }
  __device__ __forceinline__ std::int64_t row_step(int step) const {
    return step * (along_k ? x_.line_stride : x_.k_stride);
  }

  template <bool interior>
  __device__ __forceinline__ void copy_pieces(unsigned char* panel, int k_left) const {
    constexpr int step = ThreadMap::step(Panel::piece);
    const Element* from = next_;
#pragma unroll interior ? ThreadMap::passes(Panel::piece) : 1
    for (int i = 0; i < ThreadMap::passes(Panel::piece); ++i, from += row_step(step)) {
      unsigned char* const to = panel + Panel::advance_rows(smem_offset_, i * step);
      if constexpr (interior) {
        ptx::cp_async<16>(to, from);
      } else {
        const int count = valid(i, step, k_left, Panel::piece);
        if constexpr (bytes > 2)
          copy_part<Panel::piece>(reinterpret_cast<Element*>(to), from, x_.data, count);
        else if (count % Panel::piece == 0) ptx::cp_async<16>(to, count > 0 ? from : x_.data, count * bytes);
        else gather(to, from, count);
      }
    }
  }

  __device__ __forceinline__ void copy_lines(unsigned char* panel) const {
    constexpr int step = ThreadMap::step(Panel::piece);
    const Element* from = next_;
#pragma unroll
    for (int i = 0; i < ThreadMap::passes(Panel::piece); ++i, from += row_step(step))
      ptx::cp_async_if(i * step < lines_left_, panel + Panel::advance_rows(smem_offset_, i * step), from);
  }

  __device__ __forceinline__ void copy_single(unsigned char* panel, int k_left) const {
    constexpr int unit = bytes == 2 ? Panel::piece : 1, step = ThreadMap::step(unit);
    const Element* from = next_;
#pragma unroll along_k ? ThreadMap::passes(unit) : 2
    for (int i = 0; i < ThreadMap::passes(unit); ++i, from += row_step(step)) {
      unsigned char* const to = panel + Panel::advance_rows(smem_offset_, i * step);
      const int count = valid(i, step, k_left, unit);
      if constexpr (unit == 1) ptx::cp_async<bytes>(to, count > 0 ? from : x_.data, count * bytes);
      else gather(to, from, count);
    }
  }

  __device__ __forceinline__ void gather(unsigned char* to, const Element* from, int count) const {
    const std::int64_t step = along_k ? x_.k_stride : x_.line_stride;
    Element piece[Panel::piece];
#pragma unroll
    for (int e = 0; e < Panel::piece; ++e) piece[e] = e < count ? from[e * step] : Element(0.0f);
    uint4 words;
    std::memcpy(&words, piece, sizeof words);
    *reinterpret_cast<uint4*>(to) = words;
  }

  const MmaOperand<Element>& x_;  // in the kernel's arguments
  const Element* next_;
  int row_, at_, smem_offset_;  // position of the thread's first unit
  int lines_left_;              // from there on
};

// --- Arguments ---

template <class Kind>
struct MmaArgs {
  typename Kind::Problem p;  // the problem, for the epilogue
  MmaOperand<typename Kind::Element> a, b;
  std::int64_t k;
  bool transposed;      // true: C(j, i) is the product of the operands' row i and column j
  bool column_major;    // columns of the operands' product are contiguous in C
  bool from_registers;  // results need not pass through shared memory
  TileOrder order;
  std::int32_t k_stages, split_k_stages;  // in all, and per split
  typename Kind::Sum* partials;  // split-K: a slot for each unit of the order (split_k_reduction.cuh)
  TileScheduler scheduler;       // `order` with its divisions precomputed; costs registers
};

// A kernel's arguments, and the parameters of its instantiation: the tile and the operands' contiguous
// dimensions.
template <class Kind>
struct MmaLaunch {
  MmaArgs<Kind> args;
  int tile;
  Along a, b;
};

template <class Kind>
MmaLaunch<Kind> launch_of(const typename Kind::Problem& p, const MmaJob& job, void* workspace) {
  const MmaMatrixRef &a = job.left(), &b = job.right();
  const MmaPlan& plan = job.plan;
  MmaOperand<typename Kind::Element> of_a = operand_of<Kind>(a, job.k), of_b = operand_of<Kind>(b, job.k);
  // Doubles are copied in pieces for both operands or for neither: two loops instead of four.
  if (Kind::bytes > 2) of_a.in_pieces = of_b.in_pieces = of_a.in_pieces && of_b.in_pieces;
  const MmaArgs<Kind> args{.p = p,
                           .a = of_a,
                           .b = of_b,
                           .k = job.k,
                           .transposed = job.transposed,
                           .column_major = Kind::is_row_major(p) == job.transposed,
                           .from_registers = Kind::from_registers(p, Kind::is_row_major(p) == job.transposed),
                           .order = plan.order,
                           .k_stages = plan.k_stages,
                           .split_k_stages = plan.split_k_stages,
                           .partials = static_cast<typename Kind::Sum*>(workspace),
                           .scheduler = plan.order};
  return {args, plan.tile, a.along(), b.along()};
}

// --- Stores ---

// A lane's accumulators for its warp's tile.
template <class Kind, int row_fragments_, int col_fragments_>
struct MmaSums {
  using Sum = typename Kind::Sum;
  static constexpr int row_fragments = row_fragments_, col_fragments = col_fragments_,
                       count = row_fragments * col_fragments * 8;
  Sum of_half[row_fragments][col_fragments][2][4];

  __device__ __forceinline__ Sum (&of(int i, int j, int half))[4] { return of_half[i][j][half]; }
  __device__ __forceinline__ Sum& at(int i) {
    return of_half[i / (col_fragments * 8)][i / 8 % col_fragments][i / 4 % 2][i % 4];
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < count; ++i) at(i) = 0;
  }
};

// The tiles of C as SplitKReduction needs them.
template <class Kind>
struct MmaPartials {
  using Sum = typename Kind::Sum;
  MmaArgs<Kind> args;
  const Sum* partials;
  std::int32_t rows, cols;

  std::int64_t tiles() const { return std::int64_t{args.order.rows} * args.order.cols; }
  SIMT TileOrder::Tile tile(int i) const { return args.order.at(i * args.order.splits); }
  SIMT PartialSlots slots(int i) const { return {std::int64_t{i} * args.order.splits, args.order.splits}; }
  SIMT bool contains(std::int64_t row, std::int64_t col) const {
    return row < args.a.lines && col < args.b.lines;
  }
  __device__ __forceinline__ void store(std::int64_t row, std::int64_t col, Sum sum) const {
    const std::int64_t i = args.transposed ? col : row, j = args.transposed ? row : col;
    Kind::put(args.p, i, j, Kind::epilogue(args.p, i, j, sum));
  }
};

template <class Kind>
MmaPartials<Kind> partials_of(const MmaLaunch<Kind>& launch) {
  const MmaConfig& tile = Kind::tiles[launch.tile];
  return {launch.args, launch.args.partials, tile.rows, tile.cols};
}

template <class Sum>
struct alignas(2 * sizeof(Sum)) MmaPair {
  Sum first, second;
};
// Calls put(row, col, both) for each pair of accumulators that are neighbours in a row of the warp's tile.
template <class Sums, class Put>
__device__ __forceinline__ void each_pair(Sums& sums, int lane, const Put& put) {
#pragma unroll
  for (int i = 0; i < Sums::row_fragments; ++i)
#pragma unroll
    for (int j = 0; j < Sums::col_fragments; ++j)
#pragma unroll
      for (int below = 0; below < 2; ++below)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const RowAndCol at = mma_result(lane, half, below);
          put(i * 16 + at.row, j * 16 + at.col,
              MmaPair<typename Sums::Sum>{sums.of(i, j, half)[2 * below],
                                          sums.of(i, j, half)[2 * below + 1]});
        }
}

// Stores a warp's partial sums; `to` is the address of its tile in the block's slot.
template <MmaConfig config, class Sums>
__device__ __forceinline__ void store_partial(typename Sums::Sum* to, Sums& sums, int lane) {
  using Pair = MmaPair<typename Sums::Sum>;
  each_pair(sums, lane, [&](int row, int col, const Pair& both) {
    *reinterpret_cast<Pair*>(to + row * config.cols + col) = both;
  });
}

// Stores a warp's accumulators to shared memory, at (first_row, first_col) of a staged rows × cols tile,
// row-major or column-major.
template <int rows, int cols, class Sums>
__device__ __forceinline__ void stage_sums(unsigned char* to, Sums& sums, int lane, bool column_major,
                                           int first_row = 0, int first_col = 0) {
  using Sum = typename Sums::Sum;
  using Pair = MmaPair<Sum>;
  if (!column_major) {
    each_pair(sums, lane, [&](int row, int col, const Pair& both) {
      *reinterpret_cast<Pair*>(to + mma_result_offset<sizeof(Sum), cols>(first_row + row, first_col + col)) =
          both;
    });
  } else {
    each_pair(sums, lane, [&](int row, int col, const Pair& both) {
      const int offset = mma_column_offset<sizeof(Sum), rows>(first_row + row, first_col + col);
      *reinterpret_cast<Sum*>(to + offset) = both.first;
      *reinterpret_cast<Sum*>(to + offset + mma_column_offset<sizeof(Sum), rows>(0, 1)) = both.second;
    });
  }
}

// Stores elements [first, min(first + unrolled, end)) of line c of the tile at (row, col). Line c is a column
// of the operands' product or, with column_major, a row. sum(r, c) returns the r-th element of line c.
template <int unrolled, bool column_major, class Kind, class SumAt>
__device__ __forceinline__ void store_line(const MmaArgs<Kind>& args, std::int64_t row, std::int64_t col,
                                           int first, int end, int c, const SumAt& sum) {
  const auto with_index = [&](int r, const auto& use) {
    const std::int64_t i = row + (column_major ? c : r), j = col + (column_major ? r : c);
    use(args.transposed ? j : i, args.transposed ? i : j);
  };
  // All are read before the first is written, because the compiler cannot know that they do not alias.
  typename Kind::Sum value[unrolled] = {};
#pragma unroll
  for (int e = 0; e < unrolled; ++e) {
    const int r = first + e;
    if (r < end)
      with_index(r,
                 [&](std::int64_t i, std::int64_t j) { value[e] = Kind::epilogue(args.p, i, j, sum(r, c)); });
  }
#pragma unroll
  for (int e = 0; e < unrolled; ++e) {
    const int r = first + e;
    if (r < end) with_index(r, [&](std::int64_t i, std::int64_t j) { Kind::put(args.p, i, j, value[e]); });
  }
}

// The part of a tile that is inside the product.
struct MmaExtent {
  int rows, cols;
};
template <int rows, int cols, class Kind>
__device__ __forceinline__ MmaExtent extent_of(const MmaArgs<Kind>& args, std::int64_t row,
                                               std::int64_t col) {
  const std::int64_t below = args.a.lines - row, right = args.b.lines - col;
  return {below < rows ? static_cast<int>(below) : rows, right < cols ? static_cast<int>(right) : cols};
}

// Stores the warp's tile, at (row, col) of the operands' product, through shared memory for coalesced stores.
template <MmaConfig config, class Kind, class Sums>
__device__ __forceinline__ void store_sums(const MmaArgs<Kind>& args, unsigned char* memory, Sums& sums,
                                           std::int64_t row, std::int64_t col, int warp, int lane) {
  using Sum = typename Kind::Sum;
  constexpr int rows = config.warp_rows, cols = config.warp_cols, bytes = sizeof(Sum), unrolled = 32 / bytes;
  unsigned char* const own = memory + warp * mma_result_bytes<bytes, rows, cols>();
  stage_sums<rows, cols>(own, sums, lane, args.column_major);
  __syncwarp();
  const auto [valid_rows, valid_cols] = extent_of<rows, cols>(args, row, col);
  if (!args.column_major) {
    const auto sum = [own](int r, int c) {
      return *reinterpret_cast<const Sum*>(own + mma_result_offset<bytes, cols>(r, c));
    };
    for (int c = lane; c < valid_cols; c += 32)
      for (int r = 0; r < valid_rows; r += unrolled)
        store_line<unrolled, false>(args, row, col, r, valid_rows, c, sum);
    return;
  }
  const auto sum = [own](int c, int r) {
    return *reinterpret_cast<const Sum*>(own + mma_column_offset<bytes, rows>(r, c));
  };
  constexpr int lanes = rows < 32 ? rows : 32, beside = 32 / lanes;  // columns at once
  for (int r = lane % lanes; r < valid_rows; r += lanes)
    for (int c = lane / lanes * unrolled; c < valid_cols; c += beside * unrolled)
      store_line<unrolled, true>(args, row, col, c, valid_cols, r, sum);
}

// Stores doubles, to which only α is applied, from registers: each store writes full sectors. `two`: two
// neighbours in a row of the operands' product are contiguous in C, and are stored at once.
template <bool two, MmaConfig config, class Sums>
__device__ __forceinline__ void store_from_registers(const MmaArgs<MmaF64>& args, Sums& sums,
                                                     std::int64_t row, std::int64_t col, int lane) {
  const auto [valid_rows, valid_cols] = extent_of<config.warp_rows, config.warp_cols>(args, row, col);
  const auto& c = args.p.c;
  const std::int64_t down = c.stride[args.transposed ? 1 : 0], across = c.stride[args.transposed ? 0 : 1];
  const RowAndCol own = mma_result(lane, 0, 0);
  double* at = c.data + (row + own.row) * down + (col + own.col) * across;
  const double alpha = args.p.alpha;
#pragma unroll
  for (int r = 0; r < config.warp_rows; r += 8, at += 8 * down) {
    if (own.row + r >= valid_rows) return;
    double* here = at;
#pragma unroll
    for (int c8 = 0; c8 < config.warp_cols; c8 += 8, here += 8 * across) {
      double(&sum)[4] = sums.of(r / 16, c8 / 16, c8 / 8 % 2);
      const double first = multiply(alpha, sum[r / 8 % 2 * 2]),
                   second = multiply(alpha, sum[r / 8 % 2 * 2 + 1]);
      const int left = valid_cols - own.col - c8;
      if (two && left > 1) {
        *reinterpret_cast<MmaPair<double>*>(here) = {first, second};
      } else {
        if (left > 0) *here = first;
        if (left > 1) here[across] = second;
      }
    }
  }
}

// Adds the slices' sums in order, and stores the block's tile. `sums`: this warp's, at (own_row, own_col) of
// the tile, for this slice. `memory`: this slice's. `partial`: the slot for a partial sum; null: stores to C.
template <MmaConfig config, class Kind, class Sums>
__device__ __forceinline__ void store_slices(const MmaArgs<Kind>& args, unsigned char* memory, int slice,
                                             Sums& sums, int own_row, int own_col, std::int64_t row,
                                             std::int64_t col, int lane, typename Kind::Sum* partial) {
  using Sum = typename Kind::Sum;
  constexpr int rows = config.rows, cols = config.cols, bytes = sizeof(Sum), unrolled = 32 / bytes;
  constexpr int apart = config.slice_bytes();
  static_assert(mma_result_bytes<bytes, rows, cols>() <= config.slice_bytes());
  const bool column_major = args.column_major && partial == nullptr;
  stage_sums<rows, cols>(memory, sums, lane, column_major, own_row, own_col);
  const unsigned char* const all = memory - slice * apart;
  __syncthreads();
  const auto [valid_rows, valid_cols] = extent_of<rows, cols>(args, row, col);
  const int me = static_cast<int>(threadIdx.x);
  const auto added = [all](int offset) {
    Sum out = *reinterpret_cast<const Sum*>(all + offset);
#pragma unroll
    for (int i = 1; i < config.slices; ++i) out += *reinterpret_cast<const Sum*>(all + offset + i * apart);
    return out;
  };
  if (partial != nullptr) {
#pragma unroll
    for (int at = me; at < rows * cols; at += config.threads())
      partial[at] = added(mma_result_offset<bytes, cols>(at / cols, at % cols));
    return;
  }
  // Each thread stores along one row or column of C; neighbouring threads take neighbouring ones.
  const auto put_lines = [&]<bool column_major>(int lines, int valid, const auto& sum) {
    constexpr int across = column_major ? rows : cols, along = column_major ? cols : rows,
                  beside = config.threads() / across;
    static_assert(config.threads() % across == 0 && along % unrolled == 0);
    const int line = me % across;
    if (line >= lines) return;
#pragma unroll 2
    for (int at = me / across * unrolled; at < valid; at += beside * unrolled)
      store_line<unrolled, column_major>(args, row, col, at, valid, line, sum);
  };
  if (!column_major)
    put_lines.template operator()<false>(
        valid_cols, valid_rows, [&](int r, int c) { return added(mma_result_offset<bytes, cols>(r, c)); });
  else
    put_lines.template operator()<true>(
        valid_rows, valid_cols, [&](int c, int r) { return added(mma_column_offset<bytes, rows>(r, c)); });
}

// The kernel of rung 12: asynchronous copies fill a ring of stages in shared memory. Each warp computes its
// tile fragment by fragment, and loads the next fragment while the tensor cores multiply this one.
template <class Kind_, MmaConfig config_, Along along_a, Along along_b>
struct MmaTile {
  using Kind = Kind_;
  static constexpr MmaConfig config = config_;
  static constexpr int threads = config.threads(), slice_threads = config.slice_threads(),
                       stages = config.stages;
  static constexpr int row_fragments = config.warp_rows / 16, col_fragments = config.warp_cols / 16;
  using PanelA = MmaPanel<Kind::bytes, config.rows, along_a>;
  using PanelB = MmaPanel<Kind::bytes, config.cols, along_b>;
  using CopierA = MmaCopier<Kind, PanelA, slice_threads>;
  using CopierB = MmaCopier<Kind, PanelB, slice_threads>;
  static constexpr int depth = PanelA::depth, steps = depth / 16;
  static constexpr int stage_bytes = PanelA::size + PanelB::size, ahead = stages - 1;
  using Sums = MmaSums<Kind, row_fragments, col_fragments>;
  static_assert(stages >= 3 && stages * stage_bytes == config.slice_bytes());
  static_assert(config.slice_threads() / 32 *
                    mma_result_bytes<sizeof(typename Kind::Sum), config.warp_rows, config.warp_cols>() <=
                config.slice_bytes());
  // A slice of one warp needs only __syncwarp(). Slices of several warps meet at __syncthreads(), so all must
  // run the same number of stages, even past their own end.
  static constexpr bool is_single_warp = config.slices > 1 && slice_threads == 32;

  const MmaArgs<Kind>& args;
  unsigned char* const block_memory;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int thread = static_cast<int>(threadIdx.x) % slice_threads;
  const int slice = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / slice_threads, 0);
  unsigned char* const memory = block_memory + slice * config.slice_bytes();
  const int warp = __shfl_sync(0xffffffffu, thread / 32, 0);  // uniform in the warp
  const int row =
      warp / config.warps_across() * config.warp_rows;  // position of the warp's tile in the block's
  const int col = warp % config.warps_across() * config.warp_cols;
  const typename Kind::template Loads<PanelA> loads_a{row, lane};
  const typename Kind::template Loads<PanelB> loads_b{col, lane};

  static __device__ __forceinline__ void sync() {
    if constexpr (is_single_warp) __syncwarp();
    else __syncthreads();
  }

  __device__ __forceinline__ void load_a(typename Kind::Fragment& a, const unsigned char* stage, int step,
                                         int i) const {
    Kind::template load<PanelA>(a, stage, loads_a, i, step);
  }
  __device__ __forceinline__ void load_b(typename Kind::Fragment& b, const unsigned char* stage, int step,
                                         int j) const {
    Kind::template load<PanelB>(b, stage + PanelA::size, loads_b, j, step);
  }

  // The position in the ring, and in k.
  struct Progress {
    const unsigned char* reading;
    unsigned char *writing, *end;
    int left, k_left;  // stages to multiply; steps of k that are not yet copied
  };

  // Multiplies `count` stages. While one is multiplied, up to stages - 1 others are in flight. Copies in
  // pieces and copies of elements are two instantiations, whose loops are short.
  template <bool in_pieces>
  __device__ __forceinline__ void mainloop(Sums& sums, CopierA& from_a, CopierB& from_b, int k_left,
                                           int count) const {
    for (int s = 0; s < ahead; ++s) {
      if (s < count) {
        from_a.template copy<in_pieces>(memory + s * stage_bytes, k_left);
        from_b.template copy<in_pieces>(memory + s * stage_bytes + PanelA::size, k_left);
      }
      ptx::cp_async_commit_group();
      k_left -= depth;
    }
    ptx::cp_async_wait_group<ahead - 1>();
    sync();
    typename Kind::Fragment a, b[col_fragments];
    Progress at{memory, memory + ahead * stage_bytes, memory + stages * stage_bytes, count, k_left};
    load_a(a, at.reading, 0, 0);
#pragma unroll
    for (int j = 0; j < col_fragments; ++j) load_b(b[j], at.reading, 0, j);
    for (; at.left > 0; --at.left) multiply_stage<in_pieces>(sums, a, b, from_a, from_b, at);
    ptx::cp_async_wait_group<0>();
    sync();  // the ring is free for the results
  }

  // Multiplies A's fragments in turn, and meanwhile loads A's next one from shared memory; during the last,
  // the next stage's first ones. B's fragments are double-buffered: a load into registers that an mma still
  // reads would wait for it. Copies are issued between products, where they cost no time.
  template <bool in_pieces>
  __device__ __forceinline__ void multiply_stage(Sums& sums, typename Kind::Fragment& a,
                                                 typename Kind::Fragment (&b)[col_fragments], CopierA& from_a,
                                                 CopierB& from_b, Progress& at) const {
    constexpr int fragments = steps * row_fragments, last = fragments - 1;
#pragma unroll
    for (int fragment = 0; fragment < fragments; ++fragment) {
      if (fragment == last) {  // all fragments of this stage have been loaded: advance
        ptx::cp_async_wait_group<fragments == 1 ? ahead - 2 : ahead - 1>();
        sync();
        at.reading = at.reading + stage_bytes == at.end ? memory : at.reading + stage_bytes;
      }
      const int next = (fragment + 1) % fragments;
      const bool next_step = next % row_fragments == 0;
      typename Kind::Fragment next_a, next_b[col_fragments];
      load_a(next_a, at.reading, next / row_fragments, next % row_fragments);
      if (next_step) {
#pragma unroll
        for (int j = 0; j < col_fragments; ++j) load_b(next_b[j], at.reading, next / row_fragments, j);
      }
#pragma unroll
      for (int j = 0; j < col_fragments; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
          Kind::multiply(sums.of(fragment % row_fragments, j, half), a, b[j], half);
        // The previous stage is free, because all threads have finished reading it.
        if (j == 0 && fragment == 0 && at.left > ahead)
          from_a.template copy<in_pieces>(at.writing, at.k_left);
        if (fragment == (fragments > 2 ? 1 : 0) && j == (fragments > 2 ? 0 : col_fragments - 1)) {
          if (at.left > ahead) from_b.template copy<in_pieces>(at.writing + PanelA::size, at.k_left);
          ptx::cp_async_commit_group();
          at.k_left -= depth;
          at.writing = at.writing + stage_bytes == at.end ? memory : at.writing + stage_bytes;
        }
      }
      a = next_a;
      if (next_step) {
#pragma unroll
        for (int j = 0; j < col_fragments; ++j) b[j] = next_b[j];
      }
    }
  }

  __device__ __forceinline__ void store(Sums& sums, std::int64_t first_row, std::int64_t first_col) const {
    if constexpr (std::is_same_v<Kind, MmaF64>)
      if (args.from_registers) {
        if (args.column_major) store_from_registers<false, config>(args, sums, first_row, first_col, lane);
        else store_from_registers<true, config>(args, sums, first_row, first_col, lane);
        return;
      }
    store_sums<config>(args, memory, sums, first_row, first_col, warp, lane);
  }

  __device__ __forceinline__ void run() const {
    // Tiles without slices, whose registers are full, took 7 % longer with the scheduler.
    const auto unit = static_cast<std::int32_t>(blockIdx.x);
    const TileOrder::Tile tile = config.slices > 1 ? args.scheduler.at(unit) : args.order.at(unit);
    const std::int64_t first_row = std::int64_t{tile.row} * config.rows,
                       first_col = std::int64_t{tile.col} * config.cols;
    // The number of stages for each slice of this split.
    const std::int32_t slice_stages = (args.split_k_stages + config.slices - 1) / config.slices;
    const std::int32_t first = tile.split * args.split_k_stages,
                       end = min(first + args.split_k_stages, args.k_stages);
    const std::int64_t first_stage = std::int64_t{first} + slice * slice_stages;
    const std::int64_t left = end - first_stage;
    const int count = is_single_warp || config.slices == 1
                          ? static_cast<int>(min(left, std::int64_t{slice_stages}))
                          : slice_stages;
    Sums sums;
    sums.clear();
    if (count > 0) {
      CopierA from_a(args.a, thread, first_row, first_stage * depth);
      CopierB from_b(args.b, thread, first_col, first_stage * depth);
      const auto k_left = static_cast<int>(min(args.k - first_stage * depth, left * depth));
      if (args.a.in_pieces && args.b.in_pieces) mainloop<true>(sums, from_a, from_b, k_left, count);
      else mainloop<false>(sums, from_a, from_b, k_left, count);
    }
    typename Kind::Sum* const partial =
        args.order.splits > 1 ? args.partials + std::int64_t{unit} * (config.rows * config.cols) : nullptr;
    if constexpr (config.slices > 1)
      store_slices<config>(args, memory, slice, sums, row, col, first_row, first_col, lane, partial);
    else if (partial != nullptr) store_partial<config>(partial + row * config.cols + col, sums, lane);
    else store(sums, first_row + row, first_col + col);
  }
};

}  // namespace tessera::matmul
