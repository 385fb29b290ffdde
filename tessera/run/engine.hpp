// SPDX-License-Identifier: Apache-2.0
// Carries out a plan on devices that copy and compute at the same time: each piece of an input is on its way
// while earlier ones are multiplied, goes on from device to device, and finished tiles leave meanwhile. Knows
// no CUDA: what a device can do is behind Lanes.
#pragma once
#include <chrono>
#include <exception>
#include <mutex>
#include "tessera/run/engine_seat.hpp"

namespace tessera {

// A device failed, and with it the run: the result is not whole.
struct LostDevice {
  std::size_t device = 0;  // in the plan's order
  std::exception_ptr cause;
};

class Engine {
 public:
  // Everything that takes no part of a run's time: memory, choices, code. Throws LostDevice where a device
  // has not what it takes. The lanes, in the plan's order, and all that `call` names must stay.
  Engine(const EngineCall& call, const std::vector<Lanes*>& lanes);

  // Every tile, into the host's memory; as often as wanted. Throws LostDevice.
  struct Run {
    std::chrono::steady_clock::time_point started;
    double seconds = 0;
    dist::Timeline timeline;
  };
  Run run();

  std::int64_t bytes(std::size_t device) const { return seats_[device]->bytes(); }
  // That of the device's first step; null: it has none.
  const Plan* first_plan(std::size_t device) const { return seats_[device]->first_plan(); }

 private:
  void on_each(const std::function<void(EngineSeat&)>& work);
  void work();
  void fail(std::size_t device, std::exception_ptr cause);

  EngineSeat::Seats seats_;
  std::mutex mutex_;
  std::optional<LostDevice> lost_;
};

}  // namespace tessera
