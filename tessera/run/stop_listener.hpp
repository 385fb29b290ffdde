// SPDX-License-Identifier: Apache-2.0
// Asks now and then whether a call shall stop, and raises a flag, at which computing threads may look as
// often as they like.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

namespace tessera {

class StopListener {
 public:
  // As long as it lives, of which both must stay. `stopped` may be empty. Where the system has no thread for
  // it the flag stays down.
  StopListener(const std::function<bool()>& stopped, std::atomic<bool>& flag) {
    if (!stopped) return;
    try {
      thread_ = std::jthread([&stopped, &flag](const std::stop_token& over) { watch(over, stopped, flag); });
    } catch (const std::system_error&) {  // then parts are waited for
    }
  }

 private:
  static void watch(const std::stop_token& over, const std::function<bool()>& stopped,
                    std::atomic<bool>& flag) {
    constexpr auto often = std::chrono::milliseconds(20);
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    while (!over.stop_requested() && !flag) {
      if (stopped()) flag = true;
      else (void)ended.wait_for(lock, over, often, [] { return false; });
    }
  }

  std::jthread thread_;
};

}  // namespace tessera
