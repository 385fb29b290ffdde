// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/executor/block.hpp"
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>
#include "tessera/core/text/error.hpp"
#include "tessera/simt/executor/executor.hpp"

namespace tessera::simt {

namespace {

template <class F>
void for_each_named(std::span<ThreadState> lanes, std::uint32_t named, F f) {
  for (; named != 0; named &= named - 1) f(lanes[static_cast<std::size_t>(__builtin_ctz(named))]);
}

// Exchanges the lanes' values. A lane whose source does not participate keeps its own.
void shuffle(std::span<ThreadState> lanes, std::uint32_t named) {
  for_each_named(lanes, named, [&](ThreadState& lane) {
    const int source = lane.wait.source;
    const bool is_valid_source = source >= 0 && source < 32 && (named >> source & 1) != 0;
    lane.result = is_valid_source ? lanes[static_cast<std::size_t>(source)].wait.value : lane.wait.value;
  });
}

std::uint32_t holders_of(std::span<ThreadState> lanes, std::uint32_t named, std::uint64_t value) {
  std::uint32_t holders = 0;
  for_each_named(lanes, named, [&](const ThreadState& lane) {
    if (lane.wait.value == value) holders |= 1u << lane.rank % 32;
  });
  return holders;
}

std::uint64_t same_for_all(std::span<ThreadState> lanes, std::uint32_t named, WarpCollective what) {
  const std::uint32_t yes = named & ~holders_of(lanes, named, 0);
  const auto first = static_cast<std::size_t>(__builtin_ctz(named));
  switch (what) {
    case WarpCollective::any:
      return yes != 0;
    case WarpCollective::all:
      return yes == named;
    case WarpCollective::ballot:
      return yes;
    case WarpCollective::match_all:
      return holders_of(lanes, named, lanes[first].wait.value) == named ? named : 0;
    default:
      return 0;
  }
}

// Computes each lane's result of the collective `what`, once all named lanes have arrived with their values.
void give_results(std::span<ThreadState> lanes, std::uint32_t named, WarpCollective what) {
  switch (what) {
    case WarpCollective::shuffle:
    case WarpCollective::shuffle_up:
    case WarpCollective::shuffle_down:
    case WarpCollective::shuffle_xor:
      return shuffle(lanes, named);
    case WarpCollective::match_any:
      return for_each_named(
          lanes, named, [&](ThreadState& lane) { lane.result = holders_of(lanes, named, lane.wait.value); });
    default:
      break;
  }
  const std::uint64_t result = same_for_all(lanes, named, what);
  for_each_named(lanes, named, [&](ThreadState& lane) { lane.result = result; });
}

constexpr std::size_t shared_alignment = 256;

// Allocates shared memory, aligned as on a GPU and no longer than requested, so that AddressSanitizer detects
// overruns.
std::unique_ptr<void, void (*)(void*)> allocate_shared(const Task& task) {
  const std::size_t bytes =
      task.tracer == nullptr ? task.shared_bytes : task.shared_bytes + 2 * shared_red_zone;
  void* memory = nullptr;
  if (posix_memalign(&memory, shared_alignment, std::max<std::size_t>(bytes, 4)) != 0) throw std::bad_alloc();
  return {memory, std::free};
}

void fill(void* memory, std::size_t bytes, std::uint32_t poison) {
  auto* const at = static_cast<char*>(memory);
  for (std::size_t i = 0; i < bytes; i += sizeof poison)
    __builtin_memcpy(at + i, &poison, std::min(sizeof poison, bytes - i));
}

// A thread that fills more tables than this without waiting counts as spinning.
constexpr std::uint32_t max_full_tables = (std::uint32_t{1} << 26) / WarpLog::rows;

// True if a full table of a lane looks like a polling loop: reads or atomics on few addresses, no writes.
bool polls(const LaneLog& lane) {
  constexpr std::size_t max_polled = 4;
  const WarpLog& log = *lane.warp;
  std::array<std::uint64_t, max_polled> known{};
  std::size_t count = 0;
  for (std::uint32_t row = 0; row < log.count[lane.lane]; ++row) {
    const SiteKey site{log.diverged ? (*log.own_site)[row][lane.lane] : log.site[row]};
    if (site.act() == Act::write) return false;
    const std::uint64_t address = (*log.address)[row][lane.lane];
    if (std::find(known.begin(), known.begin() + count, address) != known.begin() + count) continue;
    if (count == max_polled) return false;
    known[count++] = address;
  }
  return true;
}

// An error of the block rather than of the thread that detected it.
struct BlockError : Error {
  BlockError(const std::string& text, const Wait* of) : Error(Kind::memory, text), wait(of) {}
  const Wait* wait;  // the wait that failed; null: any waiting thread's
};

}  // namespace

Block::Block(const Task& task, Stacks& stacks)
    : task_(task),
      stacks_(stacks),
      memory_(allocate_shared(task)),
      shared_(static_cast<char*>(memory_.get()) + (task.tracer == nullptr ? 0 : shared_red_zone)),
      os_thread_(this_os_thread()) {
  const auto count = static_cast<std::size_t>(task.launch.threads());
  const Index3 size = task.launch.block;
  place_.size = size;
  place_.grid = {static_cast<int>(task.launch.grid.x), static_cast<int>(task.launch.grid.y),
                 static_cast<int>(task.launch.grid.z)};
  threads_.resize(count);
  fibers_.resize(count);
  warps_.resize((count + 31) / 32);
  for (std::size_t i = 0; i < count; ++i) {
    ThreadState& t = threads_[i];
    t.rank = static_cast<int>(i);
    t.index = {t.rank % size.x, t.rank / size.x % size.y, t.rank / size.x / size.y};
    t.of = &place_;
    t.owner = this;
    warps_[i / 32].present |= 1u << i % 32;
    fibers_[i] = {.stack = stacks[i], .entry = fiber_main, .argument = this};
  }
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (task.tracer != nullptr) tracer_side_ = std::make_unique<BlockTrace>(task, shared_, flush_lane, this);
}

// Every order is legal; a kernel that depends on one is wrong. Untraced launches always use ascending order.
void Block::order_threads(std::int64_t block) {
  const Schedule& schedule = task_.tracer->schedule;
  if (schedule.order == Schedule::Order::ascending) return;
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (schedule.order == Schedule::Order::descending) {
    std::ranges::reverse(order_);
    return;
  }
  random_.seed(schedule.seed ^ static_cast<std::uint64_t>(block) << 20);
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_() % i]);
}

