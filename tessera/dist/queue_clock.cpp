// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>
#include "tessera/core/error.hpp"
#include "tessera/dist/clock.hpp"

namespace tessera::dist {
namespace {

// A device that works off a queue: what it is at, and until when.
struct Busy {
  std::vector<std::size_t> held;
  double first = 0, done = INFINITY;
};

// Devices at a queue, from one moment at which something happens to the next.
class QueueClock {
 public:
  QueueClock(Queue& queue, std::size_t devices, const Behaviour& behaviour)
      : queue_(&queue), behaviour_(&behaviour), busy_(devices), dies_(behaviour.dies) {
    dies_.resize(devices, INFINITY);
    for (std::size_t d = 0; d < devices; ++d)
      if (behaviour.leaves) queue.can_leave(d);
  }

  Timeline run() {
    while (!queue_->done()) {
      take();
      if (leave()) continue;
      std::size_t next = 0;
      for (std::size_t d = 1; d < busy_.size(); ++d)
        if (moment(d) < moment(next)) next = d;
      if (!std::isfinite(moment(next))) throw Error("no device is left that could go on");
      if (better_ && better_->at < moment(next)) now_ = better_->at;
      else pass(next);
    }
    return std::move(out_);
  }

 private:
  double moment(std::size_t d) const {
    return queue_->is_lost(d) ? INFINITY : std::min(busy_[d].done, dies_[d]);
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

  // Whether a device has left a tile now; else better_ is the next that might be.
  bool leave() {
    better_.reset();
    for (std::size_t d = 0; d < busy_.size(); ++d) {
      const auto found = queue_->better_by(d, now_);
      if (!found || moment(found->device) <= now_) continue;
      if (!better_ || found->at < better_->at) better_ = found;
      if (found->at > now_) continue;
      queue_->leave(found->device, found->tile, d, now_);
      auto& held = busy_[found->device].held;
      const bool front = held.front() == found->tile;
      std::erase(held, found->tile);
      if (front) begin(found->device);
      return true;
    }
    return false;
  }

  void pass(std::size_t d) {
    now_ = moment(d);
    Busy& at = busy_[d];
    if (dies_[d] <= at.done) return queue_->lose(d);
    out_.spans.push_back({d, Deed::compute, at.held.front(), at.first, now_});
    queue_->commit(d, at.held.front(), now_);
    at.held.erase(at.held.begin());
    begin(d);
  }

  Queue* queue_;
  const Behaviour* behaviour_;
  std::vector<Busy> busy_;
  std::vector<double> dies_;
  std::optional<Queue::Better> better_;
  Timeline out_;
  double now_ = 0;
};

}  // namespace

Timeline run_virtually(Queue& queue, std::size_t devices, const Behaviour& behaviour) {
  return QueueClock(queue, devices, behaviour).run();
}

}  // namespace tessera::dist
