// SPDX-License-Identifier: Apache-2.0
// What a batch is, as kernels are given it: where parameters come from and results go. Included inside a
// namespace by its users, behind rule-inl.h and adaption-inl.h, with power(a, b) defined.

constexpr int most_parameters = 8;

enum Spread { given, even, geometric };

// One parameter of all integrals: a column of an array, or a range that they are spread over.
struct Column {
  const double* data;
  long long stride;
  double from, to;
  int spread;
  long long first, of;  // a range runs over so many integrals, of which these begin there; 0: over these
};

BATCH_FN double parameter_of(const Column& column, long long index, long long count) {
  if (column.spread == given) return column.data[index * column.stride];
  if (column.of > 0) index += column.first, count = column.of;
  const double share = count > 1 ? static_cast<double>(index) / static_cast<double>(count - 1) : 0;
  if (column.spread == even) return column.from + (column.to - column.from) * share;
  return column.from * power(column.to / column.from, share);
}

// Where parts of the formula change their sign that no text is solved for: searched for, integral by
// integral. Of more changes than this none is cut at.
constexpr int most_searched = 8, search_steps = 64;

// From one limit to the other, densely towards both, and far out where one is infinite.
BATCH_FN double searched_place(double a, double b, int step) {
  const bool low = is_finite(a), high = is_finite(b), second = 2 * step > search_steps;
  if (low && high) {
    const double share = 2.0 * (second ? search_steps - step : step) / search_steps,
                 away = (0.5 * b - 0.5 * a) * (share * share);
    return second ? b - away : a + away;
  }
  const double count = low || !high ? step : search_steps - step;
  const double from = low || high ? count : size_of(2 * count - search_steps),
               ratio = from / (search_steps - from);
  const double away = (ratio * ratio) * (ratio * ratio);
  if (low) return a + away;
  if (high) return b - away;
  return 2 * step < search_steps ? -away : away;
}

// Where the signs are no longer those at `from`.
template <class Signs>
BATCH_FN double searched_zero(Signs& signs, double from, double to, double there) {
  constexpr int most_halvings = 200;
  BATCH_ROLLED
  for (int i = 0; i < most_halvings; ++i) {
    const double middle = 0.5 * from + 0.5 * to;
    if (!(from < middle && middle < to)) break;
    if (signs(middle) == there) from = middle;
    else to = middle;
  }
  return to;
}

// ends(which), with what was searched for behind the known breaks; `searched`: how many places there are for
// it.
template <class End, class Signs>
struct SearchedEnds {
  End end;
  Signs signs;  // of all parts in one number
  int solved, searched;
  bool crowded;  // there are more than that
  double zeros[most_searched];

  BATCH_FN void search() {
    const double first = end(0), last = end(1), low = smaller(first, last), high = larger(first, last);
    for (int k = 0; k < most_searched; ++k) zeros[k] = first;
    int found = 0;
    double at = low, before = 0;
    bool known = false;
    BATCH_ROLLED
    for (int step = 0; searched > 0 && step <= search_steps && low < high; ++step) {
      const double x = searched_place(low, high, step);
      const double now = is_finite(x) ? signs(x) : before;
      if (!is_finite(x) || now != now) continue;
      // Several parts may change theirs on the way there, and one may be 0 at some neighbouring numbers.
      BATCH_ROLLED
      for (int tries = 0; known && now != before && !crowded; ++tries) {
        at = searched_zero(signs, at, x, before);
        before = at < x ? signs(at) : now;
        const bool same = found > 0 && at - zeros[found - 1] <= 16 * last_bit * size_of(at);
        crowded = tries == 4 * most_searched || (!same && found == searched);
        if (!crowded && !same) zeros[found++] = at;
      }
      known = true;
      at = x;
      before = now;
    }
    for (int k = 0; k < most_searched; ++k)
      if (crowded) zeros[k] = first;
  }

  BATCH_FN double operator()(double which) {
    const int index = static_cast<int>(which) - 2 - solved;
    if (index < 0) return end(which);
    return index < searched ? zeros[index] : end(which - searched);
  }
};

struct Work {
  Column columns[most_parameters];
  long long count;
  const double* relative;  // of each integral; null: the same for all
  double* values;
  double* errors;
  int* spent;
  int* whys;
  int parameters, breaks;
  Demand demand;
  Nodes nodes;
};

BATCH_FN Demand demand_of(const Work& work, long long index) {
  return {work.relative != nullptr ? work.relative[index] : work.demand.relative,
          work.demand.absolute,
          work.demand.most,
          work.demand.measured,
          work.demand.doubted,
          work.demand.caution};
}

BATCH_FN void store(const Work& work, long long index, const Ended& ended) {
  work.values[index] = ended.value;
  work.errors[index] = ended.error;
  work.spent[index] = ended.spent;
  work.whys[index] = ended.why;
}
