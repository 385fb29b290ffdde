// SPDX-License-Identifier: Apache-2.0
// The quadrature of one integral of a batch: Gauss-Kronrod pairs of 10 and 21 points; the cell (subinterval)
// with the largest error is bisected until the sum of the errors meets the tolerance. CPUs, the executor,
// nvcc and NVRTC compile the same text: it includes nothing, and every sum has a fixed order, so that all
// give bitwise identical results. Its users include it inside a namespace, with BATCH_FN, middle_twice and
// may_be_endless defined.
//
// A range is cut at known breakpoints. Between two neighbouring cuts, two pieces meet in the middle. Each has
// a variable t from 0 to 1 whose square (towards infinity, its inverse) is proportional to the distance from
// the end of the piece: roots there become polynomials, and narrow features there are sampled. Cells
// therefore come in pairs from the start.
//
// For some positions of a kink, the difference of the pair of rules is 0 although the Kronrod rule is wrong.
// There are therefore four such differences (null rules: 0 for polynomials up to degree 19, 17, 15 and 13),
// and the largest one counts: wherever a jump or a kink lies in a cell, the error is little more. If they
// decrease like those of a smooth function, the error does too. No difference sees the part between the
// outermost point and the end of the cell: where two cells meet, their extrapolated values must agree.

enum Why {  // numbered as quadrature::Reason
  converged = 0,
  evaluations = 1,
  memory = 3,
  roundoff = 4,
  singular = 5,
  non_finite = 6,
  doubtful = 9
};

constexpr int nulls = 4;
constexpr int slots = 11;      // the middle, and pairs of points outwards
constexpr int pair_cost = 42;  // evaluations of two cells
constexpr double last_bit = 0x1p-53;

BATCH_FN double size_of(double a) { return a < 0 ? -a : a; }
BATCH_FN double larger(double a, double b) { return a < b ? b : a; }
BATCH_FN double smaller(double a, double b) { return b < a ? b : a; }
BATCH_FN bool is_finite(double a) { return a - a == 0; }

// By slot, for the interval from -1 to 1; the middle's weights are halved because it counts as two points.
struct Nodes {
  double x[slots], kronrod[slots];
  double apart[nulls][slots];      // the first: Kronrod weights minus Gauss weights
  double near[slots], far[slots];  // extrapolate to an end: samples of its half, of the other half
};

// x = base + reach·s², where s is t, or 1/t towards infinity.
struct Piece {
  double base, reach;
  int tail;
};

struct MappedPoint {
  double x, weight;
};

BATCH_FN MappedPoint mapped_point(const Piece& piece, double t) {
  const double s = piece.tail != 0 ? 1 / t : t, square = s * s;
  return {piece.base + piece.reach * square, 2 * size_of(piece.reach) * s * (piece.tail != 0 ? square : 1)};
}

// The samples towards infinity, by their t, which decreases outwards: the innermost NaN, the outermost
// number, and the outermost nonzero number.
struct TailSamples {
  double innermost_nan, outermost_number, nonzero;
};

BATCH_FN TailSamples no_tail_samples() { return {0, 2, 2}; }

BATCH_FN void join(TailSamples& to, const TailSamples& other) {
  to.innermost_nan = larger(to.innermost_nan, other.innermost_nan);
  to.outermost_number = smaller(to.outermost_number, other.outermost_number);
  to.nonzero = smaller(to.nonzero, other.nonzero);
}

// Far out, inf·0 is NaN: x^80·exp(-x) from x = 7000 on. A NaN counts as 0 if the formula had fallen to 0
// before; faded() tells if it had.
BATCH_FN double sample_or_zero(double y, double t, TailSamples& reach) {
  const bool number = y == y;
  join(reach, {number ? 0 : t, number ? t : 2, number && y != 0 ? t : 2});
  return number ? y : 0;
}

BATCH_FN bool faded(const TailSamples& reach) {
  return reach.innermost_nan == 0 ||
         (reach.innermost_nan < reach.outermost_number && reach.outermost_number < reach.nonzero);
}

// The samples at the two points of a slot.
struct Samples {
  double above, below, x_above, x_below, term_above, term_below;
};

struct Sums {
  double kronrod, apart[nulls], low, high;
  double noise;       // bound on the roundoff of values and abscissae, in last_bit
  double edge;        // the outermost of the lower terms
  double sizes;       // the Kronrod sum of the slots' absolute values
  TailSamples reach;  // for a piece that goes to infinity
};

