// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/crew.hpp"
#include <algorithm>
#include <deque>
#include "tessera/dist/split.hpp"
#include "tessera/dist/tiles.hpp"
#include "tessera/run/presumed_speed.hpp"
#include "tessera/run/serving.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

dist::Tiling tiling_of(const Division& division, const Spread& spread) {
  // Where it is settled who does what, only the lost share of a device that fails depends on their number.
  const bool settled = spread.split.how == Split::How::shares;
  const std::int64_t least = settled ? 16 : 64, for_each_device = settled ? 8 : 24;
  dist::Tiling out{.least_flops = division.least_flops};
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

// What decides about bits: all devices compute by this.
std::string text_of(const Plan& plan) {
  return plan.variant->ladder + "/" + plan.variant->name + " " + to_string(plan.tuning) + " on " +
         plan.device.name;
}

}  // namespace

Crew::Crew(const Operation& operation, const Arguments& host, const Division& division, const Spread& spread)
    : operation_(&operation), host_(&host), division_(&division), spread_(&spread) {
  for (const Device& device : spread.devices)
    out_.shares.push_back({.plan = choose_on(device, operation, host, spread.request), .lost = {}});
  const Plan& first = out_.shares.front().plan;
  out_.same_bits = std::ranges::all_of(out_.shares, [&](const Share& share) {
    return !share.plan.variant->yardstick &&
           (division.same_everywhere ||
            (text_of(share.plan) == text_of(first) && division.same_bits(share.plan.device.where)));
  });
  choose_tiles();
  if (!spread.checkpoint.empty()) open_checkpoint();
  make_queue();
  make_hands();
}

Crew::~Crew() = default;

void Crew::choose_tiles() {
  if (spread_->whole) {
    tiles_ = {division_->whole()};
    return;
  }
  const dist::Tiling tiling = tiling_of(*division_, *spread_);
  const std::size_t devices = spread_->devices.size();
  if (spread_->split.how != Split::How::shares) {
    tiles_ = dist::tiles_of(*division_, *host_, {0, division_->rows}, tiling);
    return;
  }
  if (spread_->split.shares.size() != devices)
    throw Error(std::to_string(spread_->split.shares.size()) + " shares for " + std::to_string(devices) +
                " devices");
  for (const Interval& rows :
       dist::split_by_shares(division_->rows, division_->row_granule, spread_->split.shares))
    for (const Tile& tile : dist::tiles_of(*division_, *host_, rows, tiling)) tiles_.push_back(tile);
}

void Crew::open_checkpoint() {
  const std::string how = division_->same_everywhere ? "any" : text_of(out_.shares.front().plan);
  checkpoint_.emplace(spread_->checkpoint, *operation_, *host_, *division_, how, tiles_);
  checkpoint_->restore();
  out_.same_bits = out_.same_bits && checkpoint_->same_bits();
  std::vector<Tile> left;
  for (std::size_t i = 0; i < tiles_.size(); ++i)
    if (!checkpoint_->has(i)) left.push_back(tiles_[i]), number_.push_back(i);
  out_.restored = tiles_.size() - left.size();
  tiles_ = std::move(left);
}

std::vector<double> Crew::work_of_tiles() const {
  std::vector<double> out;
  for (const Tile& tile : tiles_)
    out.push_back(std::max(1.0, division_->flops(tile)));  // something is written
  return out;
}

// One tile at a time for each device: copies hide behind nothing yet.
void Crew::make_queue() {
  constexpr std::size_t in_flight = 1;
  using Dealing = dist::Queue::Dealing;
  if (spread_->whole || spread_->split.how != Split::How::shares) {
    std::vector<double> speeds;
    for (const Device& device : spread_->devices) speeds.push_back(presumed_speed(device));
    const bool measured = spread_->split.how == Split::How::measured;
    queue_.emplace(work_of_tiles(), std::move(speeds), measured ? Dealing::measured : Dealing::dynamic,
                   in_flight);
    return;
  }
  const auto rows = dist::split_by_shares(division_->rows, division_->row_granule, spread_->split.shares);
  std::vector<std::deque<std::size_t>> bands(rows.size());
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    std::size_t d = 0;
    while (d + 1 < rows.size() && tiles_[i].rows.first >= rows[d].last) ++d;
    bands[d].push_back(i);
  }
  queue_.emplace(work_of_tiles(), std::move(bands), in_flight);
}

