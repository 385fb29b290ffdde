// SPDX-License-Identifier: Apache-2.0
// The kernel of rung 11. Panels of A and B travel to shared memory by asynchronous copies while earlier ones
// are multiplied; each step along k is an outer product of register fragments; parts of Stream-K shares are
// left for a second kernel to add.
//
// Last, from a product to the launch of a kernel: which way round, which tile, how each operand is read.
//
// First the panels: how threads copy them to shared memory, and where each finds its part.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>
#include "ops/matmul/kernels/add_parts.cuh"
#include "ops/matmul/kernels/copy_part.cuh"
#include "ops/matmul/kernels/simt/warp_plan.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/problem/transposed.hpp"
#include "tessera/core/thread.hpp"
#include "tessera/core/variant.hpp"
#include "tessera/cuda/ptx/cp_async.cuh"

namespace tessera::matmul {

inline namespace TESSERA_UNIT {

// How a block reads a panel, which lies in shared memory with k as its slow dimension, but for a LinesPanel.
enum class Access {
  along_k,   // along k, whose stride is 1: element by element, transposed on the way; or as it lies
  along_mn,  // element by element, neighbouring lanes along m or n, whatever the strides
  vector,    // 16 bytes at a time along m or n, whose stride is 1, all rows aligned
};

// One operand's panel, `width` by config.depth, and this thread's share in copying it: a stage at once.
template <class T, WarpTilesConfig config, int width, Access access>
class Panel {
  static constexpr int vector = 16 / sizeof(T);
  static constexpr int unit = access == Access::vector ? vector : 1;  // elements a copy moves
  // The threads' arrangement over the panel, in units. Eight lanes along k fill a sector.
  static constexpr int threads = config.slice_threads();
  static constexpr int wide = access == Access::along_k ? threads / 8
                              : width / unit < threads  ? width / unit
                                                        : threads;
  static constexpr int deep = threads / wide;
  static_assert(wide * deep == threads && width % (wide * unit) == 0 && config.depth % deep == 0);

 public:
  // A row 16 bytes longer than the panel is wide spreads a column of eight over all the banks.
  using Stage = T[config.depth][width + vector];
  struct Place {
    int first;  // of a thread's rows or columns
  };

  // From row or column `first` of `extent` on, and from step first_k on.
  __device__ Panel(int thread, const T* data, std::int64_t first, std::int64_t extent, std::int64_t stride,
                   std::int64_t first_k, std::int64_t stride_k)
      : k_(access == Access::along_k ? thread % deep : thread / wide),
        mn_((access == Access::along_k ? thread / deep : thread % wide) * unit),
        left_(extent - first - mn_),
        stride_(access == Access::vector ? 1 : stride),
        stride_k_(access == Access::along_k ? 1 : stride_k),
        data_(data),
        next_(data + (first + mn_) * stride_ + (first_k + k_) * stride_k_) {}

  // Copies the next stage, of which the first `depth_left` steps exist. Of an `inner` one all units do.
  template <bool inner>
  __device__ void copy(Stage& stage, std::int64_t depth_left) {
    SIMT_UNROLL
    for (int i = 0; i < width / (wide * unit); ++i) {
      SIMT_UNROLL
      for (int j = 0; j < config.depth / deep; ++j) {
        T* const to = &stage[k_ + j * deep][mn_ + i * wide * unit];
        const T* const from = next_ + i * (wide * unit) * stride_ + j * deep * stride_k_;
        if constexpr (inner) cuda::ptx::copy_async<unit * sizeof(T)>(to, from);
        else copy_at_edge(to, from, left_ - i * wide * unit, depth_left - k_ - j * deep);
      }
    }
    next_ += config.depth * stride_k_;
  }

 private:
  __device__ void copy_at_edge(T* to, const T* from, std::int64_t left, std::int64_t depth_left) const {
    const int valid = depth_left <= 0 || left <= 0 ? 0 : left < unit ? static_cast<int>(left) : unit;
    copy_part<unit>(to, from, data_, valid);
  }

  int k_, mn_;         // of this thread's first unit in the panel
  std::int64_t left_;  // elements of the operand from there on, along m or n
  std::int64_t stride_, stride_k_;
  const T *data_, *next_;
};

// The same panel of an operand along k where copies come a few at a time between a stage's products: of large
// tiles they are so many that loads of fragments would wait for them.
template <class T, WarpTilesConfig config, int width>
class GradualPanel {
  static constexpr int vector = 16 / sizeof(T);
  // Eight threads along k fill a sector.
  static constexpr int deep = 8, wide = config.slice_threads() / deep, lines = width / wide;
  static_assert(width % wide == 0 && config.depth % deep == 0);

 public:
  using Stage = T[config.depth][width + vector];
  struct Place {
    int first;
  };

  // Lines beyond the operand are the last one again: what comes of them is not stored.
  __device__ GradualPanel(int thread, const T* data, std::int64_t first, std::int64_t extent,
                          std::int64_t stride, std::int64_t first_k, std::int64_t /*stride_k: 1*/)
      : k_(thread % deep), line_(thread / deep), step_(wide * stride), data_(data) {
    const std::int64_t line = first + line_, last = extent - 1, more = (last - line) / wide + 1;
    lines_ = line > last ? 1 : more < lines ? static_cast<int>(more) : lines;
    next_ = from_ = data + (line < last ? line : last) * stride + first_k + k_;
  }

  template <bool /*inner*/>
  __device__ void copy(Stage& stage, std::int64_t depth_left) {
    copy_some<0, 1>(stage, depth_left);
  }
  template <int part, int of_parts>
  __device__ void copy_some(Stage& stage, std::int64_t depth_left) {
    constexpr int passes = lines * (config.depth / deep);
    SIMT_UNROLL
    for (int pass = passes * part / of_parts; pass < passes * (part + 1) / of_parts; ++pass) {
      const int i = pass % lines, j = pass / lines;
      if (i == 0) {
        bytes_ = k_ + j * deep < depth_left ? static_cast<int>(sizeof(T)) : 0;
        from_ = bytes_ != 0 ? next_ + j * deep : data_;
      }
      cuda::ptx::copy_async<sizeof(T)>(&stage[k_ + j * deep][line_ + i * wide], from_, bytes_);
      if (i + 1 < lines_) from_ += step_;
      cuda::ptx::settle(from_);  // one address at a time: there are no registers for all of them
    }
    if constexpr (part + 1 == of_parts) next_ += config.depth;
  }

 private:
  int k_, line_;       // of this thread's first element in the panel
  int lines_;          // that are this thread's
  int bytes_ = 0;      // of a copy; 0: beyond the operand's end
  std::int64_t step_;  // from one of them to the next
  const T *data_, *next_, *from_;
};

// Whether lines along k can be copied 16 bytes at a time, `stride` from one to the next.
template <class T>
TESSERA_BOTH bool takes_pieces(const T* data, std::int64_t stride) {
  return stride % (16 / sizeof(T)) == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

// A panel of an operand whose lines lie along k, as they lie: each in a row of its own, in pieces of 16
// bytes. So it is copied 16 bytes at a time, and a thread loads several steps of each of its lines at once.
// `lanes`: of a warp, beside each other in the panel.
template <class T, WarpTilesConfig config, int width, int lanes>
class LinesPanel {
  static constexpr int vector = 16 / sizeof(T), pieces = config.depth / vector, row_bytes = pieces * 16;
  static constexpr int threads = config.slice_threads();
  // Rows that all threads copy at once, in units of so many elements.
  static constexpr int beside(int unit) { return threads * unit / config.depth; }
  // Lanes that load together, whose lines are `vector` apart, find theirs in neighbouring rows. From as
  // many rows as have 128 bytes to the next as many, pieces are exchanged, so that eight lanes meet all
  // banks.
  static constexpr int row_of(int line) {
    return line / (vector * lanes) * (vector * lanes) + line % vector * lanes + line / vector % lanes;
  }
  static constexpr int line_of(int row) {
    return row / (vector * lanes) * (vector * lanes) + row % lanes * vector + row / lanes % vector;
  }
  static constexpr int exchanged(int row) { return row / (128 / row_bytes) % pieces; }
  static_assert(row_bytes <= 128 && width % beside(vector) == 0);

 public:
  using Stage = T[width][config.depth];

  // From line `first` of `extent` on, and from step first_k on.
  __device__ LinesPanel(int thread, const T* data, std::int64_t first, std::int64_t extent,
                        std::int64_t stride, std::int64_t first_k, std::int64_t /*stride_k: 1*/)
      : whole_(takes_pieces(data, stride)), stride_(stride), data_(data) {
    const int units = whole_ ? pieces : config.depth, row = thread / units,
              k = thread % units * (whole_ ? vector : 1);
    k_ = k;
    place_ = row * row_bytes + (k / vector ^ exchanged(row)) * 16 + k % vector * static_cast<int>(sizeof(T));
    const std::int64_t left = extent - first - line_of(row);
    left_ = left < width ? static_cast<int>(left) : width;
    next_ = data + (first + line_of(row)) * stride + first_k + k;
  }

  template <bool inner>
  __device__ void copy(Stage& stage, std::int64_t depth_left) {
    const int steps = depth_left < config.depth ? static_cast<int>(depth_left) : config.depth;
    if (whole_) copy_units<vector, inner>(stage, steps);
    else copy_units<1, false>(stage, steps);
    next_ += config.depth;
  }

  // Where a thread finds its lines, of which `line` is the first.
  struct Place {
    int of[pieces];
    __device__ explicit Place(int line) {
      SIMT_UNROLL
      for (int i = 0; i < pieces; ++i) of[i] = row_of(line) * row_bytes + (i ^ exchanged(row_of(line))) * 16;
    }
    // Of the line `more` further on, the piece that begins with step k.
    __device__ const void* at(const Stage& stage, int more, int k) const {
      return reinterpret_cast<const char*>(&stage) + of[k / vector ^ exchanged(row_of(more))] +
             row_of(more) * row_bytes;
    }
  };

 private:
  template <int unit, bool inner>
  __device__ void copy_units(Stage& stage, int steps) const {
    constexpr int passes = width / beside(unit);
    if constexpr (unit > 1) {
      SIMT_UNROLL
      for (int i = 0; i < passes; ++i) copy_unit<unit, inner>(stage, steps, i * beside(unit));
    } else {  // many: there are no registers for all their addresses
#pragma unroll 4
      for (int i = 0; i < passes; ++i) copy_unit<unit, inner>(stage, steps, i * beside(unit));
    }
  }

  // `more`: a number of rows, of whose bits those that this thread begins with have none.
  template <int unit, bool inner>
  __device__ void copy_unit(Stage& stage, int steps, int more) const {
    char* const to = reinterpret_cast<char*>(&stage) + (place_ ^ exchanged(more) * 16) + more * row_bytes;
    const T* const from = next_ + line_of(more) * stride_;
    if constexpr (inner) {
      cuda::ptx::copy_async<unit * sizeof(T)>(to, from);
    } else {
      const int left = left_ > line_of(more) ? steps - k_ : 0, valid = left < 0      ? 0
                                                                       : left < unit ? left
                                                                                     : unit;
      copy_part<unit>(reinterpret_cast<T*>(to), from, data_, valid);
    }
  }

  bool whole_;     // aligned to 16 bytes; else element by element
  int k_, place_;  // of this thread's first unit
  int left_;       // lines of the operand from there on, as far as the panel goes
  std::int64_t stride_;
  const T *data_, *next_;
};

// Whether B is taken as it lies along k: where a tile is little more than a stream of B.
constexpr bool takes_lines(const WarpTilesConfig& config, Access b) {
  return b == Access::along_k && config.m <= 16;
}

}  // namespace TESSERA_UNIT

// From a thread's sums to C, or to where the parts of several blocks are added.

inline namespace TESSERA_UNIT {

template <class T>
struct WarpArgs {
  Problem<T> p;
  TileOrder order;
  StreamK shares;
  T* parts = nullptr;  // the rooms of those that are dealt out (add_parts.cuh)
};

// The tiles that are dealt out, whose parts lie in memory.
template <class T>
struct WarpParts {
  using Sum = T;
  Problem<T> p;
  TileOrder order;
  StreamK shares;
  const T* parts;
  std::int32_t rows, cols;

  std::int64_t tiles() const { return shares.tiles - shares.whole; }
  SIMT TileOrder::Tile tile(int i) const { return order.at(shares.whole + i); }
  SIMT PartRooms rooms(int i) const {
    const StreamK::Shares of = shares.shares_of(shares.whole + i);
    return {shares.room(of.from, shares.whole + i), of.to - of.from + 1};
  }
  SIMT bool holds(std::int64_t row, std::int64_t col) const { return row < p.m() && col < p.n(); }
  SIMT void store(std::int64_t row, std::int64_t col, T sum) const { p.store(row, col, sum); }
};

// Whether rows may be read and written 16 bytes at a time.
template <class T>
__device__ bool takes_vectors(const Matrix<T>& matrix) {
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

// The kernel of rung 11: panels of A and B on their way to shared memory while earlier ones are
// multiplied, and an outer product of register fragments for each step along k.

inline namespace TESSERA_UNIT {

template <class T, WarpTilesConfig config, Access access_a, Access access_b>
struct WarpTiles {
  static constexpr int threads = config.threads(), blocks_per_processor = config.blocks;
  static constexpr int vector = 16 / sizeof(T);
  using Layout = WarpLayout<config, vector>;
  using Place = typename Layout::Place;
  static constexpr int lanes_m = Layout::lanes_m, lanes_n = Layout::lanes_n;
  static constexpr int thread_m = Layout::thread_m, thread_n = Layout::thread_n;
  static_assert(config.depth % 2 == 0);

  static constexpr bool b_in_lines = takes_lines(config, access_b);
  static constexpr bool gradual =
      config.gradual && access_a == Access::along_k && access_b == Access::along_k;
  template <int width, Access access>
  using PanelOf =
      std::conditional_t<gradual, GradualPanel<T, config, width>, Panel<T, config, width, access>>;
  using PanelA = PanelOf<config.m, access_a>;
  using PanelB =
      std::conditional_t<b_in_lines, LinesPanel<T, config, config.n, lanes_n>, PanelOf<config.n, access_b>>;
  struct alignas(16) Slice {
    typename PanelA::Stage a[config.stages];
    typename PanelB::Stage b[config.stages];
  };
  struct Shared {
    Slice slice[config.slices];
  };
  static_assert(config.slices == 1 || config.slice_threads() == 32,
                "a slice is a warp's: it meets nobody on its way");
  // Of a step of k, or of B in lines of so many.
  static constexpr int steps_of_b = b_in_lines ? vector : 1;
  struct FragmentA {
    T of[thread_m];
  };
  struct FragmentB {
    T of[thread_n][steps_of_b];
  };
  using Sums = T[thread_m][thread_n];
  static constexpr int ahead = config.stages - 1;
  static constexpr bool can_split = std::is_same_v<T, float>;

  __device__ void operator()(Thread thread, Shared& shared, const WarpArgs<T>& args) const {
    const int block = thread.block().x;
    std::int64_t at = args.shares.begin(block);
    for (;;) {
      const StreamK::Part part = args.shares.part(block, at);
      at = part.next;
      add_part(thread, shared, args, part);
      if (!can_split || at >= args.shares.end(block)) return;
      thread.sync();  // the ring is read to its end
    }
  }

  static __device__ void add_part(Thread thread, Shared& shared, const WarpArgs<T>& args,
                                  const StreamK::Part& part) {
    const Problem<T>& p = args.p;
    const TileOrder::Tile tile = args.order.at(part.tile);
    const std::int64_t row = std::int64_t{tile.row} * config.m, col = std::int64_t{tile.col} * config.n;
    // Of the part's stages, this slice's.
    const int rank = thread.index().x % config.slice_threads(),
              slice = thread.index().x / config.slice_threads();
    const int share = (part.end - part.first + config.slices - 1) / config.slices,
              from = part.first + slice * share;
    const std::int64_t first = std::int64_t{from} * config.depth,
                       end = std::int64_t{from + share < part.end ? from + share : part.end} * config.depth;
    const std::int64_t k = (end < p.k() ? end : p.k()) - first;
    const Place place(rank);
    Sums sums = {};
    if (k > 0) {
      PanelA a(rank, p.a.data, row, p.m(), p.a.stride[0], first, p.a.stride[1]);
      PanelB b(rank, p.b.data, col, p.n(), p.b.stride[1], first, p.b.stride[0]);
      const bool inside = row + config.m <= p.m() && col + config.n <= p.n();
      sum_over_k(thread, shared.slice[slice], a, b, place, inside, k, sums);
    }
    // Of a part: where it is left.
    T* room = nullptr;
    if constexpr (can_split)
      if (!part.alone())
        room = args.parts +
               args.shares.room(thread.block().x - args.shares.whole, part.tile) * (config.m * config.n);
    if constexpr (config.slices > 1) store_slices(thread, shared, slice, place, p, row, col, sums, room);
    else if (room != nullptr) leave(room, place, sums);
    else store(thread, shared.slice[0], place, p, row, col, sums);
  }

  // The sum of 0 and each is in a register of its own: those that are stored 16 bytes at a time have an
  // order, in which the multiply-adds would wait for each other.
  static __device__ void leave(T* room, Place place, const Sums& sums) {
    SIMT_UNROLL
    for (int i = 0; i < thread_m; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; j += vector) {
        T some[vector];
        SIMT_UNROLL
        for (int e = 0; e < vector; ++e) some[e] = sums[i][j + e] + T{0};
        put_piece(room + (place.m + Layout::row_of(i)) * config.n + place.n + Layout::col_of(j), some);
      }
    }
  }

  // Of those who share a ring of stages.
  static __device__ void meet(Thread thread) {
    if constexpr (config.slices > 1) __syncwarp();
    else thread.sync();
  }

  // All of a stage. One branch for both operands: it parts the multiply-adds around it.
  static __device__ void copy(Slice& shared, int stage, PanelA& a, PanelB& b, bool inside,
                              std::int64_t depth_left) {
    if (inside && depth_left >= config.depth) {
      a.template copy<true>(shared.a[stage], depth_left);
      b.template copy<true>(shared.b[stage], depth_left);
    } else if (depth_left > 0) {
      a.template copy<false>(shared.a[stage], depth_left);
      b.template copy<false>(shared.b[stage], depth_left);
    }
    cuda::ptx::commit_copies();
  }
  // What is copied of it beside step l of another: all at once, or a part at each step but the last.
  template <int l>
  static __device__ void copy_beside(Slice& shared, int stage, PanelA& a, PanelB& b, bool inside,
                                     std::int64_t depth_left) {
    if constexpr (!gradual) {
      if constexpr (l == 0) copy(shared, stage, a, b, inside, depth_left);
    } else if constexpr (l < config.depth - 1) {
      a.template copy_some<l, config.depth - 1>(shared.a[stage], depth_left);
      b.template copy_some<l, config.depth - 1>(shared.b[stage], depth_left);
      if constexpr (l == config.depth - 2) cuda::ptx::commit_copies();
    }
  }

  static __device__ void load_a(FragmentA& f, const Slice& shared, int stage, int l, Place place) {
    load_vectors<thread_m, lanes_m>(f.of, &shared.a[stage][l][place.m]);
  }
  static __device__ void load_b(FragmentB& f, const Slice& shared, int stage, int l,
                                const typename PanelB::Place& place) {
    if constexpr (b_in_lines) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; ++j) load_piece(f.of[j], place.at(shared.b[stage], Layout::col_of(j), l));
    } else {
      T all[thread_n];
      load_vectors<thread_n, lanes_n>(all, &shared.b[stage][l][place.first]);
      SIMT_UNROLL
      for (int j = 0; j < thread_n; ++j) f.of[j][0] = all[j];
    }
  }
  static __device__ void load_piece(T* to, const void* from) {
    const uint4 words = *static_cast<const uint4*>(from);
    __builtin_memcpy(to, &words, sizeof words);
  }
  template <int count, int lanes>
  static __device__ void load_vectors(T (&to)[count], const T* from) {
    SIMT_UNROLL
    for (int i = 0; i < count; i += vector) load_piece(&to[i], from + i * lanes);
  }

  static __device__ void add_outer_product(Sums& sums, const FragmentA& a, const FragmentB& b, int step) {
    SIMT_UNROLL
    for (int i = 0; i < thread_m; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; ++j) sums[i][j] = multiply_add(a.of[i], b.of[j][step], sums[i][j]);
    }
  }

  // While one fragment is multiplied the next comes from shared memory, and while one stage is
  // multiplied config.stages - 1 others are on their way there.
  static __device__ void sum_over_k(Thread thread, Slice& shared, PanelA& a, PanelB& b, Place place,
                                    bool inside, std::int64_t k, Sums& sums) {
    for (int s = 0; s < ahead; ++s) copy(shared, s, a, b, inside, k - s * config.depth);
    cuda::ptx::wait_for_copies<ahead - 1>();
    meet(thread);
    sum_steps(thread, shared, a, b, place, inside, k, sums);
  }

  static __device__ void sum_steps(Thread thread, Slice& shared, PanelA& a, PanelB& b, Place place,
                                   bool inside, std::int64_t k, Sums& sums) {
    static_assert(config.depth / steps_of_b % 2 == 0);
    FragmentA of_a[2];
    FragmentB of_b[2];
    load_a(of_a[0], shared, 0, 0, place);
    const typename PanelB::Place place_of_b{place.n};
    load_b(of_b[0], shared, 0, 0, place_of_b);
    int reading = 0, writing = ahead;
    for (std::int64_t left = k; left > 0; left -= config.depth) {
      const auto step = [&]<int l>() {
        if constexpr (l == config.depth - 1) {  // the stage is read to its end: go to the next
          cuda::ptx::wait_for_copies<ahead - 1>();
          meet(thread);
          reading = reading + 1 == config.stages ? 0 : reading + 1;
        }
        constexpr int next = (l + 1) % config.depth;
        load_a(of_a[next % 2], shared, reading, next, place);
        if constexpr (next % steps_of_b == 0)
          load_b(of_b[next / steps_of_b % 2], shared, reading, next, place_of_b);
        const std::int64_t depth_left = left - ahead * config.depth;
        copy_beside<l>(shared, writing, a, b, inside, depth_left);
        add_outer_product(sums, of_a[l % 2], of_b[l / steps_of_b % 2], l % steps_of_b);
      };
      [&]<int... l>(std::integer_sequence<int, l...>) { (step.template operator()<l>(), ...); }
      (std::make_integer_sequence<int, config.depth>{});
      writing = writing + 1 == config.stages ? 0 : writing + 1;
    }
    if constexpr (gradual) {  // zeros may be on their way to the ring
      cuda::ptx::wait_for_copies<0>();
      meet(thread);
    }
  }

  static __device__ bool stores_vectors(const Problem<T>& p) {
    return takes_vectors(p.c) && (p.beta == T{0} || takes_vectors(p.c0));
  }
  static __device__ void store_some(const Problem<T>& p, std::int64_t row, std::int64_t col, const T* sums) {
    if (row < p.m() && col + vector <= p.n()) return store_vector(p, row, col, sums);
    SIMT_UNROLL
    for (int e = 0; e < vector; ++e) p.store(row, col + e, sums[e]);
  }

  // The block's tile, whose first element of C is (row, col).
  static __device__ void store(Thread thread, Slice& shared, Place place, const Problem<T>& p,
                               std::int64_t row, std::int64_t col, const Sums& sums) {
    if (!stores_vectors(p)) return store_neighbours(thread, shared, place, p, row, col, sums);
    SIMT_UNROLL
    for (int i = 0; i < thread_m; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; j += vector)
        store_some(p, row + place.m + Layout::row_of(i), col + place.n + Layout::col_of(j), &sums[i][j]);
    }
  }

