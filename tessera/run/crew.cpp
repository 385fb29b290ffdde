// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/crew.hpp"
#include <algorithm>
#include "tessera/core/interrupt.hpp"
#include "tessera/dist/split.hpp"
#include "tessera/dist/tiles.hpp"
#include "tessera/run/hand_on_lanes.hpp"
#include "tessera/run/losses.hpp"
#include "tessera/run/paid_unit.hpp"
#include "tessera/run/presumed_speed.hpp"
#include "tessera/run/serving.hpp"
#include "tessera/run/stop_listener.hpp"
#include "tessera/run/tile_order.hpp"
#include "tessera/run/usable_memory.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// What a device's memory must hold of them, where copies hide behind computing: two, and gaps between their
// inputs.
constexpr std::int64_t tiles_at_a_time = 3;

dist::Tiling tiling_of(const Division& division, const Arguments& host, const Spread& spread,
                       const std::vector<Share>& shares, const dist::Unit& unit) {
  // Where it is settled who does what, only the lost share of a device that fails depends on their number.
  const bool settled = spread.split.how == Split::How::shares;
  const std::int64_t least = settled ? 16 : 64, for_each_device = settled ? 8 : 24;
  dist::Tiling out{.least_flops = division.least_flops, .unit = unit};
  out.wanted = std::max(least, for_each_device * static_cast<std::int64_t>(spread.devices.size()));
  for (const Share& share : shares) {
    const Device& device = share.plan.device;
    if (backend_of(device).shares_host_memory()) continue;
    if (const auto launches = full_launches(share.plan, host))
      out.wanted = std::min(out.wanted, std::max(*launches, static_cast<std::int64_t>(shares.size())));
    const std::int64_t memory = usable_memory(device, spread.devices, spread.memory_bytes) / tiles_at_a_time;
    out.memory_bytes = out.memory_bytes == 0 ? memory : std::min(out.memory_bytes, memory);
  }
  return out;
}

// What decides about bits: all devices compute by this.
std::string text_of(const Plan& plan) {
  return plan.variant->ladder + "/" + plan.variant->name + " " + to_string(plan.tuning) + " on " +
         plan.device.name;
}

// Of a device that failed before its first tile, and so begins none.
class NoHand final : public Hand {
 public:
  explicit NoHand(std::exception_ptr why) : why_(std::move(why)) {}
  void begin(const Tile&) override { std::rethrow_exception(why_); }

 private:
  std::vector<dist::Span> compute(const Tile&) override { std::rethrow_exception(why_); }

  std::exception_ptr why_;
};

}  // namespace

Crew::Crew(const Operation& operation, const Arguments& host, const Division& division, const Spread& spread,
           KeptDevices* kept)
    : operation_(&operation), host_(&host), division_(&division), spread_(&spread), kept_(kept) {
  for (const Device& device : spread.devices)
    out_.shares.push_back({.plan = choose_on(device, operation, host, spread.request), .lost = {}});
  const Plan& first = out_.shares.front().plan;
  out_.same_bits = std::ranges::all_of(out_.shares, [&](const Share& share) {
    return !share.plan.variant->baseline &&
           (division.same_everywhere ||
            (text_of(share.plan) == text_of(first) && division.same_bits(share.plan.device.where)));
  });
  choose_tiles();
  out_.same_bits = out_.same_bits && (division.same_everywhere || takes_all_tiles(first));
  if (!spread.checkpoint.empty()) open_checkpoint();
  std::vector<std::optional<Worker::OnLanes>> lanes;  // told before any memory is taken
  for (const Share& share : out_.shares) lanes.push_back(on_lanes(share.plan));
  make_hands();
  make_queue();
  leaving_.emplace(hands_.size());
  for (std::size_t d = 0; d < hands_.size(); ++d)
    if (hands_[d]->can_leave() && !reads_what_it_writes(host)) queue_->can_leave(d);
  if (!spread.protect) queue_->arrange(order_of_arrival(division, host, tiles_, lanes));
}

Crew::~Crew() = default;

// A part that the whole's variant refuses is computed by another, in another order.
bool Crew::takes_all_tiles(const Plan& plan) const {
  return std::ranges::none_of(
      tiles_, [&](const Tile& tile) { return refuses(plan, division_->part(tile)).has_value(); });
}

void Crew::choose_tiles() {
  if (spread_->whole) {
    tiles_ = {division_->whole()};
    return;
  }
  std::vector<dist::Unit> units;
  for (const Share& share : out_.shares) units.push_back(paid_unit(share.plan, *host_, *division_));
  unit_ = dist::common_unit(units);
  const dist::Tiling tiling = tiling_of(*division_, *host_, *spread_, out_.shares, unit_);
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
  out_.checkpoint_lost = checkpoint_->lost();
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
    out.push_back(std::max(1.0, dist::work_of(*division_, tile, unit_)));  // something is written
  return out;
}

