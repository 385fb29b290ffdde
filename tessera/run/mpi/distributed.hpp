// SPDX-License-Identifier: Apache-2.0
// Runs a contraction on several ranks, each a process: from a problem to a checked result, like run(). Panels
// travel between the ranks' host memories; a rank adds them on its CPU, or by the scheduler on its devices.
#pragma once
#include "tessera/run/mpi/communicator.hpp"
#include "tessera/run/mpi/panels.hpp"
#include "tessera/run/multi_device/multi_device.hpp"

namespace tessera {

// A rank's work and the time of each part, without the final wait for other ranks.
struct RankReport {
  std::string host, device;
  Interval rows, cols;
  int threads = 1;
  double read_seconds = 0, compute_seconds = 0, transfer_seconds = 0, wait_seconds = 0, agree_seconds = 0,
         check_seconds = 0, write_seconds = 0;
  double received_bytes = 0;
  std::vector<TimelineSpan> spans = {};  // messages and sums, since the start of the rank's first panel
  std::vector<std::string> notes = {};
};

struct DistributedOutcome {
  Plan plan;  // rank 0's variant and device
  RankGrid grid;
  std::int64_t panels = 0, depth = 0;
  std::string connected_by;        // "Open MPI 4.1.4"
  double predicted_bytes = 0;      // total received by all ranks, by the grid's formula
  double product_seconds = 0;      // from the first panel until the last rank has its block
  double seconds = 0;              // including reading, and writing if requested
  std::vector<RankReport> ranks;   // on rank 0 only
  std::optional<Verdict> verdict;  // on rank 0 only: the verdicts of all blocks combined
  bool passed = true;              // on every rank; also without a check
};

struct DistributedRequest {
  Request request = {};
  bool check = false;
  std::optional<MultiDeviceOptions> devices = {};  // the list that the ranks of each host share
  std::string output = {};                         // a .npy file; empty: the result is discarded
};

// Collective: all ranks pass the same arguments, whose inputs may be mapped files; each rank reads its share.
// A wrong result is a value, and is not written. Throws SharedError on all ranks alike.
DistributedOutcome run_distributed(const Operation& operation, const Arguments& whole, Communicator& ranks,
                                   const DistributedRequest& request);

}  // namespace tessera
