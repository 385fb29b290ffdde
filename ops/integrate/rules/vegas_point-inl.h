// SPDX-License-Identifier: Apache-2.0
// What VEGAS does to one point and to the points of one task, for the processors, the executor, nvcc and, as
// text, for NVRTC: whoever includes this says by TESSERA_TEXT whether it is code or a string. Therefore no
// preprocessor's line may stand in it, and what it needs has no name from the standard library.
// clang-format off
TESSERA_TEXT(
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int vegas_bins = 128;
constexpr u32 vegas_task_points = 16;
constexpr u32 vegas_group = 32;
constexpr u32 vegas_super = 256;

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
  const u32* points;        // of each cube
  const u32* first;         // of each cube, in its group
  const u32* group_first;
  const u32* super_first;
  u32 cubes;
  u32 groups;
  u32 supers;
};

struct VegasPlan {
  int dimensions;
  int finer;           // so many axes, the first ones, have one stratum more
  u32 strata;
  double wide;         // 1 / strata
  double narrow;       // 1 / (strata + 1)
  u32 iteration;
  u32 seed_low;
  u32 seed_high;
  double scale;
  double weight;       // of a square on its bins; 0: the bins are not wanted
  double most_weight;
};
)

// Salmon, Moraes, Dror and Shaw's Philox4x32-10: what is random is a function of where it is wanted.
TESSERA_TEXT(
VEGAS_FN void philox(u32 c0, u32 c1, u32 c2, u32 c3, u32 k0, u32 k1, u32* out) {
  for (int round = 0; round < 10; ++round) {
    const u64 a = 0xd2511f53ull * c0;
    const u64 b = 0xcd9e8d57ull * c2;
    c0 = u32(b >> 32) ^ c1 ^ k0;
    c2 = u32(a >> 32) ^ c3 ^ k1;
    c1 = u32(b);
    c3 = u32(a);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}
)

TESSERA_TEXT(
VEGAS_FN double vegas_uniform(u32 bits) { return (double(bits) + 0.5) * 0x1p-32; }

// v in (0, 1) to u by the grid's pieces, each of which is hit equally often.
VEGAS_FN double vegas_stretch(const double* edges, double v, double* slope, int* bin) {
  const double t = v * double(vegas_bins);
  int i = int(t);
  if (i > vegas_bins - 1) i = vegas_bins - 1;
  const double from = edges[i];
  const double width = edges[i + 1] - from;
  *slope = *slope * (width * double(vegas_bins));
  *bin = i;
  return from + width * (t - double(i));
}

VEGAS_FN double vegas_abscissa(VegasAxis axis, double u, double* weight) {
  if (axis.kind == 0) {
    *weight = *weight * (axis.to - axis.from);
    return axis.from + (axis.to - axis.from) * u;
  }
  if (axis.kind == 3) {
    const double t = 2.0 * u - 1.0;
    const double square = (1.0 - t) * (1.0 + t);
    *weight = *weight * (2.0 * (1.0 + t * t) / (square * square));
    return 0.0 + t / square;
  }
  const double away = u / (1.0 - u);
  *weight = *weight * (1.0 / ((1.0 - u) * (1.0 - u)));
  return axis.kind == 1 ? axis.from + away : axis.to - away;
}

// What a point's square adds to each of its bins: whole numbers, which may be added in any order.
VEGAS_FN u64 vegas_share(const VegasPlan& plan, double term, u32 points) {
  const double share = term * term * plan.weight / double(points);
  return share < plan.most_weight ? u64(share) : u64(plan.most_weight);
}

VEGAS_FN void vegas_add(VegasSums* sums, double term) {
  const double size = term < 0.0 ? -term : term;
  sums->sum += term;
  sums->squares += term * term;
  sums->magnitude += size;
  if (size > sums->largest) sums->largest = size;
}

// The last of `count` rising offsets that is not beyond `at`.
VEGAS_FN u32 vegas_last(const u32* offsets, u32 count, u32 at) {
  u32 low = 0;
  u32 high = count;
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (offsets[middle] <= at) low = middle;
    else high = middle;
  }
  return low;
}

VEGAS_FN u32 vegas_least(u32 a, u32 b) { return a < b ? a : b; }

// The stratum of a cube along each axis, the first axis fastest.
VEGAS_FN void vegas_strata(const VegasPlan& plan, u32 cube, int dimensions, u32* stratum) {
  for (int axis = 0; axis < dimensions; ++axis) {
    const u32 strata = plan.strata + (axis < plan.finer ? 1u : 0u);
    stratum[axis] = cube % strata;
    cube /= strata;
  }
}
)

// The points of one task. `f` gives the integrand's value, `learn` adds to a bin, `hole` counts a value that
// is not finite and counts as 0.
TESSERA_TEXT(
template <int most, class F, class Learn, class Hole>
VEGAS_FN VegasSums vegas_task(const VegasPlan& plan, const double* edges, const VegasAxis* axes, u32 cube, u32 points,
                              u32 first, int dimensions, const F& f, const Learn& learn, const Hole& hole) {
  u32 stratum[most];
  vegas_strata(plan, cube, dimensions, stratum);
  const u32 last = vegas_least(first + vegas_task_points, points);
  VegasSums sums = {0.0, 0.0, 0.0, 0.0};
  for (u32 point = first; point < last; ++point) {
    double x[most];
    int bin[most];
    double slope = 1.0;
    double weight = 1.0;
    u32 bits[4] = {0u, 0u, 0u, 0u};
    for (int axis = 0; axis < dimensions; ++axis) {
      if (axis % 4 == 0) philox(point, cube, u32(axis / 4), plan.iteration, plan.seed_low, plan.seed_high, bits);
      const double v =
          (double(stratum[axis]) + vegas_uniform(bits[axis % 4])) * (axis < plan.finer ? plan.narrow : plan.wide);
      const double u = vegas_stretch(edges + axis * (vegas_bins + 1), v, &slope, &bin[axis]);
      x[axis] = vegas_abscissa(axes[axis], u, &weight);
    }
    double y = f(x) * weight;
    if (!(y - y == 0.0)) {
      y = 0.0;
      hole();
    }
    const double term = y * slope * plan.scale;
    vegas_add(&sums, term);
    if (plan.weight == 0.0) continue;
    const u64 share = vegas_share(plan, term, points);
    for (int axis = 0; axis < dimensions; ++axis) learn(u32(axis * vegas_bins + bin[axis]), share);
  }
  return sums;
}
)
// clang-format on
