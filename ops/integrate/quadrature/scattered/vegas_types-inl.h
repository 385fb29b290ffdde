// SPDX-License-Identifier: Apache-2.0
// The types of VEGAS's points, for every device: included by vegas_point.hpp inside a namespace, and as text
// in the source for NVRTC. It includes nothing itself.

using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int vegas_bins = 128;
constexpr u32 vegas_task_points = 16;
constexpr u32 vegas_group = 32;
constexpr u32 vegas_super = 64;

// The maps of axes with infinite limits are those of Axis.
struct VegasAxis {
  double from;
  double to;
  int kind;  // 0 between two limits, 1 above one, 2 below one, 3 everywhere
};

// Sums over the points of a task or of a cube; each term is multiplied by a power of two.
struct VegasSums {
  double sum;
  double squares;
  double magnitude;
  double largest;
};

// Tasks are numbered consecutively through cubes, groups of cubes and groups of groups. Offsets are relative
// to the level above.
struct VegasTasks {
  const u32* points;  // per cube
  const u32* first;   // per cube, relative to its group
  const u32* group_first;
  const u32* super_first;
  u32 cubes;
  u32 groups;
  u32 supers;
};

// The cube of a task, and its index among the cube's tasks.
struct VegasTask {
  u32 cube;
  u32 place;
};

struct VegasPlan {
  int dimensions;
  int finer;  // this many axes, the first ones, have one stratum more
  u32 strata;
  double wide;    // 1 / strata
  double narrow;  // 1 / (strata + 1)
  u32 iteration;
  u32 seed_low;
  u32 seed_high;
  double scale;
  double weight;  // factor of a square for its bins; 0: no weights
  double max_weight;
};
