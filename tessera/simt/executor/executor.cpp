// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>
#include "tessera/core/device/device.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/simt/executor/executor.hpp"
#include "tessera/simt/executor/block.hpp"
#include "tessera/simt/executor/signals.hpp"

namespace tessera::simt {

namespace {

// Every stack takes two mappings, and a process may have some 65,000 (vm.max_map_count).
constexpr std::int64_t max_stacks = max_cooperative_threads;

// State of one launch, shared by its OS threads.
struct Progress {
  explicit Progress(double seconds) : deadline(seconds) {}

  Deadline deadline;
  std::int64_t blocks = 0;
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  std::int64_t failed_block = 0;

  std::int64_t workers = 1;
  std::vector<std::int64_t> chosen;  // traced: the blocks to run, assigned round-robin for repeatability
  std::vector<std::int64_t> taken;   // number of chosen blocks that each worker has taken

  // Returns the next block for a worker; negative: none is left.
  std::int64_t take(std::int64_t worker) {
    if (chosen.empty()) {
      const std::int64_t index = next.fetch_add(1);
      return index < blocks ? index : -1;
    }
    const std::int64_t index = worker + workers * taken[static_cast<std::size_t>(worker)]++;
    return index < std::ssize(chosen) && next < blocks ? chosen[static_cast<std::size_t>(index)] : -1;
  }

  std::unique_ptr<GridBarrier> grid;  // cooperative
  std::vector<WorkerShadow> shadows;  // traced: one for each worker

  void keep(WorkerShadow shadow) {
    const std::lock_guard lock(mutex);
    if (shadow.shadow) shadows.push_back(std::move(shadow));
  }

