// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/spread.hpp"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include "tessera/core/parallel.hpp"
#include "tessera/dist/queue.hpp"
#include "tessera/dist/split.hpp"
#include "tessera/dist/tiles.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// Only what nobody has measured yet: a queue corrects it within a tile or two.
double presumed_speed(const Device& device) {
  constexpr double of_a_core = 5e10, of_an_executors_thread = 5e7, of_a_multiprocessor = 3e11;
  switch (device.where) {
    case Where::cpu:
      return of_a_core * device.threads;
    case Where::simt:
      return of_an_executors_thread * device.threads;
    case Where::cuda:
      break;
  }
  return of_a_multiprocessor * device.processors;
}

dist::Tiling tiling_of(const Spread& spread) {
  // Where it is settled who does what, only the lost share of a device that fails depends on their number.
  const bool settled = spread.split.how == Split::How::shares;
  const std::int64_t least = settled ? 16 : 64, for_each_device = settled ? 8 : 24;
  dist::Tiling out;
  out.wanted = std::max(least, for_each_device * static_cast<std::int64_t>(spread.devices.size()));
  for (const Device& device : spread.devices) {
    Backend& backend = backend_of(device);
    if (backend.shares_host_memory()) continue;
    std::int64_t memory = backend.free_memory(device) / 10 * 9;  // a variant may want room besides
    if (spread.memory_bytes > 0) memory = std::min(memory, spread.memory_bytes);
    out.memory_bytes = out.memory_bytes == 0 ? memory : std::min(out.memory_bytes, memory);
  }
  return out;
}

// The devices' threads, and what they share. One tile at a time for each: its copies hide behind nothing yet.
class Crew {
 public:
  Crew(const Operation& operation, const Arguments& host, const Division& division, const Spread& spread)
      : operation_(&operation), division_(&division), spread_(&spread) {
    for (const Device& device : spread.devices)
      out_.shares.push_back({.plan = choose_on(device, operation, host, spread.request), .lost = {}});
    make_queue(host);
  }

  Together work() {
    start_ = Clock::now();
    {
      std::vector<std::jthread> threads;
      try {
        for (std::size_t d = 0; d < spread_->devices.size(); ++d)
          threads.emplace_back([this, d] { serve(d); });
      } catch (const std::system_error&) {
        const std::lock_guard lock(mutex_);
        for (std::size_t d = threads.size(); d < spread_->devices.size(); ++d)
          lose(d,
               std::make_exception_ptr(no_more_threads(static_cast<std::int64_t>(spread_->devices.size()))));
        changed_.notify_all();
      }
    }
    out_.seconds = now();
    if (!queue_->done()) std::rethrow_exception(failure_);
    return std::move(out_);
  }

 private:
  void make_queue(const Arguments& host) {
    const dist::Tiling tiling = tiling_of(*spread_);
    const std::size_t devices = spread_->devices.size();
    constexpr std::size_t in_flight = 1;
    if (spread_->split.how == Split::How::shares) {
      if (spread_->split.shares.size() != devices)
        throw Error(std::to_string(spread_->split.shares.size()) + " shares for " + std::to_string(devices) +
                    " devices");
      std::vector<std::deque<std::size_t>> bands(devices);
      const auto rows = dist::split_by_shares(division_->rows, division_->row_granule, spread_->split.shares);
      for (std::size_t d = 0; d < devices; ++d)
        for (const Tile& tile : dist::tiles_of(*division_, host, rows[d], tiling)) {
          bands[d].push_back(tiles_.size());
          tiles_.push_back(tile);
        }
      queue_.emplace(work_of_tiles(), std::move(bands), in_flight);
      return;
    }
    tiles_ = dist::tiles_of(*division_, host, {0, division_->rows}, tiling);
    std::vector<double> speeds;
    for (const Device& device : spread_->devices) speeds.push_back(presumed_speed(device));
    queue_.emplace(work_of_tiles(), std::move(speeds),
                   spread_->split.how == Split::How::measured ? dist::Queue::Dealing::measured
                                                              : dist::Queue::Dealing::dynamic,
                   in_flight);
  }

  // A sum of nothing is work, too: something is written.
  std::vector<double> work_of_tiles() const {
    std::vector<double> out;
    for (const Tile& tile : tiles_) out.push_back(std::max(1.0, division_->flops(tile)));
    return out;
  }

  double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void serve(std::size_t d) {
    std::unique_lock lock(mutex_);
    while (!queue_->done() && !queue_->is_lost(d)) {
      const auto tile = queue_->take(d, now());
      if (!tile) {
        if (queue_->usable() == 0) return;
        changed_.wait(lock);
        continue;
      }
      lock.unlock();
      std::exception_ptr failure;
      std::vector<dist::Span> spans;
      try {
        spans = compute(d, *tile);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure) lose(d, failure);
      else deliver(d, *tile, spans);
      changed_.notify_all();
    }
    changed_.notify_all();
  }

