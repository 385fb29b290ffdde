// SPDX-License-Identifier: Apache-2.0
// GPU rung 3: trapezoids in registers, and traceback phase by phase. The fastest GPU rung.
//
// A phase is a launch that goes down as many rows as a strip's edges allow. Energies are computed from 16-bit
// greys when they are needed, and the minima are DPX instructions where the hardware has them; only one row
// of costs per phase is written. Each column's cost carries the column of its path above the phase: the
// traceback takes one step per phase, after which all phases go down again in parallel, each in the one strip
// with its part of the seam, and record the steps. The dependency chain of rows limits it: a minimum, a sum
// and two shuffles for each, and a launch for each phase.
#include "tessera/kernel.hpp"
#include "gpu_pass.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/scalar.cuh"
#endif

namespace tessera::seamcarve {
namespace {

struct Config {
  int lane = 8;   // columns per lane
  int rows = 64;  // rows per phase
  Tuning tuning() const { return {{"lane", lane}, {"rows", rows}}; }
};

// Returns the minimum; the first one if both are equal.
SIMT std::int32_t lesser(std::int32_t first, std::int32_t second, bool& is_first) {
#if defined(__CUDA_ARCH__)
  return cuda::ptx::vibmin_s32(first, second, is_first);
#else
  is_first = first <= second;
  return is_first ? first : second;
#endif
}
SIMT Masked lesser(Masked first, Masked second, bool& is_first) {
  is_first = first <= second;
  return is_first ? first : second;
}

// Returns an energy and, above it, the pixel's mark: shared memory holds 32 bits for either type of cost.
template <class Sum>
SIMT std::uint32_t packed_energy(std::int32_t energy, std::int32_t pixel) {
  const auto low = static_cast<std::uint32_t>(energy);
  return sizeof(Sum) == sizeof(Plain) ? low : low | static_cast<std::uint32_t>(pixel >> grey_bits) << 30;
}
template <class Sum>
SIMT Sum unpacked_energy(std::uint32_t word) {
  if constexpr (sizeof(Sum) == sizeof(Plain)) return static_cast<Sum>(word);
  else return static_cast<Sum>(word & 0x3fffffffu) + weight_of<Sum>(static_cast<int>(word >> 30));
}

// The rows of a launch: first to last, in a field of that width.
template <class Sum>
struct Stage {
  Field field;
  std::int32_t width, phase;  // index of the launch for this seam
  std::int32_t rows;          // rows per phase

  SIMT std::int32_t first() const { return phase * rows; }
  SIMT std::int32_t last() const { return first() + rows < field.length() ? first() + rows : field.length(); }
  // Costs of the row above a phase; ancestors: for each column of its last row, the column in the row above
  // it.
  SIMT Sum* tops(std::int32_t of) const { return reinterpret_cast<Sum*>(field.own) + of * field.stride; }
  SIMT std::int32_t phases() const { return (field.length() + rows - 1) / rows; }
  SIMT std::int32_t* ancestors(std::int32_t of) const {
    return reinterpret_cast<std::int32_t*>(tops(phases() + 1)) + of * field.stride;
  }
  // Returns the seam's column in a phase's last row.
  SIMT std::int32_t* ends() const { return ancestors(phases()); }

  static std::size_t bytes(const Direction& d, std::int32_t rows) {
    const std::int64_t phases = (d.length + rows - 1) / rows, stride = stride_for(d.across);
    return static_cast<std::size_t>((phases + 1) * stride) * sizeof(Sum) +
           static_cast<std::size_t>(phases * (stride + 1)) * sizeof(std::int32_t);
  }
};

// A strip of columns down many rows, by a block whose first warp holds the costs in registers: its lanes have
// several columns each and exchange those at their edges, so that a row needs no barrier. The other warps
// meanwhile compute the energies of the next rows. Errors at the strip's edges spread inwards by one column
// per row.
template <int in_lane, Energy energy, class Sum>
struct ColumnMinima {
  static constexpr bool forward = energy == Energy::forward;
  static constexpr int columns = 32 * in_lane, piece = forward ? 8 : 16, threads = 256, quads = in_lane / 4;

  // A lane's columns in fours; the same four of all lanes are adjacent.
  struct Energies {
    alignas(16) std::uint32_t own[piece][columns];
    alignas(16)
        std::uint32_t sides[forward ? piece : 1][columns];  // cost of a step from the left; from the right
  };
  struct Shared {
    Energies turn[2];
  };

