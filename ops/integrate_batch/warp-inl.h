// SPDX-License-Identifier: Apache-2.0
// One integral by the lanes of a warp: sixteen of them take one of the two cells, a lane takes a slot, which
// is two points. Included inside a namespace by its users, behind cells-inl.h.

constexpr int sums_of_cell = nulls + 5;  // as Sums has them

// A warp's own, in shared memory.
struct Meeting {
  double seen[2][4][slots];  // by cell: both heights, the lower, the upper one, the noise
  double sums[2][sums_of_cell];
  Reach reach[2];
};

// What all lanes of a cell met.
template <class Thread>
BATCH_FN Reach met_by_all(const Thread& thread, Reach mine) {
  for (int apart = 8; apart > 0; apart /= 2)
    join(mine, {thread.shuffle_xor(mine.nothing, apart), thread.shuffle_xor(mine.number, apart),
                thread.shuffle_xor(mine.height, apart)});
  return mine;
}

// One sum of one cell, slot after slot as one thread adds them.
BATCH_FN double summed(const Nodes& nodes, const Meeting& meeting, int cell, int which) {
  const double(*seen)[slots] = meeting.seen[cell];
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
BATCH_FN void measure_together(const Thread& thread, Meeting& meeting, const Nodes& nodes,
                               const Adapting& adaption, double node, F& f) {
  const int cell = thread.lane() / 16, slot = thread.lane() % 16;
  const double radius = 0.5 * adaption.width, middle = adaption.from[cell] + radius;
  Heights now = {0, 0, 0, 0, 0, 0}, inner = {0, 0, 0, 0, 0, 0};
  Reach reach = unmet();
  if (slot < slots) now = heights(adaption.piece[cell], middle, radius * node, f, reach);
  if (may_be_endless) reach = met_by_all(thread, reach);
  inner.above = thread.shuffle_up(now.above, 1);
  inner.below = thread.shuffle_up(now.below, 1);
  if (slot == slots) meeting.reach[cell] = reach;
  if (slot < slots) {
    meeting.seen[cell][0][slot] = now.term_above + now.term_below;
    meeting.seen[cell][1][slot] = now.term_below;
    meeting.seen[cell][2][slot] = now.term_above;
    meeting.seen[cell][3][slot] = noise_of(nodes, slot, radius, now, inner);
  }
  thread.sync_warp();
  if (slot < sums_of_cell) meeting.sums[cell][slot] = summed(nodes, meeting, cell, slot);
  thread.sync_warp();
}

BATCH_FN Sums sums_of(const Meeting& meeting, int cell) {
  const double* const sums = meeting.sums[cell];
  return {sums[0], {sums[1], sums[2], sums[3], sums[4]}, sums[5], sums[6],
          sums[7], meeting.seen[cell][1][slots - 1],     sums[8], meeting.reach[cell]};
}

template <class Thread, class F, class Ends>
BATCH_FN Ended integrate_together(const Thread& thread, Meeting& meeting, const OwnCells& cells,
                                  const Nodes& nodes, const Demand& demand, F& f, Ends& ends, int breaks) {
  SharedCells<Thread> list{thread, cells};
  Adaption<SharedCells<Thread>> adaption(list, nodes, demand);
  const int slot = thread.lane() % 16;
  const double node = nodes.x[slot < slots ? slot : 0];
  bool going = adaption.begin(ends, breaks);
  while (going) {
    measure_together(thread, meeting, nodes, adaption, node, f);
    going = adaption.take(ends, sums_of(meeting, 0), sums_of(meeting, 1));
  }
  return adaption.ended();
}