void Block::reset(std::int64_t block) {
  const auto& grid = task_.launch.grid;
  place_.block = {static_cast<int>(block % grid.x), static_cast<int>(block / grid.x % grid.y),
                  static_cast<int>(block / grid.x / grid.y)};
  for (ThreadState& t : threads_) t.state = ThreadState::State::fresh;
  for (Warp& w : warps_) w.returned = w.waiting = 0;
  next_fresh_ = fibers_used_ = 0;
  live_ = static_cast<unsigned>(threads_.size());
  same_place_ = true;
  ready_.clear();
  at_barrier_.clear();
  gathered_.clear();
  grid_rounds_ = 0;
  fill(shared_, task_.shared_bytes, task_.poison);
  const std::int64_t blocks = task_.launch.blocks();
  trace_ = tracer_side_ && task_.tracer->watches(block, blocks) && tracer_side_->can_afford(block, blocks)
               ? tracer_side_.get()
               : nullptr;
  if (trace_ != nullptr) {
    order_threads(block);
    trace_->begin(block);
  }
}

bool Block::run(std::int64_t block) {
  reset(block);
  switch_to(os_thread_, fresh_fiber());
  current_thread = nullptr;
  return failure_ == nullptr;
}

Fiber& Block::fresh_fiber() {
  Fiber& fiber = fibers_[fibers_used_++];
  prepare(fiber);
  return fiber;
}

void Block::fiber_main(void* self) {
  auto& block = *static_cast<Block*>(self);
  Fiber& fiber = block.fibers_[block.fibers_used_ - 1];
  block.run_fresh_threads(fiber);
  if (!block.failure_ && !block.ready_.empty()) leave(fiber, *block.ready_.pop()->fiber);
  leave(fiber, block.os_thread_);
}

