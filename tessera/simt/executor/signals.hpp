// SPDX-License-Identifier: Apache-2.0
// Turns what a GPU thread can only be stopped from by a signal into a return to the OS thread's own
// stack: an overflow of its stack, an access to memory that is not there, a division by zero, waiting by
// spinning for what cannot come, and the end of the time that the launch may take. Outside of a kernel,
// signals go to whoever handled them before.
#pragma once
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include "tessera/simt/executor/fiber.hpp"

namespace tessera::simt {

// Why a GPU thread was stopped.
struct Stop {
  enum class Why : std::uint8_t { overflow, no_memory, division, spinning, late };
  Why why = Why::overflow;
  const void* address = nullptr;  // of the access; null also where the machine does not tell
};

// When a launch must end.
class Deadline {
 public:
  explicit Deadline(double seconds);  // 0: never
  double seconds() const { return seconds_; }
  bool over() const noexcept { return seconds_ > 0 && std::chrono::steady_clock::now() > end_; }

 private:
  double seconds_;
  std::chrono::steady_clock::time_point end_;
};

// Seconds of processor time that a GPU thread may run without waiting or returning; 0: any. From
// TESSERA_SIMT_TIMEOUT. Throws Error where that is no number.
double most_seconds_without_progress();

// Watches the calling OS thread for as long as it lives.
class Watch {
 public:
  // `progress` changes whenever a GPU thread waits or returns.
  Watch(const Stacks& stacks, const std::atomic<std::uint64_t>& progress, const Deadline& deadline);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // To be filled by sigsetjmp before a fiber is entered.
  sigjmp_buf& way_back() { return way_back_; }
  const Stop& stop() const { return stop_; }

  // For the signal handlers: whether the GPU thread that runs now must stop.
  bool stops(int signal, const siginfo_t& info) noexcept;

 private:
  bool spins() noexcept;
  void start_clock();
  void tick_every(double seconds);

  const Stacks& stacks_;
  const std::atomic<std::uint64_t>& progress_;
  const Deadline& deadline_;
  std::unique_ptr<char[]> handler_stack_;
  stack_t before_ = {};
  sigjmp_buf way_back_;
  Stop stop_;
  bool has_clock_ = false;
  timer_t clock_ = {};
  std::uint64_t seen_ = 0;
  int ticks_without_progress_ = 0, ticks_allowed_ = 0;  // 0 allowed: any number
};

// Signals that the handler blocked and that stay blocked after a jump out of it.
void unblock_signals();

}  // namespace tessera::simt
