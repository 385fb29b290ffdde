// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/scheduler.hpp"
#include <algorithm>
#include <cmath>
#include <thread>
#include "tessera/core/device/parallel.hpp"
#include "tessera/core/operation/promise.hpp"
#include "tessera/run/multi_device/streamed_worker.hpp"
#include "tessera/run/place.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// Returns the parts of a plan that determine a result bit by bit.
std::string text_of(const Plan& plan) {
  return plan.variant->ladder + "/" + plan.variant->name + " " + to_string(plan.tuning) + " on " +
         plan.device.name;
}

// Stands for a device that failed before its first tile.
class FailedWorker final : public DeviceWorker {
 public:
  explicit FailedWorker(std::exception_ptr why) : why_(std::move(why)) {}
  void begin(const Tile&) override { std::rethrow_exception(why_); }

 private:
  std::vector<TimelineSpan> compute(const Tile&) override { std::rethrow_exception(why_); }

  std::exception_ptr why_;
};

}  // namespace

std::optional<std::int64_t> full_launches(const Plan& plan, const Arguments& arguments) {
  constexpr std::int64_t threads_of_a_multiprocessor = 512;
  if (!plan.choice->footprint) return std::nullopt;
  const auto footprint = plan.choice->footprint(arguments, plan.tuning);
  if (!footprint) return std::nullopt;
  const std::int64_t full = threads_of_a_multiprocessor * std::max(1, plan.device.multiprocessors);
  return std::max<std::int64_t>(1, footprint->blocks * footprint->threads_per_block / full);
}

Scheduler::Scheduler(const Operation& operation, const Arguments& host, const Partition& partition,
                     const MultiDeviceOptions& options, DevicePool& pool)
    : operation_(&operation),
      host_(&host),
      partition_(&partition),
      options_(&options),
      pool_(&pool),
      grid_(grid_of(partition, std::ssize(options.devices))) {
  const auto begun = Clock::now();
  for (const Device& device : options.devices)
    out_.devices.push_back({.plan = choose_on(device, operation, host, options.request)});
  cut_into_tiles();
  const Plan& first = out_.devices.front().plan;
  out_.same_bits = std::ranges::all_of(out_.devices, [&](const DeviceReport& one) {
    return !one.plan.variant->baseline &&
           (partition.same_everywhere ||
            (text_of(one.plan) == text_of(first) && partition.same_bits(one.plan.device.where)));
  });
  out_.same_bits = out_.same_bits && (partition.same_everywhere || accepts_all_tiles(first));
  if (const std::string promise = requested_promise(operation.name, host);
      !promise.empty() && !out_.same_bits && !options.whole)
    throw Error("--" + promise + ": parts of the result would not have the bits of one device alone");
  if (options.in_processes()) shared_.emplace(operation, host);
  if (shared_) out_.copied_bytes = shared_->copied_bytes();
  for (std::size_t d = 0; d < options.devices.size(); ++d) workers_.push_back(make_worker(d));
  // Processes that were started together become ready together.
  for (auto& worker : workers_) try {
      worker->make_ready();
    } catch (...) {
      worker = std::make_unique<FailedWorker>(std::current_exception());
    }
  make_queue();
  if (options.protect && partition.check) check_ = partition.check(tiles_, 1);
  out_.start_seconds = std::chrono::duration<double>(Clock::now() - begun).count();
}

Scheduler::~Scheduler() = default;

// True if the plan's variant accepts all tiles; otherwise another variant, which sums in another order,
// computes some.
bool Scheduler::accepts_all_tiles(const Plan& plan) const {
  return std::ranges::none_of(
      tiles_, [&](const Tile& tile) { return refuses(plan, partition_->part(tile)).has_value(); });
}

// More tiles let all devices finish together. With a fixed split only a failed device's tiles move.
Tiling Scheduler::tiling() const {
  constexpr std::int64_t tiles_in_memory = 3;  // two under way, and gaps between their inputs
  const auto devices = std::ssize(out_.devices);
  const bool fixed = options_->split.how == Split::How::shares;
  Tiling out{
      .wanted = fixed ? std::max<std::int64_t>(16, 8 * devices) : std::max<std::int64_t>(64, 16 * devices),
      .min_flops = partition_->min_flops,
      .grid = grid_};
  for (std::size_t d = 0; d < out_.devices.size(); ++d) {
    const Plan& plan = out_.devices[d].plan;
    if (backend_of(plan.device).shares_host_memory()) continue;
    if (const auto launches = full_launches(plan, *host_))
      out.wanted = std::min(out.wanted, std::max<std::int64_t>(*launches, devices));
    const std::int64_t memory = memory_[d] / tiles_in_memory;
    out.memory_bytes = out.memory_bytes == 0 ? memory : std::min(out.memory_bytes, memory);
  }
  return out;
}

