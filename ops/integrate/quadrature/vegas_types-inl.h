// SPDX-License-Identifier: Apache-2.0
// What VEGAS's points are made from, on every device: included by vegas_point.hpp inside a namespace, and as
// text by what NVRTC compiles. It includes nothing.

using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int vegas_bins = 128;
constexpr u32 vegas_task_points = 16;
constexpr u32 vegas_group = 32;
constexpr u32 vegas_super = 64;

// A limit that is not there makes another map; they are those of Axis without a peak.
struct VegasAxis {
  double from;
  double to;
  int kind;  // 0 between two limits, 1 above one, 2 below one, 3 everywhere
};

// Sums over the points of a task, over those of a cube: each term times a power of two.
struct VegasSums {
  double sum;
  double squares;
  double magnitude;
  double largest;
};

// Tasks are numbered through cubes, groups of cubes and groups of groups; offsets count from the one above.
struct VegasTasks {
  const u32* points;  // of each cube
  const u32* first;   // of each cube, in its group
  const u32* group_first;
  const u32* super_first;
  u32 cubes;
  u32 groups;
  u32 supers;
};

// Of a task: its cube, and its place among that cube's.
struct VegasTask {
  u32 cube;
  u32 place;
};

struct VegasPlan {
  int dimensions;
  int finer;  // so many axes, the first ones, have one stratum more
  u32 strata;
  double wide;    // 1 / strata
  double narrow;  // 1 / (strata + 1)
  u32 iteration;
  u32 seed_low;
  u32 seed_high;
  double scale;
  double weight;  // of a square on its bins; 0: the bins are not wanted
  double most_weight;
};
