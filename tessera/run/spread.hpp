// SPDX-License-Identifier: Apache-2.0
// One call on several devices at once, alike or not: its result in tiles, each computed whole by one of them,
// straight into the result. On the host's devices and in one process.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>
#include "tessera/core/division.hpp"
#include "tessera/dist/timeline.hpp"
#include "tessera/run/fault.hpp"
#include "tessera/run/finding.hpp"
#include "tessera/run/run.hpp"

namespace tessera {

// How the work is divided.
struct Split {
  enum class How {
    planned,   // as the devices do best: GPUs by a plan made beforehand, others from a queue
    dynamic,   // each device takes the next tile when it has done one
    measured,  // each takes tiles until all have shown their speed, which then settles who does what is left;
               // of GPUs, a trial settles it before
    shares,    // of the result's rows, as somebody named them
  };
  How how = How::planned;
  std::vector<double> shares = {};  // for each device
};

// "plan", "auto" (measured), "dynamic", "2048:1024". Throws Error.
Split parse_split(const std::string& word);

struct Spread {
  std::vector<Device> devices;
  std::vector<std::size_t> places = {};  // of them in the list that somebody named; empty: they are that list
  Request request = {};                  // its device does not count
  Split split = {};
  bool whole = false;             // the result is one tile, on one device
  std::int64_t memory_bytes = 0;  // the most that a device with memory of its own may hold; 0: what is free
  // Devices in processes of their own, and each tile checked before it counts: a device that dies, hangs or
  // computes wrongly loses nothing. (Faults alone mean such processes, too.)
  bool protect = false;
  std::vector<Fault> faults = {};
  // Inputs that lie in mapped .npy files are what the files hold, so that such processes read these
  // themselves. (Who has written into that memory says no.)
  bool files_as_read = false;
  double limit_seconds = 300;   // the longest that a tile may take in such a process
  std::string checkpoint = {};  // a file for the tiles that are done, so that a call that was stopped goes
                                // on; it stays until somebody removes it
  std::size_t repeat = 1;  // so often, one after another; the time told is the median, of an even number the
                           // mean of the middle two
  bool pin = false;        // host arrays, where devices copy and compute at a time: worth it from the second
                           // call on
  std::function<bool()> stopped = {};  // optional: asked between tiles, and by a thread of its own amid them
  // Optional: called on the device's thread before it computes a tile. What it throws is the device's
  // failure.
  std::function<void(std::size_t device, std::size_t tile)> before_tile = {};

  std::size_t place_of(std::size_t device) const { return places.empty() ? device : places[device]; }
  bool in_workers() const { return protect || !faults.empty(); }
};

// Throws Error for faults of devices that are not in the list, or that such a device cannot have.
void check_faults(const Spread& spread);

// What one device did.
struct Share {
  Plan plan;
  std::size_t tiles = 0, begun = 0;
  std::size_t most_begun = 0;  // in one of several runs
  double flops = 0;
  double busy_seconds = 0;    // computing and copying, one after the other; where these overlap: computing
  double end_seconds = 0;     // when its last tile was done, since the beginning
  std::size_t wrong = 0;      // tiles that were still wrong when they were handed over, and computed again
  std::string lost;           // why it was given up; its tiles were done by the others
  std::string left_out = {};  // why it was given nothing to do
  // Protected: how many tiles checksums settled where they were computed, how long these took there and how
  // long the computing, how long the host's check of the others, and what the checksums found.
  std::size_t settled = 0, host_checks = 0;
  double check_seconds = 0, product_seconds = 0, host_check_seconds = 0;
  struct Found {
    std::size_t tile;
    Finding finding;
  };
  std::vector<Found> findings = {};
};

// What is told of a call whose copies hid behind computing.
struct Overlap {
  double start_seconds = 0;  // before the first copy: contexts, pinning, a trial, memory, code
  std::int64_t pinned_bytes = 0, bytes_from_host = 0, bytes_from_peers = 0;
  bool held = true;                  // each device holds all that it reads and writes
  std::int64_t tile = 0, panel = 0;  // the most rows and columns, and of a sum, in one step
  // Of each device: what it takes; what the trial found, when nothing else was under way.
  std::vector<std::int64_t> memory_bytes = {};
  std::vector<double> flops_per_second = {}, bytes_in_per_second = {};
};

struct Together {
  std::vector<Share> shares;                      // in the order of the devices
  std::map<std::string, Array> outputs;           // those that `host` had no memory for
  std::chrono::steady_clock::time_point started;  // of the timeline
  double start_seconds = 0;                       // until workers were ready, before
  double seconds = 0;                             // from the first copy to the last
  std::vector<double> times;                      // of each, where it was repeated
  std::optional<Overlap> overlap;
  double flops = 0;
  bool complete = true;           // it was not stopped
  std::size_t restored = 0;       // tiles that the checkpoint had
  std::string checkpoint_lost;    // what the disk has not kept of it, and was computed again; empty: nothing
  std::int64_t copied_bytes = 0;  // of inputs, to where workers see them
  std::int64_t mapped_bytes = 0;  // of inputs that workers have from their files, without a copy
  // The result is that of any of these devices alone, bit for bit.
  bool same_bits = false;
  dist::Timeline timeline;
  std::optional<Verdict> verdict;  // with `check`
  Values values;
};

// "kill:1@99 did not happen: device 1 had 7 parts" for each fault that was asked for and came to nothing. Of
// a call that was repeated each run counts its parts from 1: nothing is said of what happened in any of them.
std::vector<std::string> faults_left(const Spread& spread, const Together& together);

// The operation that the devices compute: `operation`, or that of its partial results. Throws Error for one
// whose result is not computed in parts.
const Operation& computed_in_parts(const Operation& operation);

// As run(), which see. Throws Error for an operation whose result cannot be cut, and when no device is left.
Together run_together(const Operation& operation, Arguments& host, const Spread& spread, bool check = false);

}  // namespace tessera