  // Keeps the message of the lowest block, which a second run is most likely to repeat.
  void fail(std::int64_t block, std::exception_ptr what) {
    next = blocks;
    const std::lock_guard lock(mutex);
    if (failure && failed_block < block) return;
    failure = std::move(what);
    failed_block = block;
  }
};

// Runs a block. The signal handler jumps back into this frame, so nothing in it may need a destructor.
bool run_watched(Block& block, Watch& watch, std::int64_t index) {
  if (sigsetjmp(watch.way_back(), 0) == 0) return block.run(index);
  return false;
}

void run_blocks(const Task& task, Progress& progress, std::int64_t worker) {
  const BorrowedStacks stacks(static_cast<std::size_t>(task.launch.threads()));
  Block block(task, *stacks);
  block.set_grid(progress.grid.get());
  Watch watch(*stacks, block.progress(), progress.deadline);
  for (std::int64_t index; (index = progress.take(worker)) >= 0;) {
    if (progress.deadline.over() || interrupted() != 0)
      return progress.fail(index, out_of_time(task, progress.deadline.seconds()));
    const bool came_to_end = run_watched(block, watch, index);
    if (progress.grid) progress.grid->leave();
    if (came_to_end) {
      if (task.blocks_done != nullptr) task.blocks_done->fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    if (!block.failure()) {
      unblock_signals();  // the handler never returned
      block.fail_by(watch.stop(), progress.deadline.seconds());
    }
    (*stacks).forget_frames();
    return progress.fail(index, block.failure());
  }
  if (block.trace() != nullptr) progress.keep(block.trace()->take_shadow());
}

// Runs one worker. A worker that cannot start makes the launch fail.
void work(const Task& task, Progress& progress, std::int64_t worker) {
  try {
    run_blocks(task, progress, worker);
  } catch (...) {
    progress.fail(-1, std::current_exception());
  }
}

void check(const Task& task) {
  const Launch& launch = task.launch;
  const Index3 size = launch.block;
  if (size.x < 1 || size.y < 1 || size.z < 1 || launch.threads() > std::int64_t{Block::max_threads})
    throw Error("kernel " + kernel_name(task) + ": a block of " + to_string(size) +
                " threads; it must have 1 to " + std::to_string(Block::max_threads));
  if (launch.grid.x < 0 || launch.grid.y < 0 || launch.grid.z < 0)
    throw Error("kernel " + kernel_name(task) + ": the grid has a negative extent");
  if (current_thread != nullptr)
    throw Error("kernel " + kernel_name(task) + ": launched from inside a kernel");
}

void check_cooperative(const Task& task) {
  if (task.launch.blocks() * task.launch.threads() > max_cooperative_threads)
    throw Error("kernel " + kernel_name(task) + ": a cooperative launch of " +
                std::to_string(task.launch.blocks() * task.launch.threads()) +
                " threads; the executor runs at most " + std::to_string(max_cooperative_threads) +
                " at once");
}

void begin_trace(const Task& task, Progress& progress) {
  Tracer& tracer = *task.tracer;
  progress.chosen = tracer.blocks_to_run(progress.blocks);
  ++tracer.launches;
  tracer.blocks += static_cast<std::uint64_t>(progress.blocks);
  tracer.shared_bytes = std::max(tracer.shared_bytes, static_cast<std::int64_t>(task.shared_bytes));
  tracer.threads_per_block = std::max(tracer.threads_per_block, task.launch.threads());
}

}  // namespace

void execute(const Task& task, int os_threads) {
  check(task);
  Progress progress(TimeLimit::seconds());
  progress.blocks = task.launch.blocks();
  if (progress.blocks == 0) return;
  if (task.cooperative) {
    check_cooperative(task);
    progress.grid = std::make_unique<GridBarrier>(progress.blocks);
    os_threads = static_cast<int>(progress.blocks);
  }
  if (task.tracer != nullptr) begin_trace(task, progress);
  progress.workers = std::min({std::int64_t{std::max(os_threads, 1)}, progress.blocks,
                               std::max<std::int64_t>(1, max_stacks / task.launch.threads())});
  progress.taken.resize(static_cast<std::size_t>(progress.workers));
  {
    std::vector<std::jthread> others;
    try {
      for (std::int64_t i = 1; i < progress.workers; ++i)
        others.emplace_back([&, i] { work(task, progress, i); });
      work(task, progress, 0);
    } catch (const std::system_error&) {
      progress.fail(-1, std::make_exception_ptr(no_more_threads(progress.workers)));
    }
  }
  if (task.tracer != nullptr && !task.tracer->blocks_communicate)
    find_races_across(progress.shadows, task.launch, *task.tracer);
  // Writes that were not traced are not known.
  if (task.tracer != nullptr && !task.tracer->cut_short && interrupted() == 0)
    task.tracer->find_unwritten_reads(task.launch);
  if (progress.failure) std::rethrow_exception(progress.failure);
}

void sync(SourceLocation location) {
  auto& thread = *static_cast<ThreadState*>(current_thread);
  thread.owner->sync(thread, location);
}

std::uint64_t collective(WarpCollective what, std::uint32_t lanes, std::uint64_t value, int source,
                         SourceLocation location) {
  auto& thread = *static_cast<ThreadState*>(current_thread);
  return thread.owner->collective(thread, {what, lanes, source, location, value});
}

std::uint32_t active_lanes(SourceLocation location) {
  auto& thread = *static_cast<ThreadState*>(current_thread);
  return thread.owner->active_lanes(thread, location);
}

std::uint64_t barriers_passed() {
  return static_cast<const ThreadState*>(current_thread)->owner->barriers_passed();
}

void sync_grid(SourceLocation location) {
  auto& thread = *static_cast<ThreadState*>(current_thread);
  thread.owner->sync_grid(thread, location);
}

void refuse_address(const void* address, std::size_t alignment, SourceLocation location) {
  throw Error(Error::Kind::memory, "an access of " + std::to_string(alignment) + " bytes at " +
                                       to_string(location) + " to an address that is " +
                                       std::to_string(reinterpret_cast<std::uintptr_t>(address) % alignment) +
                                       " bytes past a multiple of " + std::to_string(alignment));
}

std::string kernel_name(const Task& task) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(task.type, nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? demangled.get() : task.type;
  // Drops namespaces that are common to all kernels.
  for (const std::string_view noise : {"tessera::", "(anonymous namespace)::"})
    for (std::size_t at; (at = name.find(noise)) != std::string::npos;) name.erase(at, noise.size());
  // Drops the namespaces of a build and of a batch's file: unit_plain::, unit_gpu_05_shared_tiles::.
  for (std::size_t at;
       (at = name.find("unit_")) != std::string::npos && name.find("::", at) != std::string::npos;)
    name.erase(at, name.find("::", at) + 2 - at);
  return name;
}

std::string to_string(const Index3& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) +
         ")";
}

std::string to_string(SourceLocation location) {
  return std::string(location.file) + ":" + std::to_string(location.line);
}

// Registers the executor, a device whose memory is the host's.

namespace {

class SimtBackend final : public HostBackend {
 public:
  Where where() const override { return Where::simt; }
  const std::vector<Device>& devices() override { return devices_; }

 private:
  std::vector<Device> devices_{host_device(Where::simt)};
};

const Backend& backend = register_backend(std::make_unique<SimtBackend>());

}  // namespace

}  // namespace tessera::simt
