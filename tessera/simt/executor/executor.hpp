// SPDX-License-Identifier: Apache-2.0
// Runs a grid on the CPU: blocks are distributed over OS threads, each of which runs one block at a time.
#pragma once
#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>
#include "tessera/core/text/error.hpp"
#include "tessera/core/device/thread.hpp"

namespace tessera::simt {

struct Tracer;

// A type-erased kernel launch: the kernel, its arguments and its grid.
struct Task {
  const char* type = "";                                      // mangled name of the kernel's type
  void (*body)(const void* context, void* shared) = nullptr;  // one GPU thread
  const void* context = nullptr;
  std::size_t shared_bytes = 0;
  bool may_return_early = false;  // threads may return before a barrier that other threads reach
  Launch launch;
  bool cooperative = false;  // all blocks run at once, each on its own OS thread, for barriers of the grid
  Tracer* tracer = nullptr;  // null: the kernel is not traced
  std::atomic<std::int64_t>* blocks_done = nullptr;  // incremented after each block; null: not counted
  // Fills shared memory. A signalling NaN if read as a float: what a block did not write must not pass for
  // data.
  std::uint32_t poison = 0x7FBADBAD;
};

// Returns when every block has run. Throws Error, with kernel, block and thread, for a mistake of the kernel,
// and OutOfTime after the seconds of TimeLimit; the other OS threads then stop after their current block.
void execute(const Task& task, int os_threads);

// Limit on the threads of a cooperative launch, summed over its blocks.
inline constexpr std::int64_t max_cooperative_threads = 24'576;

// Called by a GPU thread, in addition to the members of Thread.
// The lanes of the warp that reached this location together: waits until no other lane can arrive.
std::uint32_t active_lanes(SourceLocation location);
// The barriers that its block has passed.
std::uint64_t barriers_passed();
// Waits for all threads of a cooperative launch.
void sync_grid(SourceLocation location);

class OutOfTime : public Error {
 public:
  using Error::Error;
};

// A signal stopped a GPU thread.
class Stopped : public Error {
 public:
  Stopped(const std::string& text, std::span<void* const> stack)
      : Error(Kind::memory, text), frames(stack.begin(), stack.end()) {}
  std::vector<void*> frames;  // return addresses, innermost first
};

// Makes launches that run, and later ones, stop soon; for handlers of signals.
void interrupt(int signal) noexcept;
int interrupted() noexcept;  // the signal; 0: none

// Limits the duration of launches by the calling thread, for the lifetime of the object.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds);  // 0: no limit
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  static double seconds();  // the innermost limit of this thread; 0: no limit

 private:
  double before_;
};

std::string kernel_name(const Task& task);
std::string to_string(const Index3& index);      // "(1, 0, 0)"
std::string to_string(SourceLocation location);  // "file.cu:40"

}  // namespace tessera::simt
