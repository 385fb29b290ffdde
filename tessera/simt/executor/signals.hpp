// SPDX-License-Identifier: Apache-2.0
// Stops a GPU thread by a signal and returns to the OS thread's own stack: after a stack overflow, an access
// to unmapped memory, an integer division by zero, a spin loop without progress, the end of the launch's
// time limit, or an interrupt. Outside of a kernel, signals go to the handlers that were installed before.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include "tessera/simt/executor/fiber.hpp"

namespace tessera::simt {

struct Stop {
  enum class Why : std::uint8_t { overflow, no_memory, division, spinning, late, interrupted };
  Why why = Why::overflow;
  const void* address = nullptr;      // the faulting address; null also if the machine does not report it
  std::array<void*, 24> frames = {};  // return addresses of the GPU thread's functions, if they are known
};

class Deadline {
 public:
  explicit Deadline(double seconds);  // 0: never
  double seconds() const { return seconds_; }
  bool over() const noexcept { return seconds_ > 0 && std::chrono::steady_clock::now() > end_; }

 private:
  double seconds_;
  std::chrono::steady_clock::time_point end_;
};

// Returns the CPU seconds that a GPU thread may run without waiting or returning; 0: no limit. Read from
// TESSERA_SIMT_TIMEOUT. Throws Error if its value is not a number.
double max_seconds_without_progress();

// Watches the calling OS thread during the object's lifetime.
class Watch {
 public:
  // `progress` changes whenever a GPU thread waits or returns.
  Watch(const Stacks& stacks, const std::atomic<std::uint64_t>& progress, const Deadline& deadline);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The caller fills it by sigsetjmp before it enters a fiber.
  sigjmp_buf& way_back() { return way_back_; }
  const Stop& stop() const { return stop_; }

  // For the signal handlers: true if the running GPU thread must stop.
  bool stops(int signal, const siginfo_t& info) noexcept;
  bool must_stop() noexcept;  // because of its time or of an interrupt
  // The next instruction, as if a call before it had returned.
  void set_innermost(std::uint64_t at) { stop_.frames[0] = reinterpret_cast<void*>(at + 1); }

 private:
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
  int ticks_without_progress_ = 0, ticks_allowed_ = 0;  // 0 allowed: no limit
};

// The Watch of this OS thread; null: it runs no kernel.
extern constinit thread_local Watch* current_watch __attribute__((tls_model("initial-exec")));

// Stops the running GPU thread if its time was over while signals were ignored. Tracing takes most of the
// time, and no signal interrupts it.
void stop_if_late();

// Unblocks the handled signals, which stay blocked after a jump out of the handler.
void unblock_signals();

}  // namespace tessera::simt
