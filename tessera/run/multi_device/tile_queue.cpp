// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/tile_queue.hpp"
#include <algorithm>
#include <cmath>
#include "tessera/core/text/error.hpp"

namespace tessera {

TileQueue::TileQueue(std::vector<double> work, const std::vector<double>& speeds, std::size_t in_flight)
    : work_(std::move(work)),
      owners_(work_.size()),
      untaken_(work_.size()),
      left_(work_.size()),
      in_flight_(in_flight),
      fixed_(false) {
  if (speeds.empty()) throw Error(Error::Kind::internal, "a queue without devices");
  // A device of unknown speed is presumed to be like the others.
  double sum = 0;
  std::size_t known = 0;
  for (const double speed : speeds)
    if (speed > 0 && std::isfinite(speed)) sum += speed, ++known;
  const double usual = known > 0 ? sum / static_cast<double>(known) : 1;
  for (const double speed : speeds) {
    State& worker = devices_.emplace_back();
    worker.speed = worker.guess = speed > 0 && std::isfinite(speed) ? speed : usual;
  }
  make_bands();
}

TileQueue::TileQueue(std::vector<double> work, std::vector<std::deque<std::size_t>> bands,
                     std::size_t in_flight)
    : work_(std::move(work)),
      owners_(work_.size()),
      untaken_(work_.size()),
      left_(work_.size()),
      in_flight_(in_flight),
      fixed_(true) {
  std::vector<int> times(work_.size(), 0);
  for (auto& band : bands) {
    for (const std::size_t tile : band) ++times.at(tile);
    devices_.emplace_back().band = std::move(band);
  }
  if (std::ranges::any_of(times, [](int n) { return n != 1; }))
    throw Error(Error::Kind::internal, "the bands do not hold each tile exactly once");
}

// Makes consecutive bands with which all devices finish at the same time. Each tile goes to the device that
// finishes it first, because shares rounded to full tiles could give a slow device one tile too many, which
// takes long.
void TileQueue::make_bands() {
  std::vector<double> ends(devices_.size(), 0), shares(devices_.size(), 0);
  for (const double work : work_) {
    std::size_t best = 0;
    const auto end = [&](std::size_t d) { return ends[d] + work / devices_[d].speed; };
    for (std::size_t d = 1; d < devices_.size(); ++d)
      if (end(d) < end(best)) best = d;
    ends[best] = end(best);
    shares[best] += work;
  }
  double before = 0, upto = 0;
  std::size_t next = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    upto += shares[d];
    const bool last = d + 1 == devices_.size();
    for (; next < work_.size() && (last || before + work_[next] / 2 <= upto); ++next) {
      devices_[d].band.push_back(next);
      before += work_[next];
    }
  }
}

void TileQueue::set_order(const TileOrderOf& order) {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const std::vector<std::size_t> band(devices_[d].band.begin(), devices_[d].band.end());
    const std::vector<std::size_t> ordered = order(d, band);
    if (!std::ranges::is_permutation(ordered, band))
      throw Error(Error::Kind::internal, "the order is not a permutation of the band's tiles");
    devices_[d].band.assign(ordered.begin(), ordered.end());
  }
}

// An error factor of some guesses is presumed for devices that have delivered nothing yet: like devices, one
// of which begins a little later, stay alike.
void TileQueue::correct_guesses() {
  double logarithms = 0, known = 0;
  for (const State& worker : devices_)
    if (worker.delivered > 0) logarithms += std::log(worker.speed / worker.guess), ++known;
  for (State& worker : devices_)
    if (worker.delivered == 0 && known > 0) worker.speed = worker.guess * std::exp(logarithms / known);
}

// Estimates the current_speed of a device. One that holds a tile longer than its speed predicts is at least
// that slow: the guess may be wrong, or it may have stopped.
double TileQueue::current_speed(const State& worker, double now) const {
  if (worker.held.empty() || !(now > worker.since)) return worker.speed;
  return std::min(worker.speed, work_[worker.held.front()] / (now - worker.since));
}

