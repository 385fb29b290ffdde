// SPDX-License-Identifier: Apache-2.0
// A virtual clock for tests: how long a queue of tiles takes on devices that are only described.
#pragma once
#include <cmath>
#include <functional>
#include <vector>
#include "tessera/core/text/error.hpp"
#include "tessera/run/multi_device/tile_queue.hpp"
#include "tessera/run/multi_device/timeline.hpp"

namespace tessera::made_up {

struct Behaviour {
  // The moment at which a device has done this tile, begun at `now`.
  std::function<double(std::size_t device, std::size_t tile, double now)> done;
  std::vector<double> dies = {};  // by device: the moment from which it is gone; none: never
};

// A device that works off a queue: what it is at, and until when.
struct Busy {
  std::vector<std::size_t> held;
  double first = 0, done = INFINITY;
};

// Devices at a queue, from one moment at which something happens to the next.
class QueueClock {
 public:
  QueueClock(TileQueue& queue, std::size_t devices, const Behaviour& behaviour)
      : queue_(&queue), behaviour_(&behaviour), busy_(devices), dies_(behaviour.dies) {
    dies_.resize(devices, INFINITY);
  }

  Timeline run() {
    while (!queue_->done()) {
      take();
      std::size_t next = 0;
      for (std::size_t d = 1; d < busy_.size(); ++d)
        if (moment(d) < moment(next)) next = d;
      if (!std::isfinite(moment(next))) throw Error("no device is left that could go on");
      pass(next);
    }
    return std::move(out_);
  }

 private:
  double moment(std::size_t d) const {
    return queue_->is_failed(d) ? INFINITY : std::min(busy_[d].done, dies_[d]);
  }

  void begin(std::size_t d) {
    busy_[d].first = now_;
    busy_[d].done = busy_[d].held.empty() ? INFINITY : behaviour_->done(d, busy_[d].held.front(), now_);
  }

  void take() {
    for (std::size_t d = 0; d < busy_.size(); ++d)
      while (const auto tile = queue_->take(d, now_)) {
        busy_[d].held.push_back(*tile);
        if (busy_[d].held.size() == 1) begin(d);
      }
  }

  void pass(std::size_t d) {
    now_ = moment(d);
    Busy& at = busy_[d];
    if (dies_[d] <= at.done) return queue_->mark_failed(d);
    out_.spans.push_back({d, Activity::compute, at.held.front(), at.first, now_});
    queue_->commit(d, at.held.front(), now_);
    at.held.erase(at.held.begin());
    begin(d);
  }

  TileQueue* queue_;
  const Behaviour* behaviour_;
  std::vector<Busy> busy_;
  std::vector<double> dies_;
  Timeline out_;
  double now_ = 0;
};

inline Timeline run_virtually(TileQueue& queue, std::size_t devices, const Behaviour& behaviour) {
  return QueueClock(queue, devices, behaviour).run();
}

}  // namespace tessera::made_up