// `inner`: the slot before, towards the middle.
BATCH_FN double noise_of(const Nodes& nodes, int slot, double radius, const Samples& now,
                         const Samples& inner) {
  const double values =
      4 * radius * (nodes.kronrod[slot] * (size_of(now.term_above) + size_of(now.term_below)));
  if (slot == 0) return values;
  return values + 2 * (size_of(now.above - inner.above) * size_of(now.x_above) +
                       size_of(now.below - inner.below) * size_of(now.x_below));
}

// Adds one slot; every build adds slots in the same order.
BATCH_FN void add_slot(const Nodes& nodes, int slot, double both, double low, double high, double noise,
                       Sums& to) {
  to.kronrod += nodes.kronrod[slot] * both;
  to.sizes += nodes.kronrod[slot] * size_of(both);
  for (int k = 0; k < nulls; ++k) to.apart[k] += nodes.apart[k][slot] * both;
  to.low += nodes.near[slot] * low + nodes.far[slot] * high;
  to.high += nodes.near[slot] * high + nodes.far[slot] * low;
  to.noise += noise;
  to.edge = low;
}

// Samples a slot. With middle_twice the middle point is computed twice, with the same result, which is
// cheaper where a branch would keep the compiler from overlapping both sides of every other slot.
template <class F>
BATCH_FN Samples samples(const Piece& piece, double middle, double away, F& f, TailSamples& reach) {
  const bool endless = may_be_endless && piece.tail != 0;
  const MappedPoint above = mapped_point(piece, middle + away);
  Samples out;
  out.x_above = above.x;
  out.above = f(above.x);
  if (endless) out.above = sample_or_zero(out.above, middle + away, reach);
  out.term_above = out.above * above.weight;
  out.x_below = out.x_above;
  out.below = out.above;
  out.term_below = out.term_above;
  if (!middle_twice && away == 0) return out;
  const MappedPoint below = mapped_point(piece, middle - away);
  out.x_below = below.x;
  out.below = f(below.x);
  if (endless) out.below = sample_or_zero(out.below, middle - away, reach);
  out.term_below = out.below * below.weight;
  return out;
}

template <class F>
BATCH_FN Sums measure(const Nodes& nodes, const Piece& piece, double from, double width, F& f) {
  const double radius = 0.5 * width, middle = from + radius;
  Sums out = {0, {0, 0, 0, 0}, 0, 0, 0, 0, 0, no_tail_samples()};
  Samples inner = {0, 0, 0, 0, 0, 0};
  BATCH_ROLLED
  for (int slot = 0; slot < slots; ++slot) {
    const Samples now = samples(piece, middle, radius * nodes.x[slot], f, out.reach);
    add_slot(nodes, slot, now.term_above + now.term_below, now.term_below, now.term_above,
             noise_of(nodes, slot, radius, now, inner), out);
    inner = now;
  }
  return out;
}

BATCH_FN double fall(double to, double from) { return from > 0 ? to / from : to > 0 ? 1 : 0; }

// Returns the largest ratio of a null rule to the next one of lower degree: below 1/2 if the function is
// smooth.
BATCH_FN double slowest_fall(const Sums& sums) {
  double out = 0;
  for (int k = 1; k < nulls; ++k) out = larger(out, fall(size_of(sums.apart[k - 1]), size_of(sums.apart[k])));
  return out;
}

BATCH_FN double max_apart(const Sums& sums) {
  double most = 0;
  for (int k = 0; k < nulls; ++k) most = larger(most, size_of(sums.apart[k]));
  return most;
}

// Returns the error estimate of the rule, on an interval of length 2.
BATCH_FN double apart_of(const Sums& sums) {
  const double most = max_apart(sums);
  const double slowest = slowest_fall(sums), square = slowest * slowest;
  return slowest < 0.5 ? 16 * (square * square) * most : most;
}

// Returns the error of oscillations that the points do not resolve. Their samples and the four differences
// are practically random, so all differences may be small by chance, and only the samples' magnitude is
// known. At a kink and most jumps, where the differences decrease as slowly, they are a smaller share of this
// magnitude.
BATCH_FN double unresolved(const Sums& sums) {
  constexpr double share = 128;
  return slowest_fall(sums) >= 0.5 && sums.sizes < share * max_apart(sums) ? sums.sizes : 0;
}

