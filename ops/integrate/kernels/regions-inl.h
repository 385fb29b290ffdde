// SPDX-License-Identifier: Apache-2.0
// Genz and Malik's rule of degree 7 on one region, the state that the kernels of a cubature share, and the
// function that estimates regions: included by region_run.hpp inside a namespace, and as text in the source
// for NVRTC, after region_estimate-inl.h. It includes nothing itself. REGION_FN holds the qualifiers of
// functions; region_unrolled is the number of innermost loops over corners that are unrolled.
//
// Points are computed where they are needed, never stored. The loops over corners are nested, one per axis,
// so that subexpressions of the outer axes alone are computed once for all corners that share them; sums are
// joined pairwise on the way back.

struct SumAndSize {
  double sum, size;
};

// A coordinate, and dx/du of its map.
struct MappedCoordinate {
  double x, slope;
};

// F: the integrand.
//   static constexpr int most;  int d() const;            capacity of arrays in axes; number of axes
//   MappedCoordinate spot(int axis, double u) const;                  the place of u on an axis
//   double operator()(const MappedCoordinate (&)[most]) const;        f times the slopes
//   double per_length(int axis) const;                    1 over the axis' length
template <class F>
class RegionRule {
 public:
  REGION_FN RegionRule(const F& f, const double (&centre)[F::most], const double (&half)[F::most])
      : f_(f), centre_(centre), half_(half) {
    REGION_UNROLL
    for (int k = 0; k < F::most; ++k)
      if (k < f_.d()) middle_[k] = f_.spot(k, centre_[k]);
  }

  REGION_FN RegionEstimate estimate() {
    RegionEstimate out = {};
    RegionSums sums = {};
    sums.value[0] = value(middle_);
    sums.size[0] = region_size(sums.value[0]);
    on_axes(sums, out);
    on_pairs(sums);
    MappedCoordinate at[F::most];
    const SumAndSize corners = on_corners<0>(at);
    sums.value[4] = corners.sum;
    sums.size[4] = corners.size;
    double volume = 1;
    REGION_UNROLL
    for (int k = 0; k < F::most; ++k)
      if (k < f_.d()) volume *= 2 * half_[k];
    region_concluded(f_.d(), sums, volume, out);
    out.holes = holes_;
    return out;
  }

 private:
  REGION_FN double value(const MappedCoordinate (&at)[F::most]) {
    const double y = f_(at);
    if (y - y == 0) return y;
    ++holes_;
    return 0;
  }

  // Returns the centre, moved along one axis; a loop selects the axis because a run-time index would take
  // arrays out of registers.
  REGION_FN MappedCoordinate moved(int axis, double offset) const {
    double u = 0;
    REGION_UNROLL
    for (int k = 0; k < F::most; ++k) u = k == axis ? centre_[k] + offset * half_[k] : u;
    return f_.spot(axis, u);
  }
  REGION_FN static void put(const MappedCoordinate (&from)[F::most], int axis, const MappedCoordinate& spot,
                            MappedCoordinate (&to)[F::most]) {
    REGION_UNROLL
    for (int k = 0; k < F::most; ++k) {
      to[k].x = k == axis ? spot.x : from[k].x;
      to[k].slope = k == axis ? spot.slope : from[k].slope;
    }
  }

  REGION_FN void on_axes(RegionSums& sums, RegionEstimate& out) {
    constexpr double ratio = (9.0 / 70) / (9.0 / 10);
    const double twice = 2 * sums.value[0];
    double most = -1, widest = 0;
    REGION_NO_UNROLL
    for (int i = 0; i < f_.d(); ++i) {
      double near = 0, far = 0, edge = 0;
      REGION_NO_UNROLL
      for (int p = 0; p < 3; ++p) {
        const double offset = p == 0 ? near_offset : p == 1 ? far_offset : edge_offset;
        MappedCoordinate at[F::most];
        put(middle_, i, moved(i, -offset), at);
        const double low = value(at);
        put(middle_, i, moved(i, offset), at);
        const double high = value(at), sum = low + high, size = region_size(low) + region_size(high);
        near = p == 0 ? sum : near;
        far = p == 1 ? sum : far;
        edge = sum;
        sums.size[1] += p == 0 ? size : 0;
        sums.size[2] += p == 1 ? size : 0;
      }
      sums.value[1] += near;
      sums.value[2] += far;
      sums.hidden += region_hidden(sums.value[0], near, far, edge);
      double width = 0;
      REGION_UNROLL
      for (int k = 0; k < F::most; ++k) width = k == i ? half_[k] : width;
      width *= f_.per_length(i);
      // If no axis has a fourth difference, the widest is split.
      const double bend = region_size(near - twice - ratio * (far - twice)) + 1e-14 * sums.size[0] * width;
      if (bend > most || (bend == most && width > widest)) {
        most = bend;
        widest = width;
        out.axis = i;
      }
    }
  }

