// SPDX-License-Identifier: Apache-2.0
// A sum of products shared by a grid of ranks: SUMMA (R. van de Geijn and J. Watts, "SUMMA: scalable
// universal matrix multiplication algorithm", Concurrency 9(4), 1997). Every rank holds one block of the
// result and its share of both inputs; panels of the summed dimension go along rows and columns of the grid,
// the next one while this one is added.
#pragma once
#include <chrono>
#include <vector>
#include "tessera/core/contraction.hpp"
#include "tessera/dist/communicator.hpp"
#include "tessera/dist/grid.hpp"
#include "tessera/dist/timeline.hpp"

namespace tessera::dist {

// Where panels lie: the host's memory, or a device's, to which `copy` brings them, complete on return.
struct Storage {
  Memory* memory = nullptr;  // null: the host's
  std::function<void(void* to, const void* from, std::size_t bytes)> copy = {};
};

// One input on one rank: its own panels, and room for two of others.
class Operand {
 public:
  // `seen`: the rank's part as [outer, over], in memory that may be a mapped file; `over_first`: a panel
  // travels as [depth, outer], as all ranks must do it. `owners` share the panels, of whom this is `mine`.
  Operand(const ArrayView& seen, bool over_first, const Panels& panels, int mine, Storage storage = {});

  void read();  // its own share, each element once

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
  Storage storage_;
  std::vector<Array> own_;
  Array others_[2];
};

struct PanelTimes {
  double compute_seconds = 0;
  double transfer_seconds = 0;  // from a panel's start until it was seen to be there, computing or not
  double wait_seconds = 0;      // of that, when there was nothing to compute
  double agree_seconds = 0;     // for the slowest rank's word that none has failed
  double received_bytes = 0;
  std::chrono::steady_clock::time_point started = {};  // when the first panel set out
  std::vector<Span> spans = {};  // each panel's way here (copy_peer) and its adding, since `started`
};

// Adds all panels in their order. `row`, `col`: the ranks of this one's row and column of the grid, which
// share left and right; `grid`: all of it. Where adding fails on any rank, all stop within two panels, and
// `failed` is called with what it was on that one.
PanelTimes add_panels(Communicator& grid, Communicator& row, Communicator& col, Operand& left, Operand& right,
                      PanelSum& sum, const std::function<void(std::exception_ptr)>& failed);

}  // namespace tessera::dist
