// SPDX-License-Identifier: Apache-2.0
// How fast a device may be, before anybody has measured it: a queue corrects it within a tile or two.
#pragma once
#include "tessera/core/device.hpp"

namespace tessera {

inline double presumed_speed(const Device& device) {
  constexpr double of_a_core = 5e10, of_an_executors_thread = 5e7, of_a_multiprocessor = 3e11;
  switch (device.where) {
    case Where::cpu:
      return of_a_core * device.threads;
    case Where::simt:
      return of_an_executors_thread * device.threads;
    case Where::cuda:
      break;
  }
  return of_a_multiprocessor * device.processors;
}

}  // namespace tessera