// Catches every exception of a kernel, because unwinding cannot cross to another stack.
void Block::run_fresh_threads(Fiber& fiber) {
  ThreadState* thread = nullptr;
  try {
    while (next_fresh_ < threads_.size()) {
      thread = &threads_[order_[next_fresh_++]];
      thread->fiber = &fiber;
      run_thread(*thread);
    }
    thread = nullptr;
    if (ready_.empty()) wake_full();
    if (ready_.empty()) wake_gathered();
    if (ready_.empty() && live_ != 0) fail(describe_deadlock(threads_));
  } catch (...) {
    keep_failure(thread);
  }
}

void Block::run_thread(ThreadState& thread) {
  current_thread = &thread;
  thread.state = ThreadState::State::running;
  if (trace_ != nullptr) trace_->resume(thread.rank, thread.fiber->stack);
  task_.body(task_.context, shared_);
  if (trace_ != nullptr) stop_tracing(thread, BlockTrace::Stop::returned);
  thread.state = ThreadState::State::returned;
  returned(thread);
}

// Like a GPU's, a barrier waits only for threads that have not returned. A warp's collective names its
// lanes: a shuffle that names a returned lane can never complete.
void Block::returned(ThreadState& thread) {
  note_progress();
  --live_;
  Warp& warp = warps_[static_cast<std::size_t>(thread.rank / 32)];
  const std::uint32_t bit = 1u << thread.rank % 32;
  warp.returned |= bit;
  for (ThreadState& other : warp_of(thread)) {
    if ((warp.waiting >> other.rank % 32 & 1) == 0 || (other.wait.lanes & bit) == 0) continue;
    if (!exempts_returned(other.wait)) fail(describe_returned_lane(other, thread));
    const std::uint32_t named = named_by(other.wait, warp);
    if ((warp.waiting & named) != named || !all_arrived(other, named)) continue;
    complete(other, warp, named);
    ready_.push(&other);
  }
  if (live_ != 0 && at_barrier_.size() == live_) release_barrier();
}

// CUDA leaves a collective that names a returned lane undefined; GPUs do not wait for that lane.
bool Block::exempts_returned(const Wait& wait) const {
  const bool exchanges = wait.what == WarpCollective::shuffle || wait.what == WarpCollective::shuffle_up ||
                         wait.what == WarpCollective::shuffle_down ||
                         wait.what == WarpCollective::shuffle_xor;
  return task_.may_return_early && !exchanges;
}

std::uint32_t Block::named_by(const Wait& wait, const Warp& warp) const {
  return wait.lanes & warp.present & (exempts_returned(wait) ? ~warp.returned : ~0u);
}

// Called when all named lanes have arrived. Makes those other than `thread` ready to run.
void Block::complete(const ThreadState& thread, Warp& warp, std::uint32_t named) {
  const auto lanes = warp_of(thread);
  warp.waiting &= ~named;
  if (trace_ != nullptr) {
    const std::uint32_t gone = thread.wait.lanes & warp.returned;
    if (gone != 0 && task_.tracer->early_returns)
      trace_->passed_without_all(thread.wait.location, thread.wait.what != WarpCollective::sync_warp, [&] {
        return describe_returned_lane(thread, lanes[static_cast<std::size_t>(std::countr_zero(gone))]) +
               "; its behaviour is undefined in CUDA";
      });
    trace_->warp_synced(static_cast<std::size_t>(thread.rank / 32), named);
  }
  give_results(lanes, named, thread.wait.what);
  for (ThreadState& lane : lanes)
    if ((named >> lane.rank % 32 & 1) != 0 && &lane != &thread) ready_.push(&lane);
}

void Block::wait(ThreadState& thread) {
  note_progress();
  thread.full_tables = 0;
  yield(thread);
}

void Block::yield(ThreadState& thread) {
  thread.state = ThreadState::State::waiting;
  if (ready_.empty() && next_fresh_ == threads_.size()) wake_full();
  if (ready_.empty() && next_fresh_ == threads_.size()) wake_gathered();
  if (!ready_.empty()) {
    if (ThreadState* const next = ready_.pop(); next != &thread) switch_to(*thread.fiber, *next->fiber);
  } else if (next_fresh_ < threads_.size()) {
    switch_to(*thread.fiber, fresh_fiber());
  } else {
    fail(describe_deadlock(threads_));
  }
  current_thread = &thread;
  thread.state = ThreadState::State::running;
  if (trace_ != nullptr) trace_->resume(thread.rank, thread.fiber->stack);
}

