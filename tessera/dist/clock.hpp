// SPDX-License-Identifier: Apache-2.0
// A virtual clock: how long a plan or a queue takes on devices that are only described. The same numbers give
// the same times, so that tests need no device, and a plan can be chosen before anything runs.
#pragma once
#include <functional>
#include <limits>
#include <vector>
#include "tessera/dist/plan.hpp"
#include "tessera/dist/queue.hpp"
#include "tessera/dist/timeline.hpp"

namespace tessera::dist {

// Copies in, copies from peers, computing and copies out go on at the same time, each in the plan's order.
Timeline run_virtually(const Plan& plan, const Division& division, const Arguments& arguments);

// How devices behave that work off a queue.
struct Behaviour {
  // The moment at which a device has done this tile, begun at `now`.
  std::function<double(std::size_t device, std::size_t tile, double now)> done;
  std::vector<double> dies = {};  // by device: the moment from which it is gone; none: never
  bool leaves = false;            // they can stop in the middle of a tile
};

Timeline run_virtually(Queue& queue, std::size_t devices, const Behaviour& behaviour);

}  // namespace tessera::dist