void Crew::make_queue() {
  std::size_t in_flight = 1;
  for (const auto& hand : hands_) in_flight = std::max(in_flight, hand->most_under_way());
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
  if (spread_->in_workers()) shared_.emplace(*operation_, *host_, spread_->files_as_read);
  for (std::size_t d = 0; d < out_.shares.size(); ++d)
    if (shared_) hands_.push_back(worker_of(d));
    else try {
        hands_.push_back(hand_here(d));
      } catch (const Error&) {
        hands_.push_back(std::make_unique<NoHand>(std::current_exception()));
      }
  if (shared_) out_.copied_bytes = shared_->copied_bytes(), out_.mapped_bytes = shared_->mapped_bytes();
}

std::unique_ptr<Hand> Crew::worker_of(std::size_t d) {
  const Plan& plan = out_.shares[d].plan;
  const bool goes_on = kept_ != nullptr && kept_->workers;
  const std::size_t before = goes_on ? kept_->begun[d] : 0;
  std::vector<Fault> faults;
  for (Fault fault : spread_->faults) {
    if (fault.device != d || fault.tile <= before) continue;
    fault.tile -= before;
    faults.push_back(fault);
  }
  return std::make_unique<Worker>(*shared_, *division_, plan, faults,
                                  Worker::Limits{spread_->limit_seconds, spread_->stopped}, spread_->protect,
                                  on_lanes(plan), goes_on ? std::move(kept_->processes[d]) : nullptr);
}

void Crew::keep_workers() {
  if (!shared_ || kept_ == nullptr || !kept_->workers) return;
  for (std::size_t d = 0; d < hands_.size(); ++d) {
    kept_->begun[d] += out_.shares[d].begun;
    auto* const worker = dynamic_cast<Worker*>(hands_[d].get());
    if (worker != nullptr && !queue_->is_lost(d)) kept_->processes[d] = worker->release();
  }
}

std::optional<Worker::OnLanes> Crew::on_lanes(const Plan& plan) const {
  if (find_lanes(plan.device.where) == nullptr || spread_->whole || tiles_.empty() ||
      HandOnLanes::refuses(*operation_, *host_, *division_, plan))
    return std::nullopt;
  return Worker::OnLanes{usable_memory(plan.device, spread_->devices, spread_->memory_bytes),
                         *std::ranges::max_element(tiles_, {}, [&](const Tile& tile) {
                           return dist::bytes_of(*division_, *host_, tile);
                         })};
}

std::shared_ptr<Lanes> Crew::lanes_of(std::size_t d) const {
  const Device& device = out_.shares[d].plan.device;
  if (kept_ == nullptr) return find_lanes(device.where)->open(device);
  std::shared_ptr<Lanes>& lanes = kept_->lanes[d];
  if (lanes == nullptr) lanes = find_lanes(device.where)->open(device);
  return lanes;
}

std::unique_ptr<Hand> Crew::hand_here(std::size_t d) const {
  const Plan& plan = out_.shares[d].plan;
  const auto lanes = on_lanes(plan);
  if (!lanes) return std::make_unique<HandHere>(*operation_, *division_, plan, spread_->request);
  return std::make_unique<HandOnLanes>(*operation_, *host_, *division_, plan, spread_->request, lanes_of(d),
                                       lanes->memory_bytes, lanes->largest);
}

double Crew::now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
bool Crew::stopped() const { return interrupted_ || (spread_->stopped && spread_->stopped()); }

// Processes that were started together get ready together.
void Crew::make_ready() {
  const auto begun = Clock::now();
  for (auto& hand : hands_) try {
      hand->make_ready();
    } catch (...) {
      hand = std::make_unique<NoHand>(std::current_exception());
    }
  if (shared_) out_.start_seconds = std::chrono::duration<double>(Clock::now() - begun).count();
}

Together Crew::work() {
  make_ready();
  std::function<bool()> stopping;
  if (spread_->stopped)
    stopping = [this] {
      if (!spread_->stopped()) return false;
      leaving_->stop_all();
      return true;
    };
  const StopListener listener(stopping, interrupted_);
  start_ = out_.started = Clock::now();
  serve_all(
      hands_.size(),
      [this](std::size_t d) {
        const Interruptible in_the_middle_of_a_part(leaving_->flag(d));
        serve(d);
      },
      [this](std::size_t d, const std::exception_ptr& why) {
        const std::lock_guard lock(mutex_);
        lose(d, why);
        changed_.notify_all();
      });
  out_.seconds = now();
  out_.complete = queue_->done();
  if (!out_.complete && !stopped()) fail();
  keep_workers();
  return std::move(out_);
}

