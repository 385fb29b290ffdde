// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/queue.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>
#include "tessera/core/error.hpp"

namespace tessera::dist {

Queue::Queue(std::vector<double> work, std::vector<double> speeds, Dealing dealing, std::size_t in_flight)
    : work_(std::move(work)),
      owners_(work_.size()),
      untaken_(work_.size()),
      left_(work_.size()),
      in_flight_(in_flight),
      settles_(dealing == Dealing::measured) {
  if (speeds.empty()) throw Error(Error::Kind::internal, "a queue for no device");
  // A device of which nothing is known is presumed to be like the others.
  double sum = 0;
  std::size_t known = 0;
  for (const double speed : speeds)
    if (speed > 0 && std::isfinite(speed)) sum += speed, ++known;
  const double usual = known > 0 ? sum / static_cast<double>(known) : 1;
  for (const double speed : speeds) {
    Worker worker;
    worker.speed = worker.guess = speed > 0 && std::isfinite(speed) ? speed : usual;
    devices_.push_back(std::move(worker));
  }
  devices_[0].band.resize(work_.size());
  std::iota(devices_[0].band.begin(), devices_[0].band.end(), std::size_t{0});
  deal(0);
}

Queue::Queue(std::vector<double> work, std::vector<std::deque<std::size_t>> bands, std::size_t in_flight)
    : work_(std::move(work)),
      owners_(work_.size()),
      untaken_(work_.size()),
      left_(work_.size()),
      in_flight_(in_flight),
      settled_(true) {
  std::vector<int> times(work_.size(), 0);
  for (auto& band : bands) {
    for (const std::size_t tile : band) ++times.at(tile);
    Worker worker;
    worker.speed = worker.guess = 1;
    worker.band = std::move(band);
    devices_.push_back(std::move(worker));
  }
  if (std::ranges::any_of(times, [](int n) { return n != 1; }))
    throw Error(Error::Kind::internal, "bands that do not hold each tile once");
}

// What nobody has taken, in consecutive bands with which all finish at the same time.
void Queue::deal(double now) {
  std::vector<std::size_t> tiles;
  double work = 0;
  for (Worker& worker : devices_) {
    tiles.insert(tiles.end(), worker.band.begin(), worker.band.end());
    worker.band.clear();
  }
  std::ranges::sort(tiles);
  for (const std::size_t tile : tiles) work += work_[tile];
  // Those that are busy longest may get nothing: the others then end sooner.
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (!devices_[d].lost) order.push_back(d);
  std::ranges::sort(order, {}, [&](std::size_t d) { return finish(devices_[d], now); });
  double speeds = 0, held = 0, end = 0;
  for (const std::size_t d : order) {
    const double ends = finish(devices_[d], now);
    if (speeds > 0 && ends >= end) break;
    const double speed = pace(devices_[d], now);
    speeds += speed;
    held += speed * (ends - now);
    end = now + (work + held) / speeds;
  }
  double before = 0, upto = 0;
  auto next = tiles.begin();
  Worker* last = nullptr;
  for (Worker& worker : devices_) {
    if (worker.lost) continue;
    last = &worker;
    upto += std::max(0.0, end - finish(worker, now)) * pace(worker, now);
    for (; next != tiles.end() && before + work_[*next] / 2 <= upto; ++next) {
      worker.band.push_back(*next);
      before += work_[*next];
    }
  }
  if (last != nullptr) last->band.insert(last->band.end(), next, tiles.end());
  arrange_bands();
}

void Queue::arrange(Arrange order) {
  arrange_ = std::move(order);
  arrange_bands();
}

void Queue::arrange_bands() {
  if (!arrange_) return;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const std::vector<std::size_t> band(devices_[d].band.begin(), devices_[d].band.end());
    const std::vector<std::size_t> ordered = arrange_(d, band);
    if (!std::ranges::is_permutation(ordered, band)) throw Error(Error::Kind::internal, "an order that is of other tiles");
    devices_[d].band.assign(ordered.begin(), ordered.end());
  }
}

// The first tile of a device may find its caches cold, and a few may be unlucky.
void Queue::settle(double now) {
  constexpr std::size_t enough = 2;
  constexpr double part = 0.25;
  if (delivered_work_ < part * std::accumulate(work_.begin(), work_.end(), 0.0)) return;
  for (const Worker& worker : devices_)
    if (!worker.lost && worker.delivered < enough) return;
  deal(now);
  settled_ = true;
}