  std::vector<dist::Span> compute(std::size_t d, std::size_t tile) {
    if (spread_->before_tile) spread_->before_tile(d, tile);
    const Arguments part = division_->part(tiles_[tile]);
    Plan plan = out_.shares[d].plan;
    if (refuses(plan, part)) plan = choose_on(plan.device, *operation_, part, spread_->request);
    std::vector<dist::Span> spans;
    const bool copies = !backend_of(plan.device).shares_host_memory();
    const auto note = [&](dist::Deed deed, double first) { spans.push_back({d, deed, tile, first, now()}); };
    double first = now();
    Placed placed(plan, part);
    placed.upload();
    if (copies) note(dist::Deed::copy_in, first);
    first = now();
    (void)placed.launch_and_measure();
    note(dist::Deed::compute, first);
    first = now();
    placed.fetch();
    if (copies) note(dist::Deed::copy_out, first);
    return spans;
  }

  void deliver(std::size_t d, std::size_t tile, const std::vector<dist::Span>& spans) {
    const double at = now();
    if (!queue_->commit(d, tile, at)) return;
    Share& share = out_.shares[d];
    ++share.tiles;
    share.flops += division_->flops(tiles_[tile]);
    share.end_seconds = at;
    for (const dist::Span& span : spans) share.busy_seconds += span.last - span.first;
    out_.timeline.spans.insert(out_.timeline.spans.end(), spans.begin(), spans.end());
  }

  void lose(std::size_t d, std::exception_ptr failure) {
    queue_->lose(d);
    if (!failure_) failure_ = failure;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      out_.shares[d].lost = error.what();
    } catch (...) {
      out_.shares[d].lost = "an unknown failure";
    }
  }

  const Operation* operation_;
  const Division* division_;
  const Spread* spread_;
  Together out_;
  std::vector<Tile> tiles_;
  std::optional<dist::Queue> queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
  Clock::time_point start_;
};

void give_memory_to_outputs(Arguments& host, Together& together) {
  for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
    const ArrayView& view = host.array(p->name);
    if (view.data != nullptr) continue;
    const auto& array = together.outputs[p->name] = Array(view.element, view.extents);
    host.set_array(p->name, array.view());
  }
}

void poison_outputs(const Arguments& host) {
  for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
    const ArrayView& view = host.array(p->name);
    const std::vector<unsigned char> poison(view.row_major() ? 0 : view.bytes(), 0xff);
    if (!view.row_major()) unpack(poison.data(), view);
    else if (view.bytes() != 0) std::memset(view.data, 0xff, view.bytes());
  }
}

// Devices of one kind run the same instructions in the same order.
bool alike(const Plan& a, const Plan& b) {
  return a.variant == b.variant && a.choice == b.choice && a.tuning == b.tuning &&
         a.device.name == b.device.name;
}

}  // namespace

Split parse_split(const std::string& word) {
  if (word.empty() || word == "dynamic") return {};
  if (word == "auto") return {.how = Split::How::measured};
  Split out{.how = Split::How::shares};
  for (std::size_t first = 0; first <= word.size();) {
    const std::size_t last = std::min(word.find(':', first), word.size());
    double share = 0;
    const auto [end, failed] = std::from_chars(word.data() + first, word.data() + last, share);
    if (failed != std::errc() || end != word.data() + last || !(share >= 0))
      throw Error("--split " + word + " is neither auto nor dynamic, nor shares such as 2:1");
    out.shares.push_back(share);
    first = last + 1;
  }
  return out;
}

Together run_together(const Operation& operation, Arguments& host, const Spread& spread, bool check) {
  const Divide* const divide = find_division(operation.name);
  if (divide == nullptr)
    throw Error(operation.name + " runs on one device: its result is not computed in parts");
  if (spread.devices.empty()) throw Error("no device is named");
  refuse_overlaps(host);
  Together memory;
  give_memory_to_outputs(host, memory);
  if (check) poison_outputs(host);
  const Division division = (*divide)(host);
  Together out = Crew(operation, host, division, spread).work();
  out.outputs = std::move(memory.outputs);
  out.flops = division.flops(division.whole());
  out.same_bits = std::ranges::all_of(out.shares, [&](const Share& share) {
    return alike(share.plan, out.shares.front().plan) && !share.plan.variant->yardstick &&
           division.same_bits(share.plan.device.where);
  });
  if (operation.tell) operation.tell(host, out.values);
  if (check) out.verdict = verify(operation, host);
  return out;
}

}  // namespace tessera
