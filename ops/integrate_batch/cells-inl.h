// SPDX-License-Identifier: Apache-2.0
// The memory layout of an integral's cells, for one thread and for the lanes of a warp; the evaluation of
// cells by a warp; and Work, the description of a batch for kernels. Its users include it inside a namespace,
// after rule-inl.h, with power(a, b) defined.

constexpr int cell_bytes = fields * 8 + links * 4;
constexpr int piece_bytes = 2 * 8 + 2 * 4;

BATCH_FN long long list_bytes(int cells) {
  const long long bytes =
      static_cast<long long>(cells) * cell_bytes + static_cast<long long>(max_pieces) * piece_bytes;
  return (bytes + 7) / 8 * 8;
}

// Cells of one thread in memory that `stride` threads share; entries of neighbouring threads are adjacent.
struct OwnCells {
  double* numbers;  // this thread's first number
  int* links_;
  long long stride;
  int cells;

  // `memory` holds list_bytes(cells) for each thread.
  BATCH_FN static OwnCells of(void* memory, int cells, long long stride, long long mine) {
    double* const first = static_cast<double*>(memory);
    int* const behind = reinterpret_cast<int*>(first + (fields * cells + 2 * max_pieces) * stride);
    return {first + mine, behind + mine, stride, cells};
  }

  BATCH_FN int capacity() const { return cells; }
  BATCH_FN static constexpr int lanes() { return 1; }
  BATCH_FN static constexpr int lane() { return 0; }
  BATCH_FN void settle() const {}

  BATCH_FN double& number(int i) const { return numbers[i * stride]; }
  BATCH_FN int& whole(int i) const { return links_[i * stride]; }

  BATCH_FN double get(Field field, int i) const { return number(field * cells + i); }
  BATCH_FN void set(Field field, int i, double value) { number(field * cells + i) = value; }
  BATCH_FN void charge(int i, double error) { set(error_of, i, error); }
  BATCH_FN int link(Link link, int i) const { return whole(link * cells + i); }
  BATCH_FN void set_link(Link link, int i, int to) { whole(link * cells + i) = to; }
  BATCH_FN Piece piece(int i) const {
    return {number(fields * cells + i), number(fields * cells + max_pieces + i), whole(links * cells + i)};
  }
  BATCH_FN void set_piece(int i, const Piece& piece) {
    number(fields * cells + i) = piece.base;
    number(fields * cells + max_pieces + i) = piece.reach;
    whole(links * cells + i) = piece.tail;
  }
  BATCH_FN int top(int i) const { return whole(links * cells + max_pieces + i); }
  BATCH_FN void set_top(int i, int cell) { whole(links * cells + max_pieces + i) = cell; }

  BATCH_FN WorstCell worst(int count) const {
    WorstCell out = {0, get(error_of, 0)};
    for (int i = 1; i < count; ++i) {
      const double error = get(error_of, i);
      if (error > out.error) out = {i, error};
    }
    return out;
  }
  BATCH_FN void add_in_order(DoubleDouble& sum, double value) const {
    if (value != 0) add(sum, value);
  }
};

// Cells that the lanes of a warp share: one lane writes, all lanes search for the worst cell.
template <class Thread>
struct SharedCells {
  const Thread& thread;
  OwnCells cells;

  BATCH_FN int capacity() const { return cells.cells; }
  BATCH_FN static constexpr int lanes() { return 32; }
  BATCH_FN int lane() const { return thread.lane(); }
  BATCH_FN void settle() const { thread.sync_warp(); }

  BATCH_FN double get(Field field, int i) const { return cells.get(field, i); }
  BATCH_FN void set(Field field, int i, double value) {
    if (lane() == 0) cells.set(field, i, value);
  }
  BATCH_FN void charge(int i, double error) { cells.charge(i, error); }
  BATCH_FN int link(Link link, int i) const { return cells.link(link, i); }
  BATCH_FN void set_link(Link link, int i, int to) {
    if (lane() == 0) cells.set_link(link, i, to);
  }
  BATCH_FN Piece piece(int i) const { return cells.piece(i); }
  BATCH_FN void set_piece(int i, const Piece& piece) {
    if (lane() == 0) cells.set_piece(i, piece);
  }
  BATCH_FN int top(int i) const { return cells.top(i); }
  BATCH_FN void set_top(int i, int cell) {
    if (lane() == 0) cells.set_top(i, cell);
  }

  // Returns the largest error; of equal ones the first, as a single thread would find it.
  BATCH_FN WorstCell worst(int count) const {
    WorstCell out = {0, -1};
    for (int i = lane(); i < count; i += lanes()) {
      const double error = get(error_of, i);
      if (error > out.error) out = {i, error};
    }
    for (int apart = 16; apart > 0; apart /= 2) {
      const WorstCell other = {thread.shuffle_xor(out.index, apart), thread.shuffle_xor(out.error, apart)};
      if (other.error > out.error || (other.error == out.error && other.index < out.index)) out = other;
    }
    return out;
  }
  BATCH_FN void add_in_order(DoubleDouble& sum, double value) const {
    unsigned which = thread.ballot(value != 0);
    for (int from = 0; which != 0; ++from, which >>= 1)
      if ((which & 1) != 0) add(sum, thread.shuffle(value, from));
  }
};

// One integral by the lanes of a warp: sixteen lanes take one of the two cells, and a lane takes a slot,
// which is two points.
constexpr int sums_of_cell = nulls + 5;  // numbers of Sums, without the edge

