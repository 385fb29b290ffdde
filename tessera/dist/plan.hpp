// SPDX-License-Identifier: Apache-2.0
// A division carried out over devices, worked out beforehand: which tile is computed where, in which order
// and in which steps along its sum; what each step needs copied, and from where; how much memory that takes.
// Only sizes and devices count, so the same call gives the same plan everywhere.
//
// Where everything that a device reads and writes fits, each piece of an input crosses the host's link once
// in all, and goes on from peer to peer. All tiles then take the first part of their sums while inputs still
// arrive, and each in turn the rest, so that results leave meanwhile: a tile alone would wait for its inputs,
// and sums that all end together would leave the way back for last. Where memory is less, one tile after
// another is summed, as large as fits, and what is needed next pushes out what is needed last.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "tessera/core/division.hpp"
#include "tessera/dist/device.hpp"

namespace tessera::dist {

// A part of an input, as it travels.
struct Piece {
  Slice slice;
  std::int64_t bytes = 0;
  std::int64_t row_bytes = 0;  // what lies together in the host's memory
};

struct Copy {
  std::size_t piece = 0;
  std::optional<std::size_t> from = {};  // a device; nothing: the host
};

// Computes a tile, or an interval of its sum.
struct Step {
  Tile tile;
  std::size_t number = 0;           // of the tile, in Plan::tiles
  std::vector<std::size_t> reads;   // pieces
  std::vector<Copy> copies;         // those of them that are not here yet, and come in this order
  std::vector<std::size_t> drops;   // pieces whose room is free once this step is computed
  bool begins = true, ends = true;  // the tile's first step and its last, after which it leaves
};

struct Part {
  std::vector<Step> steps;
  std::int64_t bytes = 0;  // the most that the device holds at a time
  bool held = true;        // it holds all that it reads and writes: copies wait for nothing
};

// How a plan goes about it.
struct Manner {
  std::int64_t tile = 2048;   // the most rows and columns of a tile
  std::int64_t panel = 1024;  // the most of a sum in one step
  double sweep = 0;           // the share of the depth that all tiles take before any is finished
  std::int64_t finish = 0;    // the most of a sum in one step thereafter, where all is held; 0: as `panel`
};

struct Plan {
  // Of a part that is not held, a step's copies may begin once the step so many places before it is computed,
  // and a tile may begin once the last but one has left.
  static constexpr std::size_t ahead = 3;

  std::vector<Device> devices;
  std::vector<Tile> tiles;
  std::vector<Piece> pieces;
  std::vector<Part> parts;  // by device
  Manner manner;
  bool held = true;  // every part is

  std::int64_t bytes_from_host() const;
  std::int64_t bytes_from_peers() const;
  double flops(const Division& division, std::size_t device) const;
};

// `rows`: of the result, for each device. Throws Error where a device's memory does not hold even what one
// step needs.
Plan make_plan(const Division& division, const Arguments& arguments, std::vector<Device> devices,
               std::span<const Interval> rows, const Manner& manner);

// The manner that takes least time on a virtual clock.
Plan make_plan(const Division& division, const Arguments& arguments, const std::vector<Device>& devices,
               std::span<const Interval> rows);
// Likewise, with rows such that all devices finish together, as far as their speeds are known.
Plan make_plan(const Division& division, const Arguments& arguments, const std::vector<Device>& devices);
std::vector<Interval> rows_by_speed(const Division& division, const Arguments& arguments,
                                    const std::vector<Device>& devices);

// A short trial tells devices of one kind apart by chance: those that it finds nearly alike get the same
// speeds.
void even_out(std::vector<Device>& devices);

// What a device needs at the least: the inputs of `ahead` steps, and two tiles.
std::int64_t least_bytes(const Division& division, const Arguments& arguments, const Manner& manner);

}  // namespace tessera::dist