void Scheduler::cut_into_tiles() {
  if (options_->whole) {
    tiles_ = {partition_->whole()};
    largest_ = tiles_.front();
    return;
  }
  for (const Device& device : options_->devices) memory_.push_back(memory_of(device));
  if (const Split& split = options_->split; split.how == Split::How::shares) {
    check_shares(split, out_.devices.size());
    grid_ = {};
    for (const Interval& rows : split_by_shares(partition_->rows, partition_->row_granule, split.shares)) {
      auto& band = bands_.emplace_back();
      for (const Tile& tile : tiles_of(*partition_, *host_, rows, tiling())) {
        band.push_back(tiles_.size());
        tiles_.push_back(tile);
      }
    }
  } else {
    tiles_ = tiles_of(*partition_, *host_, {0, partition_->rows}, tiling());
  }
  const auto bytes = [&](const Tile& tile) { return bytes_of(*partition_, *host_, tile); };
  if (!tiles_.empty()) largest_ = *std::ranges::max_element(tiles_, {}, bytes);
}

void Scheduler::make_queue() {
  std::size_t in_flight = 1;
  for (const auto& worker : workers_) in_flight = std::max(in_flight, worker->max_in_flight());
  std::vector<double> work, speeds;
  for (const Tile& tile : tiles_) work.push_back(std::max(1.0, partition_->flops(tile)));
  for (const Device& device : options_->devices) speeds.push_back(presumed_speed(device));
  if (!bands_.empty()) queue_.emplace(std::move(work), bands_, in_flight);
  else queue_.emplace(std::move(work), speeds, in_flight);
  for (std::size_t d = 0; d < workers_.size(); ++d)
    if (!(*pool_)[d].failed.empty()) queue_->mark_failed(d);
  // A device that can hold all inputs takes tiles as their inputs arrive; other devices go back and forth by
  // rows.
  queue_->set_order([this](std::size_t d, const std::vector<std::size_t>& band) {
    return holds_all(d) ? in_growing_squares(tiles_, band, grid_, static_cast<std::int64_t>(d)) : band;
  });
}

bool Scheduler::holds_all(std::size_t d) const {
  constexpr std::int64_t tiles_in_memory = 7;  // those under way, and gaps
  return streams(out_.devices[d].plan) && bytes_of(*partition_, *host_, partition_->whole()) +
                                                  tiles_in_memory * bytes_of(*partition_, *host_, largest_) <=
                                              memory_[d];
}

// True if a device overlaps copies and computation in this call.
bool Scheduler::streams(const Plan& plan) const {
  return find_streams(plan.device.where) != nullptr && !options_->whole &&
         !StreamedWorker::refuses(*operation_, *host_, *partition_, plan);
}

// Returns a part of the free memory, because a variant may want workspace. Entries of the same device, whole
// or in parts, share its memory.
std::int64_t Scheduler::memory_of(const Device& device) const {
  constexpr double usable_part = 0.9;
  const auto sharing = std::ranges::count_if(options_->devices, [&](const Device& one) {
    return one.where == device.where && one.index == device.index;
  });
  const auto free =
      static_cast<std::int64_t>(usable_part * static_cast<double>(backend_of(device).free_memory(device)) /
                                static_cast<double>(sharing));
  return options_->memory_bytes > 0 ? std::min(options_->memory_bytes, free) : free;
}

std::unique_ptr<DeviceWorker> Scheduler::make_worker(std::size_t d) {
  const Plan& plan = out_.devices[d].plan;
  if (const std::string& failed = (*pool_)[d].failed; !failed.empty()) {
    out_.devices[d].failed = failed;
    return std::make_unique<FailedWorker>(std::make_exception_ptr(Error(Error::Kind::no_device, failed)));
  }
  try {
    if (shared_) return process_worker(d);
    if (streams(plan) && !tiles_.empty()) return streamed_worker(d);
    return std::make_unique<LocalWorker>(*operation_, *partition_, plan, options_->request);
  } catch (const Error&) {
    if (shared_) throw;
    return std::make_unique<FailedWorker>(std::current_exception());
  }
}

std::unique_ptr<DeviceWorker> Scheduler::process_worker(std::size_t d) {
  DeviceState& state = (*pool_)[d];
  const Plan& plan = out_.devices[d].plan;
  ProcessWorker::Options about{.limit_seconds = options_->limit_seconds};
  for (const Fault& fault : options_->faults)
    if (fault.device == d && fault.tile > state.begun)
      about.kill_at = std::min(about.kill_at.value_or(fault.tile), fault.tile - state.begun);
  if (streams(plan) && !tiles_.empty()) {
    about.memory_bytes = memory_[d];
    about.largest = largest_;
    about.tiles_at_once = tiles_at_once(d);
    about.pin = options_->pin;
  }
  return std::make_unique<ProcessWorker>(*shared_, *partition_, plan, about, std::move(state.process));
}

