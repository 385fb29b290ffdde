// SPDX-License-Identifier: Apache-2.0
// One call on several devices of this host, alike or not: the result is cut into tiles, each computed whole
// by one device, directly into the result.
#pragma once
#include <chrono>
#include "tessera/core/operation/partition.hpp"
#include "tessera/run/multi_device/prediction.hpp"
#include "tessera/run/multi_device/timeline.hpp"
#include "tessera/run/run.hpp"

namespace tessera {

// The assignment of the result to devices.
struct Split {
  enum class How {
    dynamic,  // each device takes the next tile when it has done one
    shares,   // shares of the result's rows, given by the caller
  };
  How how = How::dynamic;
  std::vector<double> shares = {};  // for each device
};

Split parse_split(const std::string& word);  // "auto" or "dynamic", the same; "2048:1024"; throws Error

// Kills the device's process in the middle of a tile, to show that nothing is lost.
struct Fault {
  std::size_t device = 0;  // its place in the list, from 0
  std::size_t tile = 1;    // the first, second, … that it begins
};

std::vector<Fault> parse_faults(const std::string& words);  // "kill:1@3,kill:0@2"; throws Error

struct MultiDeviceOptions {
  std::vector<Device> devices;
  Request request = {};  // its device is ignored
  Split split = {};
  bool whole = false;             // the result is one tile, on one device
  std::int64_t memory_bytes = 0;  // limit for each device with its own memory; 0: the free memory
  // Each device in a process of its own, and each tile checked by the host: a device that dies, hangs or
  // computes wrongly loses nothing. Faults alone mean such processes, too, but no checks.
  bool protect = false;
  std::vector<Fault> faults = {};
  double limit_seconds = 300;  // the longest that a tile may take in such a process
  std::size_t repeat = 1;      // consecutive runs; the median counts
  bool pin = false;            // pins host arrays for devices with streams; pays from the second run on
  // Optional: called on the device's thread before a tile begins. An exception is the device's failure.
  std::function<void(std::size_t device, std::size_t tile)> before_tile = {};

  std::optional<LinkRates> rates = {};  // rates of these devices' links; nothing: the time is not predicted
  std::function<void(const Prediction&)> predicted = {};  // optional: called before each run

  bool in_processes() const { return protect || !faults.empty(); }
};

struct DeviceReport {
  Plan plan;
  std::size_t tiles = 0, begun = 0;  // begun: in all runs
  double flops = 0;
  double busy_seconds = 0;                      // computing and copying; where these overlap: computing
  double end_seconds = 0;                       // when its last tile was done
  std::int64_t host_bytes = 0, peer_bytes = 0;  // copied over the host's link, and from other devices
  std::size_t checked = 0, wrong = 0;  // protected: tiles checked, and found wrong and computed again
  double check_seconds = 0;
  std::string failed = {};  // why the device was given up; others computed its tiles
};

struct MultiDeviceOutcome {
  std::vector<DeviceReport> devices;              // in the order of the options' devices
  std::map<std::string, Array> outputs;           // those without memory in the arguments
  std::chrono::steady_clock::time_point started;  // start of the timeline
  double start_seconds = 0;                       // processes and trials, before `started`
  double seconds = 0;                             // from the first copy to the last
  std::vector<double> times;                      // each run's, if repeated
  std::optional<Prediction> predicted;            // only for devices with streams and known rates
  double flops = 0;
  std::int64_t copied_bytes = 0;  // inputs copied to shared memory
  bool same_bits = false;         // the result is that of any of these devices alone, bit for bit
  Timeline timeline;
  std::optional<Verdict> verdict;  // with `check`
  Values values;
};

// Returns "kill:1@99 did not happen: device 1 had 7 parts" for each fault that never came.
std::vector<std::string> missed_faults(const std::vector<Fault>& faults,
                                       const std::vector<DeviceReport>& devices);

// Every device has failed; each is named with its reason.
class AllDevicesFailed : public Error {
 public:
  AllDevicesFailed(Kind kind, const std::string& text, std::vector<std::string> reasons)
      : Error(kind, text), reasons_(std::move(reasons)) {}
  const std::vector<std::string>& reasons() const { return reasons_; }  // in the order of the devices

 private:
  std::vector<std::string> reasons_;
};

// Returns the operation's own partition, otherwise a single tile, the entire call. `host` must outlive it.
Partition partition_of(const Operation& operation, const Arguments& host);

// Like run(). Throws Error for an operation whose result cannot be cut, and when no device is left.
MultiDeviceOutcome run_on_devices(const Operation& operation, const Arguments& host,
                                  const MultiDeviceOptions& options, bool check = false);

}  // namespace tessera