void Crew::make_hands() {
  if (spread_->in_workers()) shared_.emplace(*operation_, *host_);
  for (std::size_t d = 0; d < out_.shares.size(); ++d) {
    const Plan& plan = out_.shares[d].plan;
    std::vector<Fault> faults;
    for (const Fault& fault : spread_->faults)
      if (fault.device == d) faults.push_back(fault);
    if (shared_)
      hands_.push_back(std::make_unique<Worker>(*shared_, *division_, plan, faults, spread_->limit_seconds,
                                                spread_->protect));
    else hands_.push_back(std::make_unique<HandHere>(*operation_, *division_, plan, spread_->request));
  }
  if (shared_) out_.copied_bytes = shared_->copied_bytes();
}

double Crew::now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
bool Crew::stopped() const { return spread_->stopped && spread_->stopped(); }

Together Crew::work() {
  start_ = out_.started = Clock::now();
  serve_all(
      hands_.size(), [this](std::size_t d) { serve(d); },
      [this](std::size_t d, const std::exception_ptr& why) {
        const std::lock_guard lock(mutex_);
        lose(d, why);
        changed_.notify_all();
      });
  out_.seconds = now();
  out_.complete = queue_->done();
  if (!out_.complete && !stopped()) std::rethrow_exception(failure_);
  return std::move(out_);
}

void Crew::serve(std::size_t d) {
  std::unique_lock lock(mutex_);
  while (!queue_->done() && !queue_->is_lost(d) && !stopped()) {
    const auto tile = queue_->take(d, now());
    if (!tile) {
      // Whoever has the rest may be stopped meanwhile.
      (void)changed_.wait_for(lock, std::chrono::milliseconds(100));
      continue;
    }
    lock.unlock();
    std::exception_ptr failure;
    std::vector<dist::Span> spans;
    bool right = true;
    double host_check_seconds = 0;
    const double begun = now();
    try {
      if (spread_->before_tile) spread_->before_tile(d, *tile);
      spans = hands_[d]->compute(tiles_[*tile]);
      right = is_right(d, *tile, host_check_seconds);
      if (right && checkpoint_) checkpoint_->commit(number_[*tile]);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (!failure) note_check(d, *tile, host_check_seconds);
    if (failure) lose(d, failure);
    else if (right) deliver(d, *tile, spans, begun);
    else take_back(d, *tile);
    changed_.notify_all();
  }
  changed_.notify_all();
}

// What the device's own checksums settled need not be looked at again.
bool Crew::is_right(std::size_t d, std::size_t tile, double& seconds) {
  if (!spread_->protect) return true;
  if (const Finding* found = hands_[d]->finding(); found != nullptr && found->settled) return found->right;
  const double begun = now();
  VerifyOptions options;
  if (operation_->suspect_rows) options.reference_flops = 0;  // the cheaper check
  const bool out = verify(*operation_, division_->part(tiles_[tile]), nullptr, options).passed;
  seconds = now() - begun;
  return out;
}

void Crew::note_check(std::size_t d, std::size_t tile, double seconds) {
  if (!spread_->protect) return;
  Share& share = out_.shares[d];
  share.host_check_seconds += seconds;
  const Finding* const found = hands_[d]->finding();
  if (found == nullptr || !found->settled) ++share.host_checks;
  if (found == nullptr) return;
  share.check_seconds += found->check_seconds;
  share.product_seconds += found->product_seconds;
  if (found->settled) ++share.settled;
  if (found->was_wrong()) share.findings.push_back({tile, *found});
}

void Crew::deliver(std::size_t d, std::size_t tile, const std::vector<dist::Span>& spans, double begun) {
  const double at = now();
  if (!queue_->commit(d, tile, at)) return;
  Share& share = out_.shares[d];
  ++share.tiles;
  share.flops += division_->flops(tiles_[tile]);
  share.end_seconds = at;
  for (const dist::Span& span : spans) {
    share.busy_seconds += span.last - span.first;
    out_.timeline.spans.push_back({d, span.deed, tile, begun + span.first, begun + span.last});
  }
}

// A wrong tile is no device's end, but several of them are.
void Crew::take_back(std::size_t d, std::size_t tile) {
  constexpr std::size_t most = 3;
  queue_->give_back(d, tile);
  if (++out_.shares[d].wrong == most)
    lose(d, std::make_exception_ptr(
                Error(Error::Kind::internal, "wrong results, " + std::to_string(most) + " times")));
}

void Crew::lose(std::size_t d, std::exception_ptr failure) {
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

}  // namespace tessera