std::unique_ptr<DeviceWorker> Scheduler::streamed_worker(std::size_t d) {
  DeviceState& state = (*pool_)[d];
  const Plan& plan = out_.devices[d].plan;
  if (state.streams == nullptr) state.streams = find_streams(plan.device.where)->open(plan.device);
  StreamedWorker::Options about{
      .memory_bytes = memory_[d], .largest = largest_, .tiles_at_once = tiles_at_once(d)};
  if (!options_->rates || options_->rates->between > 0) about.held = held_;
  return std::make_unique<StreamedWorker>(*operation_, *host_, *partition_, plan, options_->request,
                                          state.streams, std::move(about));
}

// Returns nothing if inputs may be evicted and copied again: their number depends on the timing.
std::optional<Prediction> Scheduler::prediction() const {
  if (!options_->rates) return std::nullopt;
  std::vector<PredictedDevice> devices;
  for (std::size_t d = 0; d < workers_.size(); ++d) {
    const double speed = partition_->flops(largest_) / workers_[d]->seconds_of_largest();
    if (!(speed > 0) || !std::isfinite(speed) || !holds_all(d)) return std::nullopt;
    devices.push_back(
        {speed, {queue_->band(d).begin(), queue_->band(d).end()}, workers_[d]->max_in_flight()});
  }
  return predict(*partition_, *host_, tiles_, devices, *options_->rates);
}

void Scheduler::keep_processes() {
  for (std::size_t d = 0; d < workers_.size(); ++d)
    if (auto* const worker = dynamic_cast<ProcessWorker*>(workers_[d].get());
        worker != nullptr && !queue_->is_failed(d))
      (*pool_)[d].process = worker->release();
}

double Scheduler::now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

MultiDeviceOutcome Scheduler::run() {
  out_.predicted = prediction();
  if (out_.predicted && options_->predicted) options_->predicted(*out_.predicted);
  start_ = out_.started = Clock::now();
  serve_devices(
      workers_.size(), [this](std::size_t d) { serve(d); },
      [this](std::size_t d, const std::exception_ptr& why) {
        const std::lock_guard lock(mutex_);
        retire(d, why);
        changed_.notify_all();
      });
  out_.seconds = now();
  for (std::size_t d = 0; d < workers_.size(); ++d) out_.devices[d].begun = (*pool_)[d].begun;
  if (!queue_->done()) fail_without_devices(out_.devices, first_failure_);
  keep_processes();
  return std::move(out_);
}

void Scheduler::serve(std::size_t d) {
  std::unique_lock lock(mutex_);
  std::deque<TileInFlight> in_flight;
  while (!queue_->is_failed(d) && (!in_flight.empty() || !queue_->done())) {
    const bool may_take = in_flight.size() < workers_[d]->max_in_flight();
    if (const auto tile = may_take ? queue_->take(d, now()) : std::nullopt) begin(d, *tile, in_flight, lock);
    else if (!in_flight.empty()) finish(d, in_flight, lock);
    else (void)changed_.wait_for(lock, std::chrono::milliseconds(100));  // a tile may come back
  }
  changed_.notify_all();
}

void Scheduler::begin(std::size_t d, std::size_t tile, std::deque<TileInFlight>& in_flight,
                      std::unique_lock<std::mutex>& lock) {
  in_flight.push_back({tile, now()});
  lock.unlock();
  std::exception_ptr failure;
  try {
    if (options_->before_tile) options_->before_tile(d, tile);
    workers_[d]->begin(tiles_[tile]);
  } catch (...) {
    failure = std::current_exception();
    workers_[d]->stop();
  }
  lock.lock();
  if (failure) retire(d, failure);
  else ++(*pool_)[d].begun;
}

void Scheduler::finish(std::size_t d, std::deque<TileInFlight>& in_flight,
                       std::unique_lock<std::mutex>& lock) {
  const TileInFlight oldest = in_flight.front();
  in_flight.pop_front();
  lock.unlock();
  std::exception_ptr failure;
  std::vector<TimelineSpan> spans;
  bool right = true;
  double check_seconds = 0;
  try {
    spans = workers_[d]->finish();
    const double begun = now();
    if (options_->protect) right = verify_tile(oldest.tile), check_seconds = now() - begun;
  } catch (...) {
    failure = std::current_exception();
    workers_[d]->stop();
  }
  lock.lock();
  if (failure) {
    retire(d, failure);
  } else {
    out_.devices[d].checked += options_->protect;
    out_.devices[d].check_seconds += check_seconds;
    if (right) deliver(d, oldest, spans);
    else requeue(d, oldest.tile);
  }
  changed_.notify_all();
}

