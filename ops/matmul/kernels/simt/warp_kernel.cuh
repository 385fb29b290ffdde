// SPDX-License-Identifier: Apache-2.0
// The kernel of rung 11, in four parts: the panels (their copies to shared memory, and the offsets at which
// threads read them), the arguments, the mainloop with its stores, and the launch (orientation, tile, access
// to each operand). Panels of A and B are copied to shared memory asynchronously while earlier ones are
// multiplied; each step along k is an outer product of register fragments; a second kernel adds the partial
// sums of stream-K.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>
#include "ops/matmul/kernels/split_k_reduction.cuh"
#include "ops/matmul/kernels/copy_part.cuh"
#include "ops/matmul/plans/warp_plan.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/transposed.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/core/operation/variant.hpp"
#include "tessera/cuda/ptx/cp_async.cuh"

namespace tessera::matmul {

inline namespace TESSERA_UNIT {

// A block's access to a panel, which has k as its slow dimension in shared memory, except for a LinesPanel.
enum class Access {
  along_k,   // along k, whose stride is 1: element by element, transposed on the way; or by a LinesPanel
  along_mn,  // element by element, neighbouring lanes along m or n, whatever the strides
  vector,    // 16 bytes at a time along m or n, whose stride is 1; all rows are aligned
};

// A panel is `width` lines by config.depth steps of k of one operand. Each kind of panel defines how a thread
// copies its share of a stage, in `units` that may be interleaved with other work, and the offset at which it
// reads. `inner`: no copy has a partial size; a LinesPanel skips lines beyond the operand.

template <class T, WarpTilesConfig config, int width, Access access>
class Panel {
  static constexpr int vector = 16 / sizeof(T);
  static constexpr int unit = access == Access::vector ? vector : 1;  // elements per copy
  // The arrangement of the threads over the panel: `wide` along its lines, `deep` along k.
  static constexpr int threads = config.slice_threads();
  static constexpr int wide = width / unit < threads ? width / unit : threads;
  static constexpr int deep = threads / wide;
  static_assert(wide * deep == threads && width == wide * unit && config.depth % deep == 0);

 public:
  // 16 bytes of padding per row spread a column of eight over all banks.
  using Stage = T[config.depth][width + vector];
  struct ThreadOffset {
    int first;  // the thread's first row or column
  };
  static constexpr int units = config.depth / deep;

  // From row or column `first` of `extent` on, and from step first_k on. If units do not straddle the
  // operand's edge, those beyond it repeat the last one; their results are not stored.
  __device__ Panel(int thread, const T* data, std::int64_t first, std::int64_t extent, std::int64_t stride,
                   std::int64_t first_k, std::int64_t stride_k)
      : k_(thread / wide),
        mn_(thread % wide * unit),
        left_(extent - first - mn_),
        all_(extent % unit == 0 || first + width <= extent),
        stride_k_(stride_k),
        data_(data),
        next_(data + (all_ && left_ < unit ? extent - unit : first + mn_) * (unit > 1 ? 1 : stride) +
              (first_k + k_) * stride_k_) {}

  __device__ bool inner() const { return all_; }  // except for the last steps of k
  template <bool inner>
  __device__ void copy_unit(int n, Stage& stage, std::int64_t depth_left) {
    T* const to = &stage[k_ + n * deep][mn_];
    const T* const from = next_ + n * deep * stride_k_;
    if constexpr (inner) cuda::ptx::cp_async<unit * sizeof(T)>(to, from);
    else copy_at_edge(to, from, depth_left - k_ - n * deep);
  }
  __device__ void advance() { next_ += config.depth * stride_k_; }

 private:
  __device__ void copy_at_edge(T* to, const T* from, std::int64_t depth_left) const {
    const std::int64_t left = all_ ? unit : left_;
    const int valid = depth_left <= 0 || left <= 0 ? 0 : left < unit ? static_cast<int>(left) : unit;
    copy_part<unit>(to, from, data_, valid);
  }

  int k_, mn_;         // position of this thread's units in the panel
  std::int64_t left_;  // elements of the operand from there on, along m or n
  bool all_;           // all units are copied whole
  std::int64_t stride_k_;
  const T *data_, *next_;
};

// For an operand that is contiguous along k. A thread copies several steps of a line and keeps the addresses
// of its lines, so a copy takes hardly any arithmetic. Lines beyond the operand repeat the last one; their
// results are not stored.
template <class T, WarpTilesConfig config, int width>
class Panel<T, config, width, Access::along_k> {
  static constexpr int vector = 16 / sizeof(T), threads = config.slice_threads();
  // `deep` threads along k, each with `run` steps of every eight, so that lanes that write together hit all
  // banks.
  static constexpr int deep = threads / width > 8 / config.run ? threads / width : 8 / config.run;
  static constexpr int run = 8 / deep, wide = threads / deep, lines = width / wide,
                       steps = config.depth / deep;
  static_assert(width % wide == 0 && config.depth % 8 == 0 && 8 % deep == 0);

 public:
  using Stage = T[config.depth][width + vector];
  struct ThreadOffset {
    int first;
  };
  static constexpr int units = lines * steps;

  __device__ Panel(int thread, const T* data, std::int64_t first, std::int64_t extent, std::int64_t stride,
                   std::int64_t first_k, std::int64_t /*stride_k: 1*/)
      : k_(thread % deep * run), line_(thread / deep), data_(data) {
    SIMT_UNROLL
    for (int i = 0; i < lines; ++i) {
      const std::int64_t line = first + line_ + i * wide;
      next_[i] = data + (line < extent ? line : extent - 1) * stride + first_k + k_;
    }
  }

  __device__ bool inner() const { return true; }
  template <bool inner>
  __device__ void copy_unit(int n, Stage& stage, std::int64_t depth_left) {
    const int i = n / steps, j = n % steps, k = j % run + j / run * 8;
    T* const to = &stage[k_ + k][line_ + i * wide];
    if constexpr (inner) {
      cuda::ptx::cp_async<sizeof(T)>(to, next_[i] + k);
    } else {
      const bool exists = k_ + k < depth_left;
      cuda::ptx::cp_async<sizeof(T)>(to, exists ? next_[i] + k : data_, exists ? sizeof(T) : 0);
    }
  }
  __device__ void advance() {
    SIMT_UNROLL
    for (int i = 0; i < lines; ++i) next_[i] += config.depth;
  }

 private:
  int k_, line_;  // position of this thread's first unit in the panel
  const T *data_, *next_[lines];
};

// True if lines that are contiguous along k, `stride` apart, can be copied 16 bytes at a time.
template <class T>
TESSERA_HOST_DEVICE bool is_vector_aligned(const T* data, std::int64_t stride) {
  return stride % (16 / sizeof(T)) == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

// A panel that keeps k contiguous, for an operand that is contiguous along k: each line is one row of the
// stage, in pieces of 16 bytes. It is copied 16 bytes at a time, and a thread loads several steps of each of
// its lines at once. `lanes`: the number of a warp's lanes side by side in the panel.
template <class T, WarpTilesConfig config, int width, int lanes>
class LinesPanel {
  static constexpr int vector = 16 / sizeof(T), pieces = config.depth / vector, row_bytes = pieces * 16;
  static constexpr int threads = config.slice_threads();
  // Returns the number of rows that all threads together copy at once, `unit` elements each.
  static constexpr int beside(int unit) { return threads * unit / config.depth; }
  // Lanes that load together have lines `vector` apart, stored in neighbouring rows. From each group of rows
  // that fills 128 bytes to the next, pieces are swizzled, so that eight lanes hit all banks.
  static constexpr int row_of(int line) {
    return line / (vector * lanes) * (vector * lanes) + line % vector * lanes + line / vector % lanes;
  }
  static constexpr int line_of(int row) {
    return row / (vector * lanes) * (vector * lanes) + row % lanes * vector + row / lanes % vector;
  }
  static constexpr int swizzle(int row) { return row / (128 / row_bytes) % pieces; }
  static_assert(row_bytes <= 128 && width % beside(vector) == 0);

 public:
  using Stage = T[width][config.depth];

  // From line `first` of `extent` on, and from step first_k on.
  __device__ LinesPanel(int thread, const T* data, std::int64_t first, std::int64_t extent,
                        std::int64_t stride, std::int64_t first_k, std::int64_t /*stride_k: 1*/)
      : in_pieces_(is_vector_aligned(data, stride)), stride_(stride), data_(data) {
    const int units = in_pieces_ ? pieces : config.depth, row = thread / units,
              k = thread % units * (in_pieces_ ? vector : 1);
    k_ = k;
    smem_offset_ =
        row * row_bytes + (k / vector ^ swizzle(row)) * 16 + k % vector * static_cast<int>(sizeof(T));
    const std::int64_t left = extent - first - line_of(row);
    left_ = left < width ? static_cast<int>(left) : width;
    next_ = data + (first + line_of(row)) * stride + first_k + k;
  }

  static constexpr int units = width / beside(vector);
  __device__ bool inner() const { return in_pieces_; }
  template <bool inner>
  __device__ void copy_unit(int n, Stage& stage, std::int64_t depth_left) {
    const int steps = depth_left < config.depth ? static_cast<int>(depth_left) : config.depth;
    if constexpr (inner) {
      copy_rows<vector, true>(stage, steps, n * beside(vector));
    } else if (in_pieces_) {
      copy_rows<vector, false>(stage, steps, n * beside(vector));
    } else {
      SIMT_UNROLL
      for (int i = n * vector; i < (n + 1) * vector; ++i) copy_rows<1, false>(stage, steps, i * beside(1));
    }
  }
  __device__ void advance() { next_ += config.depth; }

  // The offsets at which a thread reads its lines; `line` is the first of them.
  struct ThreadOffset {
    int of[pieces];
    __device__ explicit ThreadOffset(int line) {
      SIMT_UNROLL
      for (int i = 0; i < pieces; ++i) of[i] = row_of(line) * row_bytes + (i ^ swizzle(row_of(line))) * 16;
    }
    // Returns the piece that begins with step k, of the line `more` lines after the first.
    __device__ const void* at(const Stage& stage, int more, int k) const {
      return reinterpret_cast<const char*>(&stage) + of[k / vector ^ swizzle(row_of(more))] +
             row_of(more) * row_bytes;
    }
  };

 private:
  // `more`: a number of rows whose set bits are all clear in this thread's first row.
  template <int unit, bool inner>
  __device__ void copy_rows(Stage& stage, int steps, int more) const {
    char* const to = reinterpret_cast<char*>(&stage) + (smem_offset_ ^ swizzle(more) * 16) + more * row_bytes;
    const T* const from = next_ + line_of(more) * stride_;
    if constexpr (inner) {
      // Lines beyond the operand are not copied; their results are not stored.
      static_assert(unit * sizeof(T) == 16);
      cuda::ptx::cp_async_if(left_ > line_of(more), to, from);
    } else {
      const int left = left_ > line_of(more) ? steps - k_ : 0, valid = left < 0      ? 0
                                                                       : left < unit ? left
                                                                                     : unit;
      copy_part<unit>(reinterpret_cast<T*>(to), from, data_, valid);
    }
  }

  bool in_pieces_;       // copied 16 bytes at a time, else element by element
  int k_, smem_offset_;  // position of this thread's first unit
  int left_;             // lines of the operand from there on, at most `width`
  std::int64_t stride_;
  const T *data_, *next_;
};

// True if B stays contiguous along k in shared memory: for tiles of few rows, which mostly stream B.
constexpr bool keeps_k_contiguous(const WarpTilesConfig& config, Access b) {
  return b == Access::along_k && config.m <= 16;
}

}  // namespace TESSERA_UNIT

// --- Arguments ---

inline namespace TESSERA_UNIT {

template <class T>
struct WarpArgs {
  Problem<T> p;
  TileOrder order;
  StreamK stream_k;
  T* partials = nullptr;  // slots of stream-K tiles (split_k_reduction.cuh)
};

// The stream-K tiles, whose partial sums are in the workspace.
template <class T>
struct WarpPartials {
  using Sum = T;
  Problem<T> p;
  TileOrder order;
  StreamK stream_k;
  const T* partials;
  std::int32_t rows, cols;

  std::int64_t tiles() const { return stream_k.tiles - stream_k.data_parallel_tiles; }
  SIMT TileOrder::Tile tile(int i) const { return order.at(stream_k.data_parallel_tiles + i); }
  SIMT PartialSlots slots(int i) const {
    const StreamK::Blocks of = stream_k.blocks_of(stream_k.data_parallel_tiles + i);
    return {stream_k.slot(of.from, stream_k.data_parallel_tiles + i), of.to - of.from + 1};
  }
  SIMT bool contains(std::int64_t row, std::int64_t col) const { return row < p.m() && col < p.n(); }
  SIMT void store(std::int64_t row, std::int64_t col, T sum) const { p.store(row, col, sum); }
};

// True if rows can be read and written 16 bytes at a time.
template <class T>
__device__ bool are_rows_vector_aligned(const Matrix<T>& matrix) {
  constexpr int vector = 16 / sizeof(T);
  return matrix.stride[1] == 1 && matrix.stride[0] % vector == 0 &&
         reinterpret_cast<std::uintptr_t>(matrix.data) % 16 == 0;
}

template <class T>
__device__ void store_vector(const Problem<T>& p, std::int64_t row, std::int64_t col, const T* sums) {
  constexpr int vector = 16 / sizeof(T);
  T out[vector], before[vector];
  uint4 words = {};
  if (p.beta != T{0}) words = *reinterpret_cast<const uint4*>(&p.c0(row, col));
  __builtin_memcpy(before, &words, sizeof words);
  SIMT_UNROLL
  for (int e = 0; e < vector; ++e) {
    out[e] = multiply(p.alpha, sums[e]);
    if (p.beta != T{0}) out[e] = multiply_add(p.beta, before[e], out[e]);
  }
  __builtin_memcpy(&words, out, sizeof words);
  *reinterpret_cast<uint4*>(&p.c(row, col)) = words;
}

}  // namespace TESSERA_UNIT

// --- Mainloop and stores ---

inline namespace TESSERA_UNIT {

template <class T, WarpTilesConfig config, Access access_a, Access access_b>
struct WarpTiles {
  static constexpr int threads = config.threads(), min_blocks_per_sm = config.blocks;
  static constexpr int vector = 16 / sizeof(T);
  using Layout = WarpLayout<config, vector>;
  using ThreadOffset = typename Layout::ThreadOffset;
  static constexpr int lanes_m = Layout::lanes_m, lanes_n = Layout::lanes_n;
  static constexpr int thread_m = Layout::thread_m, thread_n = Layout::thread_n;
  static_assert(config.depth % 2 == 0);

  static constexpr bool b_k_contiguous = keeps_k_contiguous(config, access_b);
  using PanelA = Panel<T, config, config.m, access_a>;
  using PanelB = std::conditional_t<b_k_contiguous, LinesPanel<T, config, config.n, lanes_n>,
                                    Panel<T, config, config.n, access_b>>;
  struct alignas(16) Slice {
    typename PanelA::Stage a[config.stages];
    typename PanelB::Stage b[config.stages];
  };
  struct Shared {
    Slice slice[config.slices];
  };
  static_assert(config.slices == 1 || config.slice_threads() == 32,
                "a slice belongs to one warp, which needs no block barrier");
  // Register fragments for one step of k; B's has `vector` steps if its lines stay contiguous.
  static constexpr int steps_of_b = b_k_contiguous ? vector : 1;
  struct FragmentA {
    T of[thread_m];
  };
  struct FragmentB {
    T of[thread_n][steps_of_b];
  };
  using Sums = T[thread_m][thread_n];
  static constexpr int ahead = config.stages - 1;
  static constexpr bool supports_stream_k = std::is_same_v<T, float>;

  __device__ void operator()(Thread thread, Shared& shared, const WarpArgs<T>& args) const {
    const int block = thread.block().x;
    std::int64_t at = args.stream_k.begin(block);
    for (;;) {
      const StreamK::Segment segment = args.stream_k.segment(block, at);
      at = segment.next;
      sum_segment(thread, shared, args, segment);
      if (!supports_stream_k || at >= args.stream_k.end(block)) return;
      thread.sync();  // all stages have been read
    }
  }

  static __device__ void sum_segment(Thread thread, Shared& shared, const WarpArgs<T>& args,
                                     const StreamK::Segment& segment) {
    const Problem<T>& p = args.p;
    const TileOrder::Tile tile = args.order.at(segment.tile);
    const std::int64_t row = std::int64_t{tile.row} * config.m, col = std::int64_t{tile.col} * config.n;
    // This slice's share of the segment's stages.
    const int rank = thread.index().x % config.slice_threads(),
              slice = thread.index().x / config.slice_threads();
    const int share = (segment.end - segment.first + config.slices - 1) / config.slices,
              from = segment.first + slice * share;
    const std::int64_t first = std::int64_t{from} * config.depth,
                       end = std::int64_t{from + share < segment.end ? from + share : segment.end} *
                             config.depth;
    const std::int64_t k = (end < p.k() ? end : p.k()) - first;
    const ThreadOffset offset(rank);
    Sums sums = {};
    if (k > 0) {
      PanelA a(rank, p.a.data, row, p.a.rows(), p.a.stride[0], first, p.a.stride[1]);
      PanelB b(rank, p.b.data, col, p.b.cols(), p.b.stride[1], first, p.b.stride[0]);
      sum_over_k(thread, shared.slice[slice], a, b, offset, k, sums);
    }
    // The slot for a partial sum; null: the segment is an entire tile.
    T* partial = nullptr;
    if constexpr (supports_stream_k)
      if (!segment.is_whole_tile())
        partial = args.partials +
                  args.stream_k.slot(thread.block().x - args.stream_k.data_parallel_tiles, segment.tile) *
                      (config.m * config.n);
    if constexpr (config.slices > 1) store_slices(thread, shared, slice, offset, p, row, col, sums, partial);
    else if (partial != nullptr) store_partial(partial, offset, sums);
    else store(thread, shared.slice[0], offset, p, row, col, sums);
  }

  // Adding 0 copies each accumulator to another register. A 16-byte store needs consecutive registers; if the
  // accumulators themselves had to be in that order, multiply-adds would wait for each other.
  static __device__ void store_partial(T* partial, ThreadOffset offset, const Sums& sums) {
    SIMT_UNROLL
    for (int i = 0; i < thread_m; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; j += vector) {
        T some[vector];
        SIMT_UNROLL
        for (int e = 0; e < vector; ++e) some[e] = sums[i][j + e] + T{0};
        store_vector16(partial + (offset.m + Layout::row_of(i)) * config.n + offset.n + Layout::col_of(j),
                       some);
      }
    }
  }

  // Synchronizes the threads that share a ring of stages.
  static __device__ void sync_slice(Thread thread) {
    if constexpr (config.slices > 1) __syncwarp();
    else thread.sync();
  }

  // Copies one of the `parts` parts of a stage.
  template <bool inner, class Panel>
  static __device__ void copy_slice(Panel& panel, typename Panel::Stage& stage, int part, int parts,
                                    std::int64_t depth_left) {
    SIMT_UNROLL
    for (int n = Panel::units * part / parts; n < Panel::units * (part + 1) / parts; ++n)
      panel.template copy_unit<inner>(n, stage, depth_left);
    if (part + 1 == parts) panel.advance();
  }
  template <bool inner>
  static __device__ void copy_both_slices(Slice& shared, int stage, PanelA& a, PanelB& b, int part, int parts,
                                          std::int64_t depth_left) {
    copy_slice<inner>(a, shared.a[stage], part, parts, depth_left);
    copy_slice<inner>(b, shared.b[stage], part, parts, depth_left);
    if (part + 1 == parts) cuda::ptx::cp_async_commit_group();
  }
  // Copies a stage. One branch serves both operands, because a branch keeps the compiler from interleaving
  // the multiply-adds around it.
  static __device__ void copy(Slice& shared, int stage, PanelA& a, PanelB& b, std::int64_t depth_left) {
    if (a.inner() && b.inner() && depth_left >= config.depth)
      copy_both_slices<true>(shared, stage, a, b, 0, 1, depth_left);
    else if (depth_left > 0) copy_both_slices<false>(shared, stage, a, b, 0, 1, depth_left);
    else cuda::ptx::cp_async_commit_group();
  }

  static __device__ void load_a(FragmentA& f, const Slice& shared, int stage, int l, ThreadOffset offset) {
    load_vectors<thread_m, lanes_m>(f.of, &shared.a[stage][l][offset.m]);
  }
  static __device__ void load_b(FragmentB& f, const Slice& shared, int stage, int l,
                                const typename PanelB::ThreadOffset& offset) {
    if constexpr (b_k_contiguous) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; ++j)
        load_vector16(f.of[j], offset.at(shared.b[stage], Layout::col_of(j), l));
    } else {
      T all[thread_n];
      load_vectors<thread_n, lanes_n>(all, &shared.b[stage][l][offset.first]);
      SIMT_UNROLL
      for (int j = 0; j < thread_n; ++j) f.of[j][0] = all[j];
    }
  }
  static __device__ void load_vector16(T* to, const void* from) {
    const uint4 words = *static_cast<const uint4*>(from);
    __builtin_memcpy(to, &words, sizeof words);
  }
  template <int count, int lanes>
  static __device__ void load_vectors(T (&to)[count], const T* from) {
    SIMT_UNROLL
    for (int i = 0; i < count; i += vector) load_vector16(&to[i], from + i * lanes);
  }