void Crew::fail() const {
  fail_without_devices(*spread_, out_.shares, failure_,
                       checkpoint_
                           ? "; the parts that are done are kept: the same call goes on with --checkpoint " +
                                 spread_->checkpoint
                           : "");
}

void Crew::serve(std::size_t d) {
  std::unique_lock lock(mutex_);
  std::deque<Begun> under_way;
  while (!queue_->is_lost(d) && (!under_way.empty() || (!queue_->done() && !stopped()))) {
    const bool may_take = under_way.size() < hands_[d]->most_under_way() && !stopped();
    if (const auto tile = may_take ? queue_->take(d, now()) : std::nullopt) begin(d, *tile, under_way, lock);
    else if (!under_way.empty()) finish(d, under_way, lock);
    else  // whoever has the rest may be stopped meanwhile
      wait(d, lock);
  }
  changed_.notify_all();
}

// With nothing to do; but another may be at what would end sooner here.
void Crew::wait(std::size_t d, std::unique_lock<std::mutex>& lock) {
  double seconds = 0.1;
  const double at = now();
  if (const auto better = queue_->better_by(d, at); better && !leaving_->is_asked(better->device)) {
    seconds = std::clamp(better->at - at, 1e-4, seconds);
    if (better->at <= at) leaving_->ask(better->device, d);
  }
  (void)changed_.wait_for(lock, std::chrono::duration<double>(seconds));
}

void Crew::begin(std::size_t d, std::size_t tile, std::deque<Begun>& under_way,
                 std::unique_lock<std::mutex>& lock) {
  under_way.push_back({tile, now()});
  leaving_->begin(d);
  lock.unlock();
  std::exception_ptr failure;
  try {
    if (spread_->before_tile) spread_->before_tile(d, tile);
    hands_[d]->begin(tiles_[tile]);
  } catch (...) {
    failure = std::current_exception();
    hands_[d]->settle();
  }
  lock.lock();
  if (failure) lose(d, failure);
  else ++out_.shares[d].begun;
}

void Crew::finish(std::size_t d, std::deque<Begun>& under_way, std::unique_lock<std::mutex>& lock) {
  const Begun oldest = under_way.front();
  under_way.pop_front();
  lock.unlock();
  std::exception_ptr failure;
  std::vector<dist::Span> spans;
  bool right = true, left = false;
  double host_check_seconds = 0;
  try {
    spans = hands_[d]->finish();
    right = is_right(d, oldest.tile, host_check_seconds);
    if (right && checkpoint_) checkpoint_->commit(number_[oldest.tile]);
  } catch (const Interrupted&) {
    failure = std::current_exception();
    left = !stopped();
  } catch (...) {
    failure = std::current_exception();
    hands_[d]->settle();
  }
  lock.lock();
  if (!failure) note_check(d, oldest.tile, host_check_seconds);
  if (left) queue_->leave(d, oldest.tile, leaving_->heir(d), now());
  else if (failure) lose(d, failure);
  else if (right) deliver(d, oldest.tile, spans, oldest.at);
  else take_back(d, oldest.tile);
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
  const bool overlaps = hands_[d]->most_under_way() > 1;
  for (const dist::Span& span : spans) {
    if (!overlaps || span.deed == dist::Deed::compute) share.busy_seconds += span.last - span.first;
    out_.timeline.spans.push_back({d, span.deed, tile, begun + span.first, begun + span.last});
  }
}

// A wrong tile is no device's end, but several of them are.
void Crew::take_back(std::size_t d, std::size_t tile) {
  constexpr std::size_t most = 3;
  queue_->give_back(d, tile);
  if (++out_.shares[d].wrong < most) return;
  hands_[d]->settle();  // it may be writing another
  lose(d, std::make_exception_ptr(
              Error(Error::Kind::internal, "wrong results, " + std::to_string(most) + " times")));
}

// A part that is left, or not waited for any more, is no failure; it remains for the call that goes on.
void Crew::lose(std::size_t d, std::exception_ptr failure) {
  queue_->lose(d);
  if (kept_ != nullptr) kept_->lanes.erase(d);
  if (!failure_) failure_ = failure;
  if (stopped()) return;
  out_.shares[d].lost = reason_of(failure);
}

}  // namespace tessera
