// SPDX-License-Identifier: Apache-2.0
// The cells of one integral, and which of them is measured next. It asks for two cells at a time, whoever
// measures them; so one thread may have an integral for itself, or the lanes of a warp share its points.
// Included inside a namespace by its users, behind rule-inl.h.
//
// A List holds the cells: numbers by Field, whole numbers by Link. Where several lanes share one, all of them
// call everything, one of them writes, and settle() makes that visible to the others.

enum Field { from_of, width_of, value_of, gap_of, error_of, noise_of_cell, low_of, high_of, fields };
enum Link { next_of, previous_of, piece_of, links };  // neighbours of the same piece, or -1

constexpr int most_breaks = 12;
constexpr int most_pieces = 2 * (most_breaks + 2);

struct Worst {
  int index;
  double error;
};

struct Demand {
  double relative, absolute;
  int most;        // evaluations
  double caution;  // errors are multiplied by it: 1, or more for formulas with many jumps

  BATCH_FN double of(double value) const { return larger(absolute, relative * size_of(value)); }
};

struct Ended {
  double value, error;
  int spent, why;
};

template <class List>
struct Adaption {
  List& list;
  const Nodes& nodes;
  Demand demand;
  Stretches stretches{};
  double sign = 1;
  Exactly value{}, error{}, noise{};
  int count = 0, pieces = 0, spent = 0, why = converged, stubborn = 0, rough = 0;
  bool starting = true, more = false, single = false;
  Reach below = unmet(), above = unmet();  // of the pieces to either infinity
  double span = 0;                         // of the range, if it has an end
  double before_cut = 0;                   // the value before it
  // What is split.
  int parent = 0, parent_next = -1, parent_piece = 0;
  double parent_value = 0, parent_apart = 0, parent_error = 0, parent_noise = 0;
  // What is to be measured: two cells of one width.
  Piece piece[2] = {};
  double from[2] = {}, width = 1;

