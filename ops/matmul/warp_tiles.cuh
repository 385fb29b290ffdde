// SPDX-License-Identifier: Apache-2.0
// The kernel of rung 11: panels of A and B on their way to shared memory while earlier ones are
// multiplied, and an outer product of register fragments for each step along k.
#pragma once
#include <type_traits>
#include "warp_panels.cuh"
#include "warp_results.cuh"

namespace tessera::matmul {
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

  using PanelA = Panel<T, config, config.m, access_a>;
  static constexpr bool b_in_lines = takes_lines(config, access_b);
  using PanelB = std::conditional_t<b_in_lines, LinesPanel<T, config>, Panel<T, config, config.n, access_b>>;
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
  static constexpr bool can_split = std::is_same_v<T, float>;

  __device__ void operator()(Thread thread, Shared& shared, const WarpArgs<T>& args) const {
    const int block = thread.block().x;
    std::int64_t at = args.shares.begin(block);
    do {
      const WarpShares::Part part = args.shares.part(block, at);
      at = part.next;
      add_part(thread, shared, args, part);
    } while (can_split && at < args.shares.end(block));
  }

  static __device__ void add_part(Thread thread, Shared& shared, const WarpArgs<T>& args,
                                  const WarpShares::Part& part) {
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
    if constexpr (config.slices > 1) {
      store_slices(thread, shared, slice, place, p, row, col, sums);
    } else {
      if constexpr (can_split)
        if (!part.alone() && !join_parts<threads>(thread, args, part, sums)) return;
      store(p, row + place.m, col + place.n, sums);
    }
  }

  // Of those who share a ring of stages.
  static __device__ void meet(Thread thread) {
    if constexpr (config.slices > 1) __syncwarp();
    else thread.sync();
  }

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
    constexpr int ahead = config.stages - 1;
    for (int s = 0; s < ahead; ++s) copy(shared, s, a, b, inside, k - s * config.depth);
    cuda::ptx::wait_for_copies<ahead - 1>();
    meet(thread);
    static_assert(config.depth / steps_of_b % 2 == 0);
    FragmentA of_a[2];
    FragmentB of_b[2];
    load_a(of_a[0], shared, 0, 0, place);
    const typename PanelB::Place place_of_b{place.n};
    load_b(of_b[0], shared, 0, 0, place_of_b);
    int reading = 0, writing = ahead;
    for (std::int64_t left = k; left > 0; left -= config.depth) {
      SIMT_UNROLL
      for (int l = 0; l < config.depth; ++l) {
        if (l == config.depth - 1) {  // the stage is read to its end: go to the next
          cuda::ptx::wait_for_copies<ahead - 1>();
          meet(thread);
          reading = reading + 1 == config.stages ? 0 : reading + 1;
        }
        const int next = (l + 1) % config.depth;
        load_a(of_a[next % 2], shared, reading, next, place);
        if (next % steps_of_b == 0) load_b(of_b[next / steps_of_b % 2], shared, reading, next, place_of_b);
        if (l == 0) {
          copy(shared, writing, a, b, inside, left - ahead * config.depth);
          writing = writing + 1 == config.stages ? 0 : writing + 1;
        }
        add_outer_product(sums, of_a[l % 2], of_b[l / steps_of_b % 2], l % steps_of_b);
      }
    }
  }

  static __device__ bool stores_vectors(const Problem<T>& p) {
    return takes_vectors(p.c) && (p.beta == T{0} || takes_vectors(p.c0));
  }
  static __device__ void store_some(const Problem<T>& p, bool vectors, std::int64_t row, std::int64_t col,
                                    const T* sums) {
    if (vectors && row < p.m() && col + vector <= p.n()) return store_vector(p, row, col, sums);
    SIMT_UNROLL
    for (int e = 0; e < vector; ++e) p.store(row, col + e, sums[e]);
  }

  static __device__ void store(const Problem<T>& p, std::int64_t row, std::int64_t col, const Sums& sums) {
    const bool vectors = stores_vectors(p);
    SIMT_UNROLL
    for (int i = 0; i < thread_m; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; j += vector)
        store_some(p, vectors, row + Layout::row_of(i), col + Layout::col_of(j), &sums[i][j]);
    }
  }

  // Each warp leaves its slice's sums of the tile in its ring, which is read to its end; all threads add
  // them, in the slices' order.
  static __device__ void store_slices(Thread thread, Shared& shared, int slice, Place place,
                                      const Problem<T>& p, std::int64_t row, std::int64_t col,
                                      const Sums& sums) {
    constexpr int wide = config.n + vector;  // 16 bytes more spread a column of eight lanes over the banks
    static_assert(sizeof(Slice) % sizeof(T) == 0 && config.m * wide * sizeof(T) <= sizeof(Slice));
    T* const own = &shared.slice[slice].a[0][0][0];
    cuda::ptx::wait_for_copies<0>();
    __syncwarp();
    SIMT_UNROLL
    for (int i = 0; i < thread_m; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < thread_n; j += vector) {
        uint4 words;
        __builtin_memcpy(&words, &sums[i][j], sizeof words);
        *reinterpret_cast<uint4*>(own + (place.m + Layout::row_of(i)) * wide + place.n + Layout::col_of(j)) =
            words;
      }
    }
    thread.sync();
    const bool vectors = stores_vectors(p);
    constexpr int across = config.n / vector;
    SIMT_UNROLL
    for (int i = 0; i < config.m * across; i += threads) {
      const int at = i + thread.index().x, r = at / across, c = at % across * vector;
      T all[vector] = {};
      SIMT_UNROLL
      for (int s = 0; s < config.slices; ++s) {
        T some[vector];
        const uint4 words = *reinterpret_cast<const uint4*>(&shared.slice[s].a[0][0][0] + r * wide + c);
        __builtin_memcpy(some, &words, sizeof words);
        SIMT_UNROLL
        for (int e = 0; e < vector; ++e) all[e] = s == 0 ? some[e] : all[e] + some[e];
      }
      store_some(p, vectors, row + r, col + c, all);
    }
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
