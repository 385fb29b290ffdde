// SPDX-License-Identifier: Apache-2.0
// Devices that are served at the same time, each by a thread that waits for it.
#pragma once
#include <exception>
#include <system_error>
#include <thread>
#include <vector>
#include "tessera/core/parallel.hpp"

namespace tessera {

// serve(device) for devices 0 to count − 1, each on a thread of its own, until all have returned. For those
// that the system has no thread left for lose(device, why) instead, while the others are at work.
template <class Serve, class Lose>
void serve_all(std::size_t count, const Serve& serve, const Lose& lose) {
  std::vector<std::jthread> threads;
  try {
    for (std::size_t d = 0; d < count; ++d) threads.emplace_back([&serve, d] { serve(d); });
  } catch (const std::system_error&) {
    const auto why = std::make_exception_ptr(no_more_threads(static_cast<std::int64_t>(count)));
    for (std::size_t d = threads.size(); d < count; ++d) lose(d, why);
  }
}

}  // namespace tessera
