// SPDX-License-Identifier: Apache-2.0
// VEGAS's computation of one point and of the points of one task: included by vegas_point.hpp inside a
// namespace, and as text in the source for NVRTC. It includes nothing itself. VEGAS_FN
// holds functions' qualifiers. VEGAS_UNROLL precedes loops over axes, if the compiler may know their number.
// VEGAS_FROM_BITS makes a double of its bits.

struct PhiloxState {
  u32 c0;
  u32 c1;
  u32 c2;
  u32 c3;
  u32 k0;
  u32 k1;
};

VEGAS_FN PhiloxState philox_round(PhiloxState s) {
  const u64 a = 0xd2511f53ull * s.c0;
  const u64 b = 0xcd9e8d57ull * s.c2;
  return {u32(b >> 32) ^ s.c1 ^ s.k0, u32(b), u32(a >> 32) ^ s.c3 ^ s.k1, u32(a), s.k0 + 0x9e3779b9u,
          s.k1 + 0xbb67ae85u};
}

VEGAS_FN PhiloxState philox_five_rounds(PhiloxState s) {
  return philox_round(philox_round(philox_round(philox_round(philox_round(s)))));
}

// Salmon, Moraes, Dror and Shaw's Philox4x32-10: maps a counter and a key to four random words.
VEGAS_FN PhiloxState philox(PhiloxState s) { return philox_five_rounds(philox_five_rounds(s)); }

// Returns (bits + 1/2) / 2^32 as the bit pattern of 2^52 + bits, less 2^52 - 1/2: conversions are slow.
VEGAS_FN double vegas_uniform(u32 bits) {
  return (VEGAS_FROM_BITS(0x4330000000000000ull | bits) - 4503599627370495.5) * 0x1p-32;
}

// Maps v in (0, 1) to u by the grid's bins, each of which is hit equally often.
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

// `weight`: product of the lengths of finite axes; `slopes`: product of the slopes of the other axes' maps.
VEGAS_FN double vegas_abscissa(VegasAxis axis, double u, double* weight, double* slopes) {
  if (axis.kind == 0) {
    *weight = *weight * (axis.to - axis.from);
    return axis.from + (axis.to - axis.from) * u;
  }
  if (axis.kind == 3) {
    const double t = 2.0 * u - 1.0;
    const double square = (1.0 - t) * (1.0 + t);
    *slopes = *slopes * (2.0 * (1.0 + t * t) / (square * square));
    return 0.0 + t / square;
  }
  const double away = u / (1.0 - u);
  *slopes = *slopes * (1.0 / ((1.0 - u) * (1.0 - u)));
  return axis.kind == 1 ? axis.from + away : axis.to - away;
}

// Returns the weight that a point's square adds to its bins, an integer that may be added in any order.
VEGAS_FN u64 vegas_share(const VegasPlan& plan, double term, u32 points) {
  const double share = term * term * plan.weight / double(points);
  return share < plan.max_weight ? u64(share) : u64(plan.max_weight);
}

VEGAS_FN void vegas_add(VegasSums* sums, double term) {
  const double size = term < 0.0 ? -term : term;
  sums->sum += term;
  sums->squares += term * term;
  sums->magnitude += size;
  if (size > sums->largest) sums->largest = size;
}

// Returns the index of the last of `count` ascending offsets that is not beyond `at`.
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

VEGAS_FN VegasTask vegas_find(const VegasTasks& tasks, u32 task) {
  const u32 super = vegas_last(tasks.super_first, tasks.supers, task);
  task -= tasks.super_first[super];
  const u32 left = tasks.groups - super * vegas_super;
  const u32 group = super * vegas_super + vegas_last(tasks.group_first + super * vegas_super,
                                                     left < vegas_super ? left : vegas_super, task);
  task -= tasks.group_first[group];
  const u32 cubes = tasks.cubes - group * vegas_group;
  const u32 cube = group * vegas_group + vegas_last(tasks.first + group * vegas_group,
                                                    cubes < vegas_group ? cubes : vegas_group, task);
  return {cube, task - tasks.first[cube]};
}

VEGAS_FN u32 vegas_min(u32 a, u32 b) { return a < b ? a : b; }

// Computes the stratum of a cube along each axis, the first axis fastest.
VEGAS_FN void vegas_strata(const VegasPlan& plan, u32 cube, int dimensions, u32* stratum) {
  VEGAS_UNROLL
  for (int axis = 0; axis < dimensions; ++axis) {
    const u32 strata = plan.strata + (axis < plan.finer ? 1u : 0u);
    stratum[axis] = cube % strata;
    cube /= strata;
  }
}

// Samples the points of one task. `f` gives the integrand's value, `learn` adds to a bin, `hole` counts a
// value that is not finite and counts as 0.
template <int most, class F, class Learn, class Hole>
VEGAS_FN VegasSums vegas_task(const VegasPlan& plan, const double* edges, const VegasAxis* axes, u32 cube,
                              u32 points, u32 first, int dimensions, const F& f, const Learn& learn,
                              const Hole& hole) {
  u32 stratum[most];
  vegas_strata(plan, cube, dimensions, stratum);
  const u32 last = vegas_min(first + vegas_task_points, points);
  VegasSums sums = {0.0, 0.0, 0.0, 0.0};
  for (u32 point = first; point < last; ++point) {
    double x[most];
    int bin[most];
    double slope = 1.0;
    double weight = 1.0;
    double slopes = 1.0;
    PhiloxState random = {0u, 0u, 0u, 0u, 0u, 0u};
    VEGAS_UNROLL
    for (int axis = 0; axis < dimensions; ++axis) {
      if (axis % 4 == 0)
        random = philox({point, cube, u32(axis / 4), plan.iteration, plan.seed_low, plan.seed_high});
      const u32 bits = axis % 4 == 0   ? random.c0
                       : axis % 4 == 1 ? random.c1
                       : axis % 4 == 2 ? random.c2
                                       : random.c3;
      const double step = axis < plan.finer ? plan.narrow : plan.wide;
      const double v = (double(stratum[axis]) + vegas_uniform(bits)) * step;
      const double u = vegas_stretch(edges + axis * (vegas_bins + 1), v, &slope, &bin[axis]);
      x[axis] = vegas_abscissa(axes[axis], u, &weight, &slopes);
    }
    double y = f(x) * (slopes * weight);
    if (!(y - y == 0.0)) {
      y = 0.0;
      hole();
    }
    const double term = y * slope * plan.scale;
    vegas_add(&sums, term);
    if (plan.weight == 0.0) continue;
    const u64 share = vegas_share(plan, term, points);
    VEGAS_UNROLL
    for (int axis = 0; axis < dimensions; ++axis) learn(u32(axis * vegas_bins + bin[axis]), share);
  }
  return sums;
}