// The current tile may be done at any moment, once it takes longer than expected.
double TileQueue::expected_finish(const State& worker, double now) const {
  if (worker.held.empty()) return now;
  double behind = 0;
  for (std::size_t i = 1; i < worker.held.size(); ++i) behind += work_[worker.held[i]];
  return std::max(now, worker.since + work_[worker.held.front()] / worker.speed) +
         behind / current_speed(worker, now);
}

// True if this device gets none of the remaining tiles when each goes to the device that finishes it first.
bool TileQueue::defers_to_faster_device(std::size_t device, double now) const {
  std::vector<double> ends, paces;
  for (const State& worker : devices_) {
    ends.push_back(expected_finish(worker, now));
    paces.push_back(current_speed(worker, now));
  }
  for (const State& owner : devices_)
    for (const std::size_t tile : owner.band) {
      std::size_t best = device;
      for (std::size_t d = 0; d < devices_.size(); ++d)
        if (!devices_[d].failed && ends[d] + work_[tile] / paces[d] < ends[best] + work_[tile] / paces[best])
          best = d;
      if (best == device) return false;
      ends[best] += work_[tile] / paces[best];
    }
  return true;
}

// A second tile for a device of unknown speed may be one that it should never have had. With many tiles,
// hiding the copies behind the first one is worth more.
bool TileQueue::waits_for_first(const State& worker) const {
  constexpr std::size_t few = 16;
  return !fixed_ && worker.delivered == 0 && !worker.held.empty() && work_.size() < few * devices_.size();
}

std::optional<std::size_t> TileQueue::steal(double now) {
  State* victim = nullptr;
  double latest = -1;
  for (State& worker : devices_) {
    if (worker.band.empty() || (fixed_ && !worker.failed)) continue;
    double work = 0;
    for (const std::size_t tile : worker.band) work += work_[tile];
    // A lost device never reaches its band.
    const double ends =
        worker.failed ? INFINITY : expected_finish(worker, now) + work / current_speed(worker, now);
    if (ends > latest) latest = ends, victim = &worker;
  }
  if (victim == nullptr) return std::nullopt;
  const std::size_t tile = victim->band.back();
  victim->band.pop_back();
  return tile;
}

std::optional<std::size_t> TileQueue::take(std::size_t device, double now) {
  State& worker = devices_[device];
  if (worker.failed || untaken_ == 0 || worker.held.size() >= in_flight_ || waits_for_first(worker))
    return std::nullopt;
  if (!fixed_ && defers_to_faster_device(device, now)) return std::nullopt;
  std::optional<std::size_t> tile;
  if (!worker.band.empty()) {
    tile = worker.band.front();
    worker.band.pop_front();
  } else {
    tile = steal(now);
  }
  if (!tile) return std::nullopt;
  --untaken_;
  if (worker.held.empty()) worker.since = now;
  worker.held.push_back(*tile);
  return tile;
}

bool TileQueue::commit(std::size_t device, std::size_t tile, double now) {
  State& worker = devices_[device];
  const auto held = std::ranges::find(worker.held, tile);
  if (held == worker.held.end()) return false;
  worker.held.erase(held);
  owners_[tile] = device;
  --left_;
  const double seconds = now - worker.since;
  worker.since = now;
  // Recent tiles count more: a throttled device is seen within a few.
  constexpr double weight = 0.25;
  const double shown = work_[tile] / seconds;
  if (seconds > 0 && shown > 0 && std::isfinite(shown))
    worker.speed = worker.delivered > 0 ? 1 / ((1 - weight) / worker.speed + weight / shown) : shown;
  if (++worker.delivered == 1) correct_guesses();
  return true;
}

void TileQueue::mark_failed(std::size_t device) {
  State& worker = devices_[device];
  worker.failed = true;
  while (!worker.held.empty()) requeue(device, worker.held.back());
}

void TileQueue::requeue(std::size_t device, std::size_t tile) {
  State& worker = devices_[device];
  const auto held = std::ranges::find(worker.held, tile);
  if (held == worker.held.end()) return;
  worker.held.erase(held);
  worker.band.push_front(tile);
  ++untaken_;
}

}  // namespace tessera
