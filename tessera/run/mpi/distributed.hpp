// SPDX-License-Identifier: Apache-2.0
// From a problem to a checked answer on several ranks, each a process: the way of run() where the result is a
// contraction. Panels travel between the ranks' host memories; a rank adds them on its processors, or by the
// scheduler on its devices.
#pragma once
#include "tessera/run/mpi/communicator.hpp"
#include "tessera/run/mpi/panels.hpp"
#include "tessera/run/multi_device/multi_device.hpp"

namespace tessera {

// What a rank did, and how long each part took; what it waited for others in the end is not in it.
struct RankReport {
  std::string host, device;
  Interval rows, cols;
  int threads = 1;
  double read_seconds = 0, compute_seconds = 0, transfer_seconds = 0, wait_seconds = 0, agree_seconds = 0,
         check_seconds = 0, write_seconds = 0;
  double received_bytes = 0;
  std::vector<TimelineSpan> spans = {};  // messages and sums, since the rank's own first panel set out
  std::vector<std::string> notes = {};
};

struct DistributedOutcome {
  Plan plan;  // of rank 0: variant and device
  RankGrid grid;
  std::int64_t panels = 0, depth = 0;
  std::string connected_by;        // "Open MPI 4.1.4"
  double predicted_bytes = 0;      // what all receive, by the grid's formula
  double product_seconds = 0;      // from the first panel until the last rank has its block
  double seconds = 0;              // with reading, and with writing where that was asked
  std::vector<RankReport> ranks;   // on rank 0 alone
  std::optional<Verdict> verdict;  // on rank 0 alone: all blocks' verdicts in one
  bool passed = true;              // on every rank; without a check, too
};

struct DistributedRequest {
  Request request = {};
  bool check = false;
  std::optional<MultiDeviceOptions> devices = {};  // the list that each host's ranks share
  std::string output = {};  // a .npy file; empty: the result stays where it is, and is gone
};

// All ranks call it with the same arguments, whose inputs may be mapped files: each rank reads its share. A
// wrong result is a value, and is not written. Throws SharedError on all ranks alike.
DistributedOutcome run_distributed(const Operation& operation, const Arguments& whole, Communicator& ranks,
                                   const DistributedRequest& request);

}  // namespace tessera