// One warp's part of shared memory.
struct WarpExchange {
  double seen[2][4][slots];  // by cell: sum of both samples, the lower, the upper one, the noise
  double sums[2][sums_of_cell];
  TailSamples reach[2];
};

template <class Thread>
BATCH_FN TailSamples reach_of_cell(const Thread& thread, TailSamples mine) {
  for (int apart = 8; apart > 0; apart /= 2)
    join(mine, {thread.shuffle_xor(mine.innermost_nan, apart),
                thread.shuffle_xor(mine.outermost_number, apart), thread.shuffle_xor(mine.nonzero, apart)});
  return mine;
}

// Returns one sum of one cell, in the slot order of a single thread.
BATCH_FN double summed(const Nodes& nodes, const WarpExchange& exchange, int cell, int which) {
  const double(*seen)[slots] = exchange.seen[cell];
  double out = 0;
  for (int slot = 0; slot < slots; ++slot) {
    if (which == 0) out += nodes.kronrod[slot] * seen[0][slot];
    else if (which <= nulls) out += nodes.apart[which - 1][slot] * seen[0][slot];
    else if (which == nulls + 1) out += nodes.near[slot] * seen[1][slot] + nodes.far[slot] * seen[2][slot];
    else if (which == nulls + 2) out += nodes.near[slot] * seen[2][slot] + nodes.far[slot] * seen[1][slot];
    else if (which == nulls + 3) out += seen[3][slot];
    else out += nodes.kronrod[slot] * size_of(seen[0][slot]);
  }
  return out;
}

template <class Thread, class Adapting, class F>
BATCH_FN void measure_together(const Thread& thread, WarpExchange& exchange, const Nodes& nodes,
                               const Adapting& quadrature, double node, F& f) {
  const int cell = thread.lane() / 16, slot = thread.lane() % 16;
  const double radius = 0.5 * quadrature.width, middle = quadrature.from[cell] + radius;
  Samples now = {0, 0, 0, 0, 0, 0}, inner = {0, 0, 0, 0, 0, 0};
  TailSamples reach = no_tail_samples();
  if (slot < slots) now = samples(quadrature.piece[cell], middle, radius * node, f, reach);
  if (may_be_endless) reach = reach_of_cell(thread, reach);
  inner.above = thread.shuffle_up(now.above, 1);
  inner.below = thread.shuffle_up(now.below, 1);
  if (slot == slots) exchange.reach[cell] = reach;
  if (slot < slots) {
    exchange.seen[cell][0][slot] = now.term_above + now.term_below;
    exchange.seen[cell][1][slot] = now.term_below;
    exchange.seen[cell][2][slot] = now.term_above;
    exchange.seen[cell][3][slot] = noise_of(nodes, slot, radius, now, inner);
  }
  thread.sync_warp();
  if (slot < sums_of_cell) exchange.sums[cell][slot] = summed(nodes, exchange, cell, slot);
  thread.sync_warp();
}

BATCH_FN Sums sums_of(const WarpExchange& exchange, int cell) {
  const double* const sums = exchange.sums[cell];
  return {sums[0], {sums[1], sums[2], sums[3], sums[4]}, sums[5], sums[6],
          sums[7], exchange.seen[cell][1][slots - 1],    sums[8], exchange.reach[cell]};
}

template <class Thread, class F, class Ends>
BATCH_FN IntegralResult integrate_together(const Thread& thread, WarpExchange& exchange,
                                           const OwnCells& cells, const Nodes& nodes,
                                           const ErrorTolerance& tolerance, F& f, Ends& ends, int breaks) {
  SharedCells<Thread> list{thread, cells};
  AdaptiveQuadrature<SharedCells<Thread>> quadrature(list, nodes, tolerance);
  const int slot = thread.lane() % 16;
  const double node = nodes.x[slot < slots ? slot : 0];
  bool going = quadrature.begin(ends, breaks);
  while (going) {
    measure_together(thread, exchange, nodes, quadrature, node, f);
    going = quadrature.take(ends, sums_of(exchange, 0), sums_of(exchange, 1));
  }
  return quadrature.ended();
}

// --- the batch ---

constexpr int max_parameters = 8;

enum Spread { given, even, geometric };

// One parameter of all integrals: a column of an array, or a range that they are spread over.
struct Column {
  const double* data;
  long long stride;
  double from, to;
  int spread;
  long long first, of;  // a range is spread over `of` integrals, of which this batch starts at `first`; 0:
                        // over this batch alone
};

BATCH_FN double parameter_of(const Column& column, long long index, long long count) {
  if (column.spread == given) return column.data[index * column.stride];
  if (column.of > 0) index += column.first, count = column.of;
  const double share = count > 1 ? static_cast<double>(index) / static_cast<double>(count - 1) : 0;
  if (column.spread == even) return column.from + (column.to - column.from) * share;
  return column.from * power(column.to / column.from, share);
}

struct Work {
  Column columns[max_parameters];
  long long count;
  const double* relative;  // per integral; null: tolerance's for all
  double* values;
  double* errors;
  int* spent;
  int* whys;
  int parameters, breaks;
  ErrorTolerance tolerance;
  Nodes nodes;
};

BATCH_FN ErrorTolerance tolerance_of_row(const Work& work, long long index) {
  return {work.relative != nullptr ? work.relative[index] : work.tolerance.relative, work.tolerance.absolute,
          work.tolerance.most, work.tolerance.caution};
}

BATCH_FN void store(const Work& work, long long index, const IntegralResult& ended) {
  work.values[index] = ended.value;
  work.errors[index] = ended.error;
  work.spent[index] = ended.spent;
  work.whys[index] = ended.why;
}