bool Scheduler::verify_tile(std::size_t tile) const {
  if (check_ && check_(tiles_[tile])) return true;
  VerifyOptions options;
  if (operation_->suspect_rows) options.reference_flops = 0;  // the randomised check
  return verify(*operation_, partition_->part(tiles_[tile]), nullptr, options).passed;
}

void Scheduler::deliver(std::size_t d, const TileInFlight& tile, const std::vector<TimelineSpan>& spans) {
  const double at = now();
  if (!queue_->commit(d, tile.tile, at)) return;
  DeviceReport& report = out_.devices[d];
  ++report.tiles;
  report.flops += partition_->flops(tiles_[tile.tile]);
  report.end_seconds = at;
  const bool overlaps = workers_[d]->max_in_flight() > 1;
  for (const TimelineSpan& span : spans) {
    if (!overlaps || span.activity == Activity::compute) report.busy_seconds += span.last - span.first;
    (span.activity == Activity::message ? report.peer_bytes : report.host_bytes) += span.bytes;
    out_.timeline.spans.push_back(
        {d, span.activity, tile.tile, tile.at + span.first, tile.at + span.last, span.bytes});
  }
}

// Takes a wrong tile back. A device is given up after several of them.
void Scheduler::requeue(std::size_t d, std::size_t tile) {
  constexpr std::size_t most = 3;
  queue_->requeue(d, tile);
  if (++out_.devices[d].wrong < most) return;
  workers_[d]->stop();  // it may be writing another tile
  retire(d, std::make_exception_ptr(
                Error(Error::Kind::internal, "wrong results, " + std::to_string(most) + " times")));
}

void Scheduler::retire(std::size_t d, const std::exception_ptr& failure) {
  queue_->mark_failed(d);
  if (!first_failure_) first_failure_ = failure;
  out_.devices[d].failed = reason_of(failure);
  (*pool_)[d].failed = out_.devices[d].failed;
  (*pool_)[d].streams.reset();
}

void check_faults(const MultiDeviceOptions& options) {
  for (const Fault& fault : options.faults)
    if (fault.device >= options.devices.size())
      throw Error("--fault kill:" + std::to_string(fault.device) + ": the devices are numbered from 0 to " +
                  std::to_string(options.devices.size() - 1));
}

void check_shares(const Split& split, std::size_t devices) {
  if (split.shares.size() != devices)
    throw Error(std::to_string(split.shares.size()) + " shares for " + std::to_string(devices) + " devices");
}

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
  return of_a_multiprocessor * device.multiprocessors;
}

std::vector<std::shared_ptr<void>> pin(const Arguments& host, const MultiDeviceOptions& options) {
  std::vector<std::shared_ptr<void>> out;
  StreamFactory* factory = nullptr;
  for (const Device& device : options.devices)
    if (StreamFactory* const one = find_streams(device.where)) factory = one;
  if (factory == nullptr || options.in_processes()) return out;
  for (const Parameter& p : host.signature().parameters) {
    if (!p.is_array() || !host.has(p.name)) continue;
    const ArrayView& array = host.array(p.name);
    if (array.data == nullptr || array.count() == 0) continue;
    const auto [first, last] = array.span();
    const auto size = static_cast<std::int64_t>(size_of(array.element));
    out.push_back(factory->pin(static_cast<char*>(array.data) + first * size,
                               static_cast<std::size_t>((last - first) * size)));
  }
  return out;
}

void serve_devices(std::size_t count, const std::function<void(std::size_t)>& serve,
                   const std::function<void(std::size_t, const std::exception_ptr&)>& fail) {
  std::vector<std::jthread> threads;
  try {
    for (std::size_t d = 0; d < count; ++d) threads.emplace_back([&serve, d] { serve(d); });
  } catch (const std::system_error&) {
    const auto why = std::make_exception_ptr(no_more_threads(static_cast<std::int64_t>(count)));
    for (std::size_t d = threads.size(); d < count; ++d) fail(d, why);
  }
}

std::string reason_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const AllDevicesFailed& error) {
    return error.reasons().size() == 1 ? error.reasons().front() : error.what();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown failure";
  }
}

void fail_without_devices(const std::vector<DeviceReport>& devices, const std::exception_ptr& first) {
  std::string text = "no device is left: ";
  std::vector<std::string> reasons;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    text += (d == 0 ? "" : "; ") + devices[d].plan.device.label() + " (device " + std::to_string(d) +
            "): " + devices[d].failed;
    reasons.push_back(devices[d].failed);
  }
  if (!first) throw AllDevicesFailed(Error::Kind::no_device, text, std::move(reasons));
  try {
    std::rethrow_exception(first);
  } catch (const Error& error) {
    const bool same =
        std::ranges::all_of(reasons, [&](const std::string& reason) { return reason == reasons.front(); });
    if (error.kind() == Error::Kind::user && same) throw;
    throw AllDevicesFailed(error.kind(), text, std::move(reasons));
  }
}

}  // namespace tessera