void Block::flush_lane(LaneLog& lane) {
  auto& block = *static_cast<Block*>(lane.owner);
  auto& thread = *static_cast<ThreadState*>(current_thread);
  if (++thread.full_tables < max_full_tables && !polls(lane)) block.note_progress();
  stop_if_late();
  if (block.trace_->is_too_long()) return block.end_trace();
  const std::uint32_t again = block.trace_->stop(thread.rank, BlockTrace::Stop::full);
  const std::uint32_t own = 1u << thread.rank % 32;
  block.wake(static_cast<std::size_t>(thread.rank / 32), again & ~own);
  if ((again & own) != 0) block.trace_->resume(thread.rank, thread.fiber->stack);
  else block.yield(thread);
}

// The rest of the block runs untraced: a loop of many accesses, or one that never ends.
void Block::end_trace() {
  BlockTrace::pause();
  for (std::size_t warp = 0; warp < trace_->warps(); ++warp) wake(warp, trace_->empty_table(warp));
  trace_ = nullptr;
}

void Block::stop_tracing(const ThreadState& thread, BlockTrace::Stop why) {
  wake(static_cast<std::size_t>(thread.rank / 32), trace_->stop(thread.rank, why));
}

void Block::wake(std::size_t warp, std::uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1)
    ready_.push(&threads_[warp * 32 + static_cast<std::size_t>(std::countr_zero(lanes))]);
}

// Resumes lanes with full tables: the rest of their warp cannot proceed before they do.
void Block::wake_full() {
  if (trace_ != nullptr)
    for (std::size_t warp = 0; warp < trace_->warps(); ++warp) wake(warp, trace_->empty_full(warp));
}

void Block::sync(ThreadState& thread, SourceLocation location) {
  note_progress();
  if (trace_ != nullptr) {
    BlockTrace::pause();
    if (trace_->is_skipped(location)) return trace_->resume(thread.rank, thread.fiber->stack);
    stop_tracing(thread, BlockTrace::Stop::at_barrier);
  }
  if (!at_barrier_.empty()) same_place_ = same_place_ && same(location, at_barrier_.slots[0]->wait.location);
  thread.wait = {.what = WarpCollective::sync, .location = location};
  at_barrier_.push(&thread);
  if (at_barrier_.size() < live_) return wait(thread);
  thread.state = ThreadState::State::waiting;
  --at_barrier_.last;  // the last to arrive does not wait
  release_barrier();
  thread.state = ThreadState::State::running;
  if (trace_ != nullptr) trace_->resume(thread.rank, thread.fiber->stack);
}

// Makes all live threads ready: they all wait at this barrier.
void Block::release_barrier() {
  if (!same_place_) fail(describe_deadlock(threads_));
  if (live_ != threads_.size() && !task_.may_return_early) fail(describe_barrier_after_return(threads_));
  if (trace_ != nullptr) {
    const SourceLocation location = at_barrier_.slots[0]->wait.location;
    if (live_ != threads_.size() && task_.tracer->early_returns)
      trace_->passed_without_all(location, false, [this] { return describe_divergent_barrier(threads_); });
    trace_->passed_barrier(location);
  }
  ++barriers_;
  std::swap(ready_, at_barrier_);
  at_barrier_.clear();
  if (trace_ != nullptr && task_.tracer->schedule.order == Schedule::Order::seeded)
    for (unsigned i = ready_.size(); i > 1; --i) std::swap(ready_.slots[i - 1], ready_.slots[random_() % i]);
}

std::span<ThreadState> Block::warp_of(const ThreadState& thread) {
  const auto first = static_cast<std::size_t>(thread.rank / 32 * 32);
  return std::span(threads_).subspan(first, std::min<std::size_t>(32, threads_.size() - first));
}