// A double-double sum: a value that is added and subtracted again leaves no error.
struct DoubleDouble {
  double high = 0, low = 0;
};

BATCH_FN void add(DoubleDouble& to, double value) {
  const double sum = to.high + value, of_value = sum - to.high;
  const double lost = ((to.high - (sum - of_value)) + (value - of_value)) + to.low;
  to.high = sum + lost;
  to.low = lost - (to.high - sum);
}

// The subranges of a range between its cuts, one after another. ends(0) and ends(1) are the limits, ends(2) …
// known breakpoints in any order.
struct Subranges {
  double at, end;
  int breaks;

  // Gets the two pieces of the next stretch; false: it was the last.
  template <class Ends>
  BATCH_FN bool next(Ends& ends, Piece& first, Piece& second) {
    double to = end;
    for (int k = 0; k < breaks; ++k) {
      const double candidate = ends(2 + k);
      if (candidate > at && candidate < to) to = candidate;
    }
    const bool open_below = !is_finite(at), open_above = !is_finite(to);
    if (open_below && open_above) to = 0;
    const double half = 0.5 * to - 0.5 * at;
    first = {open_below ? to : at, open_below ? -1 : open_above && is_finite(at) ? 1 : half, 0};
    second = {open_below || !open_above ? to : at,
              open_below   ? -1
              : open_above ? 1
                           : -half,
              open_below || open_above ? 1 : 0};
    at = to;
    return to < end;
  }
};

// --- the cells of one integral, and which of them is measured next ---
//
// AdaptiveQuadrature requests two cells at a time and leaves their evaluation to the caller: one thread may
// hold an integral, or the lanes of a warp share its points. A List holds the cells: doubles by Field,
// integers by Link. If several lanes share a List, all of them make every call, one of them writes, and
// settle() makes the writes visible to the others.

enum Field { from_of, width_of, value_of, gap_of, error_of, noise_of_cell, low_of, high_of, fields };
enum Link { output_step, previous_of, piece_of, links };  // neighbours of the same piece, or -1

constexpr int max_breaks = 12;
constexpr int max_pieces = 2 * (max_breaks + 2);

struct WorstCell {
  int index;
  double error;
};

struct ErrorTolerance {
  double relative, absolute;
  int most;        // evaluations
  double caution;  // errors are multiplied by it: 1, or more for formulas with many jumps

  BATCH_FN double of(double value) const { return larger(absolute, relative * size_of(value)); }
};

struct IntegralResult {
  double value, error;
  int spent, why;
};

template <class List>
struct AdaptiveQuadrature {
  List& list;
  const Nodes& nodes;
  ErrorTolerance tolerance;
  Subranges subranges{};
  double sign = 1;
  DoubleDouble value{}, error{}, noise{};
  int count = 0, pieces = 0, spent = 0, why = converged, stubborn = 0, rough = 0;
  bool starting = true, more = false, single = false;
  TailSamples below = no_tail_samples(), above = no_tail_samples();  // for the pieces to -inf and to inf
  double span = 0;                                                   // length of the range; 0: infinite
  double before_cut = 0;                                             // the integrand just before the last cut
  // The cell that is split.
  int parent = 0, parent_next = -1, parent_piece = 0;
  double parent_value = 0, parent_apart = 0, parent_error = 0, parent_noise = 0;
  // The two cells to be measured, of equal width.
  Piece piece[2] = {};
  double from[2] = {}, width = 1;

  BATCH_FN AdaptiveQuadrature(List& cells, const Nodes& table, const ErrorTolerance& wanted)
      : list(cells), nodes(table), tolerance(wanted) {}

  // True: two cells are to be measured.
  template <class Ends>
  BATCH_FN bool begin(Ends& ends, int breaks) {
    double a = ends(0), b = ends(1);
    if (a != a || b != b) return stop(non_finite);
    if (a == b) return look_at(a);
    if (a > b) {
      const double other = a;
      a = b;
      b = other;
      sign = -1;
    }
    subranges = {a, b, breaks};
    span = is_finite(b - a) ? b - a : 0;
    return begin_subrange(ends);
  }

