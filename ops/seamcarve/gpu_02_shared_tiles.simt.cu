// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: many rows in a launch, in tiles of shared memory.
//
// A block takes a strip of columns down a number of rows and computes as many more columns on either side,
// since errors at a strip's edge spread inwards by one column per row: the neighbours compute these columns,
// too, and no block waits for another within a launch. A row takes one barrier of the block. Each pixel
// stores a byte with its step, by which one thread traces the seam back up. The barrier for each row and the
// traceback limit it.
#include "tessera/kernel.hpp"
#include "gpu_pass.hpp"

namespace tessera::seamcarve {
namespace {

struct Config {
  int block = 256;  // columns, including those of the edges
  int rows = 32;    // rows per launch
  Tuning tuning() const { return {{"block", block}, {"rows", rows}}; }
};

// Workspace: two alternating rows of costs, of the row above the launch's first and of its last row; then a
// byte for each pixel.
template <class Sum>
struct Rows {
  Field field;
  std::int32_t width, first, last, turn;

  SIMT Sum* costs(std::int32_t which) const {
    return reinterpret_cast<Sum*>(field.own) + which * field.stride;
  }
  SIMT signed char* steps(std::int32_t y) const {
    return reinterpret_cast<signed char*>(costs(2)) + y * field.stride;
  }
};

template <class Sum, int block, int rows>
struct Strips {
  static constexpr int threads = block, useful = block - 2 * rows;
  static_assert(useful > 0);

  struct Shared {
    Sum cost[2][block];
    std::int32_t grey[2][block];
  };

  SIMT void operator()(Thread thread, Shared& shared, const Rows<Sum>& r) const {
    const int me = thread.rank();
    const std::int32_t x = thread.block().x * useful - rows + me;
    const bool inside = x >= 0 && x < r.width, mine = inside && me >= rows && me < rows + useful;
    const auto grey = [&](std::int32_t y) { return inside ? r.field.grey(y, x) : 0; };
    const int left = me > 0 && x > 0 ? me - 1 : me, right = me + 1 < block && x + 1 < r.width ? me + 1 : me;
    Sum cost = !inside ? beyond<Sum> : r.first == 0 ? 0 : r.costs(r.turn)[x];
    std::int32_t above = grey(r.first > 0 ? r.first - 1 : 0), here = grey(r.first);
    for (std::int32_t y = r.first, turn = 0; y < r.last; ++y, turn ^= 1) {
      const std::int32_t below = y + 1 < r.field.length() ? grey(y + 1) : here;
      shared.cost[turn][me] = cost;
      shared.grey[turn][me] = here;
      thread.sync();
      const auto& costs = shared.cost[turn];
      const Neighbourhood a{shared.grey[turn][left], here, shared.grey[turn][right], above, below};
      const StepCost<Sum> way = cheapest_into(r.field.energy, a, left == me ? beyond<Sum> : costs[left], cost,
                                              right == me ? beyond<Sum> : costs[right]);
      if (inside)
        cost = with_mark<Sum>(own_energy(r.field.energy, a), r.field.plane[y * r.field.stride + x]) +
               (y == 0 ? 0 : way.cost);
      if (mine) r.steps(y)[x] = static_cast<signed char>(way.step);
      above = here;
      here = below;
    }
    if (mine) r.costs(r.turn ^ 1)[x] = cost;
  }
};

template <class Sum>
struct Up {
  static constexpr int threads = 256, warps = threads / 32;
  using Shared = BlockMinima<Sum, warps>;
  SIMT void operator()(Thread thread, Shared& shared, const Rows<Sum>& r) const {
    std::int32_t x = leftmost_minimum(thread, shared, r.costs(r.turn), r.width);
    if (thread.rank() != 0) return;
    std::int32_t* const seam = r.field.seam(r.field.direction.across - r.width);
    for (std::int32_t y = r.last - 1; y >= 0; --y) {
      seam[y] = x;
      if (y > 0) x += r.steps(y)[x];
    }
  }
};

template <class T, Config config>
struct SharedTiles {
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) { return first_launch(p); }
  static std::size_t workspace_bytes(const Problem<T>& p, const Tuning&) {
    return workspace_for(p, [](const Direction& d, std::size_t cost) {
      return (2 * cost + static_cast<std::size_t>(d.length)) * static_cast<std::size_t>(stride_for(d.across));
    });
  }
  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    prepare(thread, pass_of(p, 0, 0));
  }

  template <class Sum>
  static void search_by(const Field& field, std::int32_t found, Run& run) {
    using Strip = Strips<Sum, config.block, config.rows>;
    Rows<Sum> rows{field, field.width(found), 0, 0, 0};
    const Launch strips{.grid = {(rows.width + Strip::useful - 1) / Strip::useful}, .block = {config.block}};
    for (; rows.last < field.length(); rows.first = rows.last, rows.turn ^= 1) {
      rows.last = std::min(rows.first + config.rows, field.length());
      launch_kernel<Strip>(strips, rows, run);
    }
    launch_kernel<Up<Sum>>({.grid = {1}, .block = {Up<Sum>::threads}}, rows, run);
  }
  static void search(const Field& field, std::int32_t found, Run& run) {
    if (field.masked) search_by<Masked>(field, found, run);
    else search_by<Plain>(field, found, run);
  }
  static void finish(const Problem<T>& p, const Tuning&, Run& run) { carve(p, run, search); }
};

const KernelRung<Problem, Config, SharedTiles, Config{256, 32}, Config{128, 16}, Config{512, 64}> rung{
    "strips of columns down many rows in a launch, in shared memory, with edges computed twice"};

}  // namespace
}  // namespace tessera::seamcarve
