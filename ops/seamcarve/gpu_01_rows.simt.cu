// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: one row per launch, one thread per pixel.
//
// A row's costs depend on those of the row above, so each row of each seam is a launch. All costs stay in
// global memory, and one thread traces the seam back up through them. The number of launches limits it; the
// next rung makes one for many rows.
#include "tessera/kernel.hpp"
#include "gpu_pass.hpp"

namespace tessera::seamcarve {
namespace {

struct Config {
  int block = 256;
  Tuning tuning() const { return {{"block", block}}; }
};

template <class Sum>
struct Row {
  Field field;
  std::int32_t width, y;

  SIMT Sum* costs(std::int32_t row) const { return reinterpret_cast<Sum*>(field.own) + row * field.stride; }
  SIMT Sum cost(std::int32_t row, std::int32_t x) const {
    return x < 0 || x >= width ? beyond<Sum> : costs(row)[x];
  }
  SIMT StepCost<Sum> way(std::int32_t row, std::int32_t x, const Neighbourhood& a) const {
    return cheapest_into(field.energy, a, cost(row - 1, x - 1), cost(row - 1, x), cost(row - 1, x + 1));
  }
};

template <class Sum>
struct Down {
  struct Shared {};
  SIMT void operator()(Thread thread, Shared&, const Row<Sum>& r) const {
    const std::int32_t x = thread.block().x * thread.size().x + thread.rank();
    if (x >= r.width) return;
    const Neighbourhood a = r.field.around(r.y, x, r.width);
    const Sum own = with_mark<Sum>(own_energy(r.field.energy, a), r.field.plane[r.y * r.field.stride + x]);
    r.costs(r.y)[x] = r.y == 0 ? own : own + r.way(r.y, x, a).cost;
  }
};

template <class Sum>
struct Up {
  static constexpr int threads = 256, warps = threads / 32;
  using Shared = BlockMinima<Sum, warps>;
  SIMT void operator()(Thread thread, Shared& shared, const Row<Sum>& r) const {
    const std::int32_t found = r.field.direction.across - r.width;
    std::int32_t x = leftmost_minimum(thread, shared, r.costs(r.y), r.width);
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
    return workspace_for(p, [](const Direction& d, std::size_t cost) {
      return static_cast<std::size_t>(d.length * stride_for(d.across)) * cost;
    });
  }
  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    prepare(thread, pass_of(p, 0, 0));
  }

  template <class Sum>
  static void search_by(const Field& field, std::int32_t found, Run& run) {
    Row<Sum> row{field, field.width(found), 0};
    const Launch across{.grid = {(row.width + config.block - 1) / config.block}, .block = {config.block}};
    for (; row.y < field.length(); ++row.y) launch_kernel<Down<Sum>>(across, row, run);
    row.y = field.length() - 1;
    launch_kernel<Up<Sum>>({.grid = {1}, .block = {Up<Sum>::threads}}, row, run);
  }
  static void search(const Field& field, std::int32_t found, Run& run) {
    if (field.masked) search_by<Masked>(field, found, run);
    else search_by<Plain>(field, found, run);
  }
  static void finish(const Problem<T>& p, const Tuning&, Run& run) { carve(p, run, search); }
};

const KernelRung<Problem, Config, Rows, Config{256}, Config{128}> rung{
    "a launch for each row of costs, a thread for each pixel"};

}  // namespace
}  // namespace tessera::seamcarve
