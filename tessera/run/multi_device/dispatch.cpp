// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/dispatch.hpp"
#include <numeric>
#include "tessera/run/multi_device/scheduler.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

TileQueue queue_of(const MultiDeviceOptions& options, const std::vector<double>& work) {
  const Split& split = options.split;
  if (split.how == Split::How::shares) {
    check_shares(split, options.devices.size());
    std::vector<std::deque<std::size_t>> bands;
    for (const Interval& band : split_by_shares(std::ssize(work), 1, split.shares)) {
      auto& own = bands.emplace_back(static_cast<std::size_t>(band.size()));
      std::iota(own.begin(), own.end(), static_cast<std::size_t>(band.first));
    }
    return {work, std::move(bands), std::size_t{1}};
  }
  std::vector<double> speeds;
  for (const Device& device : options.devices) speeds.push_back(presumed_speed(device));
  return {work, speeds, std::size_t{1}};
}

class Dispatcher {
 public:
  Dispatcher(const MultiDeviceOptions& options, const DispatchedCalls& calls)
      : options_(&options), calls_(&calls), queue_(queue_of(options, calls.work)) {
    for (const Device& device : options.devices) out_.devices.emplace_back().plan.device = device;
  }

  MultiDeviceOutcome run() {
    serve_devices(
        out_.devices.size(), [this](std::size_t d) { serve(d); },
        [this](std::size_t d, const std::exception_ptr& why) {
          const std::lock_guard lock(mutex_);
          retire(d, why);
        });
    out_.seconds = seconds_at(Clock::now());
    if (!queue_.done()) fail_without_devices(out_.devices, first_failure_);
    return std::move(out_);
  }

 private:
  double seconds_at(Clock::time_point time) const {
    return std::chrono::duration<double>(time - start_).count();
  }

  // Returns the options of the device's next call.
  MultiDeviceOptions alone(std::size_t d) const {
    MultiDeviceOptions out = *options_;
    out.devices = {options_->devices[d]};
    out.split = {};
    out.whole = true;
    out.faults.clear();
    for (const Fault& fault : options_->faults)
      if (fault.device == d && fault.tile == out_.devices[d].begun + 1) out.faults = {{0, 1}};
    return out;
  }

  void serve(std::size_t d) {
    std::unique_lock lock(mutex_);
    while (!queue_.done() && !queue_.is_failed(d)) {
      const auto call = queue_.take(d, seconds_at(Clock::now()));
      if (!call) {
        (void)changed_.wait_for(lock, std::chrono::milliseconds(100));
        continue;
      }
      const MultiDeviceOptions on = alone(d);
      lock.unlock();
      std::exception_ptr failure;
      MultiDeviceOutcome one;
      try {
        one = calls_->make(*call, on);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure || !one.devices.empty()) ++out_.devices[d].begun;
      if (failure) retire(d, failure);
      else deliver(d, *call, one);
      changed_.notify_all();
    }
    changed_.notify_all();
  }

  // File I/O does not count as the device's work, though the device waits for it.
  void deliver(std::size_t d, std::size_t call, const MultiDeviceOutcome& one) {
    const double at = seconds_at(Clock::now()), begun = seconds_at(one.started);
    if (!queue_.commit(d, call, at) || one.devices.empty()) return;
    DeviceReport& report = out_.devices[d];
    const DeviceReport& did = one.devices.front();
    ++report.tiles;
    report.end_seconds = at;
    report.plan = did.plan;
    report.flops += did.flops;
    report.busy_seconds += did.busy_seconds;
    report.checked += did.checked;
    report.wrong += did.wrong;
    report.check_seconds += did.check_seconds;
    out_.flops += one.flops;
    out_.copied_bytes += one.copied_bytes;
    for (TimelineSpan span : one.timeline.spans) {
      span.device = d;
      span.tile = call;
      span.first += begun;
      span.last += begun;
      out_.timeline.spans.push_back(span);
    }
  }

  void retire(std::size_t d, const std::exception_ptr& failure) {
    queue_.mark_failed(d);
    if (!first_failure_) first_failure_ = failure;
    out_.devices[d].failed = reason_of(failure);
  }

  const MultiDeviceOptions* options_;
  const DispatchedCalls* calls_;
  TileQueue queue_;
  MultiDeviceOutcome out_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr first_failure_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

MultiDeviceOutcome dispatch(const MultiDeviceOptions& options, const DispatchedCalls& calls) {
  if (options.devices.empty()) throw Error("no device is named");
  check_faults(options);
  return Dispatcher(options, calls).run();
}

}  // namespace tessera
