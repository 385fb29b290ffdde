// SPDX-License-Identifier: Apache-2.0
// The kernel of rung 10, for one product and for a batch: a tile of C, with 16-byte accesses throughout.
//
// A tile in shared memory holds, for each k of a step, neighbouring rows of A or columns of B: both operands
// extend "along" m or n, and "deep" into k. Loads go along the dimension that is contiguous in memory, so a
// transposed operand is as fast. If neither dimension is contiguous, or the address is misaligned, elements
// are loaded one by one.
#pragma once
#include "ops/matmul/matmul.hpp"
#include "tessera/kernel.hpp"

namespace tessera::matmul {

inline namespace TESSERA_UNIT {

// Elements that fill 16 bytes.
template <class T>
struct Vector {
  static constexpr int count = 16 / int(sizeof(T));
  T element[count];

  SIMT void copy_to(T* to) const {
    SIMT_UNROLL
    for (int e = 0; e < count; ++e) to[e] = element[e];
  }
};

// True if every line can be accessed 16 bytes at a time: `stride` is 1, and all lines are aligned.
template <class T>
SIMT bool is_vector_aligned(const T* data, std::int64_t stride, std::int64_t line_stride) {
  return stride == 1 && line_stride % Vector<T>::count == 0 &&
         reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

template <class T, int along, int threads>
struct Tile16 {
  static constexpr int vector = Vector<T>::count;
  static constexpr int k_vectors = 4;                       // two full sectors of a row of A
  static constexpr int depth = k_vectors * vector;          // steps of k in a tile
  static constexpr int each = along * k_vectors / threads;  // vectors that a thread loads
  static_assert(each * threads == along * k_vectors && along % (8 * vector) == 0);

  alignas(16) T element[depth][along];

  // Swizzles vectors within groups of eight, differently for each of the four vectors along k that the lanes
  // of a warp write when they transpose the tile: these stores then have no bank conflicts.
  SIMT static int swizzled(int l, int i) { return i ^ (l / vector * 2 * vector); }

  SIMT Vector<T> vector_at(Thread thread, int l, int i, int further) const {
    return __builtin_bit_cast(Vector<T>, thread.load16(&element[l][swizzled(l, i) + further]));
  }

  // Copies one thread's share of each tile along k.
  class Filler {
   public:
    SIMT Filler(const T* data, std::int64_t first, std::int64_t extent, std::int64_t stride,
                std::int64_t k_stride, int rank)
        : data_(data),
          stride_(stride),
          k_stride_(k_stride),
          along_first_(stride == 1),
          rank_(rank),
          extent_left_(extent - first < along ? int(extent - first) : along) {
      wide_ = along_first_ ? is_vector_aligned(data, stride, k_stride)
                           : is_vector_aligned(data, k_stride, stride);
      offset_ = first * stride;
    }

    // Loads this thread's share of the next tile, with zeros beyond the operand; `left` steps of k remain.
    SIMT void fetch(Thread thread, std::int64_t left) {
      const int deep = left < depth ? int(left) : depth;
      SIMT_UNROLL
      for (int v = 0; v < each; ++v) {
        const int i = along_of(v), l = deep_of(v);
        const std::int64_t at = offset_ + i * stride_ + l * k_stride_;
        if (wide_ && i + (along_first_ ? vector : 1) <= extent_left_ &&
            l + (along_first_ ? 1 : vector) <= deep)
          value_[v] = __builtin_bit_cast(Vector<T>, thread.load16(data_ + at));
        else value_[v] = load_elements(i, l, deep, at);
      }
      offset_ += depth * k_stride_;
    }

    SIMT void put(Thread thread, Tile16& tile) const {
      SIMT_UNROLL
      for (int v = 0; v < each; ++v) {
        const int i = along_of(v), l = deep_of(v);
        T* const to = &tile.element[l][swizzled(l, i)];
        if (along_first_) {
          thread.store16(to, __builtin_bit_cast(Bytes16, value_[v]));
        } else {
          SIMT_UNROLL
          for (int e = 0; e < vector; ++e) to[e * along] = value_[v].element[e];
        }
      }
    }

   private:
    SIMT int along_of(int v) const {
      const int vector_index = rank_ + v * threads;
      return along_first_ ? vector_index % (along / vector) * vector : vector_index / k_vectors;
    }
    SIMT int deep_of(int v) const {
      const int vector_index = rank_ + v * threads;
      return along_first_ ? vector_index / (along / vector) : vector_index % k_vectors * vector;
    }
    SIMT Vector<T> load_elements(int i, int l, int deep, std::int64_t at) const {
      Vector<T> out;
      SIMT_UNROLL
      for (int e = 0; e < vector; ++e) {
        const bool inside = i + (along_first_ ? e : 0) < extent_left_ && l + (along_first_ ? 0 : e) < deep;
        out.element[e] = inside ? data_[at + e * (along_first_ ? stride_ : k_stride_)] : T{0};
      }
      return out;
    }

    const T* data_;
    std::int64_t offset_, stride_, k_stride_;
    bool along_first_, wide_;
    int rank_, extent_left_;
    Vector<T> value_[each];
  };
};

// Stores a vector of C's row i from column j on, clipped to C.
template <class T>
SIMT void store_vector(Thread thread, const Problem<T>& p, bool wide, std::int64_t i, std::int64_t j,
                       const T* sum) {
  constexpr int vector = Vector<T>::count;
  if (wide && i < p.m() && j + vector <= p.n()) {
    Vector<T> out;
    SIMT_UNROLL
    for (int e = 0; e < vector; ++e) out.element[e] = p.scaled(i, j + e, sum[e]);
    thread.store16(&p.c(i, j), __builtin_bit_cast(Bytes16, out));
  } else {
    SIMT_UNROLL
    for (int e = 0; e < vector; ++e) p.store(i, j + e, sum[e]);
  }
}

}  // namespace TESSERA_UNIT

inline namespace TESSERA_UNIT {

struct VectorizedConfig {
  int rows = 128, cols = 128;  // a block's tile of C
  Tuning tuning() const { return {{"rows", rows}, {"cols", cols}}; }
};

template <class T, VectorizedConfig config>
struct Vectorized {
  static constexpr int rows = config.rows, cols = config.cols, micro = 8;
  static constexpr int threads = rows / micro * (cols / micro);
  // A thread's patch of C is `runs` vectors along each side, `across` columns or `down` rows apart.
  static constexpr int vector = Vector<T>::count, runs = micro / vector;
  static constexpr int down = rows / runs, across = cols / runs;

  using TileA = Tile16<T, rows, threads>;
  using TileB = Tile16<T, cols, threads>;
  static constexpr int depth = TileA::depth;

  struct Shared {
    TileA a[2];
    TileB b[2];
  };

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.n() + cols - 1) / cols, (p.m() + rows - 1) / rows}, .block = {threads}};
  }

  // A warp is 4 threads down and 8 across. Lanes 2i and 2i + 1 load the same vectors of B's tile; lanes of
  // equal parity in a half-warp load the same ones of A's.
  SIMT static int across_of(int rank) { return (rank >> 1) % 8 + rank / 32 % (cols / 64) * 8; }
  SIMT static int down_of(int rank) { return rank % 2 + (rank >> 4) % 2 * 2 + rank / (cols / 2) * 4; }

  static Owner owner(const Tuning&, std::int64_t i, std::int64_t j) {
    const int y = int(i % rows % down) / vector, x = int(j % cols % across) / vector;
    const int lane = y % 2 + x % 8 * 2 + y / 2 % 2 * 16, warp = x / 8 + y / 4 * (cols / 64);
    return {.block = {int(j / cols), int(i / rows), 0}, .thread = {warp * 32 + lane, 0, 0}};
  }

  SIMT static void multiply_tiles(Thread thread, const TileA& tile_a, const TileB& tile_b, int x, int y,
                                  T (&sum)[micro][micro]) {
    SIMT_UNROLL
    for (int l = 0; l < depth; ++l) {
      T a[micro], b[micro];
      SIMT_UNROLL
      for (int r = 0; r < runs; ++r) {
        tile_a.vector_at(thread, l, y * vector, r * down).copy_to(a + r * vector);
        tile_b.vector_at(thread, l, x * vector, r * across).copy_to(b + r * vector);
      }
      SIMT_UNROLL
      for (int i = 0; i < micro; ++i) {
        SIMT_UNROLL
        for (int j = 0; j < micro; ++j) sum[i][j] = multiply_add(a[i], b[j], sum[i][j]);
      }
    }
  }

  SIMT static void write(Thread thread, const Problem<T>& p, std::int64_t row, std::int64_t col,
                         const T (&sum)[micro][micro]) {
    const bool wide = is_vector_aligned(p.c.data, p.c.stride[1], p.c.stride[0]);
    SIMT_UNROLL
    for (int i = 0; i < micro; ++i) {
      SIMT_UNROLL
      for (int r = 0; r < runs; ++r)
        store_vector(thread, p, wide, row + i / vector * down + i % vector, col + r * across,
                     &sum[i][r * vector]);
    }
  }

  // Multiplies the matrices at these addresses, with p's shapes and strides: p itself takes no registers.
  SIMT static void sum_products(Thread thread, Shared& shared, const Problem<T>& p, const T* a_data,
                                const T* b_data, T (&sum)[micro][micro]) {
    const int rank = thread.rank(), x = across_of(rank), y = down_of(rank);
    const std::int64_t row0 = std::int64_t{thread.block().y} * rows;
    const std::int64_t col0 = std::int64_t{thread.block().x} * cols;
    typename TileA::Filler a(a_data, row0, p.m(), p.a.stride[0], p.a.stride[1], rank);
    typename TileB::Filler b(b_data, col0, p.n(), p.b.stride[1], p.b.stride[0], rank);
    if (p.k() > 0) {
      a.fetch(thread, p.k());
      b.fetch(thread, p.k());
      a.put(thread, shared.a[0]);
      b.put(thread, shared.b[0]);
    }
    thread.sync();
    int buffer = 0;
    SIMT_NO_UNROLL
    for (std::int64_t left = p.k(); left > 0; left -= depth, buffer ^= 1) {
      if (left > depth) {
        a.fetch(thread, left - depth);
        b.fetch(thread, left - depth);
      }
      multiply_tiles(thread, shared.a[buffer], shared.b[buffer], x, y, sum);
      if (left > depth) {
        a.put(thread, shared.a[buffer ^ 1]);
        b.put(thread, shared.b[buffer ^ 1]);
      }
      thread.sync();
    }
  }

  SIMT static void write_sums(Thread thread, const Problem<T>& p, const T (&sum)[micro][micro]) {
    const int rank = thread.rank();
    write(thread, p, std::int64_t{thread.block().y} * rows + down_of(rank) * vector,
          std::int64_t{thread.block().x} * cols + across_of(rank) * vector, sum);
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    T sum[micro][micro] = {};
    sum_products(thread, shared, p, p.a.data, p.b.data, sum);
    write_sums(thread, p, sum);
  }
};

}  // namespace TESSERA_UNIT

}  // namespace tessera::matmul
