// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/deal.hpp"
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include "tessera/dist/queue.hpp"
#include "tessera/dist/split.hpp"
#include "tessera/run/losses.hpp"
#include "tessera/run/presumed_speed.hpp"
#include "tessera/run/serving.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// Consecutive calls, as many as the shares say.
std::vector<std::deque<std::size_t>> bands_of(const Spread& spread, std::size_t calls) {
  if (spread.split.shares.size() != spread.devices.size())
    throw Error(std::to_string(spread.split.shares.size()) + " shares for " +
                std::to_string(spread.devices.size()) + " devices");
  std::vector<std::deque<std::size_t>> out;
  for (const Interval& band :
       dist::split_by_shares(static_cast<std::int64_t>(calls), 1, spread.split.shares)) {
    auto& own = out.emplace_back(static_cast<std::size_t>(band.size()));
    std::iota(own.begin(), own.end(), static_cast<std::size_t>(band.first));
  }
  return out;
}

dist::Queue queue_of(const Spread& spread, const Deal& deal) {
  using Dealing = dist::Queue::Dealing;
  if (spread.split.how == Split::How::shares)
    return {deal.work, bands_of(spread, deal.work.size()), std::size_t{1}};
  std::vector<double> speeds;
  for (const Device& device : spread.devices) speeds.push_back(presumed_speed(device));
  const bool measured = spread.split.how == Split::How::measured;
  return {deal.work, std::move(speeds), measured ? Dealing::measured : Dealing::dynamic, 1};
}

class Dealer {
 public:
  Dealer(const Spread& spread, const Deal& deal)
      : spread_(&spread), deal_(&deal), queue_(queue_of(spread, deal)) {
    for (const Device& device : spread.devices) {
      out_.shares.emplace_back();
      out_.shares.back().plan.device = device;
    }
  }

  Together work() {
    serve_all(
        out_.shares.size(), [this](std::size_t d) { serve(d); },
        [this](std::size_t d, const std::exception_ptr& why) {
          const std::lock_guard lock(mutex_);
          lose(d, why);
        });
    out_.seconds = now();
    out_.complete = queue_.done();
    if (!out_.complete && failure_) fail_without_devices(*spread_, out_.shares, failure_);
    return std::move(out_);
  }

 private:
  double seconds_at(Clock::time_point time) const {
    return std::chrono::duration<double>(time - start_).count();
  }
  double now() const { return seconds_at(Clock::now()); }

  // The spread of the device's next call.
  Spread alone(std::size_t d) const {
    Spread out = *spread_;
    out.devices = {spread_->devices[d]};
    out.split = {};
    out.whole = true;
    out.faults.clear();
    const std::size_t next = out_.shares[d].begun + 1;
    for (Fault fault : spread_->faults)
      if (fault.device == d && fault.tile == next) {
        fault.device = 0;
        fault.tile = 1;
        out.faults.push_back(fault);
      }
    return out;
  }

  void serve(std::size_t d) {
    std::unique_lock lock(mutex_);
    while (!queue_.done() && !queue_.is_lost(d)) {
      const auto call = queue_.take(d, now());
      if (!call) {
        (void)changed_.wait_for(lock, std::chrono::milliseconds(100));
        continue;
      }
      const Spread on = alone(d);
      lock.unlock();
      std::exception_ptr failure;
      Together one;
      try {
        one = deal_->make(*call, on);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      // What came to no call, for its file could not be read, was no part of the device's.
      if (failure || !one.shares.empty()) ++out_.shares[d].begun;
      if (failure) lose(d, failure);
      else deliver(d, *call, one);
      changed_.notify_all();
    }
    changed_.notify_all();
  }

  // Reading and writing files is no device's work, though it waits for them.
  void deliver(std::size_t d, std::size_t call, const Together& one) {
    const double at = now(), begun = seconds_at(one.started);
    if (!queue_.commit(d, call, at)) return;
    if (one.shares.empty()) return;
    Share& share = out_.shares[d];
    ++share.tiles;
    share.end_seconds = at;
    out_.flops += one.flops;
    out_.copied_bytes += one.copied_bytes;
    out_.mapped_bytes += one.mapped_bytes;
    const Share& did = one.shares.front();
    share.plan = did.plan;
    share.flops += did.flops;
    share.busy_seconds += did.busy_seconds;
    share.wrong += did.wrong;
    for (dist::Span span : one.timeline.spans) {
      span.device = d;
      span.tile = call;
      span.first += begun;
      span.last += begun;
      out_.timeline.spans.push_back(span);
    }
  }

  void lose(std::size_t d, std::exception_ptr failure) {
    queue_.lose(d);
    if (!failure_) failure_ = failure;
    out_.shares[d].lost = reason_of(failure);
  }

  const Spread* spread_;
  const Deal* deal_;
  dist::Queue queue_;
  Together out_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Together run_dealt(const Spread& spread, const Deal& deal) {
  if (spread.devices.empty()) throw Error("no device is named");
  if (!spread.checkpoint.empty())
    throw Error("--checkpoint is for one call; of several files those that are written are done");
  check_faults(spread);
  return Dealer(spread, deal).work();
}

}  // namespace tessera