// What was wrong by a factor for some is presumed to be wrong by it for those that have shown nothing yet: like
// devices, one of which begins a little later, stay alike.
void Queue::correct_guesses() {
  double logarithms = 0, known = 0;
  for (const Worker& worker : devices_)
    if (worker.delivered > 0) logarithms += std::log(worker.speed / worker.guess), ++known;
  for (Worker& worker : devices_)
    if (worker.delivered == 0 && known > 0) worker.speed = worker.guess * std::exp(logarithms / known);
}

// A device that holds a tile longer than its speed says is that slow at least: it may have been guessed wrong, or
// have stopped.
double Queue::pace(const Worker& worker, double now) const {
  if (worker.held.empty() || !(now > worker.since)) return worker.speed;
  return std::min(worker.speed, work_[worker.held.front()] / (now - worker.since));
}

// The tile that it is at may be done at any moment, once it takes longer than expected.
double Queue::finish(const Worker& worker, double now) const {
  if (worker.held.empty()) return now;
  double behind = 0;
  for (std::size_t i = 1; i < worker.held.size(); ++i) behind += work_[worker.held[i]];
  return std::max(now, worker.since + work_[worker.held.front()] / worker.speed) + behind / pace(worker, now);
}

// Whether, if each of the tiles that are left went to whoever finishes it first, none would come here.
bool Queue::leaves_to_others(std::size_t device, double now) const {
  std::vector<double> ends, paces;
  for (const Worker& worker : devices_) {
    ends.push_back(finish(worker, now));
    paces.push_back(pace(worker, now));
  }
  for (const Worker& owner : devices_)
    for (const std::size_t tile : owner.band) {
      std::size_t best = device;
      for (std::size_t d = 0; d < devices_.size(); ++d)
        if (!devices_[d].lost && ends[d] + work_[tile] / paces[d] < ends[best] + work_[tile] / paces[best]) best = d;
      if (best == device) return false;
      ends[best] += work_[tile] / paces[best];
    }
  return true;
}

std::optional<std::size_t> Queue::steal(double now) {
  Worker* victim = nullptr;
  double latest = -1;
  for (Worker& worker : devices_) {
    if (worker.band.empty() || (settled_ && !worker.lost)) continue;
    double work = 0;
    for (const std::size_t tile : worker.band) work += work_[tile];
    // Nobody will do what a lost one had before it.
    const double ends = worker.lost ? INFINITY : finish(worker, now) + work / pace(worker, now);
    if (ends > latest) latest = ends, victim = &worker;
  }
  if (victim == nullptr) return std::nullopt;
  const std::size_t tile = victim->band.back();
  victim->band.pop_back();
  return tile;
}

std::optional<std::size_t> Queue::take(std::size_t device, double now) {
  Worker& worker = devices_[device];
  if (worker.lost || untaken_ == 0 || worker.held.size() >= in_flight_) return std::nullopt;
  if (!settled_ && leaves_to_others(device, now)) return std::nullopt;
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

bool Queue::commit(std::size_t device, std::size_t tile, double now) {
  Worker& worker = devices_[device];
  const auto held = std::ranges::find(worker.held, tile);
  if (held == worker.held.end()) return false;
  worker.held.erase(held);
  owners_[tile] = device;
  --left_;
  delivered_work_ += work_[tile];
  const double seconds = now - worker.since;
  worker.since = now;
  // Recent tiles count more: a device that is throttled is seen within a few.
  constexpr double weight = 0.25;
  const double shown = work_[tile] / seconds;
  if (seconds > 0 && shown > 0 && std::isfinite(shown))
    worker.speed = worker.delivered > 0 ? 1 / ((1 - weight) / worker.speed + weight / shown) : shown;
  if (++worker.delivered == 1) correct_guesses();
  if (settles_ && !settled_) settle(now);
  return true;
}

void Queue::lose(std::size_t device) {
  Worker& worker = devices_[device];
  worker.lost = true;
  while (!worker.held.empty()) give_back(device, worker.held.back());
}

void Queue::give_back(std::size_t device, std::size_t tile) {
  Worker& worker = devices_[device];
  const auto held = std::ranges::find(worker.held, tile);
  if (held == worker.held.end()) return;
  worker.held.erase(held);
  worker.band.push_front(tile);
  ++untaken_;
}

std::size_t Queue::usable() const {
  return static_cast<std::size_t>(std::ranges::count_if(devices_, [](const Worker& w) { return !w.lost; }));
}

}  // namespace tessera::dist
