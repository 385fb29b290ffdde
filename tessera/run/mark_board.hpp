// SPDX-License-Identifier: Apache-2.0
// Marks that one thread posts as it enqueues, and others wait for before they enqueue what shall come after:
// a lane can only be told to wait for a mark that is there.
#pragma once
#include <array>
#include <condition_variable>
#include <mutex>
#include <vector>
#include "tessera/core/lanes.hpp"

namespace tessera {

class MarkBoard {
 public:
  enum Kind : std::uint8_t { copied, computed, left };
  struct Stopped {};  // thrown to whoever waits when the work is given up

  // What can be posted: of each kind, so many marks. What was posted before is forgotten.
  void reset(std::size_t copies, std::size_t steps, std::size_t tiles) {
    const std::lock_guard lock(mutex_);
    marks_[copied].assign(copies, nullptr);
    marks_[computed].assign(steps, nullptr);
    marks_[left].assign(tiles, nullptr);
    stopped_ = false;
  }

  void post(Kind kind, std::size_t at, const Mark& mark) {
    {
      const std::lock_guard lock(mutex_);
      marks_[kind].at(at) = &mark;
    }
    changed_.notify_all();
  }

  const Mark& get(Kind kind, std::size_t at) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || marks_[kind].at(at) != nullptr; });
    if (stopped_) throw Stopped();
    return *marks_[kind][at];
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::vector<const Mark*>, 3> marks_;
  bool stopped_ = false;
};

}  // namespace tessera