std::uint64_t Block::collective(ThreadState& thread, const Wait& wait_for) {
  note_progress();
  // The code below is not the kernel's, but the linker may have taken its functions from a traced unit.
  BlockTrace::pause();
  Warp& warp = warps_[static_cast<std::size_t>(thread.rank / 32)];
  thread.wait = wait_for;
  check_lanes(thread, warp);
  const std::uint32_t named = named_by(wait_for, warp);
  warp.waiting |= 1u << thread.rank % 32;
  if ((warp.waiting & named) != named || !all_arrived(thread, named)) {
    wait(thread);
    return thread.result;
  }
  complete(thread, warp, named);
  if (trace_ != nullptr) trace_->resume(thread.rank, thread.fiber->stack);
  return thread.result;
}

// Called when no other thread can run: lanes of a warp that wait at one location form a group. In each warp,
// the group at the first location in the source resumes, because its lanes may still reach the others.
void Block::wake_gathered() {
  std::vector<ThreadState*> left;
  const auto is_before = [](SourceLocation a, SourceLocation b) { return a.line < b.line; };
  for (ThreadState* const thread : gathered_) {
    std::uint32_t together = 0;
    bool first = true;
    for (const ThreadState* const other : gathered_) {
      if (other->rank / 32 != thread->rank / 32) continue;
      if (same(other->wait.location, thread->wait.location)) together |= 1u << other->rank % 32;
      first = first && !is_before(other->wait.location, thread->wait.location);
    }
    thread->result = together;
    if (first) ready_.push(thread);
    else left.push_back(thread);
  }
  gathered_ = std::move(left);
}

std::uint32_t Block::active_lanes(ThreadState& thread, SourceLocation location) {
  note_progress();
  BlockTrace::pause();
  thread.wait = {.what = WarpCollective::ballot, .lanes = 1u << thread.rank % 32, .location = location};
  gathered_.push_back(&thread);
  wait(thread);
  return static_cast<std::uint32_t>(thread.result);
}

// The first thread to pass the block's barrier waits for the other blocks, and blocks its OS thread.
void Block::sync_grid(ThreadState& thread, SourceLocation location) {
  if (grid_ == nullptr)
    fail("a barrier of the whole grid at " + to_string(location) + " in a launch that is not cooperative");
  const std::uint64_t round = grid_rounds_;
  sync(thread, location);
  if (grid_rounds_ != round) return;
  ++grid_rounds_;
  if (trace_ != nullptr) {
    BlockTrace::pause();
    trace_->communicate();
  }
  current_thread = nullptr;  // a signal that stops kernels must not interrupt the wait
  const bool all = grid_->wait();
  current_thread = &thread;
  if (!all)
    fail("the grid's barrier at " + to_string(location) +
         " never completes: a block has ended without reaching it");
  if (trace_ != nullptr) trace_->resume(thread.rank, thread.fiber->stack);
}

bool GridBarrier::wait() {
  std::unique_lock lock(mutex_);
  const std::uint64_t round = round_;
  if (++waiting_ == blocks_) {
    waiting_ = 0;
    ++round_;
    changed_.notify_all();
    return true;
  }
  changed_.wait(lock, [&] { return round_ != round || gone_ > 0; });
  return round_ != round;
}

void GridBarrier::leave() {
  const std::lock_guard lock(mutex_);
  ++gone_;
  changed_.notify_all();
}

void Block::check_lanes(const ThreadState& thread, const Warp& warp) {
  const int lane = thread.rank % 32;
  if ((thread.wait.lanes >> lane & 1) == 0) fail(describe_missing_own_lane(thread), &thread.wait);
  const std::uint32_t gone = thread.wait.lanes & warp.returned;
  if (gone != 0 && !exempts_returned(thread.wait))
    fail(describe_returned_lane(thread, warp_of(thread)[static_cast<std::size_t>(__builtin_ctz(gone))]),
         &thread.wait);
}

