// SPDX-License-Identifier: Apache-2.0
// Runs a grid on the processors of this machine: blocks are distributed over OS threads, each of which runs
// one block at a time.
#pragma once
#include <atomic>
#include <cstddef>
#include <string>
#include "tessera/core/error.hpp"
#include "tessera/core/thread.hpp"

namespace tessera::simt {

struct Tracer;

// A kernel with its arguments and grid, free of types.
struct Task {
  const char* type = "";                                      // the kernel's, as the compiler mangles it
  void (*body)(const void* context, void* shared) = nullptr;  // one GPU thread
  const void* context = nullptr;
  std::size_t shared_bytes = 0;
  bool may_return_early = false;  // the kernel means it when threads return before a barrier of the others
  Launch launch;
  bool cooperative = false;  // all blocks at once, each on an OS thread, so that the grid can have barriers
  Tracer* tracer = nullptr;  // watches a traced kernel
  std::atomic<std::int64_t>* blocks_done = nullptr;  // counts on, for those who wait
};

// Returns when every block has run. Throws Error with kernel, block and thread for what a kernel
// did wrong, and OutOfTime after the seconds of TimeLimit; the other OS threads then stop after the
// block they are in.
void execute(const Task& task, int os_threads);

// Of all blocks of a cooperative launch together.
inline constexpr std::int64_t most_cooperative_threads = 24'576;

// Called by a GPU thread, besides what Thread has.
// The lanes of the warp that came to this place together: it waits until no other can come.
std::uint32_t active_lanes(SourceLocation location);
// A barrier of all threads of a cooperative launch.
void sync_grid(SourceLocation location);

class OutOfTime : public Error {
 public:
  using Error::Error;
};

// How long launches of the calling thread may take, as long as the object lives.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds);  // 0: any time
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  static double seconds();  // of the latest on this thread; 0: any time

 private:
  double before_;
};

// How messages name parts of a task.
std::string kernel_name(const Task& task);
std::string to_string(const Index3& index);      // "(1, 0, 0)"
std::string to_string(SourceLocation location);  // "file.cu:40"

}  // namespace tessera::simt
