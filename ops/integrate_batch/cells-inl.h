// SPDX-License-Identifier: Apache-2.0
// Where the cells of an integral lie, for one thread and for the lanes of a warp. Included inside a namespace
// by its users, behind adaption-inl.h.

constexpr int cell_bytes = fields * 8 + links * 4;
constexpr int piece_bytes = 2 * 8 + 2 * 4;

BATCH_FN long long list_bytes(int cells) {
  const long long bytes =
      static_cast<long long>(cells) * cell_bytes + static_cast<long long>(most_pieces) * piece_bytes;
  return (bytes + 7) / 8 * 8;
}

// Cells of one thread in memory that `stride` threads share, neighbours' numbers side by side.
struct OwnCells {
  double* numbers;  // of this thread's first
  int* links_;
  long long stride;
  int cells;

  // `memory` holds list_bytes(cells) for each thread.
  BATCH_FN static OwnCells of(void* memory, int cells, long long stride, long long mine) {
    double* const first = static_cast<double*>(memory);
    int* const behind = reinterpret_cast<int*>(first + (fields * cells + 2 * most_pieces) * stride);
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
    return {number(fields * cells + i), number(fields * cells + most_pieces + i), whole(links * cells + i)};
  }
  BATCH_FN void set_piece(int i, const Piece& piece) {
    number(fields * cells + i) = piece.base;
    number(fields * cells + most_pieces + i) = piece.reach;
    whole(links * cells + i) = piece.tail;
  }
  BATCH_FN int top(int i) const { return whole(links * cells + most_pieces + i); }
  BATCH_FN void set_top(int i, int cell) { whole(links * cells + most_pieces + i) = cell; }

  BATCH_FN Worst worst(int count) const {
    Worst out = {0, get(error_of, 0)};
    for (int i = 1; i < count; ++i) {
      const double error = get(error_of, i);
      if (error > out.error) out = {i, error};
    }
    return out;
  }
  BATCH_FN void add_in_order(Exactly& sum, double value) const {
    if (value != 0) add(sum, value);
  }
};

// Cells that the lanes of a warp share: one writes, all look for the worst.
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

  // Of equal errors the first, as one thread would find it.
  BATCH_FN Worst worst(int count) const {
    Worst out = {0, -1};
    for (int i = lane(); i < count; i += lanes()) {
      const double error = get(error_of, i);
      if (error > out.error) out = {i, error};
    }
    for (int apart = 16; apart > 0; apart /= 2) {
      const Worst other = {thread.shuffle_xor(out.index, apart), thread.shuffle_xor(out.error, apart)};
      if (other.error > out.error || (other.error == out.error && other.index < out.index)) out = other;
    }
    return out;
  }
  BATCH_FN void add_in_order(Exactly& sum, double value) const {
    unsigned which = thread.ballot(value != 0);
    for (int from = 0; which != 0; ++from, which >>= 1)
      if ((which & 1) != 0) add(sum, thread.shuffle(value, from));
  }
};
