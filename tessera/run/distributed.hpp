// SPDX-License-Identifier: Apache-2.0
// From a problem to a checked answer on several ranks, each a process: the way of run() where the result is a
// contraction.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/contraction.hpp"
#include "tessera/dist/communicator.hpp"
#include "tessera/dist/grid.hpp"
#include "tessera/run/rank_report.hpp"
#include "tessera/run/run.hpp"
#include "tessera/run/spread.hpp"

namespace tessera {

struct DistributedOutcome {
  Plan plan;  // of rank 0: variant and device
  dist::Grid grid;
  std::int64_t panels = 0, depth = 0;
  std::string connected_by;        // MPI, and what joins devices
  double predicted_bytes = 0;      // what all receive, by the grid's formula
  double join_seconds = 0;         // of devices, before all that follows; of rank 0
  double product_seconds = 0;      // from the first panel until the last rank has its block
  double seconds = 0;              // with reading, and with writing where that was asked
  std::vector<RankReport> ranks;   // on rank 0 alone
  std::optional<Verdict> verdict;  // on rank 0 alone: all blocks' verdicts in one
  bool passed = true;              // on every rank; with no check, too
};

struct DistributedRequest {
  Request request = {};
  bool check = false;
  std::optional<Spread> spread = {};  // several devices a rank: the list that each host's ranks share
  std::string output = {};            // a .npy file; empty: the result stays where it is, and is gone
};

// All ranks call it with the same arguments, whose inputs may be mapped files: each rank touches its share. A
// wrong result is a value, and is not written. Throws dist::SharedError on all ranks alike.
DistributedOutcome run_distributed(const Operation& operation, const Arguments& whole,
                                   dist::Communicator& ranks, const DistributedRequest& request);

}  // namespace tessera