  static __device__ void add_outer_product(Sums& sums, const FragmentA& a, const FragmentB& b, int step) {
    SIMT_UNROLL
    for (int i = 0; i < thread_m; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; ++j) sums[i][j] = multiply_add(a.of[i], b.of[j][step], sums[i][j]);
    }
  }

  // While one fragment is multiplied, the next is loaded from shared memory; while one stage is multiplied,
  // config.stages - 1 others are in flight.
  static __device__ void sum_over_k(Thread thread, Slice& shared, PanelA& a, PanelB& b, ThreadOffset offset,
                                    std::int64_t k, Sums& sums) {
    for (int s = 0; s < ahead; ++s) copy(shared, s, a, b, k - s * config.depth);
    cuda::ptx::cp_async_wait_group<ahead - 1>();
    sync_slice(thread);
    static_assert(config.depth / steps_of_b % 2 == 0);
    Loop loop;
    const typename PanelB::ThreadOffset b_offset{offset.n};
    load_a(loop.of_a[0], shared, 0, 0, offset);
    load_b(loop.of_b[0], shared, 0, 0, b_offset);
    std::int64_t left = k;
    if (a.inner() && b.inner())
      for (; left >= (ahead + 1) * config.depth; left -= config.depth)
        sum_stage<true>(thread, shared, a, b, offset, b_offset, loop, left, sums);
    for (; left > 0; left -= config.depth)
      sum_stage<false>(thread, shared, a, b, offset, b_offset, loop, left, sums);
  }

  struct Loop {
    FragmentA of_a[2];
    FragmentB of_b[2];
    int reading = 0, writing = ahead;
  };
  // Multiplies a stage; `left` steps of k remain, this stage included. `inner`: the stage that is copied
  // meanwhile is inside the operands, so no branch is needed, and copies are issued a few at a time: many at
  // once would delay the loads of fragments.
  template <bool inner>
  static __device__ void sum_stage(Thread thread, Slice& shared, PanelA& a, PanelB& b, ThreadOffset offset,
                                   const typename PanelB::ThreadOffset& b_offset, Loop& loop,
                                   std::int64_t left, Sums& sums) {
    const auto step = [&]<int l>() {
      if constexpr (l == config.depth - 1) {  // the stage has been read: advance
        cuda::ptx::cp_async_wait_group<ahead - 1>();
        sync_slice(thread);
        loop.reading = loop.reading + 1 == config.stages ? 0 : loop.reading + 1;
      }
      constexpr int next = (l + 1) % config.depth;
      load_a(loop.of_a[next % 2], shared, loop.reading, next, offset);
      if constexpr (next % steps_of_b == 0)
        load_b(loop.of_b[next / steps_of_b % 2], shared, loop.reading, next, b_offset);
      if constexpr (inner && l < 4) copy_both_slices<true>(shared, loop.writing, a, b, l, 4, config.depth);
      if constexpr (!inner && l == 0) copy(shared, loop.writing, a, b, left - ahead * config.depth);
      add_outer_product(sums, loop.of_a[l % 2], loop.of_b[l / steps_of_b % 2], l % steps_of_b);
    };
    [&]<int... l>(std::integer_sequence<int, l...>) { (step.template operator()<l>(), ...); }
    (std::make_integer_sequence<int, config.depth>{});
    loop.writing = loop.writing + 1 == config.stages ? 0 : loop.writing + 1;
  }

  static __device__ bool stores_vectors(const Problem<T>& p) {
    return are_rows_vector_aligned(p.c) && (p.beta == T{0} || are_rows_vector_aligned(p.c0));
  }
  static __device__ void store_some(const Problem<T>& p, std::int64_t row, std::int64_t col, const T* sums) {
    if (row < p.m() && col + vector <= p.n()) return store_vector(p, row, col, sums);
    SIMT_UNROLL
    for (int e = 0; e < vector; ++e) p.store(row, col + e, sums[e]);
  }

  // Stores the block's tile, whose first element of C is (row, col).
  static __device__ void store(Thread thread, Slice& shared, ThreadOffset offset, const Problem<T>& p,
                               std::int64_t row, std::int64_t col, const Sums& sums) {
    if (!stores_vectors(p)) return store_neighbours(thread, shared, offset, p, row, col, sums);
    SIMT_UNROLL
    for (int i = 0; i < thread_m; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; j += vector)
        store_some(p, row + offset.m + Layout::row_of(i), col + offset.n + Layout::col_of(j), &sums[i][j]);
    }
  }

  // Stores rows of C that are misaligned or not contiguous. They pass through the ring's memory, which is no
  // longer read, so that stores are coalesced. Each warp uses a part of it for a piece of its tile at a time.
  static __device__ void store_neighbours(Thread thread, Slice& shared, ThreadOffset offset,
                                          const Problem<T>& p, std::int64_t row, std::int64_t col,
                                          const Sums& sums) {
    constexpr int high = lanes_m * vector, group = lanes_n * vector;  // extents of adjacent lanes' vectors
    constexpr int own_bytes = static_cast<int>(sizeof(Slice)) / (config.slice_threads() / 32) / 16 * 16;
    constexpr int taken = [] {
      int groups = thread_n / vector;
      while (groups > 1 && (thread_n / vector % groups != 0 ||
                            high * (groups * group + vector) * static_cast<int>(sizeof(T)) > own_bytes))
        --groups;
      return groups;
    }();
    constexpr int wide = taken * group, pitch = wide + vector;
    static_assert(high * pitch * static_cast<int>(sizeof(T)) <= own_bytes);
    const int lane = static_cast<int>(thread.index().x) % 32,
              warp = static_cast<int>(thread.index().x) % config.slice_threads() / 32;
    const int warp_m = warp / Layout::warps_n * config.warp_m,
              warp_n = warp % Layout::warps_n * config.warp_n;
    T* const own = reinterpret_cast<T*>(reinterpret_cast<char*>(&shared) + warp * own_bytes);
    T* const mine = own + (offset.m - warp_m) * pitch + (offset.n - warp_n);
    thread.sync();
    SIMT_UNROLL
    for (int i = 0; i < thread_m; i += vector) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; j += taken * vector) {
        const std::int64_t first_row = row + warp_m + Layout::row_of(i),
                           first_col = col + warp_n + Layout::col_of(j);
        if (first_row >= p.m() || first_col >= p.n()) continue;
        SIMT_UNROLL
        for (int e = 0; e < vector; ++e) {
          SIMT_UNROLL
          for (int g = 0; g < taken; ++g)
            store_vector16(mine + e * pitch + g * group, &sums[i + e][j + g * vector]);
        }
        __syncwarp();
        store_piece<high, wide, pitch>(p, first_row, first_col, own, lane);
        __syncwarp();
      }
    }
    thread.sync();
  }

  // Stores `high` rows of `wide` accumulators, clipped to C; consecutive rows are `pitch` apart.
  template <int high, int wide, int pitch>
  static __device__ void store_piece(const Problem<T>& p, std::int64_t row, std::int64_t col, const T* sums,
                                     int lane) {
    const std::int64_t below = p.m() - row, right = p.n() - col;
    const int rows = below < high ? static_cast<int>(below) : high,
              cols = right < wide ? static_cast<int>(right) : wide;
    // Lanes go along the contiguous dimension, or the one with the smaller stride.
    const bool across = p.c.stride[1] > p.c.stride[0];
    constexpr int some = 8;  // elements read before the first is written
    const auto put = [&](int count, const auto& row_of, const auto& col_of) {
      for (int at = 0; at < count; at += some) {
        T value[some];
        SIMT_UNROLL
        for (int e = 0; e < some; ++e)
          value[e] = multiply(p.alpha, sums[row_of(at + e) * pitch + col_of(at + e)]);
        SIMT_UNROLL
        for (int e = 0; e < some; ++e) {
          const int r = row_of(at + e), c = col_of(at + e);
          if (r >= rows || c >= cols) continue;
          if (p.beta != T{0}) value[e] = multiply_add(p.beta, p.c0(row + r, col + c), value[e]);
          p.c(row + r, col + c) = value[e];
        }
      }
    };
    constexpr int lanes_wide = wide < 32 ? wide : 32, lanes_high = high < 32 ? high : 32;
    static_assert(high * wide % (32 * some) == 0);
    constexpr int each = high * wide / 32;
    if (across)
      put(
          each, [&](int at) { return lane % lanes_high + at % (high / lanes_high) * lanes_high; },
          [&](int at) { return lane / lanes_high + at / (high / lanes_high) * (32 / lanes_high); });
    else
      put(
          each, [&](int at) { return lane / lanes_wide + at / (wide / lanes_wide) * (32 / lanes_wide); },
          [&](int at) { return lane % lanes_wide + at % (wide / lanes_wide) * lanes_wide; });
  }
  static __device__ void store_vector16(T* to, const T* from) {
    uint4 words;
    __builtin_memcpy(&words, from, sizeof words);
    *reinterpret_cast<uint4*>(to) = words;
  }

  // Each warp stores its slice's accumulators to its ring, which is no longer read; all threads then add them
  // in the slices' order. `partial`: the slot for a partial sum; null: stores to C.
  static __device__ void store_slices(Thread thread, Shared& shared, int slice, ThreadOffset offset,
                                      const Problem<T>& p, std::int64_t row, std::int64_t col,
                                      const Sums& sums, T* partial) {
    constexpr int wide =
        config.n + vector;  // 16 bytes of padding spread a column of eight lanes over the banks
    static_assert(sizeof(Slice) % sizeof(T) == 0 && config.m * wide * sizeof(T) <= sizeof(Slice));
    T* const own = &shared.slice[slice].a[0][0][0];
    cuda::ptx::cp_async_wait_group<0>();
    __syncwarp();
    SIMT_UNROLL
    for (int i = 0; i < thread_m; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; j += vector)
        store_vector16(own + (offset.m + Layout::row_of(i)) * wide + offset.n + Layout::col_of(j),
                       &sums[i][j]);
    }
    thread.sync();
    const T* const first = &shared.slice[0].a[0][0][0];
    constexpr int apart = static_cast<int>(sizeof(Slice) / sizeof(T));
    if (partial == nullptr && !stores_vectors(p)) {
      const bool across = p.c.stride[1] > p.c.stride[0];
      SIMT_NO_UNROLL
      for (int at = static_cast<int>(thread.index().x); at < config.m * config.n; at += threads) {
        const int r = across ? at % config.m : at / config.n, c = across ? at / config.m : at % config.n;
        T all = first[r * wide + c];
        SIMT_UNROLL
        for (int s = 1; s < config.slices; ++s) all += first[s * apart + r * wide + c];
        p.store(row + r, col + c, all);
      }
      return;
    }
    constexpr int across = config.n / vector;
    SIMT_UNROLL
    for (int i = 0; i < config.m * across; i += threads) {
      const int at = i + thread.index().x, r = at / across, c = at % across * vector;
      T all[vector] = {};
      SIMT_UNROLL
      for (int s = 0; s < config.slices; ++s) {
        T some[vector];
        load_vector16(some, first + s * apart + r * wide + c);
        SIMT_UNROLL
        for (int e = 0; e < vector; ++e) all[e] = s == 0 ? some[e] : all[e] + some[e];
      }
      if (partial != nullptr) store_vector16(partial + r * config.n + c, all);
      else store_some(p, row + r, col + c, all);
    }
  }
};

