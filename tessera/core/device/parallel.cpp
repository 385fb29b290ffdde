// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/device/parallel.hpp"
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <pthread.h>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tessera {
namespace {

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until `value` is no longer `old`: spins for the time `watched`, then sleeps.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old,
                     std::chrono::microseconds watched = std::chrono::microseconds(100)) {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() - start < watched);
  value.wait(old, std::memory_order_acquire);
}

using Clock = std::chrono::steady_clock;

std::atomic<Clock::rep> contended_until{0};  // see is_contended()

thread_local bool inside = false;  // true in a thread that runs a call's work

class Pool {
 public:
  ~Pool() {
    stopping_ = true;
    for (auto& worker : workers_) worker->call(nullptr, 0);
    for (auto& worker : workers_) worker->thread.join();
  }

  void run(int parts, const std::function<void(int)>& work) {
    const std::lock_guard turn(turn_);
    const auto start = Clock::now();
    start_workers(static_cast<std::size_t>(parts - 1));
    pending_.store(static_cast<std::uint32_t>(parts - 1), std::memory_order_relaxed);
    for (int part = 0; part < parts - 1; ++part) workers_[static_cast<std::size_t>(part)]->call(&work, part);
    run_part(work, parts - 1);
    // Another program may have the processor of a thread that has not begun: its part is done here.
    for (int part = 0; part < parts - 1; ++part)
      if (workers_[static_cast<std::size_t>(part)]->take()) {
        run_part(work, part);
        pending_.fetch_sub(1, std::memory_order_acq_rel);
      }
    if (pending_.load(std::memory_order_acquire) != 0) wait_for_workers(start);
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void wait_for_workers(Clock::time_point start) {
    constexpr auto remembered = std::chrono::milliseconds(20);
    constexpr auto watched = std::chrono::microseconds(40);  // a worker may need the caller's processor
    const auto begin = Clock::now();
    for (std::uint32_t left; (left = pending_.load(std::memory_order_acquire)) != 0;)
      wait_for_change(pending_, left, watched);
    const auto end = Clock::now();
    if (end - begin > 2 * watched && end - begin > begin - start)
      contended_until = (end + remembered).time_since_epoch().count();
  }

  struct Worker {
    std::atomic<std::uint32_t> calls{0};
    std::atomic<bool> offered{false};  // true: nobody has begun the part
    const std::function<void(int)>* work = nullptr;
    int part = 0;
    std::thread thread;

    void call(const std::function<void(int)>* new_work, int new_part) {
      work = new_work;
      part = new_part;
      offered.store(true, std::memory_order_release);
      calls.fetch_add(1, std::memory_order_release);
      calls.notify_one();
    }
    // Returns true to the one that is to run the part.
    bool take() { return offered.exchange(false, std::memory_order_acq_rel); }
  };

  // Starts workers. A worker is listed only once its thread runs, because every listed one is called and
  // joined.
  void start_workers(std::size_t count) {
    workers_.reserve(count);
    while (workers_.size() < count) {
      auto worker = std::make_unique<Worker>();
      try {
        worker->thread = std::thread([this, &w = *worker] { serve(w); });
      } catch (const std::system_error&) {
        throw no_more_threads(static_cast<std::int64_t>(count) + 1);
      }
      workers_.push_back(std::move(worker));
    }
  }

  void serve(Worker& worker) {
    for (std::uint32_t served = 0;; ++served) {
      wait_for_change(worker.calls, served);
      if (stopping_) return;
      if (!worker.take()) continue;
      run_part(*worker.work, worker.part);
      if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
    }
  }

  void run_part(const std::function<void(int)>& work, int part) noexcept {
    inside = true;
    try {
      work(part);
    } catch (...) {
      const std::lock_guard guard(failing_);
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
    inside = false;
  }

  std::mutex turn_, failing_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<std::uint32_t> pending_{0};
  std::exception_ptr failure_;
  std::atomic<bool> stopping_{false};
};

// Returns the pool. After fork() only the calling thread exists in the child, so it begins with a new one.
std::unique_ptr<Pool>& pool() {
  static std::unique_ptr<Pool> all = [] {
    pthread_atfork(nullptr, nullptr, [] {
      (void)pool().release();
      pool() = std::make_unique<Pool>();
    });
    return std::make_unique<Pool>();
  }();
  return all;
}

}  // namespace

Error no_more_threads(std::int64_t wanted) {
  return Error("the system does not give this process " + std::to_string(wanted) + " threads");
}

bool is_contended() { return Clock::now().time_since_epoch().count() < contended_until; }

void parallel(int parts, const std::function<void(int)>& work) {
  if (parts <= 1 || inside)
    for (int part = 0; part < parts; ++part) work(part);
  else pool()->run(parts, work);
}

}  // namespace tessera
