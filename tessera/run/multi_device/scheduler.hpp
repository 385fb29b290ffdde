// SPDX-License-Identifier: Apache-2.0
// Gives the tiles of a call to its devices. Each device has a thread, which takes tiles from the queue and
// waits for the device. A failed device's tiles go back to the queue.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include "tessera/core/streams.hpp"
#include "tessera/run/multi_device/multi_device.hpp"
#include "tessera/run/multi_device/process_worker.hpp"
#include "tessera/run/multi_device/tile_queue.hpp"
#include "tessera/run/multi_device/tiles.hpp"

namespace tessera {

// What stays of a device from one call to the next on the same devices.
struct DeviceState {
  std::shared_ptr<Streams> streams;
  std::unique_ptr<WorkerProcess> process;
  std::size_t begun = 0;   // tiles of all calls
  double trial_speed = 0;  // flops per second; 0: not measured
  std::string failed;      // why it was given up: it gets no more tiles
};
using DevicePool = std::vector<DeviceState>;

class Scheduler {
 public:
  // `pool`: a state for each device. All arguments must stay.
  Scheduler(const Operation& operation, const Arguments& host, const Partition& partition,
            const MultiDeviceOptions& options, DevicePool& pool);
  ~Scheduler();

  MultiDeviceOutcome run();  // throws Error when no device is left

 private:
  // A tile that a device has begun, and when.
  struct Begun {
    std::size_t tile;
    double at;
  };

  Split fitted_split();
  void cut_into_tiles(const Split& split);
  Tiling tiling(bool fixed) const;
  bool accepts_all_tiles(const Plan& plan) const;
  void make_queue();
  bool streams(const Plan& plan) const;
  std::int64_t memory_of(const Device& device) const;
  std::unique_ptr<DeviceWorker> make_worker(std::size_t device);
  std::unique_ptr<DeviceWorker> process_worker(std::size_t device);
  std::unique_ptr<DeviceWorker> streamed_worker(std::size_t device);
  void keep_processes();
  double now() const;

  void serve(std::size_t device);
  void begin(std::size_t device, std::size_t tile, std::deque<Begun>& under_way,
             std::unique_lock<std::mutex>& lock);
  void finish(std::size_t device, std::deque<Begun>& under_way, std::unique_lock<std::mutex>& lock);
  bool is_right(std::size_t tile) const;
  void deliver(std::size_t device, const Begun& tile, const std::vector<TimelineSpan>& spans);
  void take_back(std::size_t device, std::size_t tile);
  void give_up(std::size_t device, const std::exception_ptr& failure);

  const Operation* operation_;
  const Arguments* host_;
  const Partition* partition_;
  const MultiDeviceOptions* options_;
  DevicePool* pool_;
  MultiDeviceOutcome out_;
  std::vector<Tile> tiles_;
  Tile largest_;
  std::vector<std::deque<std::size_t>> bands_;  // of a fixed split, by device
  std::optional<SharedCall> shared_;
  std::vector<std::unique_ptr<DeviceWorker>> workers_;
  std::optional<TileQueue> queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr first_failure_;
  std::chrono::steady_clock::time_point start_;
};

// Into how many launches the whole can be cut so that each fills a GPU's multiprocessors with threads enough
// to hide latency. Nothing: the variant does not say how it is launched.
std::optional<std::int64_t> full_launches(const Plan& plan, const Arguments& arguments);

// Throws Error for faults of devices that are not in the list.
void check_faults(const MultiDeviceOptions& options);
// Throws Error where there are not as many shares as devices.
void check_shares(const Split& split, std::size_t devices);
// Flops per second, before anything is measured.
double presumed_speed(const Device& device);
// Pins the arrays for devices with streams, as far as the system allows, until what is returned is destroyed.
std::vector<std::shared_ptr<void>> pin(const Arguments& host, const MultiDeviceOptions& options);

// serve(device) for each device, on a thread of its own, until all have returned; where the system has no
// thread left, fail(device, why) instead.
void serve_devices(std::size_t count, const std::function<void(std::size_t)>& serve,
                   const std::function<void(std::size_t, const std::exception_ptr&)>& fail);
// Why one device failed. Of a call on that device alone: that device's reason.
std::string reason_of(const std::exception_ptr& failure);
// `devices`: with their failures; `first`: what the first one threw. Throws AllDevicesFailed, or `first`
// itself where it is a user's mistake that all devices report.
[[noreturn]] void fail_without_devices(const std::vector<DeviceReport>& devices,
                                       const std::exception_ptr& first);

}  // namespace tessera
