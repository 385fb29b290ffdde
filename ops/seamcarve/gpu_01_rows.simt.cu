// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: a row at a time, a thread for each of its pixels.
//
// A row's costs wait for those of the row above, so each row is a launch: what a launch takes, times the
// rows, times the seams. All costs stay in memory, and one thread finds the way back up through them. What
// limits it is the number of launches; the next rung makes one for many rows.
#include "tessera/kernel.hpp"
#include "pass.hpp"

namespace tessera::seamcarve {
namespace {

struct Config {
  int block = 256;
  Tuning tuning() const { return {{"block", block}}; }
};

struct Row {
  Field field;
  std::int32_t width, y;

  SIMT std::int32_t* costs(std::int32_t row) const {
    return reinterpret_cast<std::int32_t*>(field.own) + row * field.stride;
  }
  SIMT std::int32_t cost(std::int32_t row, std::int32_t x) const {
    return x < 0 || x >= width ? beyond : costs(row)[x];
  }
  SIMT Way way(std::int32_t row, std::int32_t x, const Around& a) const {
    return cheapest_into(field.energy, a, cost(row - 1, x - 1), cost(row - 1, x), cost(row - 1, x + 1));
  }
};

struct Down {
  struct Shared {};
  SIMT void operator()(Thread thread, Shared&, const Row& r) const {
    const std::int32_t x = thread.block().x * thread.size().x + thread.rank();
    if (x >= r.width) return;
    const Around a = r.field.around(r.y, x, r.width);
    const std::int32_t own = own_energy(r.field.energy, a) +
                             bias_of(r.field.plane[r.y * r.field.stride + x], r.field.direction.bias);
    r.costs(r.y)[x] = r.y == 0 ? own : own + r.way(r.y, x, a).cost;
  }
};

struct Up {
  static constexpr int threads = 256, warps = threads / 32;
  using Shared = Leasts<warps>;
  SIMT void operator()(Thread thread, Shared& shared, const Row& r) const {
    const std::int32_t found = r.field.direction.across - r.width;
    std::int32_t x = leftmost_least(thread, shared, r.costs(r.y), r.width);
    if (thread.rank() != 0) return;
    std::int32_t* const seam = r.field.seam(found);
    seam[r.y] = x;
    for (std::int32_t y = r.y; y > 0; --y) seam[y - 1] = x += r.way(y, x, r.field.around(y, x, r.width)).step;
  }
};

template <class T, Config config>
struct Rows {
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) { return first_launch(p); }
  static std::size_t workspace_bytes(const Problem<T>& p, const Tuning&) {
    return workspace_for(
        p, [](const Direction& d) { return d.length * stride_for(d.across) * sizeof(std::int32_t); });
  }
  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    prepare(thread, pass_of(p, 0, 0));
  }

  static void search(const Field& field, std::int32_t found, Run& run) {
    Row row{field, field.width(found), 0};
    const Launch across{.grid = {(row.width + config.block - 1) / config.block}, .block = {config.block}};
    for (; row.y < field.length(); ++row.y) launch_kernel<Down>(across, row, run);
    row.y = field.length() - 1;
    launch_kernel<Up>({.grid = {1}, .block = {Up::threads}}, row, run);
  }
  static void finish(const Problem<T>& p, const Tuning&, Run& run) { carve(p, run, search); }
};

const KernelRung<Problem, Config, Rows, Config{256}, Config{128}> rung{
    "a launch for each row of costs, a thread for each pixel"};

}  // namespace
}  // namespace tessera::seamcarve