  // The state of a lane while it goes down.
  struct Lane {
    Sum cost[in_lane];
    std::int32_t from[in_lane];
    std::uint32_t steps;  // two bits for each column: 0, 1, 2 from the left, from above, from the right
  };

  static constexpr int group = 8;  // pixels of one access

  SIMT static void load(Thread thread, const Pixel* from, std::int32_t (&to)[group]) {
    const Bytes16 words = thread.load16(from);
    SIMT_UNROLL
    for (int i = 0; i < group; ++i)
      to[i] = static_cast<std::int32_t>(words.word[i / 2] >> (i % 2 * 16) & 0xffff);
  }

  // Computes the energies of eight pixels from column x on, a multiple of 8 within the rows' stride.
  SIMT static void make_group(Thread thread, Energies& to, const Stage<Sum>& s, int row, std::int32_t y,
                              std::int32_t x, int column) {
    const Field& f = s.field;
    const Pixel* const line = f.plane + y * f.stride;
    std::int32_t here[group], above[group], below[group] = {};
    load(thread, line + x, here);
    load(thread, line + x - (y > 0 ? f.stride : 0), above);
    if constexpr (!forward) load(thread, line + x + (y + 1 < f.length() ? f.stride : 0), below);
    std::int32_t before = grey_of(x > 0 ? line[x - 1] : line[x]);
    const std::int32_t behind = x + group < s.width ? line[x + group] : 0;
    SIMT_UNROLL
    for (int q = 0; q < group / 4; ++q) {
      Bytes16 own, sides;
      SIMT_UNROLL
      for (int k = 0; k < 4; ++k) {
        const int i = 4 * q + k;
        const std::int32_t me = grey_of(static_cast<Pixel>(here[i])),
                           next = i + 1 < group ? here[i + 1 < group ? i + 1 : i] : behind;
        const Neighbourhood a{before, me, x + i + 1 < s.width ? grey_of(static_cast<Pixel>(next)) : me,
                              grey_of(static_cast<Pixel>(above[i])), grey_of(static_cast<Pixel>(below[i]))};
        before = me;
        own.word[k] = packed_energy<Sum>(own_energy<energy>(a), here[i]);
        sides.word[k] = static_cast<std::uint32_t>(distance(a.above, a.left)) |
                        static_cast<std::uint32_t>(distance(a.above, a.right)) << 16;
      }
      put(thread, to, row, column / 4 + q, own, sides);
    }
  }

  SIMT static void put(Thread thread, Energies& to, int row, int quad, const Bytes16& own,
                       const Bytes16& sides) {
    const int at = (quad % quads * 32 + quad / quads) * 4;
    thread.store16(&to.own[row][at], own);
    if constexpr (forward) thread.store16(&to.sides[row][at], sides);
  }

  // Computes the energies of `piece` rows from y on, by `count` threads of which this is number `me`.
  SIMT static void make(Thread thread, Energies& to, const Stage<Sum>& s, std::int32_t y, std::int32_t x0,
                        int me, int count) {
    constexpr int groups = columns / group;
    for (int task = me; task < piece * groups; task += count) {
      const int row = task / groups, column = task % groups * group;
      const std::int32_t x = x0 + column;
      if (y + row >= s.last()) break;
      if (x >= 0 && x < s.field.stride) {
        make_group(thread, to, s, row, y + row, x, column);
      } else {
        put(thread, to, row, column / 4, {}, {});
        put(thread, to, row, column / 4 + 1, {}, {});
      }
    }
  }

  SIMT static void begin(Thread thread, Lane& lane, const Stage<Sum>& s, std::int32_t x0) {
    const Sum* const top = s.tops(s.phase);
    SIMT_UNROLL
    for (int j = 0; j < in_lane; ++j) {
      const std::int32_t x = x0 + thread.lane() * in_lane + j;
      lane.cost[j] = x < 0 || x >= s.width ? beyond<Sum> : s.phase == 0 ? 0 : top[x];
      lane.from[j] = x;
    }
  }

