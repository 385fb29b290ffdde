// SPDX-License-Identifier: Apache-2.0
// GPU rung 3: trapezoids in registers, and ways that are known phase by phase. The GPU's summit.
//
// A phase is a launch that goes down as many rows as a strip's edges allow (fall.hpp). Energies are made from
// 16-bit greys when they are needed, and the minima are DPX instructions where the hardware has them; of all
// costs only one row a phase is ever written. With a column's cost travels the column that its way had above
// the phase: so the way back takes one step for each phase, after which all phases go down again side by
// side, each in the one strip that the seam's part lies in, and note the steps. What limits it is the chain
// of rows: a minimum, a sum and two exchanges between lanes for each, and a launch for each phase.
#include "tessera/kernel.hpp"
#include "fall.hpp"

namespace tessera::seamcarve {
namespace {

struct Config {
  int lane = 8;   // columns of a lane
  int rows = 64;  // of a phase
  Tuning tuning() const { return {{"lane", lane}, {"rows", rows}}; }
};

template <int in_lane, int rows, Energy energy, class Sum>
struct Phase {
  using Falling = Fall<in_lane, energy, Sum>;
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

// Where the seam ends, and where it passes from phase to phase.
template <class Sum>
struct Ends {
  static constexpr int threads = 1024, warps = threads / 32;
  using Shared = Leasts<Sum, warps>;
  SIMT void operator()(Thread thread, Shared& shared, const Stage<Sum>& s) const {
    std::int32_t x = leftmost_least(thread, shared, s.tops(s.phases()), s.width);
    if (thread.rank() != 0) return;
    for (std::int32_t phase = s.phases() - 1; phase >= 0; --phase) {
      s.ends()[phase] = x;
      x = s.ancestors(phase)[x];
      x = x < 0 ? 0 : x < s.width ? x : s.width - 1;
    }
  }
};

// A block for each phase: down once more, and up by the steps noted.
template <int in_lane, int rows, Energy energy, class Sum>
struct Trace {
  using Falling = Fall<in_lane, energy, Sum>;
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
    using Back = Trace<config.lane, config.rows, energy, Sum>;
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
