// SPDX-License-Identifier: Apache-2.0
// Computes tiles on one device, for the scheduler: in this process, with streams (streamed_worker.hpp) or
// without, or in a process of its own (process_worker.hpp).
#pragma once
#include <vector>
#include "tessera/core/operation/partition.hpp"
#include "tessera/run/choose.hpp"
#include "tessera/run/multi_device/timeline.hpp"

namespace tessera {

// An exception from any of its functions is the device's failure.
class DeviceWorker {
 public:
  virtual ~DeviceWorker() = default;
  virtual void make_ready() {}  // returns when tiles can begin
  // Tiles are begun one after another and finished in that order, at most max_in_flight() at a time. On
  // return from finish() the tile is in the result. Returns the spans, in seconds since the tile began; the
  // caller fills in devices and tiles.
  virtual void begin(const Tile& tile) { begun_ = tile; }
  virtual std::vector<TimelineSpan> finish() { return compute(begun_); }
  virtual std::size_t max_in_flight() const { return 1; }
  virtual double seconds_of_largest() const { return 0; }  // measured beforehand; 0: unknown
  virtual void stop() noexcept {}  // after a failure: returns once nothing writes into the result any more

 private:
  virtual std::vector<TimelineSpan> compute(const Tile& tile) = 0;  // for workers with one tile at a time

  Tile begun_;
};

// Copies in, computes and copies out, in sequence. `plan` is for the entire result; a tile that its variant
// refuses is computed by a variant that accepts it.
class LocalWorker final : public DeviceWorker {
 public:
  LocalWorker(const Operation& operation, const Partition& partition, Plan plan, Request request)
      : operation_(&operation),
        partition_(&partition),
        plan_(std::move(plan)),
        request_(std::move(request)) {}

 private:
  std::vector<TimelineSpan> compute(const Tile& tile) override;

  const Operation* operation_;
  const Partition* partition_;
  Plan plan_;
  Request request_;
};

}  // namespace tessera
