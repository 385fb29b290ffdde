// SPDX-License-Identifier: Apache-2.0
// A contraction whose arrays lie in the memories of several devices already, each array cut along one of its
// dimensions into blocks, as large as somebody chose: which device computes what of its own blocks of the
// result in which steps, and which parts of the others' blocks it copies for each, in which order. Only sizes
// count, so the same call gives the same plan everywhere.
//
// A device first uses what it holds, then what the next device holds, and so on around the ring, so that no
// device's memory is read by all at a time. Of the two operands, the one of which it must copy less stays
// where it is while panels of the other pass; so everything is copied once for each block of the result. Sums
// are cut where blocks of an operand are, if the operation allows that; else what one step reads is gathered
// from all who hold a part of it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/division.hpp"
#include "tessera/dist/layout.hpp"

namespace tessera::dist {

struct ResidentBlock {
  std::size_t device = 0;
  Interval range;
};

// How an array is spread: along one of its dimensions, as it lies in memory.
struct Distribution {
  std::size_t along = 0;
  std::vector<ResidentBlock> blocks;  // in any order; each element of the array is in one of them
};
using Distributions = std::map<std::string, Distribution>;

// What a step reads of an array: a part of one block where that is, or a copy.
struct ResidentPanel {
  struct Source {
    std::size_t block = 0;
    std::vector<Interval> box;  // in the array
  };
  Slice slice;
  bool in_place = false;        // it is in the only source, which is the device's own
  std::vector<Source> sources;  // none where the slice is empty
  Place place = {};             // of a copy: in the device's room
};

struct ResidentStep {
  Tile tile;
  std::vector<std::size_t> reads;     // panels: of the rows' operand, and of the columns'
  std::vector<std::size_t> arrivals;  // those of them to be copied first, in this order
  std::size_t block = 0;              // of the result
  bool begins = true;                 // of the tile: what is there is not added to, but for β
};

struct ResidentPart {
  std::vector<ResidentPanel> panels;
  std::vector<ResidentStep> steps;
  std::int64_t bytes = 0;  // of room for copies
};

struct ResidentPlan {
  // A step's copies may begin once the step so many places before it is computed.
  static constexpr std::size_t ahead = 3;

  std::vector<ResidentPart> parts;  // by device
  std::int64_t bytes_from_peers() const;
  double flops(const Division& division, std::size_t device) const;

  Distributions distributions;
};

// The most of a passing operand that one copy holds, where it can be cut so; one column or row at the least.
inline constexpr std::int64_t usual_panel_bytes = std::int64_t{128} << 20;

// `distributions`: of both operands, and of the operation's output. Arrays of `arguments` need no memory.
// Throws Error where blocks leave a gap, overlap, or are of a device that is not there; where the operation
// is no sum over products of two arrays of two dimensions, or reads something else that is not the output's
// own.
ResidentPlan make_resident_plan(const Division& division, const Arguments& arguments,
                                const std::string& output, const Distributions& distributions,
                                std::size_t devices, std::int64_t panel_bytes = usual_panel_bytes);

}  // namespace tessera::dist