  REGION_FN void on_pairs(RegionSums& sums) {
    REGION_NO_UNROLL
    for (int i = 0; i + 1 < f_.d(); ++i) {
      REGION_NO_UNROLL
      for (int side = 0; side < 2; ++side) {
        MappedCoordinate first[F::most];
        put(middle_, i, moved(i, side == 0 ? -far_offset : far_offset), first);
        REGION_NO_UNROLL
        for (int j = i + 1; j < f_.d(); ++j) {
          MappedCoordinate at[F::most];
          put(first, j, moved(j, -far_offset), at);
          const double low = value(at);
          put(first, j, moved(j, far_offset), at);
          const double high = value(at);
          sums.value[3] += low + high;
          sums.size[3] += region_size(low) + region_size(high);
        }
      }
    }
  }

  template <int axis>
  REGION_FN SumAndSize on_corners(MappedCoordinate (&at)[F::most]) {
    if constexpr (axis < F::most) {
      if (axis < f_.d()) {
        SumAndSize out = {0, 0};
        // Keeps the copies of the formula few, but lets some overlap.
        if constexpr (axis + region_unrolled < F::most) {
          REGION_NO_UNROLL
          for (int side = 0; side < 2; ++side) add_corners<axis>(side, at, out);
        } else {
          REGION_UNROLL
          for (int side = 0; side < 2; ++side) add_corners<axis>(side, at, out);
        }
        return out;
      }
    }
    const double y = value(at);
    return {y, region_size(y)};
  }
  template <int axis>
  REGION_FN void add_corners(int side, MappedCoordinate (&at)[F::most], SumAndSize& out) {
    at[axis] = f_.spot(axis, centre_[axis] + (side == 0 ? -corner_offset : corner_offset) * half_[axis]);
    const SumAndSize part = on_corners<axis + 1>(at);
    out.sum += part.sum;
    out.size += part.size;
  }

  const F& f_;
  const double (&centre_)[F::most];
  const double (&half_)[F::most];
  MappedCoordinate middle_[F::most] = {};
  int holes_ = 0;
};

// The map from the variable u of an axis to x. Axes without a map are integrated over unchanged.
enum RegionMapKind { region_as_it_is, region_from, region_up_to, region_everywhere };

struct RegionMap {
  int kind;
  double limit;       // the finite limit of a half-infinite axis
  double per_length;  // 1 over the length of u's range
};

REGION_FN MappedCoordinate region_spot(const RegionMap& map, double u) {
  switch (map.kind) {
    case region_from:
    case region_up_to: {
      const double away = u / (1 - u);
      return {map.kind == region_from ? map.limit + away : map.limit - away, 1 / ((1 - u) * (1 - u))};
    }
    case region_everywhere: {
      const double t = 2 * u - 1, square = (1 - t) * (1 + t);
      return {t / square, 2 * (1 + t * t) / (square * square)};
    }
    default:
      return {u, 1};
  }
}

enum RegionStatus { region_running, region_converged, region_roundoff, region_evaluations, region_full };

// The state that the kernels of one integral share; only one thread writes it at a time.
struct RegionState {
  long long regions, splitting, evaluations, holes;
  double value, error, magnitude, weighed, largest;  // sums over the regions; largest: the largest error
  double budget;           // the allowed sum of the errors of regions that are not split
  int status, bin, fresh;  // bin: regions whose errors are in it or above are split
  int cap;                 // the cap that kept some regions whole: this round is then the last
  int rounds;
  unsigned done[2];  // blocks that have finished
};

struct RegionFrame {
  int d;
  int points;    // per region, by the rule
  int may_grow;  // 1: the host enlarges the arrays when they are full
  long long capacity, most_evaluations;
  double relative, absolute;  // tolerance
  RegionState* state;
  double* field;  // arrays, `capacity` apart: d centres, d halves, value, error, magnitude, weighed
  int* axis;
  long long* list;      // regions to split
  double* partials;     // five for each chunk
  unsigned* counts;     // per chunk: regions to split, then their exclusive prefix sum
  unsigned* histogram;  // counts errors; 0 between launches
  RegionMap map[12];
};

// Halves the listed regions: the first half replaces its parent, the second is appended. In the first launch
// no region is split, and each is estimated. Neighbouring lanes have the halves of one region. Lanes: double
// other(double) const, the neighbour's; void add(long long*, long long) const, an atomic sum.
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