  BATCH_FN Adaption(List& cells, const Nodes& table, const Demand& wanted)
      : list(cells), nodes(table), demand(wanted) {}

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
    stretches = {a, b, breaks};
    span = is_finite(b - a) ? b - a : 0;
    return begin_stretch(ends);
  }

  // What the two cells came to. True: two more are to be measured.
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
    if (more) return begin_stretch(ends);
    starting = false;
    return decide();
  }

  BATCH_FN Ended ended() const {
    const double largest = 0x1p1023, infinite = 2 * largest;
    // Who gives it more memory may see it fade.
    const bool gone = !may_be_endless || why == memory || (faded(below) && faded(above));
    if (why == non_finite || !gone) return {infinite - infinite, infinite, spent, non_finite};
    // Parts were never seen, or grow without a bound that anybody knows; and where zeros are all that was
    // seen, how much lies between them nobody knows either.
    if (why == singular || (starting && why != converged) || why == doubtful)
      return {sign * value.high, infinite, spent, why};
    return {sign * value.high, demand.caution * larger(error.high, 0) + last_bit * noise.high + lost(), spent,
            why};
  }

 private:
  static constexpr double settled = 6 * last_bit;  // of a cell's noise: a smaller error is rounding
  static constexpr double safety = 1.6;

  // Not finite where one of them is not.
  BATCH_FN static double all_of(const Sums& sums) {
    double out = sums.kronrod + sums.noise + (sums.low + sums.high);
    for (int k = 0; k < nulls; ++k) out += sums.apart[k];
    return out;
  }

  BATCH_FN void note_reach(const Piece& of, const Sums& sums) {
    if (of.tail != 0) join(of.reach < 0 ? below : above, sums.reach);
  }

  // Samples are whole multiples of the smallest number, and so is what each brings: where they are few
  // multiples, that is no small share. Zeros alone end as doubtful.
  BATCH_FN double lost() const {
    const double smallest = 0x1p-1074, furthest = may_be_endless ? smaller(below.nonzero, above.nonzero) : 2;
    const double tail = furthest < 2 ? 1 / (furthest * furthest) : 0;
    return noise.high > 0 ? smallest * (2.0 * spent + span + tail) : 0;
  }

  BATCH_FN bool stop(int because) {
    why = because;
    return false;
  }

  // A range without width: its one value must be a number.
  BATCH_FN bool look_at(double x) {
    piece[0] = piece[1] = {x, 0, 0};
    single = true;
    return can_afford(2);
  }

  template <class Ends>
  BATCH_FN bool begin_stretch(Ends& ends) {
    more = stretches.next(ends, piece[0], piece[1]);
    from[0] = from[1] = 0;
    width = 1;
    return can_afford(2);
  }

  // A cut is rounded, and with it where a jump is.
  BATCH_FN double value_at_end(int which, const Sums& sums) const {
    const double weight = place(piece[which], 0.5 * width * (1 - nodes.x[slots - 1])).weight;
    return weight > 0 ? sums.edge / weight : 0;
  }

  BATCH_FN bool can_afford(int cells) {
    if (spent + pair_cost > demand.most) return stop(evaluations);
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
    list.set_link(next_of, mine, -1);
    list.set_link(previous_of, mine, -1);
    const double radius = 0.5 * width, its_error = safety * (radius * apart_of(sums));
    const bool steep = from[which] == 0 && is_steep(sums);
    write(mine, its_piece, from[which], sums,
          steep ? larger(its_error, radius * size_of(sums.kronrod)) : its_error);
  }

  // Whether the function grows towards the cell's lower edge as if it had no limit there.
  BATCH_FN static bool is_steep(const Sums& sums) {
    return size_of(sums.low) > size_of(sums.kronrod);  // which is twice the mean
  }

  // How far the sum is off, in what this halving moved, where it grows towards the end of its piece. What is
  // left falls by a factor, or as a power p of the logarithm only, that is of the number of halvings; from p
  // = 1 down nothing bounds it, and near 1 nothing can be said. The rule's outermost point is nine halvings
  // ahead of its cell: counting four makes p too small.
  BATCH_FN double ahead_of_end(double left_apart) const {
    constexpr double least = 1.5, any = 1e6;
    double halvings = 4;
    BATCH_ROLLED
    for (double whole = width; whole < 1; whole *= 2) halvings += 1;
    const double less = fall(left_apart, parent_apart), p = (1 - less) * halvings;
    return p < least ? any : less / (1 - less) * (p / (p - 1));
  }

  // How far the sum of two halves may be off, whose rules are so far apart, and which moved so far from their
  // parent's value. Where errors fall by a constant factor from one halving to the next, as at a singularity,
  // what all further halvings would move adds up; where the fall shows none, a tenth is left.
  BATCH_FN double error_of_halves(double apart, double moved) const {
    if (moved <= settled * parent_noise) return safety * apart;
    const double less = fall(apart, parent_apart), ahead = less < 0.99 ? less / (1 - less) : 99;
    const double share = moved > parent_error ? larger(ahead, 1) : larger(ahead, 0.1);
    return safety * larger(apart, moved * share);
  }

  // What a half owes where nearly all of its parent's differences have gone at once, but those left do not
  // fall: far out its few points that saw anything may have met the zeros of a swing. Another halving
  // decides.
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
    // Halving neither moves the sum nor helps, and what is left has no order.
    const bool shapeless = slowest_fall(left_apart > right_apart ? left : right) >= 0.5;
    if (shapeless && moved <= 1e-5 * size_of(now) && apart >= 0.99 * parent_apart) ++rough;
    if (from[0] == 0 && width < 0x1p-11 && left_apart >= 0.985 * parent_apart) ++stubborn;
    add(value, -parent_value);
    add(error, -parent_error);
    add(noise, -parent_noise);
    write(parent, parent_piece, from[0], left, left_error);
    write(count, parent_piece, from[1], right, right_error);
    list.set_link(next_of, parent, count);
    list.set_link(previous_of, count, parent);
    list.set_link(next_of, count, parent_next);
    if (parent_next >= 0) list.set_link(previous_of, parent_next, count);
    else list.set_top(parent_piece, count);
    ++count;
  }

  // Converged or not: the error holds what cells owe each other where they meet.
  BATCH_FN bool decide() {
    list.settle();
    if (!is_finite(value.high) || !is_finite(error.high)) return stop(non_finite);
    BATCH_ROLLED
    for (bool charged = false;; charged = true) {
      const bool met = is_met();
      if (met && charged) return stop(noise.high == 0 ? doubtful : converged);
      if (!met && goes_on()) return true;
      if (charged) return false;
      charge_seams();
      if (!met) return false;
    }
  }

  BATCH_FN bool goes_on() {
    // What is left is rounding, which cells cannot mend.
    if (demand.caution * error.high <= 0.01 * demand.of(value.high)) return stop(roundoff);
    if (rough >= 10) return stop(roundoff);
    if (stubborn >= 12) return stop(singular);
    return choose();
  }

  BATCH_FN bool is_met() const {
    return demand.caution * error.high + last_bit * noise.high + lost() <= demand.of(value.high);
  }

  BATCH_FN bool choose() {
    const Worst worst = list.worst(count);
    parent = worst.index;
    parent_error = worst.error;
    parent_value = list.get(value_of, parent);
    parent_apart = list.get(gap_of, parent);
    parent_noise = list.get(noise_of_cell, parent);
    parent_next = list.link(next_of, parent);
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

  // What a cell owes because a neighbour expects another value where they meet, or its piece's partner does
  // where t is 1.
  BATCH_FN double owed(int index) const {
    const double low = list.get(low_of, index), high = list.get(high_of, index);
    const int before = list.link(previous_of, index), behind = list.link(next_of, index);
    double apart = 0;
    if (before >= 0) apart = differing(low, list.get(high_of, before));
    const int across = behind >= 0 ? behind : list.top(list.link(piece_of, index) ^ 1);
    apart = larger(apart, differing(high, list.get(behind >= 0 ? low_of : high_of, across)));
    return apart * 0.5 * list.get(width_of, index) * (1 - nodes.x[slots - 1]);
  }

  // Charges cells that expect different samples where they meet.
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

// One integral from its beginning to its end, where one thread measures both cells.
template <class List, class F, class Ends>
BATCH_FN Ended integrate_alone(List& list, const Nodes& nodes, const Demand& demand, F& f, Ends& ends,
                               int breaks) {
  Adaption<List> adaption(list, nodes, demand);
  bool going = adaption.begin(ends, breaks);
  while (going) {
    Sums sums[2];
    BATCH_ROLLED
    for (int k = 0; k < 2; ++k)
      sums[k] = measure(nodes, adaption.piece[k], adaption.from[k], adaption.width, f);
    going = adaption.take(ends, sums[0], sums[1]);
  }
  return adaption.ended();
}
