// SPDX-License-Identifier: Apache-2.0
// The rule for one integral of a batch: Gauss-Kronrod pairs of 10 and 21 points; the cell with the largest
// error is halved until the sum of the errors meets the tolerance. One text serves the processors, the
// executor, nvcc and NVRTC, so it includes nothing and every sum has one order: all give the same bits.
// Included inside a namespace by its users, with BATCH_FN, middle_twice and may_be_endless
// defined.
//
// A range is cut at known breaks. Between two neighbouring cuts two pieces meet in the middle, each with a
// variable t from 0 to 1 whose square (or, towards infinity, one over it) is the distance from its end:
// roots there become polynomials, and what is narrow there is seen. So cells come in pairs from the first on.
//
// The difference of the pair of rules is 0 for some place of a kink, while Kronrod's rule is off. So there
// are four such differences (null rules: 0 for polynomials up to degree 19, 17, 15 and 13), of which the
// largest counts; wherever in a cell a jump or a kink lies, the rule is off by little more. Where they fall
// off like those of a smooth function, so does the error. None sees what happens between the
// outermost point and the end of the cell: where two cells meet, what each expects must agree.

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

// By slot, of the interval from -1 to 1; the middle's weights are halved, for it counts as two points.
struct Nodes {
  double x[slots], kronrod[slots];
  double apart[nulls][slots];      // the first: by how much Gauss's weights are smaller than Kronrod's
  double near[slots], far[slots];  // carry the samples of an end's half and of the other on to that end
};

// x = base + reach·s², where s is t, or 1/t towards infinity.
struct Piece {
  double base, reach;
  int tail;
};

struct Place {
  double x, weight;
};

BATCH_FN Place place(const Piece& piece, double t) {
  const double s = piece.tail != 0 ? 1 / t : t, square = s * s;
  return {piece.base + piece.reach * square, 2 * size_of(piece.reach) * s * (piece.tail != 0 ? square : 1)};
}

// What points towards infinity met, by their t, which falls outwards: the first place without a number, the
// outermost one with a number, and the outermost one whose number is not 0.
struct Reach {
  double nothing, number, nonzero;
};

BATCH_FN Reach unmet() { return {0, 2, 2}; }

BATCH_FN void join(Reach& to, const Reach& other) {
  to.nothing = larger(to.nothing, other.nothing);
  to.number = smaller(to.number, other.number);
  to.nonzero = smaller(to.nonzero, other.nonzero);
}

// Far out inf·0 is no number: x^80·exp(-x) from x = 7000 on. It counts as 0 where the formula had fallen to 0
// before; faded() tells whether it had.
BATCH_FN double met(double y, double t, Reach& reach) {
  const bool number = y == y;
  join(reach, {number ? 0 : t, number ? t : 2, number && y != 0 ? t : 2});
  return number ? y : 0;
}

BATCH_FN bool faded(const Reach& reach) {
  return reach.nothing == 0 || (reach.nothing < reach.number && reach.number < reach.nonzero);
}

// What the two points of a slot see.
struct Samples {
  double above, below, x_above, x_below, term_above, term_below;
};

struct Sums {
  double kronrod, apart[nulls], low, high;
  double noise;  // how far rounding of values and of abscissae may reach, in last_bit
  double edge;   // the outermost of the lower terms
  double sizes;  // as kronrod, of the sizes of what each slot saw
  Reach reach;   // of a piece that goes to infinity
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

// One slot after another: everybody adds in this order.
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

// The middle is one point: computed twice it gives the same, and where a branch would keep the compiler from
// overlapping both sides of every other slot, that is cheaper.
template <class F>
BATCH_FN Samples samples(const Piece& piece, double middle, double away, F& f, Reach& reach) {
  const bool endless = may_be_endless && piece.tail != 0;
  const Place above = place(piece, middle + away);
  Samples out;
  out.x_above = above.x;
  out.above = f(above.x);
  if (endless) out.above = met(out.above, middle + away, reach);
  out.term_above = out.above * above.weight;
  out.x_below = out.x_above;
  out.below = out.above;
  out.term_below = out.term_above;
  if (!middle_twice && away == 0) return out;
  const Place below = place(piece, middle - away);
  out.x_below = below.x;
  out.below = f(below.x);
  if (endless) out.below = met(out.below, middle - away, reach);
  out.term_below = out.below * below.weight;
  return out;
}

template <class F>
BATCH_FN Sums measure(const Nodes& nodes, const Piece& piece, double from, double width, F& f) {
  const double radius = 0.5 * width, middle = from + radius;
  Sums out = {0, {0, 0, 0, 0}, 0, 0, 0, 0, 0, unmet()};
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

// From each null rule to the next one of higher degree: below a half where the function is smooth.
BATCH_FN double slowest_fall(const Sums& sums) {
  double out = 0;
  for (int k = 1; k < nulls; ++k) out = larger(out, fall(size_of(sums.apart[k - 1]), size_of(sums.apart[k])));
  return out;
}

BATCH_FN double most_apart(const Sums& sums) {
  double most = 0;
  for (int k = 0; k < nulls; ++k) most = larger(most, size_of(sums.apart[k]));
  return most;
}

// How far the rule may be off, on an interval of length 2.
BATCH_FN double apart_of(const Sums& sums) {
  const double most = most_apart(sums);
  const double slowest = slowest_fall(sums), square = slowest * slowest;
  return slowest < 0.5 ? 16 * (square * square) * most : most;
}

// Of swings that the points do not resolve the samples are as good as drawn by lot, and so are the four
// differences: all of them may be small by chance. Then nothing is known but the size of what was seen. At a
// kink and most jumps, where they fall as slowly, they are a smaller share of it.
BATCH_FN double unresolved(const Sums& sums) {
  constexpr double share = 128;
  return slowest_fall(sums) >= 0.5 && sums.sizes < share * most_apart(sums) ? sums.sizes : 0;
}

// A sum of two numbers, so that what was added and taken away again leaves nothing behind.
struct Exactly {
  double high = 0, low = 0;
};

BATCH_FN void add(Exactly& to, double value) {
  const double sum = to.high + value, of_value = sum - to.high;
  const double lost = ((to.high - (sum - of_value)) + (value - of_value)) + to.low;
  to.high = sum + lost;
  to.low = lost - (to.high - sum);
}

// The cuts of a range, one stretch after another. ends(0) and ends(1) are its limits, ends(2) … known breaks,
// wherever they lie.
struct Stretches {
  double at, end;
  int breaks;

  // The two pieces of the next stretch; false: it was the last.
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
