// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/outlook.hpp"
#include <algorithm>
#include <cmath>
#include <tuple>

namespace tessera::dist {
namespace {

double bytes_read(const Division& division, const Arguments& arguments, const Tile& tile) {
  double out = 0;
  for (const Slice& slice : division.reads(tile))
    out += static_cast<double>(bytes_of(slice, arguments.array(slice.array)));
  return out;
}

double bytes_written(const Division& division, const Arguments& arguments, const Tile& tile) {
  double out = 0;
  for (const Slice& slice : division.writes(tile))
    out += static_cast<double>(bytes_of(slice, arguments.array(slice.array)));
  return out;
}

std::int64_t part_of_extent(std::int64_t extent, std::int64_t parts) { return (extent + parts - 1) / parts; }

// What comes along a row of the grid, or down a column: from the devices of the same host and from others.
struct Way {
  double inside = 0, outside = 0;
};

Way way(double bytes, std::int64_t along, std::int64_t of_a_host) {
  const auto all = static_cast<double>(along), near = static_cast<double>(std::min(along, of_a_host));
  return {bytes * (near - 1) / all, bytes * (all - near) / all};
}

// A host's devices form a block of the grid: the shape of which least comes from outside.
Way least_from_outside(double for_rows, double for_cols, const Outlook& grid, std::int64_t per_host) {
  Way best;
  bool any = false;
  for (std::int64_t down = 1; down <= std::min(per_host, grid.grid_rows); ++down) {
    const Way a = way(for_rows, grid.grid_cols, std::max<std::int64_t>(1, per_host / down)),
              b = way(for_cols, grid.grid_rows, down);
    const Way both{a.inside + b.inside, a.outside + b.outside};
    if (!any || both.outside < best.outside) best = both;
    any = true;
  }
  return best;
}

double link_beside_work(const Machines& machines, std::int64_t used) {
  const bool others = std::min(used, machines.per_host) > 1;
  return machines.link_bytes_per_second * beside_computing * (others ? beside_others : 1);
}

Outlook on_grid(const Division& division, const Arguments& arguments, const Machines& machines,
                std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t panel = 1024;
  Outlook out{.grid_rows = rows, .grid_cols = cols};
  Tile tile{{0, part_of_extent(division.rows, rows)},
            {0, part_of_extent(division.cols, cols)},
            {0, division.depth}};
  Tile no_rows = tile, no_cols = tile;
  no_rows.rows.last = no_cols.cols.last = 0;
  const double reads = bytes_read(division, arguments, tile);
  const Way from =
      least_from_outside(reads - bytes_read(division, arguments, no_rows),
                         reads - bytes_read(division, arguments, no_cols), out, machines.per_host);
  out.received_bytes = from.inside + from.outside;
  out.network_bytes = from.outside;
  out.compute_seconds = division.flops(tile) / machines.flops_per_second;
  const double peers = from.inside / machines.peer_bytes_per_second,
               network = from.outside / machines.network_bytes_per_second;
  const auto panels = static_cast<double>(std::max<std::int64_t>(1, part_of_extent(division.depth, panel)));
  out.seconds = std::max({out.compute_seconds, peers, network}) + (peers + network) / panels;
  const double link = link_beside_work(machines, out.used());
  const double in =
      bytes_read(division, arguments, division.whole()) / static_cast<double>(out.used()) / link;
  const double back = bytes_written(division, arguments, tile) / link;
  const bool in_steps = division.depth_granule > 0;
  constexpr double tiles = 64;
  out.host_seconds =
      std::max({out.compute_seconds, peers, network, in_steps ? std::max(in, back) : in + back}) +
      (in + peers + network) / panels + back / tiles;
  return out;
}

std::int64_t most_parts(std::int64_t extent, std::int64_t granule) {
  return std::max<std::int64_t>(1, part_of_extent(extent, std::max<std::int64_t>(1, granule)));
}

}  // namespace

Outlook outlook(const Division& division, const Arguments& arguments, const Machines& machines) {
  if (machines.devices < 1 || machines.per_host < 1) throw Error("an outlook needs a device");
  Outlook best;
  if (division.rows == 0 || division.cols == 0) return {.grid_rows = 0, .grid_cols = 0};
  bool any = false;
  const std::int64_t most_rows = std::min(machines.devices, most_parts(division.rows, division.row_granule)),
                     most_cols = most_parts(division.cols, division.col_granule);
  for (std::int64_t rows = 1; rows <= most_rows; ++rows) {
    const std::int64_t cols = std::min(machines.devices / rows, most_cols);
    const Outlook tried = on_grid(division, arguments, machines, rows, cols);
    const auto key = [](const Outlook& o) { return std::tuple(o.seconds, o.received_bytes, o.grid_rows); };
    if (!any || key(tried) < key(best)) best = tried;
    any = true;
  }
  return best;
}

}  // namespace tessera::dist
