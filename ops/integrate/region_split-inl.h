// SPDX-License-Identifier: Apache-2.0
// What the kernels of a cubature know in common, and the one that estimates regions. Behind
// region_rule-inl.h, in the same places.

// How the variable u of an axis leads to x. Axes without a map are integrated over as they are.
enum RegionMapKind { region_as_it_is, region_drawn_together, region_from, region_up_to, region_everywhere };

struct RegionMap {
  int kind;
  double centre, width;  // of a peak, or of what is large; the limit of a half-infinite axis
  double from, to;       // of what sinh() is taken of, where it is drawn together
  double per_length;     // 1 over the length that u runs over
};

REGION_FN Spot region_spot(const RegionMap& map, double u) {
  switch (map.kind) {
    case region_drawn_together: {
      const double v = map.from + (map.to - map.from) * u;
      return {map.centre + map.width * REGION_SINH(v), map.width * REGION_COSH(v) * (map.to - map.from)};
    }
    case region_from:
    case region_up_to: {
      const double away = map.width * u / (1 - u);
      return {map.kind == region_from ? map.centre + away : map.centre - away,
              map.width / ((1 - u) * (1 - u))};
    }
    case region_everywhere: {
      const double t = 2 * u - 1, square = (1 - t) * (1 + t);
      return {map.centre + map.width * t / square, 2 * map.width * (1 + t * t) / (square * square)};
    }
    default:
      return {u, 1};
  }
}

enum RegionStatus { region_running, region_converged, region_roundoff, region_evaluations, region_full };

// What the kernels of one integral know in common; one thread writes it at a time.
struct RegionState {
  long long regions, splitting, evaluations, holes;
  double value, error, magnitude, weighed, largest;  // of all regions, and the largest error of one
  double budget;                                     // what the errors of those not split may be together
  int status, bin, fresh;  // regions whose errors are in the bin or beyond are split
  int cap;                 // what kept some of them whole: then this round is the last
  int rounds;
  unsigned done[2];  // blocks that have finished
};

struct RegionFrame {
  int d;
  int points;    // of the rule
  int may_grow;  // where there is no place for halves, the host makes some
  long long capacity, most_evaluations;
  double relative, absolute;  // tolerance
  RegionState* state;
  double* field;  // arrays, `capacity` apart: d centres, d halves, value, error, magnitude, weighed
  int* axis;
  long long* list;      // of regions to split
  double* partials;     // five for each chunk
  unsigned* counts;     // of each chunk: regions to split, then those of the chunks before it
  unsigned* histogram;  // of errors; zeros between the launches
  RegionMap map[12];
};

// Splits those listed, in two each: the first half takes the place of the whole, the second a new one. At the
// very first no region is split, and each is estimated. Two lanes side by side have the halves of one region.
// Lanes: double other(double) const, the neighbour's; void add(long long*, long long) const, an atomic sum.
template <class F, class Lanes>
REGION_FN void split_regions(const F& f, const RegionFrame& frame, long long thread, long long threads,
                             const Lanes& lanes) {
  RegionState& state = *frame.state;
  if (state.status != region_running) return;
  const bool fresh = state.fresh != 0;
  const long long before = state.regions, tasks = fresh ? before : 2 * state.splitting;
  double* const results = frame.field + 2 * f.d() * frame.capacity;
  long long holes = 0;
  for (long long task = thread; task - thread % 32 < tasks; task += threads) {
    const bool mine = task < tasks;
    const long long pair = (mine ? task : tasks - 1) / 2;
    const long long from = fresh ? (mine ? task : 0) : frame.list[pair];
    const int axis = fresh ? -1 : frame.axis[from];
    double centre[F::most], half[F::most];
    REGION_UNROLL
    for (int k = 0; k < F::most; ++k) {
      if (k >= f.d()) continue;
      centre[k] = frame.field[k * frame.capacity + from];
      half[k] = frame.field[(f.d() + k) * frame.capacity + from];
      half[k] = k == axis ? half[k] / 2 : half[k];
      centre[k] = k == axis ? centre[k] + (task % 2 == 0 ? -half[k] : half[k]) : centre[k];
    }
    const double whole = results[from], wholes_error = results[frame.capacity + from];
    RegionEstimate out = RegionRule<F>(f, centre, half).estimate();
    const double moved = region_size(whole - (out.value + lanes.other(out.value)));
    const double believed = region_believed(out.error, lanes.other(out.error), moved, wholes_error);
    if (!mine) continue;
    const long long to = fresh || task % 2 == 0 ? from : before + pair;
    REGION_UNROLL
    for (int k = 0; k < F::most; ++k) {
      if (k >= f.d()) continue;
      frame.field[k * frame.capacity + to] = centre[k];
      frame.field[(f.d() + k) * frame.capacity + to] = half[k];
    }
    results[to] = out.value;
    results[frame.capacity + to] = fresh ? out.unconfirmed : believed;
    results[2 * frame.capacity + to] = out.magnitude;
    results[3 * frame.capacity + to] = out.weighed;
    frame.axis[to] = out.axis;
    holes += out.holes;
  }
  if (holes != 0) lanes.add(&state.holes, holes);
}