template <class T>
Access access_to(const Matrix<const T>& matrix, std::int64_t stride_mn, std::int64_t stride_k) {
  constexpr std::int64_t vector = 16 / sizeof(T);
  const bool aligned = reinterpret_cast<std::uintptr_t>(matrix.data) % 16 == 0;
  if (stride_mn == 1 && stride_k % vector == 0 && aligned) return Access::vector;
  return stride_k == 1 ? Access::along_k : Access::along_mn;
}
template <class T>
Access access_to_a(const Problem<T>& p) {
  return access_to(p.a, p.a.stride[0], p.a.stride[1]);
}
template <class T>
Access access_to_b(const Problem<T>& p) {
  return access_to(p.b, p.b.stride[1], p.b.stride[0]);
}

// True if Cᵀ is computed. Tiles are at least as wide as high, so a narrow dimension of C becomes their rows.
// Otherwise lanes write along C's contiguous dimension.
template <class T>
bool transposes(const Problem<T>& p) {
  constexpr std::int64_t narrow = 96;
  if (p.n() <= narrow || p.m() <= narrow) return p.n() < p.m();
  return p.c.stride[1] != 1 && p.c.stride[0] == 1;
}

// Each tile has kernels only for the combinations of accesses that are worth it.
constexpr Access access_of_a(int tile, Access a) {
  return tile > 0 && a == Access::vector ? Access::along_mn : a;
}
constexpr bool has_kernel(int tile, Access a, Access b) {
  if (tile > 4) return a == Access::along_k && b != Access::along_mn;
  if ((tile == 2 || tile == 4) && b == Access::along_mn) return false;
  return access_of_a(tile, a) == a;
}

