// SPDX-License-Identifier: Apache-2.0
// A sum of products shared by a grid of ranks: SUMMA (R. van de Geijn and J. Watts, "SUMMA: scalable
// universal matrix multiplication algorithm", Concurrency 9(4), 1997). Every rank holds one block of the
// result and its share of both inputs; panels of the summed dimension travel along rows and columns of the
// grid, the next one while this one is added.
#pragma once
#include <functional>
#include <vector>
#include "tessera/core/array/array.hpp"
#include "tessera/core/operation/partition.hpp"
#include "tessera/run/mpi/communicator.hpp"
#include "tessera/run/multi_device/timeline.hpp"

namespace tessera {

// Returns part `index` of `parts` of [0, extent). Sizes differ by at most 1; the larger parts come first.
Interval nth_part(std::int64_t extent, std::int64_t parts, std::int64_t index);

// C[m,n] = Σ over k of A[m,k]·B[k,n].
struct ProductSize {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t left_bytes = 1, right_bytes = 1;  // bytes of an element of A and of B
};

// Ranks 0 … p·q - 1, row-major; ranks beyond are idle.
struct RankGrid {
  int rows = 1, cols = 1;  // p, q

  int ranks() const { return rows * cols; }
  bool has(int rank) const { return rank < ranks(); }
  int row_of(int rank) const { return rank / cols; }
  int col_of(int rank) const { return rank % cols; }
};

// Returns the number of bytes that all ranks together receive: every element of A reaches the q - 1 other
// ranks of its row of the grid, every element of B the p - 1 others of its column: k·((q-1)·m·left_bytes +
// (p-1)·n·right_bytes).
double received_bytes(const ProductSize& size, const RankGrid& grid);

// Returns the number of bytes received by the rank with the largest block, which sets the pace of
// communication: k·(⌈m/p⌉·left_bytes·(q-1)/q + ⌈n/q⌉·right_bytes·(p-1)/p).
double received_by_one(const ProductSize& size, const RankGrid& grid);

// Returns the elements of that block, ⌈m/p⌉·⌈n/q⌉, which set the pace of computation.
double largest_block(const ProductSize& size, const RankGrid& grid);

// Returns the grid of at most `ranks` ranks, p ≤ m and q ≤ n (1 where that is 0), with the least
// received_by_one among those whose largest block is at most 9/8 of the smallest largest block of any; ties
// are broken by the smaller block, then by fewer rows. For example, 7 ranks are 1 × 7 or 7 × 1, but 11 are 2
// × 5 for a square product, with one rank idle.
RankGrid best_grid(const ProductSize& size, int ranks);

// The summed dimension cut into panels of `depth`; each of the `owners` has consecutive panels.
class Panels {
 public:
  Panels(std::int64_t extent, std::int64_t depth, int owners);

  std::int64_t count() const { return count_; }  // at least 1: an empty sum has one empty panel
  Interval range(std::int64_t panel) const;
  int owner(std::int64_t panel) const;
  Interval owned(int owner) const;  // a range of panels

 private:
  std::int64_t extent_, depth_, count_;
  int owners_;
};

// One input on one rank: its own panels, and buffers for two of others.
class PanelOperand {
 public:
  // `seen`: the rank's part as [outer, over], in memory that may be a mapped file; `over_first`: panels
  // travel as [depth, outer], the same on all ranks; `mine`: this rank's number among the panels' owners.
  PanelOperand(const ArrayView& seen, bool over_first, const Panels& panels, int mine);

  void read();  // this rank's own share, each element once

  ArrayView panel(std::int64_t index);  // [outer, depth], from any owner
  void* data(std::int64_t index);
  std::size_t bytes(std::int64_t index) const;
  bool is_mine(std::int64_t index) const { return panels_.owner(index) == mine_; }
  const Panels& panels() const { return panels_; }

 private:
  Extents extents(std::int64_t index) const;

  ArrayView seen_;
  bool over_first_;
  Panels panels_;
  int mine_;
  std::vector<Array> own_;
  Array others_[2];
};

struct PanelTimes {
  double compute_seconds = 0;
  double transfer_seconds = 0;  // from a panel's start until its arrival was seen, computing or not
  double wait_seconds = 0;      // the part of transfer_seconds with nothing to compute
  double agree_seconds = 0;     // until the slowest rank reports that none has failed
  double received_bytes = 0;
  std::vector<TimelineSpan> spans = {};  // each panel's transfer (message) and addition, since the start
};

// Adds all panels in order. `row`, `col`: the ranks of this one's row and column of the grid, which share
// left and right; `grid`: all of them. If adding fails on any rank, all stop after that panel, and `failed`
// is called on that rank with the exception.
PanelTimes add_panels(Communicator& grid, Communicator& row, Communicator& col, PanelOperand& left,
                      PanelOperand& right, PanelSum& sum,
                      const std::function<void(std::exception_ptr)>& failed);

}  // namespace tessera