  // Takes the sums of the two cells. True: two more are to be measured.
  template <class Ends>
  BATCH_FN bool take(Ends& ends, const Sums& first, const Sums& second) {
    spent += pair_cost;
    if (single) return stop(is_finite(first.kronrod) ? converged : non_finite);
    if (!is_finite(all_of(first) + all_of(second))) return stop(non_finite);
    if (may_be_endless) {
      note_reach(piece[0], first);
      note_reach(piece[1], second);
    }
    if (!starting) {
      split(first, second);
      return decide();
    }
    append(0, first);
    append(1, second);
    count += 2;
    if (pieces > 0) add(noise, size_of(value_at_end(0, first) - before_cut) * size_of(piece[0].base));
    before_cut = piece[1].tail != 0 ? value_at_end(0, first) : value_at_end(1, second);
    pieces += 2;
    if (more) return begin_subrange(ends);
    starting = false;
    return decide();
  }

  BATCH_FN IntegralResult ended() const {
    const double largest = 0x1p1023, infinite = 2 * largest;
    // With more cells the integrand may still fade to 0.
    const bool gone = !may_be_endless || why == memory || (faded(below) && faded(above));
    if (why == non_finite || !gone) return {infinite - infinite, infinite, spent, non_finite};
    // No error bound is known if parts were never sampled, if they grow without a known bound, or if all
    // samples are 0.
    if (why == singular || (starting && why != converged) || why == doubtful)
      return {sign * value.high, infinite, spent, why};
    return {sign * value.high, tolerance.caution * larger(error.high, 0) + last_bit * noise.high + lost(),
            spent, why};
  }

 private:
  static constexpr double settled = 6 * last_bit;  // times a cell's noise: smaller errors are roundoff
  static constexpr double safety = 1.6;

  // Not finite if one of the sums is not.
  BATCH_FN static double all_of(const Sums& sums) {
    double out = sums.kronrod + sums.noise + (sums.low + sums.high);
    for (int k = 0; k < nulls; ++k) out += sums.apart[k];
    return out;
  }

  BATCH_FN void note_reach(const Piece& of, const Sums& sums) {
    if (of.tail != 0) join(of.reach < 0 ? below : above, sums.reach);
  }

  // Returns the error of subnormal samples: they are integer multiples of the smallest number, and few
  // multiples are a coarse approximation. If all samples are 0, the integral is doubtful.
  BATCH_FN double lost() const {
    const double smallest = 0x1p-1074, furthest = may_be_endless ? smaller(below.nonzero, above.nonzero) : 2;
    const double tail = furthest < 2 ? 1 / (furthest * furthest) : 0;
    return noise.high > 0 ? smallest * (2.0 * spent + span + tail) : 0;
  }

  BATCH_FN bool stop(int because) {
    why = because;
    return false;
  }

  // Checks a range of length 0, whose single value must be a number.
  BATCH_FN bool look_at(double x) {
    piece[0] = piece[1] = {x, 0, 0};
    single = true;
    return can_afford(2);
  }

  template <class Ends>
  BATCH_FN bool begin_subrange(Ends& ends) {
    more = subranges.next(ends, piece[0], piece[1]);
    from[0] = from[1] = 0;
    width = 1;
    return can_afford(2);
  }

  // Returns the integrand next to a cut: a rounded cut misplaces a jump there.
  BATCH_FN double value_at_end(int which, const Sums& sums) const {
    const double weight = mapped_point(piece[which], 0.5 * width * (1 - nodes.x[slots - 1])).weight;
    return weight > 0 ? sums.edge / weight : 0;
  }

  BATCH_FN bool can_afford(int cells) {
    if (spent + pair_cost > tolerance.most) return stop(evaluations);
    if (count + cells > list.capacity()) return stop(memory);
    return true;
  }

  BATCH_FN void write(int index, int of_piece, double start, const Sums& sums, double estimate) {
    const double radius = 0.5 * width, its_error = larger(estimate, radius * unresolved(sums));
    list.set(from_of, index, start);
    list.set(width_of, index, width);
    list.set(value_of, index, radius * sums.kronrod);
    list.set(gap_of, index, radius * apart_of(sums));
    list.set(error_of, index, its_error);
    list.set(noise_of_cell, index, sums.noise);
    list.set(low_of, index, sums.low);
    list.set(high_of, index, sums.high);
    list.set_link(piece_of, index, of_piece);
    add(value, radius * sums.kronrod);
    add(error, its_error);
    add(noise, sums.noise);
  }