struct WarpLaunch {
  WarpArgs<float> args;
  int tile;
  Access a, b;
};

inline WarpPlan warp_plan(const Problem<float>& problem, const WarpMachine& machine,
                          const WarpOptions& options) {
  const Problem<float> p = transposes(problem) ? transposed(problem) : problem;
  const Access a = access_to_a(p), b = access_to_b(p);
  const bool vector_aligned = is_vector_aligned(p.b.data, p.b.stride[1]);
  unsigned tiles = 0, single = 0;
  for (int tile = 0; tile < warp_tile_count; ++tile) {
    if (has_kernel(tile, access_of_a(tile, a), b)) tiles |= 1u << tile;
    if (keeps_k_contiguous(warp_tiles[tile], b) && !vector_aligned) single |= 1u << tile;
  }
  return plan_warp_tiles(p.m(), p.n(), p.k(), machine, tiles, options, single);
}

inline WarpLaunch warp_launch(const Problem<float>& problem, const WarpPlan& plan, void* workspace) {
  const Problem<float> p = transposes(problem) ? transposed(problem) : problem;
  const Access a = access_to_a(p), b = access_to_b(p);
  return {
      {.p = p, .order = plan.order, .stream_k = plan.stream_k, .partials = static_cast<float*>(workspace)},
      plan.tile,
      access_of_a(plan.tile, a),
      b};
}

inline WarpPartials<float> partials_of(const WarpLaunch& launch) {
  const WarpTilesConfig& tile = warp_tiles[launch.tile];
  return {launch.args.p, launch.args.order, launch.args.stream_k, launch.args.partials, tile.m, tile.n};
}

}  // namespace TESSERA_UNIT

}  // namespace tessera::matmul