  // Advances one row. `edge`: the strip reaches beyond the picture.
  template <bool notes>
  SIMT static void step(Thread thread, Lane& lane, const Energies& e, int row, const Stage<Sum>& s,
                        std::int32_t x0, bool edge) {
    const Sum from_left = thread.shuffle_up(lane.cost[in_lane - 1], 1),
              from_right = thread.shuffle_down(lane.cost[0], 1);
    Sum left = thread.lane() == 0 ? beyond<Sum> : from_left;
    const Sum right_edge = thread.lane() == 31 ? beyond<Sum> : from_right;
    std::int32_t left_from = 0, right_from = 0;
    if constexpr (!notes) {
      left_from = thread.shuffle_up(lane.from[in_lane - 1], 1);
      right_from = thread.shuffle_down(lane.from[0], 1);
    }
    std::uint32_t steps = 0;
    SIMT_UNROLL
    for (int q = 0; q < quads; ++q) {
      const int at = (q * 32 + thread.lane()) * 4;
      const Bytes16 own = thread.load16(&e.own[row][at]);
      Bytes16 sides = {};
      if constexpr (forward) sides = thread.load16(&e.sides[row][at]);
      SIMT_UNROLL
      for (int k = 0; k < 4; ++k) {
        const int j = 4 * q + k, next = j + 1 < in_lane ? j + 1 : j;
        const Sum above = lane.cost[j], right = j + 1 < in_lane ? lane.cost[next] : right_edge;
        bool is_left = false, is_first = false;
        const Sum two = lesser(left + static_cast<std::int32_t>(sides.word[k] & 0xffff), above, is_left);
        const Sum least = lesser(two, right + static_cast<std::int32_t>(sides.word[k] >> 16), is_first);
        left = above;
        lane.cost[j] = least + unpacked_energy<Sum>(own.word[k]);
        if constexpr (notes) {
          steps |= (is_first ? is_left ? 0u : 1u : 2u) << (2 * j);
        } else {
          const std::int32_t mine = lane.from[j], other = j + 1 < in_lane ? lane.from[next] : right_from;
          lane.from[j] = is_first ? is_left ? left_from : mine : other;
          left_from = mine;
        }
      }
    }
    if constexpr (notes) lane.steps = steps;
    if (!edge) return;
    SIMT_UNROLL
    for (int j = 0; j < in_lane; ++j) {
      const std::int32_t x = x0 + thread.lane() * in_lane + j;
      if (x < 0 || x >= s.width) lane.cost[j] = beyond<Sum>;
    }
  }

  // Goes down the phase's rows from column x0 on, a multiple of 8. after(lane, row) is called for each row.
  template <bool notes, class After>
  SIMT static void down(Thread thread, Shared& shared, const Stage<Sum>& s, std::int32_t x0, Lane& lane,
                        const After& after) {
    const bool edge = x0 < 0 || x0 + columns > s.width;
    const std::int32_t first = s.first(), last = s.last();
    make(thread, shared.turn[0], s, first, x0, thread.rank(), threads);
    if (thread.warp() == 0) begin(thread, lane, s, x0);
    thread.sync();
    for (std::int32_t y = first, turn = 0; y < last; y += piece, turn ^= 1) {
      if (thread.warp() != 0) {
        make(thread, shared.turn[turn ^ 1], s, y + piece, x0, thread.rank() - 32, threads - 32);
      } else {
        for (int row = 0; row < piece && y + row < last; ++row) {
          step<notes>(thread, lane, shared.turn[turn], row, s, x0, edge);
          after(lane, y - first + row);
        }
      }
      thread.sync();
    }
  }
};

template <int in_lane, int rows, Energy energy, class Sum>
struct Phase {
  using Falling = ColumnMinima<in_lane, energy, Sum>;
  static constexpr int threads = Falling::threads, useful = Falling::columns - 2 * rows;
  static_assert(useful > 0 && useful % 8 == 0 && rows % Falling::piece == 0);
  using Shared = typename Falling::Shared;