  BATCH_FN void append(int which, const Sums& sums) {
    const int mine = count + which, its_piece = pieces + which;
    list.set_piece(its_piece, piece[which]);
    list.set_top(its_piece, mine);
    list.set_link(output_step, mine, -1);
    list.set_link(previous_of, mine, -1);
    const double radius = 0.5 * width, its_error = safety * (radius * apart_of(sums));
    const bool steep = from[which] == 0 && is_steep(sums);
    write(mine, its_piece, from[which], sums,
          steep ? larger(its_error, radius * size_of(sums.kronrod)) : its_error);
  }

  // True if the function grows towards the cell's lower edge as if it had no limit there.
  BATCH_FN static bool is_steep(const Sums& sums) {
    return size_of(sums.low) > size_of(sums.kronrod);  // kronrod is twice the mean
  }

  // Returns the error of the sum, as a multiple of the change by this halving, if the function grows towards
  // the end of its piece. The remainder decreases by a constant factor, or only as a power p of the
  // logarithm, that is of the number of halvings; it is unbounded for p <= 1 and unknown for p near 1. The
  // rule's outermost point is nine halvings ahead of its cell: counting four makes p too small.
  BATCH_FN double ahead_of_end(double left_apart) const {
    constexpr double least = 1.5, any = 1e6;
    double halvings = 4;
    BATCH_ROLLED
    for (double whole = width; whole < 1; whole *= 2) halvings += 1;
    const double less = fall(left_apart, parent_apart), p = (1 - less) * halvings;
    return p < least ? any : less / (1 - less) * (p / (p - 1));
  }

  // Returns the error of the sum of two halves. `apart`: the sum of their estimates; `moved`: the change from
  // the parent's value. If errors decrease by a constant factor from one halving to the next, as at a
  // singularity, the changes of all further halvings add up; the smallest factor is a tenth.
  BATCH_FN double error_of_halves(double apart, double moved) const {
    if (moved <= settled * parent_noise) return safety * apart;
    const double less = fall(apart, parent_apart), ahead = less < 0.99 ? less / (1 - less) : 99;
    const double share = moved > parent_error ? larger(ahead, 1) : larger(ahead, 0.1);
    return safety * larger(apart, moved * share);
  }

  // Returns the error of a half if nearly all of its parent's differences vanish in one halving, but the
  // remaining ones do not decrease: far out, the few points with nonzero samples may be at the zeros of an
  // oscillation. Another halving decides.
  BATCH_FN double gone_at_once(const Sums& half) const {
    constexpr double much = 64;
    const double sizes = 0.5 * width * half.sizes;
    return slowest_fall(half) >= 0.25 && much * sizes < parent_apart ? much * sizes : 0;
  }

  BATCH_FN void split(const Sums& left, const Sums& right) {
    const double radius = 0.5 * width;
    const double now = radius * left.kronrod + radius * right.kronrod, moved = size_of(parent_value - now);
    const double left_apart = radius * apart_of(left), right_apart = radius * apart_of(right);
    const double apart = left_apart + right_apart, whole = error_of_halves(apart, moved);
    double left_error = apart > 0 ? whole * (left_apart / apart) : 0.5 * whole;
    if (from[0] == 0 && is_steep(left) && moved > settled * parent_noise)
      left_error = larger(left_error, safety * moved * ahead_of_end(left_apart));
    left_error = larger(left_error, gone_at_once(left));
    double right_error = apart > 0 ? whole * (right_apart / apart) : 0.5 * whole;
    right_error = larger(right_error, gone_at_once(right));
    // Halving neither changes the sum nor reduces the error, and the null rules do not decrease.
    const bool shapeless = slowest_fall(left_apart > right_apart ? left : right) >= 0.5;
    if (shapeless && moved <= 1e-5 * size_of(now) && apart >= 0.99 * parent_apart) ++rough;
    if (from[0] == 0 && width < 0x1p-11 && left_apart >= 0.985 * parent_apart) ++stubborn;
    add(value, -parent_value);
    add(error, -parent_error);
    add(noise, -parent_noise);
    write(parent, parent_piece, from[0], left, left_error);
    write(count, parent_piece, from[1], right, right_error);
    list.set_link(output_step, parent, count);
    list.set_link(previous_of, count, parent);
    list.set_link(output_step, count, parent_next);
    if (parent_next >= 0) list.set_link(previous_of, parent_next, count);
    else list.set_top(parent_piece, count);
    ++count;
  }

