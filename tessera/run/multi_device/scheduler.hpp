// SPDX-License-Identifier: Apache-2.0
// Gives the tiles of a call to its devices. Each device has a thread, which takes tiles from the queue and
// waits for the device. A failed device's tiles go back to the queue.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include "tessera/core/device/streams.hpp"
#include "tessera/run/multi_device/multi_device.hpp"
#include "tessera/run/multi_device/process_worker.hpp"
#include "tessera/run/multi_device/streamed_worker.hpp"
#include "tessera/run/multi_device/tile_queue.hpp"
#include "tessera/run/multi_device/tiles.hpp"

namespace tessera {

// State of a device that is kept between calls on the same devices.
struct DeviceState {
  std::shared_ptr<Streams> streams;
  std::unique_ptr<WorkerProcess> process;
  std::size_t begun = 0;  // tiles of all calls
  std::string failed;     // why it was given up; it gets no more tiles
};
using DevicePool = std::vector<DeviceState>;

class Scheduler {
 public:
  // `pool`: a state for each device. All arguments must outlive the scheduler.
  Scheduler(const Operation& operation, const Arguments& host, const Partition& partition,
            const MultiDeviceOptions& options, DevicePool& pool);
  ~Scheduler();

  MultiDeviceOutcome run();  // throws Error when no device is left

 private:
  // A tile that a device has begun, and when.
  struct TileInFlight {
    std::size_t tile;
    double at;
  };

  void cut_into_tiles();
  Tiling tiling() const;
  bool accepts_all_tiles(const Plan& plan) const;
  void make_queue();
  bool holds_all(std::size_t device) const;  // the device's memory holds all inputs
  // With all inputs in reach, the copies for some tiles ahead keep the link busy.
  std::size_t tiles_at_once(std::size_t device) const { return holds_all(device) ? 6 : 2; }
  bool streams(const Plan& plan) const;
  std::int64_t memory_of(const Device& device) const;
  std::unique_ptr<DeviceWorker> make_worker(std::size_t device);
  std::unique_ptr<DeviceWorker> process_worker(std::size_t device);
  std::unique_ptr<DeviceWorker> streamed_worker(std::size_t device);
  std::optional<Prediction> prediction() const;
  void keep_processes();
  double now() const;

  void serve(std::size_t device);
  void begin(std::size_t device, std::size_t tile, std::deque<TileInFlight>& in_flight,
             std::unique_lock<std::mutex>& lock);
  void finish(std::size_t device, std::deque<TileInFlight>& in_flight, std::unique_lock<std::mutex>& lock);
  bool verify_tile(std::size_t tile) const;
  void deliver(std::size_t device, const TileInFlight& tile, const std::vector<TimelineSpan>& spans);
  void requeue(std::size_t device, std::size_t tile);
  void retire(std::size_t device, const std::exception_ptr& failure);

  const Operation* operation_;
  const Arguments* host_;
  const Partition* partition_;
  const MultiDeviceOptions* options_;
  DevicePool* pool_;
  MultiDeviceOutcome out_;
  std::vector<std::int64_t> memory_;  // usable on each device, before any of it is taken
  Grid grid_;
  std::vector<Tile> tiles_;
  Tile largest_;
  std::shared_ptr<HeldInputs> held_ = std::make_shared<HeldInputs>();
  std::vector<std::deque<std::size_t>> bands_;  // fixed split: tiles by device
  std::optional<SharedCall> shared_;
  std::vector<std::unique_ptr<DeviceWorker>> workers_;
  std::optional<TileQueue> queue_;
  TileCheck check_;  // null: tiles are verified, each alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr first_failure_;
  std::chrono::steady_clock::time_point start_;
};

// Returns the number of launches into which the whole can be cut so that each fills a GPU's multiprocessors
// with enough threads to hide latency. Nothing: the variant does not declare its launch.
std::optional<std::int64_t> full_launches(const Plan& plan, const Arguments& arguments);

// Throws Error for faults of devices that are not in the list.
void check_faults(const MultiDeviceOptions& options);
// Throws Error unless there are as many shares as devices.
void check_shares(const Split& split, std::size_t devices);
// Estimates the flops per second, before any measurement.
double presumed_speed(const Device& device);
// Pins the arrays for devices with streams, as far as the system allows, for the lifetime of the returned
// objects.
std::vector<std::shared_ptr<void>> pin(const Arguments& host, const MultiDeviceOptions& options);

// Runs serve(device) for each device, on a thread of its own, and waits for all; if the system has no thread
// left, calls fail(device, why) instead.
void serve_devices(std::size_t count, const std::function<void(std::size_t)>& serve,
                   const std::function<void(std::size_t, const std::exception_ptr&)>& fail);
// Returns the reason of a device's failure; for a call on that device alone, that device's own reason.
std::string reason_of(const std::exception_ptr& failure);
// `devices`: with their failures; `first`: the first exception. Throws AllDevicesFailed, or `first` itself if
// it is a user's mistake that all devices report.
[[noreturn]] void fail_without_devices(const std::vector<DeviceReport>& devices,
                                       const std::exception_ptr& first);

}  // namespace tessera