// CUDA lets divergent branches of a warp meet in sync_warp, but not in collectives that exchange values.
bool Block::all_arrived(const ThreadState& thread, std::uint32_t named) {
  for (const ThreadState& lane : warp_of(thread)) {
    if ((named >> lane.rank % 32 & 1) == 0) continue;
    const Wait &a = lane.wait, &b = thread.wait;
    if (a.what != b.what || a.lanes != b.lanes) return false;
    if (a.what != WarpCollective::sync_warp && !same(a.location, b.location)) return false;
  }
  return true;
}

void Block::fail(const std::string& text, const Wait* wait) { throw BlockError(text, wait); }

void Block::keep_failure(const ThreadState* thread) {
  BlockTrace::abandon();
  std::string where = "kernel " + kernel_name(task_) + ", block " + to_string(place_.block) + ": ";
  const std::string at_thread = thread == nullptr ? "" : "thread " + to_string(thread->index) + ": ";
  const auto keep = [&](Error::Kind kind, const std::string& what) {
    failure_ = std::make_exception_ptr(Error(kind, where + what));
  };
  try {
    throw;
  } catch (const BlockError& e) {
    keep(e.kind(), e.what());
    // A collective of a warp is closer to the mistake than a barrier at which others wait for its lanes.
    const Wait* wait = e.wait;
    for (const ThreadState& t : threads_)
      if (e.wait == nullptr && t.state == ThreadState::State::waiting &&
          (wait == nullptr || (wait->what == WarpCollective::sync && t.wait.what != WarpCollective::sync)))
        wait = &t.wait;
    if (trace_ != nullptr && wait != nullptr)
      trace_->report_deadlock(wait->location,
                              wait->what != WarpCollective::sync && wait->what != WarpCollective::sync_warp,
                              where + e.what());
  } catch (const Error& e) {
    keep(e.kind(), at_thread + e.what());
  } catch (const std::exception& e) {
    keep(Error::Kind::internal, at_thread + e.what());
  } catch (...) {
    keep(Error::Kind::internal, at_thread + "an exception that is no std::exception");
  }
}

void Block::fail_by(const Stop& stop, double seconds_allowed) {
  BlockTrace::abandon();
  const auto& thread = *static_cast<ThreadState*>(current_thread);
  if (trace_ != nullptr && stop.why == Stop::Why::no_memory)
    trace_->fault(thread.rank, reinterpret_cast<std::uint64_t>(stop.address));
  if (trace_ != nullptr && (stop.why == Stop::Why::spinning || stop.why == Stop::Why::interrupted))
    for (std::size_t warp = 0; warp < trace_->warps(); ++warp) trace_->empty_table(warp);
  if (stop.why == Stop::Why::late || stop.why == Stop::Why::interrupted) {
    current_thread = nullptr;
    failure_ = out_of_time(task_, seconds_allowed);
    return;
  }
  const std::string text = describe(stop) + " in thread " + to_string(thread.index) + " of block " +
                           to_string(place_.block) + " of kernel " + kernel_name(task_) + hint(stop);
  failure_ = std::make_exception_ptr(Stopped(text, stop.frames));
  current_thread = nullptr;
}

// Messages about a block that cannot proceed.

namespace {

const char* name_of(WarpCollective what) {
  constexpr const char* names[] = {"sync",         "sync_warp",   "shuffle",  "shuffle_up",
                                   "shuffle_down", "shuffle_xor", "any",      "all",
                                   "ballot",       "match_any",   "match_all"};
  return names[static_cast<std::size_t>(what)];
}

std::string hexadecimal(std::uint32_t lanes) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", lanes);
  return text;
}

// Returns "at x.simt.cu:40 (shuffle of lanes 0x0000ffff)"
std::string place_of(const Wait& wait, bool with_column = false) {
  std::string what = name_of(wait.what), column;
  if (wait.what != WarpCollective::sync) what += " of lanes " + hexadecimal(wait.lanes);
  if (with_column) column = ":" + std::to_string(wait.location.column);
  return "at " + to_string(wait.location) + column + " (" + what + ")";
}