  // True if the integral has converged. The error includes the mismatch of cells where they meet.
  BATCH_FN bool decide() {
    list.settle();
    if (!is_finite(value.high) || !is_finite(error.high)) return stop(non_finite);
    BATCH_ROLLED
    for (bool charged = false;; charged = true) {
      const bool sample_or_zero = is_met();
      if (sample_or_zero && charged) return stop(noise.high == 0 ? doubtful : converged);
      if (!sample_or_zero && goes_on()) return true;
      if (charged) return false;
      charge_seams();
      if (!sample_or_zero) return false;
    }
  }

  BATCH_FN bool goes_on() {
    // The rest is roundoff, which more cells cannot reduce.
    if (tolerance.caution * error.high <= 0.01 * tolerance.of(value.high)) return stop(roundoff);
    if (rough >= 10) return stop(roundoff);
    if (stubborn >= 12) return stop(singular);
    return choose();
  }

  BATCH_FN bool is_met() const {
    return tolerance.caution * error.high + last_bit * noise.high + lost() <= tolerance.of(value.high);
  }

  BATCH_FN bool choose() {
    const WorstCell worst = list.worst(count);
    parent = worst.index;
    parent_error = worst.error;
    parent_value = list.get(value_of, parent);
    parent_apart = list.get(gap_of, parent);
    parent_noise = list.get(noise_of_cell, parent);
    parent_next = list.link(output_step, parent);
    parent_piece = list.link(piece_of, parent);
    const double start = list.get(from_of, parent), whole = list.get(width_of, parent);
    if (parent_error <= settled * parent_noise) return stop(roundoff);
    if (whole <= 0x1p-47 * start || whole < 1e-300) return stop(singular);
    piece[0] = piece[1] = list.piece(parent_piece);
    width = 0.5 * whole;
    from[0] = start;
    from[1] = start + width;
    return can_afford(1);
  }

  BATCH_FN double differing(double a, double b) const {
    const double apart = size_of(a - b);
    return apart <= 1e3 * last_bit * larger(size_of(a), size_of(b)) ? 0 : apart;
  }

  // Returns the error of a cell whose extrapolated value differs from that of its neighbour where they meet,
  // or of the piece's partner where t is 1.
  BATCH_FN double owed(int index) const {
    const double low = list.get(low_of, index), high = list.get(high_of, index);
    const int before = list.link(previous_of, index), behind = list.link(output_step, index);
    double apart = 0;
    if (before >= 0) apart = differing(low, list.get(high_of, before));
    const int across = behind >= 0 ? behind : list.top(list.link(piece_of, index) ^ 1);
    apart = larger(apart, differing(high, list.get(behind >= 0 ? low_of : high_of, across)));
    return apart * 0.5 * list.get(width_of, index) * (1 - nodes.x[slots - 1]);
  }

  // Charges cells whose extrapolated values differ where they meet.
  BATCH_FN void charge_seams() {
    for (int first = 0; first < count; first += list.lanes()) {
      const int index = first + list.lane();
      double more_error = 0;
      if (index < count) {
        const double charged = owed(index), before = list.get(error_of, index);
        if (charged > before) {
          list.charge(index, charged);
          more_error = charged - before;
        }
      }
      list.add_in_order(error, more_error);
    }
  }
};

// Computes one integral from beginning to end; one thread measures both cells.
template <class List, class F, class Ends>
BATCH_FN IntegralResult integrate_alone(List& list, const Nodes& nodes, const ErrorTolerance& tolerance, F& f,
                                        Ends& ends, int breaks) {
  AdaptiveQuadrature<List> quadrature(list, nodes, tolerance);
  bool going = quadrature.begin(ends, breaks);
  while (going) {
    Sums sums[2];
    BATCH_ROLLED
    for (int k = 0; k < 2; ++k)
      sums[k] = measure(nodes, quadrature.piece[k], quadrature.from[k], quadrature.width, f);
    going = quadrature.take(ends, sums[0], sums[1]);
  }
  return quadrature.ended();
}