  // Rows of C that are not aligned, or lie across: by way of the ring, which is read to its end, so that
  // lanes write neighbours. Each warp has a part of the ring for a piece of its tile.
  static __device__ void store_neighbours(Thread thread, Slice& shared, Place place, const Problem<T>& p,
                                          std::int64_t row, std::int64_t col, const Sums& sums) {
    constexpr int high = lanes_m * vector, group = lanes_n * vector;  // of lanes' vectors beside each other
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
    T* const mine = own + (place.m - warp_m) * pitch + (place.n - warp_n);
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
            put_piece(mine + e * pitch + g * group, &sums[i + e][j + g * vector]);
        }
        __syncwarp();
        store_piece<high, wide, pitch>(p, first_row, first_col, own, lane);
        __syncwarp();
      }
    }
    thread.sync();
  }

  // `high` rows of `wide` sums, those of C's matrix that exist; each `pitch` after the one before.
  template <int high, int wide, int pitch>
  static __device__ void store_piece(const Problem<T>& p, std::int64_t row, std::int64_t col, const T* sums,
                                     int lane) {
    const std::int64_t below = p.m() - row, right = p.n() - col;
    const int rows = below < high ? static_cast<int>(below) : high,
              cols = right < wide ? static_cast<int>(right) : wide;
    // Neighbours are along what is contiguous, or nearer to it.
    const bool across = p.c.stride[1] > p.c.stride[0];
    constexpr int some = 8;  // read before the first is written
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
  static __device__ void put_piece(T* to, const T* from) {
    uint4 words;
    __builtin_memcpy(&words, from, sizeof words);
    *reinterpret_cast<uint4*>(to) = words;
  }

  // Each warp leaves its slice's sums of the tile in its ring, which is read to its end; all threads add
  // them, in the slices' order. `room`: for a part of the sum; else they go to C.
  static __device__ void store_slices(Thread thread, Shared& shared, int slice, Place place,
                                      const Problem<T>& p, std::int64_t row, std::int64_t col,
                                      const Sums& sums, T* room) {
    constexpr int wide = config.n + vector;  // 16 bytes more spread a column of eight lanes over the banks
    static_assert(sizeof(Slice) % sizeof(T) == 0 && config.m * wide * sizeof(T) <= sizeof(Slice));
    T* const own = &shared.slice[slice].a[0][0][0];
    cuda::ptx::wait_for_copies<0>();
    __syncwarp();
    SIMT_UNROLL
    for (int i = 0; i < thread_m; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; j += vector)
        put_piece(own + (place.m + Layout::row_of(i)) * wide + place.n + Layout::col_of(j), &sums[i][j]);
    }
    thread.sync();
    const T* const first = &shared.slice[0].a[0][0][0];
    constexpr int apart = static_cast<int>(sizeof(Slice) / sizeof(T));
    if (room == nullptr && !stores_vectors(p)) {
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
        load_piece(some, first + s * apart + r * wide + c);
        SIMT_UNROLL
        for (int e = 0; e < vector; ++e) all[e] = s == 0 ? some[e] : all[e] + some[e];
      }
      if (room != nullptr) put_piece(room + r * config.n + c, all);
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

// Tiles are at least as wide as high, so what is narrow shall be their rows. Else lanes write neighbours in
// what is contiguous.
template <class T>
bool by_columns(const Problem<T>& p) {
  constexpr std::int64_t narrow = 96;
  if (p.n() <= narrow || p.m() <= narrow) return p.n() < p.m();
  return p.c.stride[1] != 1 && p.c.stride[0] == 1;
}

// Kernels for every way to read both operands would be many: each tile has those that are worth it.
constexpr Access access_of_a(int tile, Access a) {
  return tile > 1 && a == Access::vector ? Access::along_mn : a;
}
constexpr bool has_kernel(int tile, Access a, Access b) {
  if (tile == 0) return a != Access::along_mn && b != Access::along_mn;
  if (tile > 5) return a == Access::along_k && b != Access::along_mn;
  if ((tile == 3 || tile == 5) && b == Access::along_mn) return false;
  return access_of_a(tile, a) == a;
}

struct WarpLaunch {
  WarpArgs<float> args;
  int tile;
  Access a, b;
};

inline WarpPlan warp_plan(const Problem<float>& problem, const WarpMachine& machine,
                          const WarpOptions& options) {
  const Problem<float> p = by_columns(problem) ? transposed(problem) : problem;
  const Access a = access_to_a(p), b = access_to_b(p);
  const bool in_pieces = takes_pieces(p.b.data, p.b.stride[1]);
  unsigned tiles = 0, single = 0;
  for (int tile = 0; tile < warp_tile_count; ++tile) {
    if (has_kernel(tile, access_of_a(tile, a), b)) tiles |= 1u << tile;
    if (takes_lines(warp_tiles[tile].config, b) && !in_pieces) single |= 1u << tile;
  }
  return plan_warp_tiles(p.m(), p.n(), p.k(), machine, tiles, options, single);
}

inline WarpLaunch warp_launch(const Problem<float>& problem, const WarpPlan& plan, void* workspace) {
  const Problem<float> p = by_columns(problem) ? transposed(problem) : problem;
  const Access a = access_to_a(p), b = access_to_b(p);
  return {{.p = p, .order = plan.order, .shares = plan.shares, .parts = static_cast<float*>(workspace)},
          plan.tile,
          access_of_a(plan.tile, a),
          b};
}

inline WarpParts<float> parts_of(const WarpLaunch& launch) {
  const WarpTilesConfig& tile = warp_tiles[launch.tile].config;
  return {launch.args.p, launch.args.order, launch.args.shares, launch.args.parts, tile.m, tile.n};
}

}  // namespace TESSERA_UNIT

}  // namespace tessera::matmul