// Returns "thread 3" or "threads 0-15, 20", cut after a readable number of ranges.
std::string ranges(const std::vector<int>& ranks) {
  constexpr int most = 8;
  std::string text = ranks.size() == 1 ? "thread " : "threads ";
  int count = 0;
  for (std::size_t i = 0, end = 0; i < ranks.size(); i = end) {
    for (end = i + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    if (count == most) return text + ", … (" + std::to_string(ranks.size()) + " threads)";
    text += (count++ == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (end - i > 1) text += "-" + std::to_string(ranks[end - 1]);
  }
  return text;
}

// True if two waits are on one line: only then are columns shown.
bool share_a_line(std::span<const ThreadState> threads) {
  std::set<std::tuple<std::string_view, int, int>> places;
  std::set<std::pair<std::string_view, int>> lines;
  for (const ThreadState& t : threads) {
    if (t.state == ThreadState::State::returned) continue;
    places.emplace(t.wait.location.file, t.wait.location.line, t.wait.location.column);
    lines.emplace(t.wait.location.file, t.wait.location.line);
  }
  return places.size() > lines.size();
}

// Returns "threads 0-15 wait at x.simt.cu:40 (sync), thread 16 returned".
std::string list_waits(std::span<const ThreadState> threads) {
  const bool with_column = share_a_line(threads);
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const ThreadState& t : threads) {
    const bool gone = t.state == ThreadState::State::returned;
    const std::string where = gone ? "returned" : "wait " + place_of(t.wait, with_column);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == where; });
    if (group == groups.end()) group = groups.insert(groups.end(), {where, {}});
    group->second.push_back(t.rank);
  }
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string where = groups[i].first;
    if (groups[i].second.size() == 1 && where.starts_with("wait ")) where.insert(4, "s");
    text += (i == 0 ? "" : ", ") + ranges(groups[i].second) + " " + where;
  }
  return text;
}

}  // namespace

std::string describe_deadlock(std::span<const ThreadState> threads) {
  return "deadlock: threads wait for each other: " + list_waits(threads);
}

std::string describe_barrier_after_return(std::span<const ThreadState> threads) {
  return "threads returned before a barrier of the others: " + list_waits(threads) +
         " (a GPU lets the others pass; a kernel that means it declares may_return_early)";
}

std::string describe_divergent_barrier(std::span<const ThreadState> threads) {
  return "a barrier that some threads of the block do not reach: " + list_waits(threads) +
         "; its behaviour is undefined in CUDA";
}

std::string describe_returned_lane(const ThreadState& waiting, const ThreadState& gone) {
  return "thread " + std::to_string(waiting.rank) + " waits " + place_of(waiting.wait) + " for lane " +
         std::to_string(gone.rank % 32) + " (thread " + std::to_string(gone.rank) + "), which has returned";
}

std::string describe_missing_own_lane(const ThreadState& thread) {
  return "thread " + std::to_string(thread.rank) + " is lane " + std::to_string(thread.rank % 32) +
         " and does not name itself " + place_of(thread.wait);
}

std::string describe(const Stop& stop) {
  char address[32];
  std::snprintf(address, sizeof address, "%p", stop.address);
  switch (stop.why) {
    case Stop::Why::overflow:
      return "stack overflow";
    case Stop::Why::division:
      return "an integer division by zero";
    case Stop::Why::spinning:
      return "no progress";
    case Stop::Why::late:
    case Stop::Why::interrupted:
      return "the end of the time allowed";
    case Stop::Why::no_memory:
      break;
  }
  if (stop.address == nullptr) return "an access to a null or impossible address";
  return std::string("an access to the address ") + address + ", where there is no memory,";
}

std::exception_ptr out_of_time(const Task& task, double seconds_allowed) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", seconds_allowed);
  return std::make_exception_ptr(
      OutOfTime("kernel " + kernel_name(task) + " was stopped after " + seconds + " s, the time allowed"));
}

std::string hint(const Stop& stop) {
  if (stop.why == Stop::Why::overflow) return ": more than " + std::to_string(stack_bytes >> 10) + " KiB";
  if (stop.why != Stop::Why::spinning) return "";
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", max_seconds_without_progress());
  return std::string(": it ran for ") + seconds +
         " s without a barrier or a return. Waiting for another block needs a cooperative launch, waiting "
         "for a "
         "thread of the block a barrier (TESSERA_SIMT_TIMEOUT=SECONDS allows more time, 0 any)";
}

}  // namespace tessera::simt
