// SPDX-License-Identifier: Apache-2.0
// One block of a grid, run on one OS thread: its GPU threads are started in order, each runs until
// it waits, and waiting threads yield to runnable ones. Nothing runs in lockstep.
//
// A GPU thread that never waits costs no context switch: its fiber goes on to run the next thread.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>
#include "tessera/simt/executor/executor.hpp"
#include "tessera/simt/executor/fiber.hpp"
#include "tessera/simt/executor/signals.hpp"
#include "tessera/simt/tracer/block_trace.hpp"

namespace tessera::simt {

// The operation that a thread waits in, and its operands.
struct Wait {
  WarpCollective what = WarpCollective::sync;
  std::uint32_t lanes = 0;
  int source = 0;
  SourceLocation location{"", 0};
  std::uint64_t value = 0;
};

class Block;

struct ThreadState : ThreadContext {
  enum class State : std::uint8_t { fresh, running, waiting, returned };
  State state = State::fresh;
  std::uint32_t full_tables = 0;  // traced: tables filled since it last waited
  Wait wait;
  std::uint64_t result = 0;
  Fiber* fiber = nullptr;
  Block* owner = nullptr;
};

// Lane masks.
struct Warp {
  std::uint32_t present = 0, returned = 0, waiting = 0;
};

// Barrier between the blocks of a cooperative launch, each on its own OS thread.
class GridBarrier {
 public:
  explicit GridBarrier(std::int64_t blocks) : blocks_(blocks) {}
  bool wait();   // false: a block has ended and will never arrive
  void leave();  // a block has ended

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t blocks_, waiting_ = 0, gone_ = 0;
  std::uint64_t round_ = 0;
};

class Block {
 public:
  static constexpr std::size_t max_threads = 1024;

  Block(const Task& task, Stacks& stacks);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Returns false if the block stopped because of failure(). Leaves nothing on this OS thread's stack
  // that needs unwinding, so that a signal handler may jump out of it.
  bool run(std::int64_t block);
  std::exception_ptr failure() const { return failure_; }
  void fail_by(const Stop& stop, double seconds_allowed);  // after a jump out of run()
  // Incremented by each barrier, collective and return.
  const std::atomic<std::uint64_t>& progress() const { return progress_; }
  BlockTrace* trace() { return tracer_side_.get(); }

  // Called by GPU threads.
  void sync(ThreadState& thread, SourceLocation location);
  std::uint64_t collective(ThreadState& thread, const Wait& wait);
  std::uint32_t active_lanes(ThreadState& thread, SourceLocation location);
  void sync_grid(ThreadState& thread, SourceLocation location);
  void set_grid(GridBarrier* grid) { grid_ = grid; }
  std::uint64_t barriers_passed() const { return barriers_; }

 private:
  // FIFO of threads of the block, each at most once.
  struct Queue {
    std::vector<ThreadState*> slots = std::vector<ThreadState*>(max_threads);
    unsigned first = 0, last = 0;
    bool empty() const { return first == last; }
    unsigned size() const { return last - first; }
    void push(ThreadState* t) { slots[last++ % max_threads] = t; }
    ThreadState* pop() { return slots[first++ % max_threads]; }
    void clear() { first = last = 0; }
  };

  void reset(std::int64_t block);
  static void fiber_main(void* self);
  void run_fresh_threads(Fiber& fiber);
  void run_thread(ThreadState& thread);
  void returned(ThreadState& thread);
  void wait(ThreadState& thread);
  void yield(ThreadState& thread);
  Fiber& fresh_fiber();
  void release_barrier();
  void order_threads(std::int64_t block);
  static void flush_lane(LaneLog& lane);
  void end_trace();
  void stop_tracing(const ThreadState& thread, BlockTrace::Stop why);
  void wake(std::size_t warp, std::uint32_t lanes);
  void wake_full();
  void wake_gathered();
  std::span<ThreadState> warp_of(const ThreadState& thread);
  bool all_arrived(const ThreadState& thread, std::uint32_t named);
  void check_lanes(const ThreadState& thread, const Warp& warp);
  bool exempts_returned(const Wait& wait) const;
  std::uint32_t named_by(const Wait& wait, const Warp& warp) const;
  void complete(const ThreadState& thread, Warp& warp, std::uint32_t named);
  void keep_failure(const ThreadState* thread);  // keeps the exception being handled
  void note_progress() {
    progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  [[noreturn]] void fail(const std::string& text, const Wait* wait = nullptr);

  const Task& task_;
  Stacks& stacks_;
  BlockContext place_;
  std::vector<ThreadState> threads_;
  std::vector<Warp> warps_;
  std::vector<Fiber> fibers_;
  std::unique_ptr<void, void (*)(void*)> memory_;
  char* shared_;  // within memory_
  Fiber os_thread_;
  std::size_t next_fresh_ = 0, fibers_used_ = 0;
  unsigned live_ = 0;       // threads that have not returned
  bool same_place_ = true;  // all threads at the barrier wait at one source location
  Queue ready_, at_barrier_;
  std::vector<ThreadState*> gathered_;  // threads that wait in active_lanes()
  GridBarrier* grid_ = nullptr;         // null: the launch is not cooperative
  std::uint64_t grid_rounds_ = 0, barriers_ = 0;
  std::exception_ptr failure_;
  std::atomic<std::uint64_t> progress_{0};   // read by a signal handler of the same OS thread
  std::vector<std::size_t> order_;           // start order of the threads
  std::mt19937_64 random_;                   // generator for a seeded schedule
  std::unique_ptr<BlockTrace> tracer_side_;  // null: the launch is not traced
  BlockTrace* trace_ = nullptr;              // null: this block is not traced
};

// Lists where every thread of a stuck block waits: "threads 0-15 wait at x.simt.cu:40 (sync), …".
std::string describe_deadlock(std::span<const ThreadState> threads);
// Describes threads that a barrier leaves out because they have returned.
std::string describe_barrier_after_return(std::span<const ThreadState> threads);
std::string describe_divergent_barrier(std::span<const ThreadState> threads);
std::string describe_returned_lane(const ThreadState& waiting, const ThreadState& gone);
std::string describe_missing_own_lane(const ThreadState& thread);
// Return the reason why a thread was stopped, and the text that follows the thread's name.
std::string describe(const Stop& stop);
std::string hint(const Stop& stop);
std::exception_ptr out_of_time(const Task& task, double seconds_allowed);

}  // namespace tessera::simt
