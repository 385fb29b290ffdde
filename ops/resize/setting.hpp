// SPDX-License-Identifier: Apache-2.0
// What the words of a call ask for, as the rungs take it: how sums are taken, and one table of integers with
// everything that is looked up. The types are the same for every build of a kernel.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include "packing.hpp"
#include "tessera/core/arguments.hpp"
#include "tiling.hpp"

namespace tessera::resize {

// How a sample of the result is computed: along its row first, then across the rows. docs/resize.md, "The
// formula".
enum class Recipe : int {
  pick,    // a sample is copied
  linear,  // OpenCV's bytes: 11 bits of weight, the sum across rows in steps that are cut off
  whole,   // whole weights
  mean,    // all of one weight, and a whole number of them
  real,    // floats, every product and every sum rounded
};

// Where an axis lies in the table.
struct AxisAt {
  std::int32_t start = 0, count = 0, weight = 0;  // places of the first
  std::int32_t most = 1;                          // weights of each result
};

struct Plan {
  Recipe recipe = Recipe::pick;
  AxisAt along, across;
  std::int32_t along_shift = 0;  // whole: a row's sums are rounded off by so much and saturated; 0: they stay
  std::int32_t across_shift = 0;  // whole: the last rounding
  bool halves_up = false;         // mean: of four, (sum + 2) >> 2
  float share = 1;                // mean: 1 / samples
  bool premultiply = false;       // colours count by the last channel
  bool linear_light = false;
  std::int32_t decode = 0, encode = 0;  // places of the tables of linear light
  Packing packing;                      // bytes
  Tiling tiling;                        // the same, if products of matrices serve
};

struct Setting {
  Plan plan;
  std::vector<std::int32_t> table;  // floats by their bits
  std::uint64_t id = 0;             // no other setting's
  std::string key;                  // everything that it follows from
};

// Throws Error for words that ask for nothing that can be computed. What is returned stays until this thread
// has asked for several others.
std::shared_ptr<const Setting> setting_of(const Arguments& arguments);

}  // namespace tessera::resize