  SIMT void operator()(Thread thread, Shared& shared, const Stage<Sum>& s) const {
    typename Falling::Lane lane = {};
    const std::int32_t x0 = thread.block().x * useful - rows;
    Falling::template down<false>(thread, shared, s, x0, lane, [](const auto&, std::int32_t) {});
    if (thread.warp() != 0) return;
    Sum* const costs = s.tops(s.phase + 1);
    std::int32_t* const ancestors = s.ancestors(s.phase);
    SIMT_UNROLL
    for (int j = 0; j < in_lane; ++j) {
      const int column = thread.lane() * in_lane + j;
      if (column < rows || column >= rows + useful || x0 + column >= s.width) continue;
      costs[x0 + column] = lane.cost[j];
      ancestors[x0 + column] = lane.from[j];
    }
  }
};

// Finds the seam's end and its column at the end of each phase.
template <class Sum>
struct Ends {
  static constexpr int threads = 1024, warps = threads / 32;
  using Shared = BlockMinima<Sum, warps>;
  SIMT void operator()(Thread thread, Shared& shared, const Stage<Sum>& s) const {
    std::int32_t x = leftmost_minimum(thread, shared, s.tops(s.phases()), s.width);
    if (thread.rank() != 0) return;
    for (std::int32_t phase = s.phases() - 1; phase >= 0; --phase) {
      s.ends()[phase] = x;
      x = s.ancestors(phase)[x];
      x = x < 0 ? 0 : x < s.width ? x : s.width - 1;
    }
  }
};

// Goes down a phase again, with one block, then back up by the recorded steps.
template <int in_lane, int rows, Energy energy, class Sum>
struct TraceBack {
  using Falling = ColumnMinima<in_lane, energy, Sum>;
  static constexpr int threads = Falling::threads;
  static_assert(Falling::columns / 2 - 8 >= rows);
  struct Shared {
    typename Falling::Shared falling;
    std::uint32_t steps[rows][32];
  };

  SIMT void operator()(Thread thread, Shared& shared, const Stage<Sum>& all) const {
    Stage<Sum> s = all;
    s.phase = thread.block().x;
    const std::int32_t end = s.ends()[s.phase], x0 = (end - Falling::columns / 2) & ~7;
    typename Falling::Lane lane = {};
    Falling::template down<true>(thread, shared.falling, s, x0, lane, [&](const auto& at, std::int32_t row) {
      shared.steps[row][thread.lane()] = at.steps;
    });
    if (thread.rank() != 0) return;
    std::int32_t* const seam = s.field.seam(s.field.direction.across - s.width);
    const auto within = [](int column, int first, int last) {
      return column < first ? first : column > last ? last : column;
    };
    const int first = x0 < 0 ? -x0 : 0, width = s.width - x0,
              last = (width < Falling::columns ? width : Falling::columns) - 1;
    int column = within(end - x0, first, last);
    for (std::int32_t row = s.last() - s.first() - 1; row >= 0; --row) {
      seam[s.first() + row] = x0 + column;
      const std::uint32_t steps = shared.steps[row][column / in_lane] >> (2 * (column % in_lane));
      column = within(column + static_cast<int>(steps & 3) - 1, first, last);
    }
  }
};

template <class T, Config config>
struct Trapezoids {
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) { return first_launch(p); }
  static std::size_t workspace_bytes(const Problem<T>& p, const Tuning&) {
    return workspace_for(p, [](const Direction& d, std::size_t cost) {
      return cost == sizeof(Masked) ? Stage<Masked>::bytes(d, config.rows)
                                    : Stage<Plain>::bytes(d, config.rows);
    });
  }
  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    prepare(thread, pass_of(p, 0, 0));
  }

  template <Energy energy, class Sum>
  static void search_by(const Field& field, std::int32_t found, Run& run) {
    using Down = Phase<config.lane, config.rows, energy, Sum>;
    using Back = TraceBack<config.lane, config.rows, energy, Sum>;
    Stage<Sum> s{field, field.width(found), 0, config.rows};
    const Launch strips{.grid = {(s.width + Down::useful - 1) / Down::useful}, .block = {Down::threads}};
    for (; s.phase < s.phases(); ++s.phase) launch_kernel<Down>(strips, s, run);
    launch_kernel<Ends<Sum>>({.grid = {1}, .block = {Ends<Sum>::threads}}, s, run);
    launch_kernel<Back>({.grid = {s.phases()}, .block = {Back::threads}}, s, run);
  }
  template <class Sum>
  static void search_of(const Field& field, std::int32_t found, Run& run) {
    if (field.energy == Energy::gradient) search_by<Energy::gradient, Sum>(field, found, run);
    else if (field.energy == Energy::laplacian) search_by<Energy::laplacian, Sum>(field, found, run);
    else search_by<Energy::forward, Sum>(field, found, run);
  }
  static void search(const Field& field, std::int32_t found, Run& run) {
    if (field.masked) search_of<Masked>(field, found, run);
    else search_of<Plain>(field, found, run);
  }
  static void finish(const Problem<T>& p, const Tuning&, Run& run) { carve(p, run, search); }
};

const KernelRung<Problem, Config, Trapezoids, Config{8, 64}> rung{
    "trapezoids in registers, minima by DPX, the way back found a phase at a step"};

}  // namespace
}  // namespace tessera::seamcarve
